//! The linker that a build would call.

use std::path::{Path, PathBuf};
use std::process::Command;

use perfharness_engine::measure::forget_repository;
use perfharness_platform::env;

/// The linker of rustc and the compiler driver of `make` where nothing else is configured.
const DEFAULT: &str = "cc";

/// The linker of a Cargo build for the machine itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CargoLinker {
    /// The variable that sets it.
    pub(super) variable: String,
    /// The linker.
    pub(super) linker: String,
}

/// Returns the compiler driver that a build by other means than Cargo would link with.
pub(super) fn driver() -> Vec<String> {
    let words = env::var("CC").and_then(|text| shlex::split(&text)).filter(|words| !words.is_empty());
    words.unwrap_or_else(|| vec![DEFAULT.to_owned()])
}

impl CargoLinker {
    /// Returns the linker that Cargo uses in a folder. `None` if there is no compiler, or if the linker follows from a
    /// condition that only Cargo can evaluate.
    pub(super) fn of(folder: &Path) -> Option<Self> {
        let triple = host(folder)?;
        let variable = format!("CARGO_TARGET_{}_LINKER", triple.to_uppercase().replace(['-', '.'], "_"));
        let linker = env::var(&variable).or_else(|| configured(&config_files(folder), &triple))?;
        Some(Self { variable, linker })
    }
}

/// Returns the triple of the machine.
fn host(folder: &Path) -> Option<String> {
    let rustc = env::var("RUSTC").unwrap_or_else(|| "rustc".to_owned());
    let mut command = Command::new(rustc);
    forget_repository(&mut command);
    let out = command.arg("-vV").current_dir(folder).output().ok().filter(|out| out.status.success())?;
    let text = String::from_utf8(out.stdout).ok()?;
    text.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned)
}

/// Returns the configuration files of Cargo for a folder, the nearest first.
fn config_files(folder: &Path) -> Vec<PathBuf> {
    let home = env::var("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(env::var("HOME")?).join(".cargo")));
    let above = folder.ancestors().map(|above| above.join(".cargo"));
    // Cargo prefers the name without an extension, where both exist.
    let file = |folder: PathBuf| {
        ["config", "config.toml"].map(|name| folder.join(name)).into_iter().find(|f| f.is_file())
    };
    above.chain(home).filter_map(file).collect()
}

/// Returns the linker that configuration files set for a triple, or [`DEFAULT`] if none does. `None` if one sets a linker by a
/// condition or cannot be read.
fn configured(files: &[PathBuf], triple: &str) -> Option<String> {
    for file in files {
        let table: toml::Table = toml::from_str(&std::fs::read_to_string(file).ok()?).ok()?;
        let Some(targets) = table.get("target").and_then(toml::Value::as_table) else { continue };
        let linker = |key: &str| targets.get(key).and_then(|target| target.get("linker"));
        if let Some(linker) = linker(triple) {
            let text = linker.as_str()?;
            // A path with folders is relative to the folder of `.cargo`.
            let base = file.ancestors().nth(2).filter(|_| text.contains('/')).unwrap_or(Path::new(""));
            return Some(base.join(text).to_string_lossy().into_owned());
        }
        if targets.keys().any(|key| key.starts_with("cfg(") && linker(key).is_some()) {
            return None;
        }
    }
    Some(DEFAULT.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_linker_that_a_project_configures_is_the_one_that_links() {
        let folder = tempfile::tempdir().unwrap();
        let [near, far] = ["repo/tree/.cargo", "repo/.cargo"].map(|inside| folder.path().join(inside));
        let set = |folder: &Path, text: &str| {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(folder.join("config.toml"), text).unwrap();
        };
        let triple = "x86_64-unknown-linux-gnu";
        let files = [near.join("config.toml"), far.join("config.toml")];
        let found = || configured(&files, triple);
        set(&near, "[build]\njobs = 1\n");
        set(&far, "");
        assert_eq!(found().as_deref(), Some(DEFAULT));
        set(&far, &format!("[target.{triple}]\nlinker = \"clang\"\n"));
        assert_eq!(found(), Some("clang".into()));
        set(&near, &format!("[target.{triple}]\nlinker = \"bin/ld\"\n"));
        let path = folder.path().join("repo/tree/bin/ld").to_string_lossy().into_owned();
        assert_eq!(found(), Some(path));
        set(&near, "[target.'cfg(debug_assertions)']\nlinker = \"mold\"\n");
        assert_eq!(found(), None);
        set(&near, "no toml");
        assert_eq!(found(), None);
    }
}
