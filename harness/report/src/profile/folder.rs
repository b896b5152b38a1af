//! Writes a folder of flame graphs.

use std::io;
use std::path::Path;

use clap::ValueEnum as _;
use perfharness_contract::BenchmarkId;
use perfharness_record::file::RecordError;
use perfharness_record::{Origin, Profiled, Side, StackProfile};

use super::callgrind::callgrind;
use super::index::{
    DifferenceGraph, FlameIndex, GraphFile, Hot, INDEX_FILE, ProfileFacts, ProfileState, ProfiledBenchmark,
};
use super::pprof::pprof;
use super::speedscope::speedscope;
use super::svg::{SideNames, differential, flame_graph};
use super::{Difference, ProfileFormat, Widths};
use crate::file_names::FileNames;
use crate::folder::{write_file, write_index};

/// Number of functions that the index names.
const HOTTEST: usize = 5;

/// A benchmark to profile and the result.
#[derive(Clone, Debug)]
pub struct Shot {
    /// The benchmark.
    pub side: Side,
    /// Position of the benchmark that it is compared with.
    pub reference: Option<usize>,
    /// The profile, or the reason for its absence.
    pub profiled: Profiled,
}

impl Shot {
    fn profile(&self) -> Option<&StackProfile> {
        self.profiled.profile.as_ref().ok()
    }
}

/// The occasion on which benchmarks were profiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occasion {
    /// Start of the profiling, RFC 3339.
    pub taken: String,
    /// Id of the run that the profiles belong to, if any.
    pub run: Option<String>,
}

/// Treatment of the graphs that are already in the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Former {
    /// Keep the graphs of other benchmarks.
    Kept,
    /// Remove all.
    Replaced,
}

/// Writes the files of these benchmarks and then the index. Removes files that only the older index names and leaves
/// all other files alone.
///
/// # Errors
/// Returns an error if a file cannot be written.
pub fn write(
    folder: &Path,
    shots: &[Shot],
    formats: &[ProfileFormat],
    former: Former,
    occasion: &Occasion,
) -> Result<FlameIndex, RecordError> {
    // An unreadable index loses nothing: this call replaces it in any case.
    let older = FlameIndex::read(folder).ok().flatten().unwrap_or_default();
    let mut index = match former {
        Former::Kept => others(&older, shots, folder),
        Former::Replaced => FlameIndex::default(),
    };
    let names = FileNames::divided_by("-").without(index.files().map(stem));
    let mut writer = GraphWriter { folder, formats, names };
    for shot in shots {
        let profile = match &shot.profiled.profile {
            Ok(profile) => ProfileState::Taken(writer.profile(&shot.side, profile)?),
            Err(absent) => ProfileState::Absent { absent: absent.clone() },
        };
        index.benchmarks.push(ProfiledBenchmark {
            id: shot.side.benchmark.clone(),
            origin: shot.side.origin,
            taken: occasion.taken.clone(),
            run: occasion.run.clone(),
            outcome: shot.profiled.outcome.clone(),
            profile,
        });
    }
    for shot in shots {
        if let Some(reference) = shot.reference.and_then(|at| shots.get(at)) {
            index.differences.extend(writer.differences(reference, shot)?);
        }
    }
    write_index(&folder.join(INDEX_FILE), &index, index.files(), older.files())?;
    Ok(index)
}

/// Returns the entries of other benchmarks whose files still exist.
fn others(older: &FlameIndex, shots: &[Shot], folder: &Path) -> FlameIndex {
    let again = |id: &BenchmarkId, origin: Origin| {
        shots.iter().any(|s| s.side.benchmark == *id && s.side.origin == origin)
    };
    let is_there = |file: &GraphFile| folder.join(&file.file).is_file();
    let whole =
        |b: &ProfiledBenchmark| b.profile.facts().is_none_or(|facts| facts.files.iter().all(is_there));
    let benchmarks = older.benchmarks.iter().filter(|b| !again(&b.id, b.origin) && whole(b));
    let differences = older.differences.iter().filter(|d| {
        let stays = !again(&d.reference, d.reference_origin) && !again(&d.candidate, Origin::Head);
        stays && is_there(&d.file)
    });
    FlameIndex {
        benchmarks: benchmarks.cloned().collect(),
        differences: differences.cloned().collect(),
        ..FlameIndex::default()
    }
}

/// Returns the name of a file without the extension of its format.
fn stem(file: &str) -> &str {
    let end = |format: &ProfileFormat| file.strip_suffix(format.extension())?.strip_suffix('.');
    ProfileFormat::value_variants().iter().find_map(end).unwrap_or(file)
}

struct GraphWriter<'a> {
    folder: &'a Path,
    formats: &'a [ProfileFormat],
    names: FileNames,
}

impl GraphWriter<'_> {
    fn file(
        &self,
        stem: &str,
        format: ProfileFormat,
        content: io::Result<Vec<u8>>,
    ) -> Result<GraphFile, RecordError> {
        let file = format!("{stem}.{}", format.extension());
        write_file(self.folder.join(&file), content)?;
        Ok(GraphFile { format, file })
    }

    fn profile(&mut self, side: &Side, profile: &StackProfile) -> Result<ProfileFacts, RecordError> {
        let id = &side.benchmark;
        let mut parts = vec![id.workload.as_str(), id.case.as_str(), id.variant.as_str()];
        let mut root = id.to_string();
        if side.origin == Origin::Base {
            parts.push(BASE);
            root += " (base)";
        }
        let stem = self.names.take(&parts);
        let mut files = Vec::new();
        for format in self.formats {
            let content = match format {
                ProfileFormat::Svg => flame_graph(profile, &root),
                ProfileFormat::Pprof => Ok(pprof(profile, &root)),
                ProfileFormat::Folded => Ok(profile.folded(&root).into_bytes()),
                ProfileFormat::Callgrind => Ok(callgrind(profile, &root).into_bytes()),
                ProfileFormat::Speedscope => {
                    serde_json::to_vec(&speedscope(profile, &root)).map_err(io::Error::from)
                }
            };
            files.push(self.file(&stem, *format, content)?);
        }
        let hottest = profile.hottest().into_iter().take(HOTTEST);
        Ok(ProfileFacts {
            samples: profile.samples(),
            period: profile.period(),
            unit: profile.unit.clone(),
            clock: profile.clock,
            per_iteration: profile.per_iteration(),
            iterations: profile.iterations,
            wall_ns: profile.wall_ns,
            cpu_ns: profile.cpu_ns,
            simulated: profile.simulated,
            hottest: hottest.map(|(name, share)| Hot { function: name.to_owned(), share }).collect(),
            files,
        })
    }

    /// Writes the graphs of a benchmark against its reference, if both have a profile.
    fn differences(
        &mut self,
        reference: &Shot,
        candidate: &Shot,
    ) -> Result<Vec<DifferenceGraph>, RecordError> {
        let (Some(before), Some(after)) = (reference.profile(), candidate.profile()) else {
            return Ok(Vec::new());
        };
        let id = &candidate.side.benchmark;
        let against_base = reference.side.origin == Origin::Base;
        let (case, sides) = if against_base {
            (id.to_string(), SideNames { reference: BASE, candidate: HEAD })
        } else {
            let reference = reference.side.benchmark.variant.as_str();
            (format!("{}/{}", id.workload, id.case), SideNames { reference, candidate: id.variant.as_str() })
        };
        let Some(difference) = Difference::new(before, after, &case) else { return Ok(Vec::new()) };
        let mut graphs = Vec::new();
        let mut add = |widths, file| {
            graphs.push(DifferenceGraph {
                reference: reference.side.benchmark.clone(),
                reference_origin: reference.side.origin,
                candidate: id.clone(),
                widths,
                file,
            });
        };
        for widths in [Widths::Reference, Widths::Candidate] {
            let (first, second) = match widths {
                Widths::Reference => (sides.reference, sides.candidate),
                Widths::Candidate => (sides.candidate, sides.reference),
            };
            let mut parts = vec![id.workload.as_str(), id.case.as_str()];
            if against_base {
                parts.push(id.variant.as_str());
            }
            parts.extend([first, "against", second]);
            let stem = self.names.take(&parts);
            if self.formats.contains(&ProfileFormat::Svg) {
                let svg = differential(&difference, (before, after), sides, &case, widths);
                add(Some(widths), self.file(&stem, ProfileFormat::Svg, svg)?);
            }
            // A line has room for both sides, a width has not.
            if self.formats.contains(&ProfileFormat::Folded) && widths == Widths::Reference {
                let lines = Ok(difference.folded().into_bytes());
                add(None, self.file(&stem, ProfileFormat::Folded, lines)?);
            }
        }
        Ok(graphs)
    }
}

/// Names of the two builds.
const BASE: &str = "base";
const HEAD: &str = "head";

#[cfg(test)]
mod tests {
    use perfharness_contract::OutcomeKind;
    use perfharness_record::Outcome;
    use perfharness_record::testing::profile;

    use super::*;

    fn shot(id: &str, reference: Option<usize>, stacks: &[(&str, u64)]) -> Shot {
        let side = Side {
            benchmark: id.parse().unwrap(),
            origin: Origin::Head,
            worker: 0,
            reference,
            skip: None,
            expect: OutcomeKind::Ok,
            memory_bytes: None,
            layout: None,
        };
        let profile = match stacks {
            [] => Err("nothing to see".to_owned()),
            stacks => Ok(profile(10, 1e6, stacks)),
        };
        Shot { side, reference, profiled: Profiled { outcome: Outcome::ok(), profile } }
    }

    fn pair() -> [Shot; 2] {
        [shot("w/c/slow", None, &[("run;open", 3)]), shot("w/c/fast", Some(0), &[("run;write", 1)])]
    }

    fn on(taken: &str) -> Occasion {
        Occasion { taken: taken.into(), run: None }
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    const ALL: [ProfileFormat; 5] = [
        ProfileFormat::Svg,
        ProfileFormat::Pprof,
        ProfileFormat::Folded,
        ProfileFormat::Speedscope,
        ProfileFormat::Callgrind,
    ];

    #[test]
    fn every_format_has_its_files_and_the_index_names_them_all() {
        let folder = tempfile::tempdir().unwrap();
        let index = write(folder.path(), &pair(), &ALL, Former::Kept, &on("now")).unwrap();
        let due = [
            "index.json",
            "w-c-fast-against-slow.svg",
            "w-c-fast.callgrind",
            "w-c-fast.folded",
            "w-c-fast.pb",
            "w-c-fast.speedscope.json",
            "w-c-fast.svg",
            "w-c-slow-against-fast.folded",
            "w-c-slow-against-fast.svg",
            "w-c-slow.callgrind",
            "w-c-slow.folded",
            "w-c-slow.pb",
            "w-c-slow.speedscope.json",
            "w-c-slow.svg",
        ];
        assert_eq!(names(folder.path()), due);
        let mut listed: Vec<&str> = index.files().collect();
        listed.sort_unstable();
        assert_eq!(listed, due[1..]);
        assert_eq!(FlameIndex::read(folder.path()).unwrap().unwrap(), index);
        let folded = std::fs::read_to_string(folder.path().join("w-c-slow-against-fast.folded")).unwrap();
        assert_eq!(folded, "w/c;run;open 300000 0\nw/c;run;write 0 100000\n");
        let hottest = &index.benchmarks[0].profile.facts().unwrap().hottest;
        assert_eq!(hottest, &[Hot { function: "open".into(), share: 1.0 }]);
    }

    #[test]
    fn what_has_no_profile_is_listed_and_has_no_difference() {
        let folder = tempfile::tempdir().unwrap();
        let [slow, _] = pair();
        let shots = [slow, shot("w/c/fast", Some(0), &[])];
        let index = write(folder.path(), &shots, &[ProfileFormat::Svg], Former::Kept, &on("now")).unwrap();
        assert_eq!(names(folder.path()), ["index.json", "w-c-slow.svg"]);
        let absent = ProfileState::Absent { absent: "nothing to see".into() };
        assert_eq!(index.benchmarks[1].profile, absent);
        assert!(index.differences.is_empty());
    }

    #[test]
    fn graphs_of_others_stay_or_go_and_nothing_else_is_touched() {
        let folder = tempfile::tempdir().unwrap();
        let svg = [ProfileFormat::Svg];
        std::fs::write(folder.path().join("mine.svg"), "").unwrap();
        write(folder.path(), &pair(), &svg, Former::Kept, &on("first")).unwrap();
        let again = [shot("w/c/fast", None, &[("run", 1)]), shot("x/c/v", None, &[("run", 1)])];
        let index = write(folder.path(), &again, &svg, Former::Kept, &on("second")).unwrap();
        // Its differences came from an older profile.
        assert_eq!(
            names(folder.path()),
            ["index.json", "mine.svg", "w-c-fast.svg", "w-c-slow.svg", "x-c-v.svg"]
        );
        let taken: Vec<(String, &str)> =
            index.benchmarks.iter().map(|b| (b.id.to_string(), b.taken.as_str())).collect();
        let due = [("w/c/slow", "first"), ("w/c/fast", "second"), ("x/c/v", "second")];
        assert_eq!(taken, due.map(|(id, taken)| (id.to_owned(), taken)));
        write(folder.path(), &again[1..], &svg, Former::Replaced, &on("third")).unwrap();
        assert_eq!(names(folder.path()), ["index.json", "mine.svg", "x-c-v.svg"]);
    }

    #[test]
    fn a_base_is_told_from_the_code_here() {
        let folder = tempfile::tempdir().unwrap();
        let mut base = shot("w/c/v", None, &[("run;open", 3)]);
        base.side.origin = Origin::Base;
        let shots = [base, shot("w/c/v", Some(0), &[("run;open", 1)])];
        let index = write(folder.path(), &shots, &[ProfileFormat::Svg], Former::Kept, &on("now")).unwrap();
        let due = [
            "index.json",
            "w-c-v-base-against-head.svg",
            "w-c-v-base.svg",
            "w-c-v-head-against-base.svg",
            "w-c-v.svg",
        ];
        assert_eq!(names(folder.path()), due);
        let id = "w/c/v".parse().unwrap();
        assert_eq!(index.flame_graph(&id), Some("w-c-v.svg"));
        assert_eq!(index.differential(&id, &id, Widths::Reference), None, "a base is not another benchmark");
        let removed = std::fs::read_to_string(folder.path().join("w-c-v-base-against-head.svg")).unwrap();
        assert!(removed.contains("w/c/v: base against head"));
    }
}
