//! What PTX arithmetic means, bit for bit: shared by both executors.
#![forbid(unsafe_code)]
