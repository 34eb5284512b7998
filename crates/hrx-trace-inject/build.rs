//! How the listener is linked.

fn main() {
    // Clients load and unload it as they like (dlclose(3)); its exit handlers, its thread-locals and the captures that run must stay.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    // Programs that are linked against ROCTX ask for it by this name, and find ours by it on LD_LIBRARY_PATH. The other interfaces load by path.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libroctx64.so.4");
    println!("cargo::rerun-if-changed=build.rs");
}
