//! Gives the shared library NVIDIA's soname, and its symbols a version of the same name, which programs ask for. Only GNU ld makes
//! such versions beside the version script that the compiler writes.
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-fuse-ld=bfd");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcudart.so.11.0");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--default-symver");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
