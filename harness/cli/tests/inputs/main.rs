//! Damaged inputs of every kind: none makes the program panic, hang, or take more memory than is stated, and no damaged
//! baseline is taken for one.
//!
//! `PERFHARNESS_DAMAGED_INPUTS` sets how many there are of each kind, in thousandths of the usual number, and
//! `PERFHARNESS_DAMAGED_SEED` which.

#[cfg(test)]
mod damage;

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Duration;
    use std::{fs, thread};

    use perfharness::inputs::KINDS;
    use perfharness_platform::{env, self_peak_rss_bytes};
    use rstest::rstest;

    use crate::damage::Damage;

    /// Limits of one input.
    const PATIENCE: Duration = Duration::from_secs(10);

    /// Limit of all inputs of a kind together, at any time.
    const MOST_BYTES: u64 = 256_000_000;

    fn number(variable: &str, otherwise: u64) -> u64 {
        env::var(variable).map_or(otherwise, |text| text.parse().expect(variable))
    }

    fn corpus(kind: &str) -> Vec<(PathBuf, Vec<u8>)> {
        // A page is made of a record, and both tests have the same ones.
        let folder = if kind == "page" { "record" } else { kind };
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let read = |path: PathBuf| (path.clone(), fs::read(path).unwrap());
        let entries = fs::read_dir(root.join("../fuzz/corpus").join(folder)).unwrap();
        let mut files: Vec<_> = entries.map(|entry| read(entry.unwrap().path())).collect();
        if folder == "record" {
            files.push(read(root.join("tests/fixtures/record.json")));
        }
        files.sort();
        files
    }

    fn function(kind: &str) -> fn(&[u8]) -> bool {
        KINDS.iter().find(|(name, _)| *name == kind).unwrap().1
    }

    #[test]
    fn every_file_of_the_corpus_is_what_its_folder_says() {
        for (kind, read) in KINDS {
            let files = corpus(kind);
            assert!(!files.is_empty(), "{kind}");
            for (path, content) in files {
                assert!(read(&content), "{} is refused", path.display());
            }
        }
    }

    #[rstest]
    #[case::record("record", 3_500)]
    #[case::page("page", 150)]
    #[case::samples("samples", 3_000)]
    #[case::baseline("baseline", 4_000)]
    #[case::calibration("calibration", 2_000)]
    #[case::journal("journal", 2_000)]
    #[case::configuration("configuration", 3_000)]
    #[case::frames("frames", 2_500)]
    #[case::gate("gate", 2_500)]
    #[case::index("index", 1_500)]
    fn damaged_inputs_are_refused_or_read_without_panic_or_delay(
        #[case] kind: &'static str,
        #[case] usual: u64,
    ) {
        let inputs = usual * number("PERFHARNESS_DAMAGED_INPUTS", 1_000) / 1_000;
        let seed = number("PERFHARNESS_DAMAGED_SEED", 20_260_101);
        if kind == "samples" {
            // Panics of the library that decodes them are caught, and a backtrace of one takes 200 MB by itself.
            std::panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
        }
        let before = self_peak_rss_bytes();
        let (told, hear) = channel();
        let worker = thread::spawn(move || {
            let (read, files) = (function(kind), corpus(kind));
            let valid: Vec<Vec<u8>> = files.into_iter().map(|(_, content)| content).collect();
            let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("damaged-{kind}"));
            let mut taken = 0;
            for number in 0..inputs {
                let mut damage = Damage::new(seed.wrapping_mul(1_000_003).wrapping_add(number) << 1);
                let own = &valid[number as usize % valid.len()];
                let content = damage.of(own, &valid);
                // The last input stays for inspection after a panic or a hang.
                fs::write(&kept, &content).unwrap();
                let is_taken = read(&content);
                if ["baseline", "calibration"].contains(&kind) {
                    assert!(!is_taken || is_undamaged(&content, &valid), "{} is accepted", kept.display());
                }
                taken += u64::from(is_taken);
                told.send(()).unwrap();
            }
            fs::remove_file(kept).unwrap();
            taken
        });
        for number in 0..inputs {
            match hear.recv_timeout(PATIENCE) {
                Ok(()) => {}
                Err(RecvTimeoutError::Timeout) => panic!("{kind} {number} of seed {seed} takes too long"),
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("{kind} {number} of seed {seed} is not survived")
                }
            }
        }
        let taken = worker.join().unwrap();
        assert!(taken < inputs, "no input of {inputs} was damaged");
        if let (Some(before), Some(after)) = (before, self_peak_rss_bytes()) {
            let grown = after.saturating_sub(before);
            eprintln!("{kind}: {taken} of {inputs} were read; {} MB more at the peak", grown / 1_000_000);
            assert!(grown <= MOST_BYTES, "{kind} took {grown} bytes");
        }
    }

    /// Whether a baseline is what was written, or that without whole benchmarks: each has a line of its own, so that changes
    /// of different ones can be merged, and what is not there is for git to show.
    fn is_undamaged(content: &[u8], valid: &[Vec<u8>]) -> bool {
        let lines = |content: &[u8]| -> Vec<String> {
            let text = String::from_utf8_lossy(content).into_owned();
            text.lines().map(|line| line.trim_end_matches(['\r', ',']).to_owned()).collect()
        };
        let found = lines(content);
        valid.iter().any(|valid| {
            let due = lines(valid);
            let mut rest = due.iter();
            let is_benchmark = |line: &String| line.starts_with("{\"id\":");
            found.iter().all(|line| rest.any(|known| known == line))
                && due.iter().filter(|line| !is_benchmark(line)).all(|line| found.contains(line))
        })
    }
}
