//! A browser of its own for each test: found, started without a window, and ended with the test.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{io, thread};

use perfharness_platform::{clock, env, exit_of};
use serde_json::json;

use crate::devtools::Connection;
use crate::tab::Tab;
use crate::tools;

/// No browser takes this long to start or to end on any machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Interval at which a process and its files are checked.
const LOOK: Duration = Duration::from_millis(5);

/// Flags that keep the browser quiet: no questions at the first start, and no traffic of its own.
const ARGUMENTS: [&str; 15] = [
    "--headless",
    "--remote-debugging-port=0",
    // Root and most containers have no sandbox, and the only pages that are opened here are our own.
    "--no-sandbox",
    "--disable-gpu",
    // Containers have a small /dev/shm, and long pictures do not fit into it.
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--no-default-browser-check",
    "--no-first-run",
    // The tests open their own.
    "--no-startup-window",
    "--password-store=basic",
    "--use-mock-keychain",
];

/// A running browser.
pub(crate) struct Browser {
    process: Process,
    connection: Connection,
}

impl Browser {
    /// Starts the first browser that can be started, or says that there is none.
    ///
    /// # Panics
    /// When there must be one.
    pub(crate) fn start() -> Option<Self> {
        let mut complaints = Vec::new();
        for program in candidates() {
            match Self::start_program(&program) {
                Ok(browser) => return Some(browser),
                Err(Failure::NotThere) => {}
                Err(Failure::Useless(why)) => complaints.push(format!("{}: {why}", program.display())),
            }
        }
        let why = if complaints.is_empty() { "there is none".to_owned() } else { complaints.join("\n") };
        tools::missing(&format!("Chromium or Chrome (set CHROME to name it): {why}"));
        None
    }

    fn start_program(program: &Path) -> Result<Self, Failure> {
        let mut process = Process::start(program)?;
        let (port, path) = process.wait_for_address().map_err(Failure::Useless)?;
        let connection = Connection::open(port, &path).map_err(Failure::Useless)?;
        Ok(Self { process, connection })
    }

    /// A page to open documents in.
    pub(crate) fn tab(&mut self) -> Tab<'_> {
        Tab::new(&mut self.connection)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It takes the processes along that it has started, which killing it would leave to themselves.
        if self.connection.send(None, "Browser.close", json!({})).is_ok() {
            self.process.wait_for_end();
        }
    }
}

/// Why a program is not the browser of a test.
enum Failure {
    NotThere,
    Useless(String),
}

/// The program that `CHROME` names, or else those that are a Chromium, by their usual names and places.
fn candidates() -> Vec<PathBuf> {
    if let Some(named) = env::var("CHROME").filter(|named| !named.is_empty()) {
        return vec![named.into()];
    }
    let mut candidates: Vec<PathBuf> =
        ["chromium", "chromium-browser", "google-chrome"].into_iter().map(PathBuf::from).collect();
    // macOS and Windows keep it where no search path leads.
    candidates.push("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome".into());
    for folder in ["ProgramFiles", "ProgramFiles(x86)", "LocalAppData"] {
        let folder = env::var(folder).map(PathBuf::from);
        candidates.extend(folder.map(|folder| folder.join("Google/Chrome/Application/chrome.exe")));
    }
    candidates
}

/// The process of a browser, with the folder of its profile; it ends with this.
struct Process {
    child: Child,
    folder: tempfile::TempDir,
}

impl Process {
    /// It stays in the group of the test, so that Ctrl-C and a test runner's timeout reach it too.
    fn start(program: &Path) -> Result<Self, Failure> {
        let useless = |error: io::Error| Failure::Useless(error.to_string());
        let folder = tempfile::Builder::new().prefix("perfharness-browser-").tempdir().map_err(useless)?;
        let words = File::create(folder.path().join("stderr")).map_err(useless)?;
        let mut profile = std::ffi::OsString::from("--user-data-dir=");
        profile.push(folder.path().join("profile"));
        let mut command = Command::new(program);
        command.args(ARGUMENTS).arg(profile);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(words);
        match command.spawn() {
            Ok(child) => Ok(Self { child, folder }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Failure::NotThere),
            Err(error) => Err(useless(error)),
        }
    }

    /// The port and the path where it listens, once it does: it writes them into its profile.
    fn wait_for_address(&mut self) -> Result<(u16, String), String> {
        let file = self.folder.path().join("profile/DevToolsActivePort");
        let deadline = clock::now() + PATIENCE;
        loop {
            if let Some(address) = fs::read_to_string(&file).ok().and_then(|text| parse_address(&text)) {
                return Ok(address);
            }
            if let Some(status) = self.child.try_wait().map_err(|error| error.to_string())? {
                return Err(format!("it ended with {}: {}", exit_of(status), self.words()));
            }
            if clock::now() > deadline {
                return Err(format!("it opens no port: {}", self.words()));
            }
            thread::sleep(LOOK);
        }
    }

    /// Waits for an end that was asked for.
    fn wait_for_end(&mut self) {
        let deadline = clock::now() + PATIENCE;
        while clock::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
            thread::sleep(LOOK);
        }
    }

    /// Returns its last lines, because the first ones concern missing parts of a container.
    fn words(&self) -> String {
        let text = fs::read(self.folder.path().join("stderr")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(5)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Nothing happens to one that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Two lines: the port and the path.
fn parse_address(text: &str) -> Option<(u16, String)> {
    let (port, path) = text.split_once('\n')?;
    let path = path.trim_end();
    if path.starts_with('/') { Some((port.trim_end().parse().ok()?, path.to_owned())) } else { None }
}
