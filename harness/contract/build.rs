//! Passes the compiler's name and flags to the code, for the facts that a worker reports about itself. There is no
//! commit id, because two builds of the same code must be the same program.

use std::process::Command;

fn main() {
    let env = |name: &str| {
        std::env::vars().find(|(key, _)| key == name).map(|(_, value)| value).unwrap_or_default()
    };
    let rustc = Command::new(env("RUSTC")).arg("--version").output();
    let version = rustc.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned()).unwrap_or_default();
    let flags = env("CARGO_ENCODED_RUSTFLAGS").replace('\x1f', " ");
    let profile = format!("{}, opt-level {}", env("PROFILE"), env("OPT_LEVEL"));
    println!("cargo::rustc-env=PERFHARNESS_RUSTC={version}");
    println!("cargo::rustc-env=PERFHARNESS_RUSTFLAGS={flags}");
    println!("cargo::rustc-env=PERFHARNESS_PROFILE={profile}");
    println!("cargo::rustc-env=PERFHARNESS_TARGET={}", env("TARGET"));
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
}
