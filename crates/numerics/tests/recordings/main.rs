//! Holds the definitions against what real hardware answered.

mod approximations;
mod compare;
mod convert;
mod float;
mod half;
mod integer;
mod logic;
mod name;
mod recording;
mod video;
