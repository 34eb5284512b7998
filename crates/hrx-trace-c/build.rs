//! How the shared library is linked.

fn main() {
    // Programs ask for it by this name. It changes with an interface that old programs cannot use.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libhrx_trace.so.0");
    // Its exit handlers, its thread-locals and the captures that run must stay, whatever the program unloads (dlclose(3)).
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo::rerun-if-changed=build.rs");
}
