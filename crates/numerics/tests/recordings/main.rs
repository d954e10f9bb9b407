//! Holds the definitions against what real hardware answered.

mod convert;
mod float;
mod half;
mod name;
mod recording;
mod video;
