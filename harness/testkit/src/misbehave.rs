//! Variants that fail, each in one way.

use std::hint::black_box;
use std::thread;
use std::time::Duration;

use perfharness_contract::protocol::FRAME_START;
use perfharness_contract::{
    Case, Check, Counter, Failure, Measured, MetricDef, OutcomeKind, Role, Setup, Workload, input_rng,
};
use perfharness_known_work::Spin;
use rand_pcg::rand_core::Rng as _;
use serde::Serialize;

const STEPS: &str = "steps";
/// Number of right iterations of `wrong-later`: more than all checks before timing, less than one sample.
const RIGHT_AT_FIRST: u64 = 20;
/// Sample in which `crash` aborts.
const LAST_SAMPLE: u64 = 3;
/// Number of iterations that `hang` answers.
const AWAKE: u64 = 3;
const CHUNK_BYTES: usize = 64 << 20;

/// Parameters of the case.
#[derive(Debug, Serialize)]
struct Params {
    steps: u64,
}

/// Fault of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    Wrong,
    WrongLater,
    Memo,
    LessWork,
    Crash,
    Exit,
    Panic,
    Hang,
    OutOfMemory,
    Error,
    Print,
}

/// Variants that can be prepared: their names, faults and summaries.
const VARIANTS: &[(&str, Fault, &str)] = &[
    ("wrong", Fault::Wrong, "its result is off by one"),
    ("wrong-later", Fault::WrongLater, "its result drifts off after some iterations"),
    ("memo", Fault::Memo, "remembers its first result and returns it ever after"),
    ("less-work", Fault::LessWork, "finds the right result with half of the work"),
    ("crash", Fault::Crash, "aborts in its third sample"),
    ("exit", Fault::Exit, "exits with code 7"),
    ("panic", Fault::Panic, "panics"),
    ("hang", Fault::Hang, "sleeps for ever after some iterations"),
    ("oom", Fault::OutOfMemory, "asks for memory without end"),
    ("expected-oom", Fault::OutOfMemory, "asks for memory without end, as it is expected to"),
    ("error", Fault::Error, "reports an error"),
    ("print", Fault::Print, "prints what looks like frames, and is right"),
];

/// Returns the workload `misbehave`.
pub(crate) fn workload() -> Workload {
    let mut workload = Workload::builder("misbehave", 1, "Every way to go wrong")
        .metric(MetricDef::work(STEPS, "steps"))
        .case(Case::new("c", Params { steps: 40_000 }))
        .variant("good", Role::Slow, "does nothing wrong", |p, setup| {
            Ok(Misbehaving::new(Fault::None, p, setup))
        });
    for &(id, fault, summary) in VARIANTS {
        workload = workload.variant(id, Role::Other, summary, move |params, setup| {
            Ok(Misbehaving::new(fault, params, setup))
        });
    }
    workload
        .variant("unavailable", Role::Other, "cannot be prepared here", |_, _| {
            Err::<Misbehaving, _>(Failure::Unavailable("needs a GPU".into()))
        })
        .expect("c", "expected-oom", OutcomeKind::OutOfMemory)
        .build()
}

#[derive(Debug)]
struct Misbehaving {
    fault: Fault,
    seed: u64,
    steps: u64,
    counter: Counter,
    round_key: u64,
    result: u64,
    memo: Option<u64>,
    /// Number of iterations since it was prepared.
    runs: u64,
    /// Number of iterations since the last load; 0 once that load is known not to be for a sample.
    runs_of_round: u64,
    /// Number of loads that were for a sample.
    samples: u64,
}

impl Misbehaving {
    fn new(fault: Fault, params: &Params, setup: &Setup) -> Self {
        Self {
            fault,
            seed: setup.seed(),
            steps: params.steps,
            counter: setup.counter(STEPS),
            round_key: 0,
            result: 0,
            memo: None,
            runs: 0,
            runs_of_round: 0,
            samples: 0,
        }
    }

    fn input(&self, index: u64) -> u64 {
        self.round_key.wrapping_add(index)
    }

    /// Computes the right result, with all of the work.
    fn work(&self, index: u64) -> u64 {
        self.counter.add(self.steps);
        Spin::chain(self.input(index), self.steps)
    }
}

impl Measured for Misbehaving {
    fn load(&mut self, round: u64) -> Result<(), Failure> {
        self.round_key = input_rng(self.seed, "misbehave", round).next_u64();
        self.runs_of_round = 0;
        self.samples += 1;
        Ok(())
    }

    fn run(&mut self, index: u64) -> Result<(), Failure> {
        self.runs += 1;
        self.runs_of_round += 1;
        self.result = match self.fault {
            Fault::Crash if self.samples >= LAST_SAMPLE => std::process::abort(),
            Fault::Hang if self.runs > AWAKE => hang(),
            Fault::None | Fault::Crash | Fault::Hang => self.work(index),
            Fault::Wrong => self.work(index).wrapping_add(1),
            Fault::WrongLater => self.work(index).wrapping_add(self.runs.saturating_sub(RIGHT_AT_FIRST)),
            Fault::Memo => match self.memo {
                Some(result) => {
                    // It reports all of the work, so that only its result can reveal it.
                    self.counter.add(self.steps);
                    result
                }
                None => *self.memo.insert(self.work(index)),
            },
            Fault::LessWork => {
                let half = self.steps / 2;
                self.counter.add(half);
                Spin::jump(Spin::chain(self.input(index), half), self.steps - half)
            }
            Fault::Exit => exit(),
            Fault::Panic => panic!("a planted panic"),
            Fault::OutOfMemory => exhaust_memory(),
            Fault::Error => return Err(Failure::Failed("a planted error".into())),
            Fault::Print => {
                print(index);
                self.work(index)
            }
        };
        Ok(())
    }

    fn check(&mut self, index: u64) -> Result<Check, Failure> {
        if self.runs_of_round == 1 {
            // A single iteration that is checked was not a sample.
            self.samples -= 1;
            self.runs_of_round = 0;
        }
        let due = Spin::jump(self.input(index), self.steps);
        Ok(Check::exact(&due.to_le_bytes(), &self.result.to_le_bytes()))
    }
}

#[expect(clippy::exit, reason = "this simulates a library that ends the process")]
fn exit() -> ! {
    std::process::exit(7)
}

fn hang() -> ! {
    loop {
        thread::sleep(Duration::from_hours(1));
    }
}

fn exhaust_memory() -> ! {
    let mut held: Vec<Vec<u8>> = Vec::new();
    loop {
        // Every byte is written, so that the memory is resident.
        held.push(black_box(vec![1; CHUNK_BYTES]));
    }
}

#[expect(clippy::print_stdout, reason = "this simulates a library that prints")]
fn print(index: u64) {
    println!("iteration {index}");
    println!("{FRAME_START}1,\"id\":{index},\"ok\":{{}}}}");
    // Without a line end, so that the next answer follows on the same line.
    print!("{FRAME_START}1,\"id\":");
}

#[cfg(test)]
mod tests {
    use perfharness_contract::Name;

    use super::*;

    fn construct(variant: &str) -> Result<Box<dyn Measured>, Failure> {
        let workload = workload();
        let name = |text: &str| Name::new(text).unwrap();
        workload.construct(&name("c"), &name(variant), &workload.setup(1, "none", "unused"))
    }

    fn fresh_check(variant: &mut dyn Measured, round: u64, index: u64) -> bool {
        variant.load(round).unwrap();
        variant.run(index).unwrap();
        variant.check(index).unwrap().passed
    }

    fn sample_and_check(variant: &mut dyn Measured, round: u64, iterations: u64) -> bool {
        variant.load(round).unwrap();
        (0..iterations).for_each(|index| variant.run(index).unwrap());
        variant.check(iterations - 1).unwrap().passed
    }

    #[test]
    fn good_is_right_and_wrong_is_wrong() {
        let mut good = construct("good").unwrap();
        assert!(fresh_check(good.as_mut(), 900, 0));
        assert!(sample_and_check(good.as_mut(), 0, 100));
        assert!(!fresh_check(construct("wrong").unwrap().as_mut(), 900, 0));
    }

    #[test]
    fn wrong_later_passes_fresh_checks_and_drifts_in_a_sample() {
        let mut variant = construct("wrong-later").unwrap();
        assert!(fresh_check(variant.as_mut(), 900, 0));
        assert!(fresh_check(variant.as_mut(), 901, 1));
        assert!(!sample_and_check(variant.as_mut(), 0, RIGHT_AT_FIRST));
    }

    #[test]
    fn memo_returns_a_stale_value() {
        let mut variant = construct("memo").unwrap();
        assert!(fresh_check(variant.as_mut(), 900, 0));
        assert!(fresh_check(variant.as_mut(), 900, 0), "the first input is what it remembers");
        assert!(!fresh_check(variant.as_mut(), 900, 1));
        assert!(!fresh_check(variant.as_mut(), 901, 0));
    }

    #[test]
    fn less_work_is_right() {
        let mut variant = construct("less-work").unwrap();
        assert!(fresh_check(variant.as_mut(), 900, 0));
        assert!(sample_and_check(variant.as_mut(), 0, 10));
    }

    #[test]
    fn checks_are_no_samples_to_crash() {
        let mut variant = construct("crash").unwrap();
        for round in 0..10 {
            assert!(fresh_check(variant.as_mut(), round, 0));
        }
        assert!(sample_and_check(variant.as_mut(), 10, 2));
        assert!(sample_and_check(variant.as_mut(), 11, 2));
    }

    #[test]
    fn error_and_unavailable_are_failures_of_their_kind() {
        let mut variant = construct("error").unwrap();
        variant.load(0).unwrap();
        assert!(matches!(variant.run(0), Err(Failure::Failed(_))));
        assert!(
            matches!(construct("unavailable"), Err(Failure::Unavailable(reason)) if reason == "needs a GPU")
        );
    }
}
