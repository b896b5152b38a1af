//! Workloads as criterion benchmarks, for criterion's report and plots. The harness itself measures and judges without
//! criterion.

use std::any::Any;
use std::fmt::Display;
use std::io::{self, IsTerminal as _};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use criterion::{Bencher, Criterion, Throughput};
use perfharness_contract::{BenchmarkId, Check, Effort, Failure, Measured, OutcomeKind, Setup, Workload};
use perfharness_platform::clock;
use tempfile::TempDir;

/// Seed of every input.
const SEED: u64 = 1;

/// Creates a criterion benchmark `workload/case/variant` for every benchmark whose case a quick run measures.
/// Criterion's own filter selects among them, and nothing is prepared for those that it leaves out.
///
/// Each sample of criterion uses the inputs of its own round. Making them is not timed; waiting for the end of the work
/// that an iteration started is. Benchmarks that are declared as skipped, or as not ending well, are left out. A
/// benchmark that is unavailable on this machine is reported as skipped, with its reason.
///
/// # Panics
/// Panics if a variant fails, or if its result is wrong, because a wrong result has no time. The result is checked
/// after the first sample, before criterion shows a figure, and after the last.
pub fn bench_all(criterion: &mut Criterion, workloads: &[Workload]) {
    for workload in workloads {
        let definition = workload.definition();
        let benchmarks = workload.benchmarks();
        for case in definition.cases.iter().filter(|case| case.efforts.contains(&Effort::Quick)) {
            let mut group = criterion.benchmark_group(format!("{}/{}", definition.id, case.id));
            if let Some(items) = &case.items {
                group.throughput(Throughput::Elements(items.count));
            }
            let of_case = benchmarks.iter().filter(|id| id.case == case.id);
            for id in
                of_case.filter(|id| definition.benchmark(&id.case, &id.variant).expect == OutcomeKind::Ok)
            {
                let mut placement = None;
                let benched = catch_unwind(AssertUnwindSafe(|| {
                    group.bench_function(id.variant.as_str(), |bencher| {
                        placement.get_or_insert_with(|| Placement::new(workload, id)).sample(bencher);
                    });
                }));
                match benched {
                    Ok(()) => placement.into_iter().for_each(Placement::finish),
                    Err(panic) => report_skipped(id, panic),
                }
            }
            group.finish();
        }
    }
}

/// Panic payload that ends a benchmark that is unavailable here. Criterion cannot leave the function that it calls
/// without a time, so this unwinds without invoking the panic hook.
struct Skipped(String);

#[expect(
    clippy::print_stderr,
    reason = "criterion prints, and a skipped benchmark says so in the same place"
)]
fn report_skipped(id: &BenchmarkId, panic: Box<dyn Any + Send>) {
    match panic.downcast::<Skipped>() {
        Ok(skipped) => {
            // On a terminal, criterion's last line has no line end, because criterion overwrites it.
            let end = if io::stderr().is_terminal() { "\n" } else { "" };
            eprintln!("{end}{id}: skipped: {}", skipped.0);
        }
        Err(panic) => resume_unwind(panic),
    }
}

/// A prepared variant, and the state of its last iteration.
struct Placement<'a> {
    id: &'a BenchmarkId,
    measured: Box<dyn Measured>,
    /// Index of the last iteration, and whether its result was checked.
    last: Option<(u64, bool)>,
    round: u64,
    _setup: Setup,
    /// Declared last, so that it is removed when no variant has a file open in it.
    _scratch: TempDir,
}

impl<'a> Placement<'a> {
    fn new(workload: &Workload, id: &'a BenchmarkId) -> Self {
        let scratch = tempfile::tempdir().unwrap_or_else(|error| fail(id, error));
        let setup = workload.setup(SEED, "auto", scratch.path());
        let measured = match workload.construct(&id.case, &id.variant, &setup) {
            Ok(measured) => measured,
            Err(Failure::Unavailable(reason)) => resume_unwind(Box::new(Skipped(reason))),
            Err(failure) => fail(id, failure),
        };
        Self { id, measured, last: None, round: 0, _setup: setup, _scratch: scratch }
    }

    /// Runs one of criterion's samples on the next round.
    fn sample(&mut self, bencher: &mut Bencher<'_>) {
        let id = self.id;
        self.measured.load(self.round).unwrap_or_else(|failure| fail(id, failure));
        bencher.iter_custom(|iterations| self.run(iterations).unwrap_or_else(|failure| fail(id, failure)));
        if self.round == 0 {
            self.check();
        }
        self.round += 1;
    }

    fn run(&mut self, iterations: u64) -> Result<Duration, Failure> {
        let start = clock::now();
        for index in 0..iterations {
            self.measured.run(index)?;
        }
        self.measured.fence()?;
        let wall = start.elapsed();
        self.last = iterations.checked_sub(1).map(|index| (index, false));
        Ok(wall)
    }

    fn check(&mut self) {
        let Some((index, checked @ false)) = &mut self.last else { return };
        *checked = true;
        match self.measured.check(*index) {
            Ok(Check { passed: true, .. }) => {}
            Ok(Check { message, .. }) => {
                let message = message.unwrap_or_else(|| "the result differs from the reference".into());
                fail(self.id, format!("wrong result: {message}"))
            }
            Err(failure) => fail(self.id, failure),
        }
    }

    fn finish(mut self) {
        self.check();
    }
}

fn fail(id: &BenchmarkId, why: impl Display) -> ! {
    panic!("{id}: {why}")
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::path::PathBuf;
    use std::rc::Rc;

    use perfharness_contract::{Case, Role};

    use super::*;

    /// Messages about the calls of all variants.
    type Log = Rc<RefCell<Vec<String>>>;

    struct Toy {
        log: Log,
        id: &'static str,
        scratch: PathBuf,
        round: u64,
        iterations: u64,
        ran: u64,
    }

    impl Toy {
        fn log(&self, what: &str) {
            self.log.borrow_mut().push(format!("{} {what}", self.id));
        }
    }

    impl Measured for Toy {
        fn load(&mut self, round: u64) -> Result<(), Failure> {
            assert!(self.scratch.is_dir());
            self.round = round;
            self.iterations = 0;
            Ok(())
        }

        fn run(&mut self, index: u64) -> Result<(), Failure> {
            assert_eq!(index, self.iterations);
            self.iterations += 1;
            self.ran += 1;
            std::thread::sleep(Duration::from_micros(10));
            match self.id {
                "broken" => Err(Failure::Failed("no luck".into())),
                _ => Ok(()),
            }
        }

        fn fence(&mut self) -> Result<(), Failure> {
            std::thread::sleep(Duration::from_micros(10));
            Ok(())
        }

        fn check(&mut self, index: u64) -> Result<Check, Failure> {
            assert_eq!(index + 1, self.iterations);
            self.log(&format!("checked in round {}", self.round));
            let wrong = self.id == "wrong" || (self.id == "wrong-later" && self.ran > 1);
            Ok(if wrong {
                Check::wrong("2 instead of 1")
            } else {
                Check { passed: true, ..Check::default() }
            })
        }
    }

    impl Drop for Toy {
        fn drop(&mut self) {
            assert!(self.scratch.is_dir(), "files outlive what has them open");
            self.log("dropped");
        }
    }

    fn workload(log: &Log, variants: &[&'static str]) -> Workload {
        let mut workload = Workload::builder("toy", 1, "")
            .case(Case::new("small", ()).items(10, "things"))
            .case(Case::new("large", ()).efforts(&[Effort::Standard]));
        for &id in variants {
            let log = Rc::clone(log);
            workload = workload.variant(id, Role::Other, "", move |(), setup| {
                log.borrow_mut().push(format!("{id} prepared"));
                if id == "unavailable" {
                    return Err(Failure::Unavailable("needs a GPU".into()));
                }
                let scratch = setup.scratch().to_owned();
                Ok(Toy { log: Rc::clone(&log), id, scratch, round: 0, iterations: 0, ran: 0 })
            });
            workload = match id {
                "skipped" => workload.skip("small", id, "takes for ever"),
                "expected-oom" => workload.expect("small", id, OutcomeKind::OutOfMemory),
                _ => workload,
            };
        }
        workload.build()
    }

    /// Benches variants for a moment, and returns the messages and, if it panicked, the panic message.
    fn bench(variants: &[&'static str], filter: &str) -> (Vec<String>, Option<String>) {
        let log = Log::default();
        let output = tempfile::tempdir().unwrap();
        let moment = Duration::from_millis(1);
        let mut criterion = Criterion::default()
            .warm_up_time(moment)
            .measurement_time(moment)
            .sample_size(10)
            .nresamples(1001)
            .without_plots()
            .output_directory(output.path())
            .with_filter(filter);
        let workloads = [workload(&log, variants)];
        let ended = catch_unwind(AssertUnwindSafe(|| bench_all(&mut criterion, &workloads)));
        let panic = ended.err().map(|panic| *panic.downcast::<String>().unwrap());
        (log.take(), panic)
    }

    #[test]
    fn a_variant_is_checked_before_its_figures_and_after_them() {
        let (log, panic) = bench(&["plain"], "");
        assert_eq!(panic, None);
        assert_eq!(log.len(), 4, "{log:?}");
        assert_eq!(log[..2], ["plain prepared", "plain checked in round 0"]);
        assert!(log[2].starts_with("plain checked in round ") && log[2] != log[1], "{log:?}");
        assert_eq!(log[3], "plain dropped");
    }

    #[test]
    fn only_what_the_filter_chooses_is_prepared() {
        let (log, panic) = bench(&["plain", "other"], "toy/small/other");
        assert_eq!(panic, None);
        assert!(!log.is_empty() && log.iter().all(|line| line.starts_with("other ")), "{log:?}");
    }

    #[test]
    fn what_cannot_run_here_is_skipped_and_the_rest_goes_on() {
        let (log, panic) = bench(&["skipped", "expected-oom", "unavailable", "plain"], "");
        assert_eq!(panic, None);
        assert_eq!(log[..2], ["unavailable prepared", "plain prepared"]);
        assert_eq!(log.last().unwrap(), "plain dropped");
    }

    #[test]
    fn a_wrong_result_ends_the_bench() {
        let wrong = |id| Some(format!("toy/small/{id}: wrong result: 2 instead of 1"));
        let (log, panic) = bench(&["wrong", "plain"], "");
        assert_eq!(panic, wrong("wrong"));
        assert_eq!(log, ["wrong prepared", "wrong checked in round 0", "wrong dropped"]);
        let (log, panic) = bench(&["wrong-later"], "");
        assert_eq!(panic, wrong("wrong-later"));
        assert_eq!(log.len(), 4, "{log:?}");
    }

    #[test]
    fn a_failure_ends_the_bench() {
        let (_, panic) = bench(&["broken"], "");
        assert_eq!(panic.as_deref(), Some("toy/small/broken: no luck"));
    }
}
