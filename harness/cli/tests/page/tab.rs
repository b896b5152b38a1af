//! A page of the browser: opened in a view, asked, clicked and typed into, and what went wrong in it.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

use crate::devtools::{Connection, Event};

/// The functions that checks call in the page.
const PROBE: &str = include_str!("probe.js");

/// The height of the window, that of a small laptop.
const HEIGHT: u32 = 800;

/// A way to view a page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    /// The width of the window in CSS pixels.
    pub(crate) width: u32,
    /// Does the user prefer dark pages?
    pub(crate) dark: bool,
    /// Do the scripts of the page run?
    pub(crate) script: bool,
    /// Is it laid out for paper?
    pub(crate) print: bool,
}

impl View {
    /// Light, on a screen, and with its script.
    pub(crate) const fn of_width(width: u32) -> Self {
        Self { width, dark: false, script: true, print: false }
    }

    /// The same for a user who prefers dark pages.
    pub(crate) const fn dark(self) -> Self {
        Self { dark: true, ..self }
    }

    /// The same with scripts switched off.
    pub(crate) const fn without_script(self) -> Self {
        Self { script: false, ..self }
    }

    /// The name of the colour scheme.
    pub(crate) const fn scheme(self) -> &'static str {
        if self.dark { "dark" } else { "light" }
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} px, {}", self.width, self.scheme())?;
        if self.print {
            f.write_str(", print")?;
        }
        if !self.script {
            f.write_str(", without script")?;
        }
        Ok(())
    }
}

/// A place in the window, in CSS pixels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

impl Point {
    /// A corner, where no content is.
    pub(crate) const CORNER: Self = Self { x: 1.0, y: 1.0 };

    /// From an object with `x` and `y`.
    pub(crate) fn from_json(value: &Value) -> Option<Self> {
        Some(Self { x: value["x"].as_f64()?, y: value["y"].as_f64()? })
    }
}

/// A page of the browser.
pub(crate) struct Tab<'c> {
    connection: &'c mut Connection,
    /// The line to this page within the connection.
    session: String,
    frame: String,
    /// The last document that was opened; requests carry it, too.
    loader: String,
    /// Where checks are evaluated: it sees the document, and neither names of the page's script nor its policies.
    world: u64,
    /// For how long a page may keep a check waiting for what it asks for.
    patience: Duration,
}

impl<'c> Tab<'c> {
    pub(crate) fn new(connection: &'c mut Connection) -> Self {
        let target = connection.call(None, "Target.createTarget", json!({ "url": "about:blank" })).unwrap();
        let target = text(&target["targetId"]);
        let attach = json!({ "targetId": target, "flatten": true });
        let session = text(&connection.call(None, "Target.attachToTarget", attach).unwrap()["sessionId"]);
        let mut tab = Self {
            connection,
            session,
            frame: String::new(),
            loader: String::new(),
            world: 0,
            patience: Duration::from_secs(10),
        };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            tab.must(&format!("{domain}.enable"), json!({}));
        }
        tab.must("Page.setLifecycleEventsEnabled", json!({ "enabled": true }));
        // Without this, no element has the focus in a window in the background.
        tab.must("Emulation.setFocusEmulationEnabled", json!({ "enabled": true }));
        tab
    }

    /// Changes for how long a page may keep a check waiting.
    pub(crate) fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// Opens a document in a view, waits until it is loaded, and forgets what was reported before.
    pub(crate) fn open(&mut self, url: &str, view: View) {
        if url.contains('#') {
            // In between, because a document that is open already would not be opened again for it, but scrolled.
            self.navigate("about:blank");
        }
        self.emulate(view);
        self.connection.take_events();
        self.navigate(url);
        let world = json!({ "frameId": self.frame, "worldName": "probe" });
        self.world = self.must("Page.createIsolatedWorld", world)["executionContextId"].as_u64().unwrap();
        self.evaluate(PROBE).unwrap();
        self.evaluate(&format!("probe.patience = {}", self.patience.as_millis())).unwrap();
    }

    fn emulate(&mut self, view: View) {
        self.must("Emulation.setScriptExecutionDisabled", json!({ "value": !view.script }));
        self.resize(view.width, HEIGHT);
        let scheme = json!({ "name": "prefers-color-scheme", "value": view.scheme() });
        let medium = if view.print { "print" } else { "" };
        self.must("Emulation.setEmulatedMedia", json!({ "media": medium, "features": [scheme] }));
    }

    fn navigate(&mut self, url: &str) {
        let answer = self.must("Page.navigate", json!({ "url": url }));
        assert!(answer["errorText"].is_null(), "{url}: {}", answer["errorText"]);
        self.frame = text(&answer["frameId"]);
        self.loader = text(&answer["loaderId"]);
        let loaded = self.connection.wait_for(url, |event| {
            event.method == "Page.lifecycleEvent"
                && event.params["name"] == "load"
                && event.params["loaderId"] == self.loader.as_str()
        });
        loaded.unwrap();
    }

    /// Evaluates an expression beside the page's own script, and waits for a promise.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Result<Value, String> {
        let mut answer = self.call(
            "Runtime.evaluate",
            json!({
                "expression": expression,
                "contextId": self.world,
                "awaitPromise": true,
                "returnByValue": true,
            }),
        )?;
        match answer.get("exceptionDetails") {
            Some(thrown) => {
                Err(thrown["exception"]["description"].as_str().unwrap_or("exception").to_owned())
            }
            None => Ok(answer["result"]["value"].take()),
        }
    }

    /// The findings of a check of the probe. That it cannot be made is one, too: the page may have gone away.
    pub(crate) fn findings(&mut self, check: &str) -> Vec<String> {
        match self.evaluate(&format!("probe.{check}")) {
            Ok(found) => {
                serde_json::from_value(found).unwrap_or_else(|_| panic!("{check} gives no findings"))
            }
            Err(error) => vec![format!("{check} could not be made: {error}")],
        }
    }

    /// What was reported since the document was opened: errors in the console, breaches of its content security policy,
    /// uncaught exceptions, and requests for anything but itself.
    pub(crate) fn reported(&mut self) -> Vec<String> {
        // Events before this answer were reported before it.
        let alive = self.evaluate("probe.painted()").err();
        let events = self.connection.take_events();
        let mut findings: Vec<String> = events.iter().filter_map(|event| self.report_of(event)).collect();
        findings.extend(alive.map(|error| format!("the page went away: {error}")));
        findings
    }

    fn report_of(&self, event: &Event) -> Option<String> {
        let params = &event.params;
        match event.method.as_str() {
            "Runtime.consoleAPICalled" if params["type"] == "error" || params["type"] == "assert" => {
                Some(format!("in the console: {}", console_text(&params["args"])))
            }
            "Runtime.exceptionThrown" => {
                let details = &params["exceptionDetails"];
                let what = details["exception"]["description"].as_str().or(details["text"].as_str());
                Some(format!("uncaught: {}", what.unwrap_or("exception")))
            }
            // Here Chromium reports what it refused, breaches of the policy among it.
            "Log.entryAdded" if params["entry"]["level"] == "error" => {
                Some(format!("in the console: {}", params["entry"]["text"].as_str().unwrap_or_default()))
            }
            "Network.requestWillBeSent" => {
                let url = params["request"]["url"].as_str().unwrap_or_default();
                // The request for a document has the name of the document.
                let own = params["requestId"] == self.loader.as_str();
                let inside = url.starts_with("data:") || url.starts_with("blob:");
                (!own && !inside).then(|| format!("asks for {url}"))
            }
            "Network.webSocketCreated" | "Network.webTransportCreated" => {
                Some(format!("asks for {}", params["url"]))
            }
            _ => None,
        }
    }

    /// Moves the pointer.
    pub(crate) fn point_at(&mut self, at: Point) {
        self.mouse("mouseMoved", at);
    }

    /// Clicks with the left button.
    pub(crate) fn click(&mut self, at: Point) {
        self.point_at(at);
        self.mouse("mousePressed", at);
        self.mouse("mouseReleased", at);
    }

    fn mouse(&mut self, kind: &str, at: Point) {
        let button = if kind == "mouseMoved" { "none" } else { "left" };
        let event = json!({ "type": kind, "x": at.x, "y": at.y, "button": button, "clickCount": 1 });
        self.must("Input.dispatchMouseEvent", event);
    }

    /// Writes as a keyboard would, where the focus is. `Input.insertText` is left alone: now and then it never answers.
    pub(crate) fn write(&mut self, text: &str) {
        for character in text.chars() {
            self.must("Input.dispatchKeyEvent", json!({ "type": "char", "text": character.to_string() }));
        }
    }

    /// Presses a key.
    pub(crate) fn press(&mut self, key: Key) {
        let (name, code, text, modifiers) = match key {
            Key::Tab => ("Tab", 9, "", 0),
            Key::ShiftTab => ("Tab", 9, "", 8),
            Key::Enter => ("Enter", 13, "\r", 0),
        };
        let mut event = json!({
            "type": if text.is_empty() { "rawKeyDown" } else { "keyDown" },
            "key": name,
            "code": name,
            "windowsVirtualKeyCode": code,
            "modifiers": modifiers,
        });
        if !text.is_empty() {
            event["text"] = text.into();
        }
        self.must("Input.dispatchKeyEvent", event.clone());
        event["type"] = "keyUp".into();
        self.must("Input.dispatchKeyEvent", event);
    }

    /// Pictures of the whole document, from top to bottom and none taller than a limit, each as Base64 of a PNG.
    ///
    /// The window becomes as tall as a picture, so the document has to be opened again for anything else.
    pub(crate) fn screenshots(&mut self, width: u32, tallest: u32) -> Vec<String> {
        self.must("Emulation.setScrollbarsHidden", json!({ "hidden": true }));
        let height =
            self.evaluate("document.scrollingElement.scrollHeight").unwrap().as_u64().unwrap() as u32;
        let mut pictures = Vec::new();
        for top in (0..height).step_by(tallest as usize) {
            self.resize(width, tallest.min(height - top));
            let scroll = format!("scrollTo({{ top: {top}, behavior: 'instant' }}); probe.painted()");
            self.evaluate(&scroll).unwrap();
            pictures.push(text(&self.must("Page.captureScreenshot", json!({ "format": "png" }))["data"]));
        }
        self.must("Emulation.setScrollbarsHidden", json!({ "hidden": false }));
        pictures
    }

    fn resize(&mut self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.must("Emulation.setDeviceMetricsOverride", size);
    }

    fn call(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.connection.call(Some(&self.session), method, params)
    }

    /// A call that works, or the browser does not.
    #[track_caller]
    fn must(&mut self, method: &str, params: Value) -> Value {
        self.call(method, params).unwrap()
    }
}

/// Keys that these tests press.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Key {
    Tab,
    ShiftTab,
    Enter,
}

#[track_caller]
fn text(value: &Value) -> String {
    value.as_str().expect("a text of the protocol").to_owned()
}

/// Returns the arguments of a console call in words.
fn console_text(arguments: &Value) -> String {
    let words = arguments.as_array().into_iter().flatten().map(|argument| match &argument["value"] {
        Value::Null => argument["description"].as_str().unwrap_or_default().to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    words.collect::<Vec<_>>().join(" ")
}
