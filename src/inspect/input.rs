//! What kind of file was given, told from its first bytes.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::cubin;
use crate::error::{Error, Result};

/// Bytes that tell the kind: an ELF header and more.
const HEAD_BYTES: usize = 512;
const ARCHIVE: &[u8] = b"!<arch>\n";
const THIN_ARCHIVE: &[u8] = b"!<thin>\n";
const FATBIN: u32 = 0xba55_ed50;

/// A file that can hold device code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Machine code for one architecture.
    Cubin,
    /// Objects, shared libraries, programs and fatbins: cuobjdump unpacks them.
    Container,
    /// An `ar` archive of objects.
    Archive,
}

/// Tells the kind of the file in `path`.
///
/// # Errors
/// It cannot be read, or it is nothing that holds device code.
pub(super) fn kind(path: &Path) -> Result<Kind> {
    let cannot = |cause: String| Error::failed(format!("inspect {}", path.display()), cause);
    let metadata = std::fs::metadata(path).map_err(|error| cannot(error.to_string()))?;
    if !metadata.is_file() {
        let what = if metadata.is_dir() { "it is a directory" } else { "it is no regular file" };
        return Err(cannot(what.into()).remedy(EXPECTED));
    }
    let mut head = Vec::new();
    File::open(path)
        .and_then(|file| file.take(HEAD_BYTES as u64).read_to_end(&mut head))
        .map_err(|error| cannot(error.to_string()))?;
    classify(&head).map_err(|cause| cannot(cause.into()).remedy(EXPECTED))
}

const EXPECTED: &str = "give a cubin, fatbin, object, static or shared library, or a program";

/// The kind by the head of a file; the error says what it is instead.
pub(super) fn classify(head: &[u8]) -> std::result::Result<Kind, &'static str> {
    if head.is_empty() {
        return Err("it is empty");
    }
    if head.starts_with(ARCHIVE) {
        return Ok(Kind::Archive);
    }
    if head.starts_with(THIN_ARCHIVE) {
        return Err("it is a thin archive, which holds no code itself");
    }
    if head.starts_with(b"\x7fELF") {
        return Ok(if cubin::is_cubin(head) { Kind::Cubin } else { Kind::Container });
    }
    if head.get(..4) == Some(FATBIN.to_le_bytes().as_slice()) {
        return Ok(Kind::Container);
    }
    if head.starts_with(b"MZ") || head.starts_with(&[0xcf, 0xfa, 0xed, 0xfe]) {
        return Err("it is a program for another operating system");
    }
    if head.starts_with(b"PK\x03\x04") {
        return Err("it is a zip file or a wheel: unpack it and give a library in it");
    }
    if std::str::from_utf8(head).is_ok_and(|text| !text.contains('\0')) || looks_like_text(head) {
        return Err("it is text, not machine code");
    }
    Err("it is neither an ELF, a fatbin nor an archive")
}

/// Text whose last character the head cut in two.
fn looks_like_text(head: &[u8]) -> bool {
    match std::str::from_utf8(head) {
        Err(error) => error.error_len().is_none() && !head.contains(&0),
        Ok(_) => false,
    }
}

/// Members of an `ar` archive that are files: name and bytes.
pub(super) fn members(archive: &[u8]) -> std::result::Result<Vec<(String, &[u8])>, String> {
    const HEADER_BYTES: usize = 60;
    let mut names: &[u8] = b"";
    let mut found = Vec::new();
    let mut at = ARCHIVE.len();
    while at < archive.len() {
        let header = archive.get(at..at + HEADER_BYTES).ok_or("it is truncated")?;
        let size = std::str::from_utf8(&header[48..58]).ok().and_then(|s| s.trim().parse().ok());
        let size: usize = size.ok_or("it is damaged: a member has no size")?;
        let body = at + HEADER_BYTES;
        let bytes = body.checked_add(size).and_then(|end| archive.get(body..end));
        let bytes = bytes.ok_or("it is truncated")?;
        let name = String::from_utf8_lossy(&header[..16]).trim_end().to_owned();
        match name.as_str() {
            "//" => names = bytes,
            "/" | "/SYM64/" => {}
            _ => found.push(member(&name, names, bytes)?),
        }
        at = body + size + size % 2;
    }
    Ok(found)
}

/// GNU archives keep long names in a member, BSD ones before the bytes.
fn member<'a>(
    name: &str,
    names: &[u8],
    bytes: &'a [u8],
) -> std::result::Result<(String, &'a [u8]), String> {
    if let Some(length) = name.strip_prefix("#1/") {
        let length: usize = length.parse().map_err(|_| "it is damaged: a member has no name")?;
        let (name, rest) = bytes.split_at_checked(length).ok_or("it is truncated")?;
        let name = String::from_utf8_lossy(name).trim_end_matches('\0').to_owned();
        return Ok((name, rest));
    }
    let long = name.strip_prefix('/').and_then(|offset| offset.parse::<usize>().ok());
    let Some(offset) = long else { return Ok((name.trim_end_matches('/').to_owned(), bytes)) };
    let rest = names.get(offset..).ok_or("it is damaged: a member has no name")?;
    let line = rest.split(|&byte| byte == b'\n').next().unwrap_or_default();
    Ok((String::from_utf8_lossy(line).trim_end_matches('/').to_owned(), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_their_head() {
        let mut host = b"\x7fELF\x02\x01\x01".to_vec();
        host.resize(64, 0);
        let cases: [(&[u8], std::result::Result<Kind, &str>); 9] = [
            (b"", Err("it is empty")),
            (b"!<arch>\n", Ok(Kind::Archive)),
            (&host, Ok(Kind::Container)),
            (&[0x50, 0xed, 0x55, 0xba, 1, 0], Ok(Kind::Container)),
            (b"MZ\x90", Err("it is a program for another operating system")),
            (b"hello\n", Err("it is text, not machine code")),
            ("hélló".as_bytes().split_last().unwrap().1, Err("it is text, not machine code")),
            (&[0, 1, 2, 3], Err("it is neither an ELF, a fatbin nor an archive")),
            (b"PK\x03\x04", Err("it is a zip file or a wheel: unpack it and give a library in it")),
        ];
        for (head, expected) in cases {
            assert_eq!(classify(head), expected, "{head:?}");
        }
    }

    fn entry(name: &str, body: &[u8]) -> Vec<u8> {
        let mut bytes = format!("{name:<48}{:<10}`\n", body.len()).into_bytes();
        bytes.extend(body);
        if body.len() % 2 == 1 {
            bytes.push(b'\n');
        }
        bytes
    }

    #[test]
    fn archives_are_split_by_member() {
        let mut archive = ARCHIVE.to_vec();
        archive.extend(entry("/", b"symbols"));
        archive.extend(entry("//", b"a_name_longer_than_fifteen.o/\nanother_long_name.o/\n"));
        archive.extend(entry("short.o/", b"one"));
        archive.extend(entry("/30", b"two"));
        archive.extend(entry("#1/6", b"bsd.o\0three"));
        let found = members(&archive).unwrap();
        let expected: [(String, &[u8]); 3] = [
            ("short.o".into(), b"one"),
            ("another_long_name.o".into(), b"two"),
            ("bsd.o".into(), b"three"),
        ];
        assert_eq!(found, expected);
        for end in [ARCHIVE.len() + 30, archive.len() - 5] {
            assert_eq!(members(&archive[..end]), Err("it is truncated".into()), "{end}");
        }
    }
}
