//! The side of the program that measures.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};
use perfharness_platform::{detach_from_terminal, kill_tree};
use serde_json::Value;

use super::reading::{DeviceState, News};
use crate::ask::{ProbeError, question};
use perfharness_record::plain_text::make_plain;

/// No line is nearly as long.
const MOST_BYTES: u64 = 1 << 20;

/// A process that watches the machine until this value is dropped.
pub struct Watcher {
    child: Child,
    /// Names the workers to it.
    input: Mutex<Option<ChildStdin>>,
    news: Receiver<News>,
    device: Arc<Mutex<DeviceState>>,
}

impl Watcher {
    /// Starts to watch. `adapter` is the name of the GPU that is measured.
    ///
    /// # Errors
    /// Where the process does not start. What goes wrong later is told as [`News::Lost`].
    pub fn start(interval: Duration, adapter: Option<&str>) -> Result<Self, ProbeError> {
        let interval = interval.as_millis().to_string();
        let mut command = question(&["watch", "--interval-ms", &interval])?;
        if let Some(adapter) = adapter {
            command.args(["--adapter", adapter]);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        detach_from_terminal(&mut command);
        let mut child = command
            .spawn()
            .map_err(|error| ProbeError::Start(format!("cannot start the process that watches: {error}")))?;
        let (sender, news) = unbounded();
        let device = Arc::new(Mutex::new(DeviceState::default()));
        if let Some(stdout) = child.stdout.take() {
            let device = Arc::clone(&device);
            thread::spawn(move || listen(stdout, &sender, &device));
        }
        Ok(Self { input: Mutex::new(child.stdin.take()), child, news, device })
    }

    /// A worker has started.
    pub fn add(&self, pid: u32) {
        self.tell(&format!("+{pid}\n"));
    }

    /// A worker has ended.
    pub fn remove(&self, pid: u32) {
        self.tell(&format!("-{pid}\n"));
    }

    fn tell(&self, line: &str) {
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        // One that is gone is told of elsewhere.
        if input.as_mut().is_some_and(|pipe| pipe.write_all(line.as_bytes()).is_err()) {
            *input = None;
        }
    }

    /// What was heard since this was asked last.
    pub fn news(&self) -> Vec<News> {
        self.news.try_iter().collect()
    }

    /// What the latest reading says of the GPU that is measured.
    pub fn device(&self) -> DeviceState {
        *self.device.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        *self.input.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let _ = kill_tree(&mut self.child);
        let _ = self.child.wait();
    }
}

fn listen(pipe: impl Read, sender: &Sender<News>, device: &Mutex<DeviceState>) {
    let mut reader = BufReader::new(pipe);
    let mut line = Vec::new();
    let reason = loop {
        line.clear();
        match reader.by_ref().take(MOST_BYTES).read_until(b'\n', &mut line) {
            Ok(0) => break "the process that watched has ended".to_owned(),
            Ok(_) => {}
            Err(error) => break format!("the process that watched cannot be heard: {error}"),
        }
        let news = serde_json::from_slice(&line).and_then(|mut value: Value| {
            // Names come from drivers.
            make_plain(&mut value);
            serde_json::from_value(value)
        });
        let news = match news {
            Ok(news) => news,
            Err(error) => break format!("the process that watched said what cannot be read: {error}"),
        };
        if let News::Tick(tick) = &news {
            *device.lock().unwrap_or_else(PoisonError::into_inner) = tick.device;
        }
        if sender.send(news).is_err() {
            return;
        }
    };
    // Nobody knows the state of a GPU that is not watched.
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
