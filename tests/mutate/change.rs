//! Changes files of a run at random.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

/// The raw files of a run, and a summary once there is one.
#[derive(Clone)]
pub struct Files(pub BTreeMap<String, Vec<u8>>);

impl Files {
    pub fn of(dir: &Path) -> Files {
        let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        let file = |path: std::path::PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            path.is_file().then(|| (name, fs::read(path).unwrap()))
        };
        Files(entries.filter_map(file).collect())
    }

    pub fn write(&self, dir: &Path) {
        fs::create_dir_all(dir).unwrap();
        for (name, bytes) in &self.0 {
            fs::write(dir.join(name), bytes).unwrap();
        }
    }
}

/// Text that parsers are known to stumble over, and words of the vocabulary.
const TOKENS: [&str; 44] = [
    "0",
    "-0",
    "-1",
    "1",
    "2",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "99999999999999999999999",
    "1e308",
    "-1e308",
    "1e999",
    "1e-320",
    "0.0000001",
    "NaN",
    "inf",
    "null",
    "true",
    "\"\"",
    "[]",
    "{}",
    "",
    ",",
    "\n",
    "\r\n",
    "\"",
    "|",
    "\u{feff}",
    "\u{1b}[31m",
    "\0",
    "graph",
    "graph-pdl",
    "sentinel",
    "stream-pdl",
    "flags",
    "persistent",
    "at-entry",
    "64/64",
    "implicit",
    "p000",
    "resumed",
    "wrong|gate-timeout",
    "pipelined",
    "hbm",
];

/// The run with one or two changes.
pub fn change(whole: &Files, rng: &mut ChaCha8Rng) -> Files {
    let mut files = whole.clone();
    let names: Vec<String> = whole.0.keys().cloned().collect();
    // A kill leaves neither of them.
    for last in ["end.json", "summary.csv"] {
        if rng.random_ratio(1, 3) {
            files.0.remove(last);
        }
    }
    for _ in 0..rng.random_range(1..=2) {
        let name = names.choose(rng).unwrap();
        if let Some(bytes) = files.0.get_mut(name) {
            one(bytes, rng);
        }
        if rng.random_ratio(1, 60) {
            let other = names.choose(rng).unwrap();
            files.0.insert(name.clone(), whole.0[other].clone());
        }
    }
    files
}

fn one(bytes: &mut Vec<u8>, rng: &mut ChaCha8Rng) {
    if bytes.is_empty() {
        bytes.extend(TOKENS.choose(rng).unwrap().bytes());
        return;
    }
    let at = rng.random_range(0..bytes.len());
    let end = (at + rng.random_range(1..=40)).min(bytes.len());
    match rng.random_range(0..16) {
        0 => bytes[at] ^= 1 << rng.random_range(0..8),
        1 => bytes[at] = rng.random(),
        2 => drop(bytes.drain(at..end)),
        3 => {
            let again = bytes[at..end].to_vec();
            bytes.splice(at..at, again);
        }
        4 => bytes.truncate(at),
        5 => drop(bytes.splice(at..at, TOKENS.choose(rng).unwrap().bytes())),
        // Numbers and words are what a run is made of: most changes give one another value, and
        // one that stands elsewhere in the file can often be read.
        6..=9 => {
            if let Some(token) = token(bytes, at) {
                bytes.splice(token, TOKENS.choose(rng).unwrap().bytes());
            }
        }
        10..=14 => {
            let from = rng.random_range(0..bytes.len());
            if let (Some(token), Some(other)) = (token(bytes, at), token(bytes, from)) {
                let other = bytes[other].to_vec();
                bytes.splice(token, other);
            }
        }
        _ => lines(bytes, rng),
    }
}

/// The number or word around `at`.
fn token(bytes: &[u8], at: usize) -> Option<std::ops::Range<usize>> {
    let part = |byte: &u8| byte.is_ascii_alphanumeric() || b".-_/|".contains(byte);
    let from = (at..bytes.len()).find(|&at| part(&bytes[at]))?;
    let start = (0..from).rev().find(|&at| !part(&bytes[at])).map_or(0, |at| at + 1);
    let end = (from..bytes.len()).find(|&at| !part(&bytes[at])).unwrap_or(bytes.len());
    Some(start..end)
}

/// Lines that change places, are lost, or are there twice.
fn lines(bytes: &mut Vec<u8>, rng: &mut ChaCha8Rng) {
    let mut lines: Vec<Vec<u8>> =
        bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let (one, other) = (rng.random_range(0..lines.len()), rng.random_range(0..lines.len()));
    match rng.random_range(0..3) {
        0 => lines.swap(one, other),
        1 => drop(lines.remove(one)),
        _ => lines.insert(other, lines[one].clone()),
    }
    *bytes = lines.concat();
}
