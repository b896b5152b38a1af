//! The side of the program that measures: it starts the telemetry process and hears its messages.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};
use perfharness_platform::kill_tree;

use super::measured::MeasuredGpu;
use super::reading::{DeviceState, News, Tick, Watched};
use crate::ask::{DRIVER_TIMEOUT, ProbeError, ask, question, read_json, spawn_detached};

/// Most bytes of a line, far above any real one.
const MOST_BYTES: u64 = 1 << 20;

/// Asks, in a process of its own, what can be watched on this machine.
///
/// # Errors
/// When the process crashes, hangs, or sends an answer that cannot be read.
pub fn watched() -> Result<Watched, ProbeError> {
    let (watched, _): (Watched, Tick) = ask(question(&["glance"])?, DRIVER_TIMEOUT)?;
    Ok(watched)
}

/// Process that watches the machine until this value is dropped.
pub struct Watcher {
    child: Child,
    /// Tells the process which workers to watch.
    input: Mutex<Option<ChildStdin>>,
    news: Receiver<News>,
    device: Arc<Mutex<DeviceState>>,
}

impl Watcher {
    /// Starts the process. `adapter` is the GPU that is measured.
    ///
    /// # Errors
    /// When the process does not start. A later failure arrives as [`News::Lost`].
    pub fn start(interval: Duration, adapter: Option<&MeasuredGpu>) -> Result<Self, ProbeError> {
        let interval = interval.as_millis().to_string();
        let mut command = question(&["watch", "--interval-ms", &interval])?;
        if let Some(adapter) = adapter {
            command.args(["--adapter", &adapter.name]);
            command.args(adapter.bus.as_ref().map(|bus| ["--bus", bus]).iter().flatten());
        }
        let mut child = spawn_detached(command.stderr(Stdio::null()))?;
        let (sender, news) = unbounded();
        let device = Arc::new(Mutex::new(DeviceState::default()));
        if let Some(stdout) = child.stdout.take() {
            let device = Arc::clone(&device);
            thread::spawn(move || listen(stdout, &sender, &device));
        }
        Ok(Self { input: Mutex::new(child.stdin.take()), child, news, device })
    }

    /// Starts watching a worker process.
    pub fn add(&self, pid: u32) {
        self.send(&format!("+{pid}\n"));
    }

    /// Stops watching a worker process.
    pub fn remove(&self, pid: u32) {
        self.send(&format!("-{pid}\n"));
    }

    fn send(&self, line: &str) {
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        // `listen` reports the loss of the process.
        if input.as_mut().is_some_and(|pipe| pipe.write_all(line.as_bytes()).is_err()) {
            *input = None;
        }
    }

    /// Returns the messages since the last call.
    pub fn news(&self) -> Vec<News> {
        self.news.try_iter().collect()
    }

    /// Returns the state of the GPU that is measured, from the latest reading.
    pub fn device(&self) -> DeviceState {
        *self.device.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        *self.input.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let _ = kill_tree(&mut self.child);
    }
}

fn listen(pipe: impl Read, sender: &Sender<News>, device: &Mutex<DeviceState>) {
    let mut reader = BufReader::new(pipe);
    let mut line = Vec::new();
    let reason = loop {
        line.clear();
        match reader.by_ref().take(MOST_BYTES).read_until(b'\n', &mut line) {
            Ok(0) => break "the telemetry process has ended".to_owned(),
            Ok(_) => {}
            Err(error) => break format!("cannot read from the telemetry process: {error}"),
        }
        let news = match read_json(&line) {
            Ok(news) => news,
            Err(error) => break format!("the telemetry process wrote a line that cannot be read: {error}"),
        };
        if let News::Tick(tick) = &news {
            *device.lock().unwrap_or_else(PoisonError::into_inner) = tick.device;
        }
        if sender.send(news).is_err() {
            return;
        }
    };
    // The state of a GPU that is not watched is unknown.
    *device.lock().unwrap_or_else(PoisonError::into_inner) = DeviceState::default();
    let _ = sender.send(News::Lost { reason });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_ends_the_watch_with_a_reason() {
        let (sender, news) = unbounded();
        let device = Mutex::new(DeviceState::default());
        let tick = r#"{"news":"tick","at_ns":5,"values":{"cpu-busy":0.5},"device":{"throttled":true}}"#;
        listen(format!("{tick}\nnonsense\n{tick}\n").as_bytes(), &sender, &device);
        let heard: Vec<News> = news.try_iter().collect();
        assert!(matches!(&heard[0], News::Tick(tick) if tick.device.throttled), "{heard:?}");
        assert!(matches!(&heard[1], News::Lost { reason } if reason.contains("cannot be read")), "{heard:?}");
        assert_eq!(heard.len(), 2);
        assert_eq!(*device.lock().unwrap(), DeviceState::default());
    }

    #[test]
    fn the_end_of_the_process_is_told() {
        let (sender, news) = unbounded();
        listen("".as_bytes(), &sender, &Mutex::default());
        assert!(matches!(news.try_recv(), Ok(News::Lost { .. })));
    }
}
