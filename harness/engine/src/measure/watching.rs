//! State of the telemetry of a run: a fold over the messages of the telemetry process.

use std::collections::BTreeMap;

use crate::telemetry::{News, ProcessReading, Tick, Watched};

/// Readings so far, and the workers that they belong to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WatchState {
    /// List of the quantities that are watched; absent before the first message, and if nothing is watched.
    pub watched: Option<Watched>,
    /// Readings, in order of time.
    pub ticks: Vec<WatchedTick>,
    /// Reason why readings ended early, if they did.
    pub lost: Option<String>,
    /// Workers by process id. Ids are reused, and the latest worker counts.
    workers: BTreeMap<u32, WorkerRef>,
}

/// One reading, with the readings of workers assigned to them.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchedTick {
    /// The reading.
    pub tick: Tick,
    /// Readings of the workers.
    pub workers: Vec<(WorkerRef, ProcessReading)>,
}

/// A worker process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerRef {
    /// Its case.
    pub case: usize,
    /// Its side.
    pub side: usize,
    /// Its launch.
    pub launch: u32,
}

impl WatchState {
    pub(super) fn opened(&mut self, pid: u32, worker: WorkerRef) {
        self.workers.insert(pid, worker);
    }

    pub(super) fn apply(&mut self, news: &News) {
        match news {
            News::Began(watched) => {
                // A resumed run has a new telemetry process.
                self.lost = None;
                self.watched = Some(watched.clone());
            }
            News::Tick(tick) => {
                let worker = |reading: &ProcessReading| Some((*self.workers.get(&reading.pid)?, *reading));
                let workers = tick.processes.iter().filter_map(worker).collect();
                self.ticks.push(WatchedTick { tick: tick.clone(), workers });
            }
            News::Lost { reason } => self.lost = Some(reason.clone()),
        }
    }
}
