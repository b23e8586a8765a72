//! A headless Chromium, driven over a pair of pipes: the DevTools protocol is JSON, each message
//! ended by a zero byte.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// An answer takes at most this long.
const PATIENCE: Duration = Duration::from_secs(60);

/// The first Chromium that the distribution has installed.
pub fn program() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let places = names.iter().flat_map(|name| folders.iter().map(move |dir| dir.join(name)));
    places.into_iter().find(|place| place.is_file())
}

/// A running browser with one page. It ends with its owner.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    next: u64,
    session: Option<String>,
    /// Everything that the page reported.
    pub events: Vec<Value>,
    _profile: tempfile::TempDir,
}

/// How a page is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Width of the window, CSS pixels.
    pub width: u32,
    /// Whether dark colours are preferred.
    pub dark: bool,
    /// Whether scripts run.
    pub script: bool,
}

impl Browser {
    /// Starts the browser with a profile of its own.
    pub fn start(program: &Path) -> Browser {
        let profile = tempfile::tempdir_in(super::place()).unwrap();
        let mut flags: Vec<String> = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--remote-debugging-pipe",
        ]
        .map(str::to_owned)
        .to_vec();
        flags.push(format!("--user-data-dir={}", profile.path().display()));
        // The browser reads commands from descriptor 3 and answers on 4.
        let script = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null";
        let mut child = Command::new("sh")
            .args(["-c", script])
            .arg(program)
            .args(&flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (send, from) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(answers).split(0).map_while(Result::ok) {
                let message = serde_json::from_slice(&message).expect("the protocol is JSON");
                if send.send(message).is_err() {
                    break;
                }
            }
        });
        let (next, session, events) = (1, None, Vec::new());
        let mut browser = Browser { child, to, from, next, session, events, _profile: profile };
        browser.attach();
        browser
    }

    fn attach(&mut self) {
        let target = self.send("Target.createTarget", json!({ "url": "about:blank" }));
        let target = json!({ "targetId": target["targetId"], "flatten": true });
        let session = self.send("Target.attachToTarget", target);
        self.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.send(&format!("{domain}.enable"), json!({}));
        }
    }

    /// Sends a command and waits for its result; events that come before are kept.
    pub fn send(&mut self, method: &str, parameters: Value) -> Value {
        let id = self.next;
        self.next += 1;
        let mut message = json!({ "id": id, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).expect("the browser runs");
        loop {
            let answer = self.receive(method);
            if answer["id"] == id {
                assert!(answer.get("error").is_none(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    fn receive(&mut self, waiting_for: &str) -> Value {
        let message = self.from.recv_timeout(PATIENCE);
        message.unwrap_or_else(|error| panic!("no answer to {waiting_for}: {error}"))
    }

    /// Opens a file and waits until it is loaded. Forgets what earlier pages reported.
    pub fn open(&mut self, file: &Path, look: Look) {
        let metrics = json!({
            "width": look.width, "height": 900, "deviceScaleFactor": 1, "mobile": false,
        });
        self.send("Emulation.setDeviceMetricsOverride", metrics);
        // The bar would take its room from the page, and be left out of the picture.
        self.send("Emulation.setScrollbarsHidden", json!({ "hidden": true }));
        let scheme = if look.dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.send("Emulation.setEmulatedMedia", json!({ "features": features }));
        let disabled = json!({ "value": !look.script });
        self.send("Emulation.setScriptExecutionDisabled", disabled);
        self.events.clear();
        let url = format!("file://{}", encoded(file));
        let answer = self.send("Page.navigate", json!({ "url": url }));
        assert!(answer.get("errorText").is_none(), "{url}: {answer}");
        let began = Instant::now();
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            assert!(began.elapsed() < PATIENCE, "{url} does not load");
            let event = self.receive("Page.navigate");
            self.events.push(event);
        }
    }

    /// The value of an expression in the page.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let parameters =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.send("Runtime.evaluate", parameters);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Presses and releases a key, by its name in the DOM: `Tab`, `Enter`, `a`.
    pub fn press(&mut self, key: &str) {
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            "ArrowDown" => (40, ""),
            " " => (32, " "),
            letter => (u32::from(letter.to_ascii_uppercase().as_bytes()[0]), letter),
        };
        let mut down = json!({ "type": "keyDown", "key": key, "windowsVirtualKeyCode": code });
        if !text.is_empty() {
            down["text"] = json!(text);
        }
        self.send("Input.dispatchKeyEvent", down);
        let up = json!({ "type": "keyUp", "key": key, "windowsVirtualKeyCode": code });
        self.send("Input.dispatchKeyEvent", up);
    }

    /// The page on paper.
    pub fn pdf(&mut self) -> Vec<u8> {
        let answer = self.send("Page.printToPDF", json!({ "preferCSSPageSize": true }));
        bytes(&answer)
    }

    /// The whole page as PNG.
    pub fn screenshot(&mut self) -> Vec<u8> {
        let parameters = json!({ "format": "png", "captureBeyondViewport": true });
        let answer = self.send("Page.captureScreenshot", parameters);
        bytes(&answer)
    }

    /// Events of this name since the page was opened.
    pub fn reported(&self, method: &str) -> Vec<&Value> {
        let events = self.events.iter().filter(|event| event["method"] == method);
        events.map(|event| &event["params"]).collect()
    }
}

/// A path as a URL spells it.
fn encoded(path: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let bytes = path.as_os_str().as_encoded_bytes().iter();
    bytes.map(|&b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

fn bytes(answer: &Value) -> Vec<u8> {
    STANDARD.decode(answer["data"].as_str().unwrap()).unwrap()
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Asked to, it ends all its processes; killed, only the first.
        let _ = self.to.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(5) {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
