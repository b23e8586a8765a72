//! Cubins in the memory of this process: drivers and runtimes keep what they have loaded.
//!
//! Memory is read through `/proc/self/mem`, where a page that has gone is an error and no fault.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use crate::machine_code::{self, Counts, EM_CUDA};

/// Longest the search may take: a process of several GiB is read in a second.
const BUDGET: Duration = Duration::from_secs(4);
/// Bytes read at once, and the overlap so that a header across the boundary is seen.
const WINDOW_BYTES: usize = 4 << 20;
const HEADER_BYTES: usize = 64;
/// Larger than any cubin that was seen; what claims more is no header.
const IMAGE_BYTES_MAX: u64 = 256 << 20;
/// A mapping larger than this is a reservation of addresses and not what a loader keeps.
const MAPPING_BYTES_MAX: u64 = 16 << 30;
const MAGIC: [u8; 4] = *b"\x7fELF";

/// Syncs and triggers of every cubin found, by binary version and kernel. A kernel that is found
/// with different machine code is left out where the two do not agree on having a sync.
pub(super) fn search() -> HashMap<(u32, String), Counts> {
    let mut found = Found::default();
    let (Ok(maps), Ok(memory)) =
        (std::fs::read_to_string("/proc/self/maps"), File::open("/proc/self/mem"))
    else {
        return HashMap::new();
    };
    let since = Instant::now();
    let mut window = vec![0; WINDOW_BYTES];
    let mut places: Vec<(bool, u64, u64)> = maps.lines().filter_map(readable).collect();
    // What was loaded lies in memory without a file; files take what is left of the time.
    places.sort();
    for (_, begin, end) in places {
        let mut at = begin;
        while at < end && since.elapsed() < BUDGET {
            let bytes = ((end - at) as usize).min(WINDOW_BYTES);
            let Ok(read) = memory.read_at(&mut window[..bytes], at) else { break };
            for offset in headers(&window[..read]) {
                let place = at + offset as u64;
                if let Some(image) = image(&memory, place, end) {
                    found.add(&image);
                }
            }
            if read <= HEADER_BYTES || at + read as u64 >= end {
                break;
            }
            at += (read - HEADER_BYTES) as u64;
        }
    }
    found.agreed()
}

/// A mapping that may hold what a loader keeps, readable and private: whether it is one of a file,
/// its begin and its end.
fn readable(line: &str) -> Option<(bool, u64, u64)> {
    let mut fields = line.split_whitespace();
    let (begin, end) = fields.next()?.split_once('-')?;
    let access = fields.next()?;
    let path = fields.nth(3).unwrap_or("");
    let (begin, end) = (u64::from_str_radix(begin, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
    let device = path.starts_with("/dev/") || path == "[vvar]" || path == "[vsyscall]";
    let private = access.starts_with('r') && access.ends_with('p');
    let fits = end.checked_sub(begin)? <= MAPPING_BYTES_MAX;
    (private && !device && fits).then_some((path.starts_with('/'), begin, end))
}

/// Offsets at which the header of a cubin may begin; whole headers only.
fn headers(window: &[u8]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = machine_code::find_elf(window, at) {
        at = next + MAGIC.len();
        let Some(header) = window.get(next..next + HEADER_BYTES) else { break };
        if u16::from_le_bytes([header[18], header[19]]) == EM_CUDA {
            found.push(next);
        }
    }
    found
}

/// The bytes of the cubin at an address: as far as its tables of sections and segments reach.
fn image(memory: &File, at: u64, end: u64) -> Option<Vec<u8>> {
    let mut header = [0; HEADER_BYTES];
    memory.read_exact_at(&mut header, at).ok()?;
    let bytes = extent(&header)?.min(end - at);
    let mut image = vec![0; bytes as usize];
    memory.read_exact_at(&mut image, at).ok()?;
    Some(image)
}

/// Bytes up to the end of the last table, which in cubins comes after everything else. Layout: ELF
/// 64-bit header, fields at 32, 40 and 54 to 60.
fn extent(header: &[u8; HEADER_BYTES]) -> Option<u64> {
    let long = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("eight bytes"));
    let short = |at: usize| u64::from(u16::from_le_bytes([header[at], header[at + 1]]));
    let segments = long(32).checked_add(short(54) * short(56))?;
    let sections = long(40).checked_add(short(58) * short(60))?;
    let bytes = segments.max(sections);
    (bytes > HEADER_BYTES as u64 && bytes <= IMAGE_BYTES_MAX).then_some(bytes)
}

#[derive(Default)]
struct Found {
    counts: HashMap<(u32, String), Counts>,
    disputed: Vec<(u32, String)>,
}

impl Found {
    fn add(&mut self, image: &[u8]) {
        for (kernel, counts) in machine_code::scan(image) {
            match self.counts.get(&kernel) {
                Some(known) if (known.syncs > 0) != (counts.syncs > 0) => {
                    self.disputed.push(kernel);
                }
                Some(_) => {}
                None => drop(self.counts.insert(kernel, counts)),
            }
        }
    }

    fn agreed(mut self) -> HashMap<(u32, String), Counts> {
        for kernel in &self.disputed {
            self.counts.remove(kernel);
        }
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_private_memory_is_read() {
        for (line, expected) in [
            ("7f00-8000 rw-p 00000000 00:00 0 ", Some((false, 0x7f00, 0x8000))),
            ("7f00-8000 r--p 00000000 08:01 12 /usr/lib/libx.so", Some((true, 0x7f00, 0x8000))),
            ("7f00-8000 ---p 00000000 00:00 0 ", None),
            ("7f00-8000 rw-s 00000000 00:05 9 /dev/nvidia0", None),
            ("7f00-8000 rw-p 00000000 00:05 9 /dev/nvidiactl", None),
            ("0-fff000000000 rw-p 00000000 00:00 0", None),
            ("garbage", None),
        ] {
            assert_eq!(readable(line), expected, "{line}");
        }
    }

    #[test]
    fn the_extent_is_that_of_the_last_table() {
        let mut header = [0_u8; HEADER_BYTES];
        header[32..40].copy_from_slice(&1000_u64.to_le_bytes());
        header[40..48].copy_from_slice(&500_u64.to_le_bytes());
        header[54..62].copy_from_slice(&[56, 0, 3, 0, 64, 0, 2, 0]);
        assert_eq!(extent(&header), Some(1000 + 3 * 56));
        header[40..48].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(extent(&header), None);
        assert_eq!(extent(&[0; HEADER_BYTES]), None);
    }

    #[test]
    fn a_cubin_in_memory_is_found() {
        // The shim's own, which this program holds uncompressed in a mapped file.
        std::hint::black_box(crate::gpu::open as *const ());
        let found = search();
        let stand_in =
            found.iter().find(|((arch, name), _)| *arch == 90 && name.contains("stand_in"));
        let (_, counts) = stand_in.expect("the stand-in is part of this program");
        assert_eq!((counts.syncs, counts.triggers), (0, 1));
    }
}
