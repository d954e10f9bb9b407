//! Sampling of textures (CUDA programming guide, "Texture Fetching"): from coordinates to texels and their weights, and what the
//! channels of a texel in memory mean (PTX ISA 9.7.10.1).
//!
//! Here lives arithmetic only. Where texels lie, and which texture a kernel names, is the executors' business. The manual says of most of
//! this only that weights have 8 bits: what is here was read off an H100, whose answers to sweeps over weights, formats and levels it gives
//! bit for bit, where no comment says otherwise.

mod anisotropy;
mod axis;
pub mod block;
mod channel;
mod compressed;
mod cube;
mod filter;
mod gradient;
mod level;
mod vector;

pub use anisotropy::Footprint;
pub use axis::{Axis, Outside, offset};
pub use channel::{
    Numbers, border_channel, from_srgb, signed_channel, signed_fraction, srgb_term, stretched, to_srgb,
    unsigned_channel, unsigned_fraction,
};
pub use compressed::{BLOCK_SIDE, Compression};
pub use cube::{CUBE_FACES, across_edge, cube_face, cube_gradient, share_corner};
pub use filter::{UNIT, blend, split_slices, square_weights};
pub use gradient::level_of_gradients;
pub use level::{LevelRange, Levels};
pub use vector::SamplingVectors;
