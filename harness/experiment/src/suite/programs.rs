//! The programs that are compared: one worker, linked in several orders, without and with a function that nobody calls.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use perfharness_contract::input_rng;
use rand_pcg::rand_core::Rng as _;
use serde::{Deserialize, Serialize};

use crate::say;

/// Name of the program that is built.
const PROGRAM: &str = "perfharness-experiment-subject";
/// Links of each side: one as built, and others with shuffled sections.
const LINKS: u64 = 9;

/// A side of a pair, as a build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Build {
    /// Whether it has the function that nobody calls.
    pub(super) uncalled: bool,
    /// Its layouts: seeds by which the linker shuffled its sections; 0 is the program as built.
    pub(super) links: Vec<u64>,
}

impl Build {
    /// The builds of base and head of a gate, each in as many layouts. Both have the same seeds, as in a gate; with one
    /// layout they have different ones, because a function more moves all the code.
    pub(super) fn pair(number: u64, layouts: usize) -> [Self; 2] {
        let mut links: Vec<u64> = (0..LINKS).collect();
        shuffle(&mut links, number);
        let base: Vec<u64> = links.iter().take(layouts.max(1)).copied().collect();
        let head = if layouts > 1 { base.clone() } else { vec![links[1]] };
        [Self { uncalled: false, links: base }, Self { uncalled: true, links: head }]
    }

    /// Its programs, one for each layout.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.links.iter().map(|link| path(self.uncalled, *link)).collect()
    }
}

/// Puts the links into an order that is a function of the number (Fisher-Yates).
fn shuffle(links: &mut [u64], number: u64) {
    let mut rng = input_rng(number, "links", 0);
    for at in (1..links.len()).rev() {
        links.swap(at, (rng.next_u64() % (at as u64 + 1)) as usize);
    }
}

fn path(uncalled: bool, link: u64) -> PathBuf {
    let side = if uncalled { "uncalled" } else { "plain" };
    folder().join(format!("{side}-{link}"))
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
    for (uncalled, link) in
        [false, true].into_iter().flat_map(|side| (0..LINKS).map(move |link| (side, link)))
    {
        if again || !path(uncalled, link).exists() {
            say(&format!("building {}", path(uncalled, link).display()));
            linked(uncalled, link)?;
        }
    }
    Ok(())
}

fn linked(uncalled: bool, link: u64) -> anyhow::Result<()> {
    let cargo = perfharness_platform::env::var("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(workspace()).args(["rustc", "--quiet", "--release", "--locked", "--bin", PROGRAM]);
    command.args(["--package", "perfharness-experiment", "--target-dir"]).arg(target());
    if uncalled {
        command.args(["--features", "uncalled"]);
    }
    if link > 0 {
        command.args(["--", "-C", &format!("link-arg=-Wl,--shuffle-sections=*={link}")]);
    }
    let done = command.output().context("cargo cannot be started")?;
    if !done.status.success() {
        bail!(
            "{PROGRAM} cannot be linked with shuffled sections, which needs lld: {}",
            String::from_utf8_lossy(&done.stderr)
        );
    }
    let built = target().join("release").join(PROGRAM).with_extension(std::env::consts::EXE_EXTENSION);
    // A rename, because a program that runs cannot be written.
    let partial = path(uncalled, link).with_extension("partial");
    fs::copy(&built, &partial).with_context(|| format!("{} cannot be copied", built.display()))?;
    Ok(fs::rename(partial, path(uncalled, link))?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn gates_draw_from_all_links_and_both_sides_have_the_same_number_of_them() {
        let mut first = BTreeSet::new();
        for gate in 1..=200 {
            let [base, head] = Build::pair(gate, 1);
            assert_ne!(base.links, head.links);
            first.insert((base.links[0], head.links[0]));
            let [base, head] = Build::pair(gate, 4);
            assert_eq!((&base.links, base.links.len()), (&head.links, 4));
            assert_eq!(base.links.iter().collect::<BTreeSet<_>>().len(), 4);
            assert!(head.uncalled && !base.uncalled && base.paths() != head.paths());
        }
        assert!(first.len() > 60, "{first:?}");
    }
}
