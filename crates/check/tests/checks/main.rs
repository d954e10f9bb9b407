//! Each check finds what it is for, and nothing in what is right.

mod hand_over;
mod kinds;
mod leak;
mod memory;
mod order;
mod stalled;
mod support;
