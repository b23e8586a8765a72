//! What says that results are right besides the stream arm: files with tolerances, and a command.

use std::process::Command;

use half::{bf16, f16};

use crate::chain_file::{Array, Axes, Element, Loaded, NpyCheck, Resolved};
use crate::error::{Error, Kind, Result};

/// The first copy of a buffer, as the stream arm left it.
#[derive(Clone, Copy, Debug)]
pub struct Written<'a> {
    /// Name.
    pub name: &'a str,
    /// Type of an element.
    pub element: Element,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// Compares with the files of the chain file, and runs its command.
///
/// # Errors
/// Exit code 4 where the results are wrong; a file that is none.
pub fn check_outputs(loaded: &Loaded, axes: &Axes, written: &[Written]) -> Result<()> {
    for check in &loaded.file.verify.npy {
        let buffer = written.iter().find(|written| written.name == check.buffer.get_ref());
        let buffer = buffer.ok_or_else(|| {
            let cause = format!("the chain does not write '{}'", check.buffer.get_ref());
            loaded.error(check.buffer.span(), cause)
        })?;
        let length = buffer.bytes.len() as u64 / buffer.element.bytes();
        let (name, wanted) = array(loaded, axes, check, buffer.element, length)?;
        if let Some(cause) = beyond(buffer, &wanted, check.rtol, check.atol) {
            let action = format!("trust {}", loaded.name());
            return Err(Error::new(Kind::Wrong, action, format!("{cause} ({name})")).remedy(
                "the stream arm over full edges computes it: the kernels themselves are wrong",
            ));
        }
    }
    command(loaded, axes, written)
}

/// Reads every file of numbers that a chain with these values fills buffers from or is compared with.
///
/// # Errors
/// One that cannot be read, or holds another type or number of elements than its buffer.
pub fn check_files(loaded: &Loaded, resolved: &Resolved) -> Result<()> {
    for buffer in resolved.buffers.iter().filter(|buffer| buffer.npy.is_some()) {
        super::bytes(buffer)?;
    }
    for check in &loaded.file.verify.npy {
        let buffer = resolved.buffers.iter().find(|buffer| buffer.name == *check.buffer.get_ref());
        if let Some(buffer) = buffer {
            array(loaded, &resolved.axes, check, buffer.element, buffer.length)?;
        }
    }
    Ok(())
}

/// The file's name with the axes' values, and the bytes of its elements.
fn array(
    loaded: &Loaded,
    axes: &Axes,
    check: &NpyCheck,
    element: Element,
    length: u64,
) -> Result<(String, Vec<u8>)> {
    let span = check.file.span();
    let name = axes.iter().fold(check.file.get_ref().clone(), |text, (axis, value)| {
        text.replace(&format!("{{{axis}}}"), &value.to_string())
    });
    let path = loaded.locate(&name, span.clone())?;
    let bytes = std::fs::read(&path).map_err(|error| loaded.error(span.clone(), error))?;
    let wanted = Array::read(&bytes).and_then(|array| array.expect(element, length));
    let wanted =
        wanted.map_err(|cause| loaded.error(span, format!("{}: {cause}", path.display())))?;
    Ok((name, wanted))
}

fn command(loaded: &Loaded, axes: &Axes, written: &[Written]) -> Result<()> {
    let [program, arguments @ ..] = loaded.file.verify.command.as_slice() else { return Ok(()) };
    let action = format!("verify with {program}");
    let fail = |error: &dyn std::fmt::Display| Error::failed(action.clone(), error);
    let folder = tempfile::tempdir().map_err(|error| fail(&error))?;
    for written in written {
        let path = folder.path().join(format!("{}.npy", written.name));
        std::fs::write(path, Array::write(written.element, written.bytes))
            .map_err(|error| fail(&error))?;
    }
    let output = Command::new(program)
        .args(arguments)
        .current_dir(&loaded.folder)
        .env("PDL_BUFFERS", folder.path())
        .envs(axes.iter().map(|(name, value)| (name, value.to_string())))
        .output()
        .map_err(|error| fail(&error))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let said = if said.trim().is_empty() {
        String::from_utf8_lossy(&output.stdout).into_owned()
    } else {
        said
    };
    let last =
        said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("").trim().to_owned();
    let cause = format!("{program} ended with {}: {last}", output.status);
    Err(Error::new(Kind::Wrong, format!("trust {}", loaded.name()), cause))
}

/// The first element beyond the tolerances, in words.
fn beyond(written: &Written, wanted: &[u8], rtol: f64, atol: f64) -> Option<String> {
    let size = written.element.bytes() as usize;
    let pairs = written.bytes.chunks_exact(size).zip(wanted.chunks_exact(size));
    for (at, (found, wanted)) in pairs.enumerate() {
        let (a, b) = (number(written.element, found), number(written.element, wanted));
        // Not a number is beyond every tolerance, unless both are none.
        let near = (a - b).abs() <= atol + rtol * b.abs() || found == wanted;
        if !near {
            return Some(format!("{}[{at}] is {a}, and {b} was expected", written.name));
        }
    }
    None
}

/// An element as a number. 64-bit integers above 2^53 lose their last digits.
fn number(element: Element, bytes: &[u8]) -> f64 {
    fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
        bytes.try_into().expect("the chunk has the element's size")
    }
    match element {
        Element::I8 => f64::from(bytes[0] as i8),
        Element::U8 => f64::from(bytes[0]),
        Element::I16 => f64::from(i16::from_le_bytes(array(bytes))),
        Element::U16 => f64::from(u16::from_le_bytes(array(bytes))),
        Element::I32 => f64::from(i32::from_le_bytes(array(bytes))),
        Element::U32 => f64::from(u32::from_le_bytes(array(bytes))),
        Element::I64 => i64::from_le_bytes(array(bytes)) as f64,
        Element::U64 => u64::from_le_bytes(array(bytes)) as f64,
        Element::F16 => f16::from_le_bytes(array(bytes)).to_f64(),
        Element::Bf16 => bf16::from_le_bytes(array(bytes)).to_f64(),
        Element::F32 => f64::from(f32::from_le_bytes(array(bytes))),
        Element::F64 => f64::from_le_bytes(array(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_beyond_both_tolerances_is_wrong() {
        let bytes =
            |values: &[f32]| values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>();
        let found = bytes(&[1.0, 100.4, f32::NAN]);
        let written = Written { name: "y", element: Element::F32, bytes: &found };
        let wanted = bytes(&[1.05, 100.0, f32::NAN]);
        assert_eq!(beyond(&written, &wanted, 0.01, 0.05), None);
        let said = beyond(&written, &wanted, 0.0, 0.1).unwrap();
        assert!(said.starts_with("y[1] is 100.4"), "{said}");
        assert!(beyond(&written, &bytes(&[1.0, 100.4, 0.0]), 1.0, 1.0).unwrap().contains("y[2]"));
    }
}
