//! Loads any CUDA driver and looks its functions up by name and version.
