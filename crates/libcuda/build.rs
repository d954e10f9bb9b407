//! Gives the shared library the name that the dynamic linker looks for, and keeps it loaded once it is: worker threads and
//! the hooks for fork and exit outlive a `dlclose`. The library's own uses of its functions are bound to them when it is linked: the names can be
//! hidden from programs then.
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic");
}
