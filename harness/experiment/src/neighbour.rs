//! Another process that keeps one core busy in bursts, like the other users of a shared machine.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use perfharness_platform::clock;

/// Process of the neighbour, which ends when this value is dropped.
pub(crate) struct Neighbour(Child);

impl Neighbour {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let program = std::env::current_exe()?;
        Ok(Self(Command::new(program).arg("neighbour").stdin(Stdio::piped()).spawn()?))
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Works in bursts of 20 to 500 ms with pauses of 5 to 50 ms: one core is busy for about nine tenths of the time, with
/// the memory traffic of a 16 MiB buffer. Ends with the process that started it.
pub(crate) fn work() -> anyhow::Result<()> {
    std::thread::spawn(|| {
        // The input ends when the parent ends.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        #[expect(clippy::exit, reason = "the parent is gone, and this process has nothing to finish")]
        std::process::exit(0);
    });
    let mut buffer = vec![1_u64; 2 << 20];
    let mut state = 1_u64;
    let mut random = |low: u64, high: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        low + (state >> 33) % (high - low)
    };
    loop {
        let burst = Duration::from_millis(random(20, 500));
        let start = clock::now();
        while start.elapsed() < burst {
            for value in &mut buffer {
                *value = value.wrapping_mul(3).wrapping_add(1);
            }
            std::hint::black_box(&buffer);
        }
        std::thread::sleep(Duration::from_millis(random(5, 50)));
    }
}
