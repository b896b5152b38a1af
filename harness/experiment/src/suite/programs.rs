//! The programs that are compared: one worker, linked in several orders, without and with a function that nobody calls.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};

use crate::say;

/// Name of the program that is built.
const PROGRAM: &str = "perfharness-experiment-subject";
/// Links of each side.
const LINKS: u64 = 8;

/// A side of a pair, as a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Build {
    /// Whether it has the function that nobody calls.
    pub(super) uncalled: bool,
    /// Seed by which the linker shuffled its sections.
    pub(super) link: u64,
}

impl Build {
    fn all() -> impl Iterator<Item = Self> {
        [false, true].into_iter().flat_map(|uncalled| (1..=LINKS).map(move |link| Self { uncalled, link }))
    }

    /// The builds of base and head of a gate: any link of one with any of the other, in turn over the gates.
    pub(super) fn pair(number: u64) -> [Self; 2] {
        let base = number % LINKS;
        let head = (number / LINKS + 3 * number) % LINKS;
        [Self { uncalled: false, link: base + 1 }, Self { uncalled: true, link: head + 1 }]
    }

    /// The program.
    pub(super) fn path(self) -> PathBuf {
        let side = if self.uncalled { "uncalled" } else { "plain" };
        folder().join(format!("{side}-{}", self.link))
    }
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn target() -> PathBuf {
    perfharness_platform::env::var("CARGO_TARGET_DIR")
        .map_or_else(|| workspace().join("target"), PathBuf::from)
}

fn folder() -> PathBuf {
    target().join("experiment")
}

/// Builds every program that is missing, or all of them.
pub(super) fn build(again: bool) -> anyhow::Result<()> {
    fs::create_dir_all(folder())?;
    for build in Build::all().filter(|build| again || !build.path().exists()) {
        say(&format!("building {}", build.path().display()));
        link(build)?;
    }
    Ok(())
}

fn link(build: Build) -> anyhow::Result<()> {
    let cargo = perfharness_platform::env::var("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(workspace()).args(["rustc", "--quiet", "--release", "--locked", "--bin", PROGRAM]);
    command.args(["--package", "perfharness-experiment", "--target-dir"]).arg(target());
    if build.uncalled {
        command.args(["--features", "uncalled"]);
    }
    command.args(["--", "-C", &format!("link-arg=-Wl,--shuffle-sections=*={}", build.link)]);
    let done = command.output().context("cargo cannot be started")?;
    if !done.status.success() {
        bail!(
            "{PROGRAM} cannot be linked with shuffled sections, which needs lld: {}",
            String::from_utf8_lossy(&done.stderr)
        );
    }
    let built = target().join("release").join(PROGRAM).with_extension(std::env::consts::EXE_EXTENSION);
    // A rename, because a program that runs cannot be written.
    let partial = build.path().with_extension("partial");
    fs::copy(&built, &partial).with_context(|| format!("{} cannot be copied", built.display()))?;
    Ok(fs::rename(partial, build.path())?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn gates_in_turn_compare_every_link_with_every_other() {
        let pairs: BTreeSet<(u64, u64)> =
            (1..=64).map(|gate| Build::pair(gate).map(|build| build.link).into()).collect();
        assert_eq!(pairs.len(), 64);
        assert!(Build::pair(5)[1].uncalled && !Build::pair(5)[0].uncalled);
    }
}
