//! What stands in front of NVIDIA's run-time compiler (NVRTC) and linker (nvJitLink), which run on any processor, where a program asks them
//! for machine code of a device: they are asked for PTX, and the program gets an image of ours, which holds that PTX.
//!
//! The auditing library leads what these libraries export through this one, which is loaded into the program at the first call
//! (`front`); what is not answered here stays theirs.
//!
//! Python modules with NVIDIA's runtime in them get ours with the same help (`python`).
//!
//! What inputs of a link hold, and how PTX becomes an image ([`inputs`], [`image`]), is for tools as well.
//!
//! Only `front`, `nvrtc`, `jitlink`, `python` and `border` are unsafe: what C callers hand over, and calls of functions by address.

mod border;
mod front;
pub mod image;
pub mod inputs;
mod jitlink;
mod nvrtc;
mod python;
