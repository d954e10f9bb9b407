//! C types, constants and function-pointer types of the CUDA driver API, generated from the registry.
