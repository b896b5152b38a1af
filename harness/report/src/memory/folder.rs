//! Writes a folder of memory stories.

use std::io;
use std::path::Path;

use perfharness_record::file::RecordError;
use perfharness_record::memory::{findings, verdict};
use perfharness_record::{Followed, MemoryStory, Side};

use super::index::{FollowedBenchmark, INDEX_FILE, MemoryFacts, MemoryIndex, MemoryState};
use super::plot::memory_plot;
use super::sentence;
use crate::file_names::FileNames;
use crate::folder::{write_file, write_index};

/// A benchmark to follow and the result.
#[derive(Clone, Debug)]
pub struct Course {
    /// The benchmark.
    pub side: Side,
    /// The story, or the reason for its absence.
    pub followed: Followed,
}

/// Writes the pictures of these benchmarks and then the index. Keeps the entries of other benchmarks.
///
/// # Errors
/// Returns an error if a file cannot be written.
pub fn write(folder: &Path, courses: &[Course], taken: &str) -> Result<MemoryIndex, RecordError> {
    // An unreadable index loses nothing: this call replaces it in any case.
    let older = MemoryIndex::read(folder).ok().flatten().unwrap_or_default();
    let again = |b: &&FollowedBenchmark| courses.iter().any(|course| course.side.benchmark == b.id);
    let is_there = |b: &&FollowedBenchmark| b.memory.facts().is_none_or(|f| folder.join(&f.file).is_file());
    let others = older.benchmarks.iter().filter(|b| !again(b)).filter(is_there);
    let mut index = MemoryIndex { benchmarks: others.cloned().collect(), ..MemoryIndex::default() };
    let stems = index.files().map(|file| file.strip_suffix(".svg").unwrap_or(file));
    let mut names = FileNames::divided_by("-").without(stems);
    for Course { side, followed } in courses {
        let memory = match &followed.story {
            Ok(story) => {
                let id = &side.benchmark;
                let parts = [id.workload.as_str(), id.case.as_str(), id.variant.as_str()];
                let facts = facts(story, format!("{}.svg", names.take(&parts)));
                let svg = memory_plot(&id.to_string(), &facts).map_err(io::Error::other);
                write_file(folder.join(&facts.file), svg.map(String::into_bytes))?;
                MemoryState::Taken(facts)
            }
            Err(absent) => MemoryState::Absent { absent: absent.clone() },
        };
        let (id, outcome) = (side.benchmark.clone(), followed.outcome.clone());
        index.benchmarks.push(FollowedBenchmark { id, taken: taken.to_owned(), outcome, memory });
    }
    write_index(&folder.join(INDEX_FILE), &index, index.files(), older.files())?;
    Ok(index)
}

fn facts(story: &MemoryStory, file: String) -> MemoryFacts {
    let series = findings(story);
    MemoryFacts {
        verdict: verdict(&series),
        sentence: sentence(story, &series),
        asked: story.asked,
        iterations: story.iterations(),
        iteration_ns: story.iteration_ns,
        series,
        points: story.points.clone(),
        absent: story.absent.clone(),
        file,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use perfharness_contract::OutcomeKind;
    use perfharness_record::{MemoryPoint, Origin, Outcome};

    use super::*;

    fn course(id: &str, leak: Option<f64>) -> Course {
        let side = Side {
            benchmark: id.parse().unwrap(),
            origin: Origin::Head,
            worker: 0,
            reference: None,
            skip: None,
            expect: OutcomeKind::Ok,
            memory_bytes: None,
            layout: None,
        };
        let point = |at: u64, leak: f64| MemoryPoint {
            iterations: at * 20,
            heap: Some(leak * (at * 20) as f64),
            resident: Some(8e6),
            fragmentation: Some(0.25),
            ..MemoryPoint::default()
        };
        let story = leak.map(|leak| MemoryStory {
            asked: 1000,
            iteration_ns: 1e6,
            points: (0..=50).map(|at| point(at, leak)).collect(),
            absent: BTreeMap::new(),
        });
        let followed =
            Followed { outcome: Outcome::ok(), story: story.ok_or_else(|| "nothing to see".to_owned()) };
        Course { side, followed }
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn each_story_has_its_picture_and_those_of_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let first =
            [course("w/c/flat", Some(0.0)), course("w/c/leaks", Some(1024.0)), course("w/c/none", None)];
        let index = write(folder.path(), &first, "first").unwrap();
        assert_eq!(names(folder.path()), ["index.json", "w-c-flat.svg", "w-c-leaks.svg"]);
        assert_eq!(MemoryIndex::read(folder.path()).unwrap().unwrap(), index);
        let svg = std::fs::read_to_string(folder.path().join("w-c-leaks.svg")).unwrap();
        assert!(svg.contains("<title") && svg.contains("w/c/leaks"), "{svg}");
        assert!(svg.contains("<desc") && svg.contains("grows by 1,024 bytes per iteration"), "{svg}");
        assert_eq!(svg.matches("<svg").count(), 1);

        let again = write(folder.path(), &[course("w/c/leaks", None)], "second").unwrap();
        assert_eq!(names(folder.path()), ["index.json", "w-c-flat.svg"]);
        let taken: Vec<(String, &str)> =
            again.benchmarks.iter().map(|b| (b.id.to_string(), b.taken.as_str())).collect();
        let due = [("w/c/flat", "first"), ("w/c/none", "first"), ("w/c/leaks", "second")];
        assert_eq!(taken, due.map(|(id, taken)| (id.to_owned(), taken)));
    }
}
