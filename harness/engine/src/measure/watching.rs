//! What was heard of the process that watches: a fold over its news.

use std::collections::BTreeMap;

use crate::telemetry::{News, ProcessReading, Tick, Watched};

/// Everything that was heard, and which worker each process was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WatchState {
    /// What is watched; absent where nothing is, or nothing was heard yet.
    pub watched: Option<Watched>,
    /// The readings, in the order in which they were made.
    pub ticks: Vec<WatchedTick>,
    /// Why readings ended early, where they did.
    pub lost: Option<String>,
    /// Process to worker. Ids are used again: the latest one counts.
    workers: BTreeMap<u32, WorkerRef>,
}

/// One reading, with the workers told apart.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchedTick {
    /// What was read.
    pub tick: Tick,
    /// What was read of workers.
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

    pub(super) fn hear(&mut self, news: &News) {
        match news {
            News::Began(watched) => {
                // A run that goes on has a new process.
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
