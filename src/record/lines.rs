//! Lines of a file that may be large, cut short, or no text at all: bounded memory, and a torn
//! tail that is told apart from whole lines.

use std::io::{self, BufRead, Read};

/// The longest line that is read or written, in bytes, with its line feed. What a run writes stays
/// far below; anything longer is not a run's file.
pub(super) const MAX_LINE_BYTES: usize = 64 * 1024;

/// Reads whole lines, one at a time, into one buffer.
pub(super) struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    number: u64,
    whole_bytes: u64,
    torn_bytes: usize,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Lines { reader, buffer: Vec::new(), number: 0, whole_bytes: 0, torn_bytes: 0 }
    }

    /// The next whole line without its line end (LF or CRLF); `None` after the last.
    pub(super) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        self.buffer.clear();
        let mut bounded = self.reader.by_ref().take(MAX_LINE_BYTES as u64);
        let length = bounded.read_until(b'\n', &mut self.buffer)?;
        if length == 0 {
            return Ok(None);
        }
        if self.buffer.last() != Some(&b'\n') {
            if length == MAX_LINE_BYTES {
                self.number += 1;
                let cause = format!("the line is longer than {MAX_LINE_BYTES} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, cause));
            }
            self.torn_bytes = length;
            return Ok(None);
        }
        self.number += 1;
        self.whole_bytes += length as u64;
        let line = &self.buffer[..length - 1];
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// Number of the line returned last, from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Bytes of the whole lines returned so far.
    pub(super) fn whole_bytes(&self) -> u64 {
        self.whole_bytes
    }

    /// Bytes after the last line feed: what a kill leaves of the line that was being written.
    pub(super) fn torn_bytes(&self) -> usize {
        self.torn_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> (Vec<Vec<u8>>, u64, usize) {
        let mut lines = Lines::new(text);
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            found.push(line.to_vec());
        }
        (found, lines.whole_bytes(), lines.torn_bytes())
    }

    #[test]
    fn whole_lines_are_told_from_a_torn_tail() {
        let table = [
            ("", vec![], 0, 0),
            ("a", vec![], 0, 1),
            ("a\n", vec!["a"], 2, 0),
            ("a\r\n\nb\nxyz", vec!["a", "", "b"], 6, 3),
            ("a\nb\r", vec!["a"], 2, 2),
            ("a\0\n\0\0", vec!["a\0"], 3, 2),
        ];
        for (text, lines, whole, torn) in table {
            let expected = lines.iter().map(|line| line.as_bytes().to_vec()).collect();
            assert_eq!(all(text.as_bytes()), (expected, whole, torn), "{text:?}");
        }
    }

    #[test]
    fn a_line_without_end_is_refused_before_it_fills_the_memory() {
        let mut lines = Lines::new(io::BufReader::new(io::repeat(b'x')));
        assert!(lines.next().unwrap_err().to_string().contains("longer than 65536 bytes"));
        assert!(lines.buffer.len() <= MAX_LINE_BYTES);
        let longest = [vec![b'x'; MAX_LINE_BYTES - 1], vec![b'\n']].concat();
        assert_eq!(all(&longest).1, MAX_LINE_BYTES as u64);
    }
}
