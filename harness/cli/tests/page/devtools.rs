//! A client of Chromium's remote protocol: calls, their answers, and the events that come in between.
//!
//! Messages stay JSON. With types for them, an event of a newer Chromium that does not fit would be dropped, and a
//! check that nothing bad was reported would then pass because nobody could read the report.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use perfharness_platform::clock;
use serde_json::{Value, json};
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Error, Message, WebSocket};

/// No answer takes this long on any machine; one that does not come fails its test.
const PATIENCE: Duration = Duration::from_secs(30);

/// Something that the browser said by itself.
pub(crate) struct Event {
    pub(crate) method: String,
    pub(crate) params: Value,
}

/// The line to a browser.
pub(crate) struct Connection {
    socket: WebSocket<TcpStream>,
    last_id: u64,
    events: Vec<Event>,
}

impl Connection {
    /// Opens the line to the browser that listens on a port of this machine.
    pub(crate) fn open(port: u16, path: &str) -> Result<Self, String> {
        let stream = TcpStream::connect(("127.0.0.1", port)).map_err(|error| error.to_string())?;
        // Every call waits for its answer, so a message that waits for company would only lose time.
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(|error| error.to_string())?;
        // A picture of a long page comes as one message.
        let config = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
        let address = format!("ws://127.0.0.1:{port}{path}");
        let (socket, _) = tungstenite::client::client_with_config(address, stream, Some(config))
            .map_err(|error| error.to_string())?;
        Ok(Self { socket, last_id: 0, events: Vec::new() })
    }

    /// Calls a method of the browser, or of the page that a session belongs to, and waits for the answer.
    pub(crate) fn call(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<Value, String> {
        let id = self.send(session, method, params)?;
        let deadline = clock::now() + PATIENCE;
        loop {
            let mut message = self.read(deadline).map_err(|error| format!("{method}: {error}"))?;
            if message["id"] != id {
                self.keep(message);
            } else if let Some(error) = message.get("error") {
                return Err(format!("{method}: {error}"));
            } else {
                return Ok(message["result"].take());
            }
        }
    }

    /// Sends a call, and returns the number that its answer will have.
    pub(crate) fn send(&mut self, session: Option<&str>, method: &str, params: Value) -> Result<u64, String> {
        self.last_id += 1;
        let mut message = json!({ "id": self.last_id, "method": method });
        message["params"] = params;
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let sent = self.socket.send(Message::text(message.to_string()));
        sent.map_err(|error| format!("{method}: {error}"))?;
        Ok(self.last_id)
    }

    /// Waits until an event has come that is the right one.
    pub(crate) fn wait_for(&mut self, what: &str, right: impl Fn(&Event) -> bool) -> Result<(), String> {
        let deadline = clock::now() + PATIENCE;
        let mut seen = 0;
        loop {
            if self.events[seen..].iter().any(&right) {
                return Ok(());
            }
            seen = self.events.len();
            let message = self.read(deadline).map_err(|error| format!("waiting for {what}: {error}"))?;
            self.keep(message);
        }
    }

    /// The events so far; they are forgotten here.
    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    fn keep(&mut self, mut message: Value) {
        if let Some(method) = message["method"].as_str().map(str::to_owned) {
            self.events.push(Event { method, params: message["params"].take() });
        }
    }

    /// The next message, whatever it is.
    fn read(&mut self, deadline: Instant) -> Result<Value, String> {
        loop {
            let left = deadline.saturating_duration_since(clock::now());
            if left.is_zero() {
                return Err(format!("no answer within {PATIENCE:?}"));
            }
            self.socket.get_mut().set_read_timeout(Some(left)).map_err(|error| error.to_string())?;
            match self.socket.read() {
                Ok(Message::Text(text)) => {
                    return serde_json::from_str(&text).map_err(|error| error.to_string());
                }
                Ok(_) => {}
                Err(Error::Io(error))
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}
