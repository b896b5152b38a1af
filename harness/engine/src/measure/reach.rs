//! Reach of a change: which functions that a benchmark executes differ from those of the base.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use perfharness_record::{Reach, WorkerCommand};

use super::callgrind::{Executed, shown_name};
use crate::functions::FunctionDigests;

/// Names of changed functions that are kept.
const MOST_NAMES: usize = 20;

/// Compares what sides of two builds execute. Digests are read once for each program.
#[derive(Debug, Default)]
pub(super) struct Reaches {
    digests: BTreeMap<PathBuf, Rc<FunctionDigests>>,
    /// Files of the base and of the code here that were compared, and whether they are equal.
    equal: BTreeMap<(String, String), bool>,
}

/// A side, by its worker and by what it executed.
pub(super) type Side<'s> = (&'s WorkerCommand, &'s BTreeSet<Executed>);

impl Reaches {
    /// Returns the reach of the change between a side of the base and the same side of the code here.
    pub(super) fn between(&mut self, base: Side<'_>, head: Side<'_>) -> Reach {
        self.compare(base, head).unwrap_or_else(|unknown| Reach::Unknown { unknown })
    }

    fn compare(&mut self, base: Side<'_>, head: Side<'_>) -> Result<Reach, String> {
        let digests = (self.digests(base.0)?, self.digests(head.0)?);
        let (own, others) = divide(head)?;
        let (own_before, others_before) = divide(base)?;
        let both: BTreeSet<&str> = own.iter().chain(&own_before).copied().collect();
        if own.is_empty() || own_before.is_empty() {
            return Err("its program starts another, which it runs in".into());
        }
        let mut changed = BTreeSet::new();
        for name in &both {
            match digests.0.differs(&digests.1, name) {
                Some(true) => _ = changed.insert(shown_name(name)),
                Some(false) => {}
                None => {
                    let name = shown_name(name);
                    return Err(format!("`{name}` is in no object that its program was linked from"));
                }
            }
        }
        for name in others.keys().chain(others_before.keys()) {
            let (Some(before), Some(now)) = (others_before.get(name), others.get(name)) else {
                return Err(format!("one side alone executes code of {name}"));
            };
            if !self.are_equal(before, now) {
                changed.insert(format!("({name})"));
            }
        }
        let names = changed.iter().take(MOST_NAMES).cloned().collect();
        Ok(Reach::Known { executed: both.len() as u32, changed: changed.len() as u32, names })
    }

    fn digests(&mut self, worker: &WorkerCommand) -> Result<Rc<FunctionDigests>, String> {
        let Some(path) = &worker.functions else {
            return Err("the objects that its program was linked from are not at hand".into());
        };
        if let Some(known) = self.digests.get(path) {
            return Ok(Rc::clone(known));
        }
        let read = Rc::new(FunctionDigests::read(path)?);
        self.digests.insert(path.clone(), Rc::clone(&read));
        Ok(read)
    }

    fn are_equal(&mut self, one: &str, other: &str) -> bool {
        if one == other {
            return true;
        }
        let read = |path: &str| std::fs::read(path).ok();
        let key = (one.to_owned(), other.to_owned());
        *self.equal.entry(key).or_insert_with(|| read(one).is_some_and(|one| Some(one) == read(other)))
    }
}

/// Names of the functions of the worker's program, and the other files by their names.
type Divided<'s> = (BTreeSet<&'s str>, BTreeMap<&'s str, &'s str>);

/// Divides what was executed.
///
/// # Errors
/// When some of it is of no file, such as code that a program makes while it runs, or of two files with one name.
fn divide((worker, executed): Side<'_>) -> Result<Divided<'_>, String> {
    let command = worker.in_layout(0);
    let program = command.first().map(|program| real(program));
    let (mut own, mut others) = (BTreeSet::new(), BTreeMap::new());
    let mut is_own = BTreeMap::new();
    for Executed { file, name } in executed {
        if *is_own.entry(file.as_str()).or_insert_with(|| Some(real(file)) == program) {
            own.insert(name.as_str());
            continue;
        }
        let path = Path::new(file);
        let Some(file_name) = path.file_name().and_then(|name| name.to_str()).filter(|_| path.is_absolute())
        else {
            return Err(format!("it executes `{}`, which is of no file", shown_name(name)));
        };
        if others.insert(file_name, file.as_str()).is_some_and(|known| known != file) {
            return Err(format!("it executes code of two files with the name {file_name}"));
        }
    }
    Ok((own, others))
}

fn real(path: &str) -> PathBuf {
    Path::new(path).canonicalize().unwrap_or_else(|_| path.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two builds of a program, and a library of each.
    struct Builds {
        folder: tempfile::TempDir,
    }

    impl Builds {
        fn new() -> Self {
            let builds = Self { folder: tempfile::tempdir().unwrap() };
            for side in ["base", "head"] {
                std::fs::create_dir(builds.folder.path().join(side)).unwrap();
                builds.write(side, "worker", side);
                builds.write(side, "libx.so", "library");
                builds.write(side, "functions", "1a main\n2b _ZN1w4walk17h0123456789abcdefE\n3c idle\n");
            }
            builds
        }

        fn path(&self, side: &str, name: &str) -> String {
            self.folder.path().join(side).join(name).to_string_lossy().into_owned()
        }

        fn write(&self, side: &str, name: &str, content: &str) {
            std::fs::write(self.path(side, name), content).unwrap();
        }

        fn worker(&self, side: &str) -> WorkerCommand {
            WorkerCommand {
                command: vec![self.path(side, "worker")],
                functions: Some(self.path(side, "functions").into()),
                ..WorkerCommand::default()
            }
        }

        fn executed(&self, side: &str, names: &[&str]) -> BTreeSet<Executed> {
            let one = |file: &str, name: &str| Executed { file: self.path(side, file), name: name.into() };
            let libc = Executed { file: "/lib/libc.so.6".into(), name: "memcpy".into() };
            let own = names.iter().map(|name| one("worker", name));
            own.chain([one("libx.so", "x"), libc]).collect()
        }

        fn reach(&self, names: &[&str]) -> Reach {
            let (base, head) = (self.worker("base"), self.worker("head"));
            let executed = |side| self.executed(side, names);
            Reaches::default().between((&base, &executed("base")), (&head, &executed("head")))
        }
    }

    const WALK: &str = "_ZN1w4walk17h0123456789abcdefE";

    fn known(executed: u32, names: &[&str]) -> Reach {
        let changed = names.len() as u32;
        Reach::Known { executed, changed, names: names.iter().map(|name| (*name).to_owned()).collect() }
    }

    #[test]
    fn a_change_reaches_what_executes_it() {
        let builds = Builds::new();
        assert_eq!(builds.reach(&["main", WALK]), known(2, &[]));
        builds.write("head", "functions", "1a main\n9f _ZN1w4walk17h0123456789abcdefE\n3c idle\n4d unused\n");
        assert_eq!(builds.reach(&["main", WALK]), known(2, &["w::walk"]));
        assert!(builds.reach(&["main", "idle"]).is_nothing(), "it does not execute what changed");
        builds.write("head", "libx.so", "another");
        assert_eq!(builds.reach(&["main"]), known(1, &["(libx.so)"]));
    }

    #[test]
    fn what_one_side_alone_executes_was_changed_or_is_not_known() {
        let builds = Builds::new();
        let (base, head) = (builds.worker("base"), builds.worker("head"));
        let of = |names: &[&str]| builds.executed("base", names);
        let between = |names: &[&str]| {
            let executed = builds.executed("head", names);
            Reaches::default().between((&base, &of(&["main"])), (&head, &executed))
        };
        // Both have it, and something that is not code of the program let it be called.
        assert_eq!(between(&["main", WALK]), known(2, &[]));
        builds.write("head", "functions", "1a main\n5e fresh\n");
        assert_eq!(between(&["main", "fresh"]), known(2, &["fresh"]));
    }

    #[test]
    fn what_is_not_known_says_why() {
        let builds = Builds::new();
        let why = |reach: Reach| match reach {
            Reach::Unknown { unknown } => unknown,
            Reach::Known { .. } => panic!("{reach:?}"),
        };
        assert!(why(builds.reach(&["main", "???"])).contains("`???` is in no object"));
        assert!(why(builds.reach(&[])).contains("starts another"));
        let with = |side: &str, file: &str| {
            let mut executed = builds.executed(side, &["main"]);
            executed.insert(Executed { file: file.into(), name: "y".into() });
            executed
        };
        let between = |base: &BTreeSet<Executed>, head: &BTreeSet<Executed>| {
            why(Reaches::default().between((&builds.worker("base"), base), (&builds.worker("head"), head)))
        };
        // Code that is made while the program runs is not that of the base because both have some.
        assert!(between(&with("base", "???"), &with("head", "???")).contains("`y`, which is of no file"));
        let (more, main) = (with("base", "/lib/liby.so"), builds.executed("head", &["main"]));
        assert!(between(&more, &main).contains("one side alone executes code of liby.so"));
        let twice = with("head", "/elsewhere/libx.so");
        assert!(between(&more, &twice).contains("two files with the name libx.so"));
        let (base, mut head) = (builds.worker("base"), builds.worker("head"));
        let executed = |side| builds.executed(side, &["main"]);
        head.functions = Some("none".into());
        let reach = |head: &WorkerCommand| {
            Reaches::default().between((&base, &executed("base")), (head, &executed("head")))
        };
        assert!(why(reach(&head)).contains("cannot be read"));
        head.functions = None;
        assert!(why(reach(&head)).contains("not at hand"));
    }
}
