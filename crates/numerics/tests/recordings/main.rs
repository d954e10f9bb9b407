//! Holds the definitions against what real hardware answered.

mod approximations;
mod convert;
mod float;
mod half;
mod name;
mod recording;
mod video;
