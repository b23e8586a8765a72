//! NumPy's `.npy` files, version 1 to 3, little-endian and in C order.
//!
//! Format: `\x93NUMPY`, major, minor, length of the header, the header (a Python dictionary), data.
//! <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>

use super::Element;

const MAGIC: &[u8] = b"\x93NUMPY";
/// Data begin at a multiple of this.
const ALIGNMENT: usize = 64;

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// NumPy's name of the type: `<f4`, `|u1`. Half-precision floats of the bf16 kind have none
    /// and are written as `<u2`.
    pub descr: String,
    /// Elements.
    pub length: u64,
    /// Their bytes.
    pub data: Vec<u8>,
}

/// NumPy's name of a type.
fn descr(element: Element) -> &'static str {
    match element {
        Element::I8 => "|i1",
        Element::U8 => "|u1",
        Element::I16 => "<i2",
        Element::U16 | Element::Bf16 => "<u2",
        Element::I32 => "<i4",
        Element::U32 => "<u4",
        Element::I64 => "<i8",
        Element::U64 => "<u8",
        Element::F16 => "<f2",
        Element::F32 => "<f4",
        Element::F64 => "<f8",
    }
}

impl Array {
    /// Reads a file's bytes.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn read(bytes: &[u8]) -> Result<Array, String> {
        let rest = bytes.strip_prefix(MAGIC).ok_or("it is no .npy file")?;
        let cut = || "its header is cut off".to_owned();
        let (&[major, _], rest) = rest.split_first_chunk::<2>().ok_or_else(cut)?;
        let (length, rest) = match major {
            1 => rest.split_first_chunk().map(|(n, r)| (u16::from_le_bytes(*n) as usize, r)),
            2 | 3 => rest.split_first_chunk().map(|(n, r)| (u32::from_le_bytes(*n) as usize, r)),
            _ => return Err(format!("its version is {major}")),
        }
        .ok_or_else(cut)?;
        let header = rest.get(..length).ok_or_else(cut)?;
        let header = String::from_utf8_lossy(header).into_owned();
        let descr = text_of(&header, "'descr'").ok_or("its header names no type")?;
        if value_of(&header, "'fortran_order'").is_some_and(|value| value.starts_with("True")) {
            return Err("it is in Fortran order: save numpy.ascontiguousarray of it".into());
        }
        let shape = value_of(&header, "'shape'").ok_or("its header names no shape")?;
        let inner = shape.strip_prefix('(').and_then(|s| s.split_once(')')).ok_or_else(cut)?.0;
        let mut count: u64 = 1;
        for part in inner.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let part: u64 = part.parse().map_err(|_| format!("its shape is ({inner})"))?;
            count = count.checked_mul(part).ok_or_else(|| format!("its shape is ({inner})"))?;
        }
        Ok(Array { descr, length: count, data: rest[length..].to_vec() })
    }

    /// The bytes of a file with these elements.
    pub fn write(element: Element, data: &[u8]) -> Vec<u8> {
        let length = data.len() as u64 / element.bytes();
        let descr = descr(element);
        let mut header =
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({length},), }}");
        let before = MAGIC.len() + 4;
        let padded = (before + header.len() + 1).next_multiple_of(ALIGNMENT) - before;
        header.extend(std::iter::repeat_n(' ', padded - header.len() - 1));
        header.push('\n');
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 0]);
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    /// The data, if they are `length` elements of this type.
    ///
    /// # Errors
    /// What they are instead.
    pub fn expect(self, element: Element, length: u64) -> Result<Vec<u8>, String> {
        let wanted = descr(element);
        let alike = self.descr == wanted || (element == Element::Bf16 && self.descr == "|V2");
        if !alike || self.length != length {
            let found = (&self.descr, self.length);
            return Err(format!(
                "it holds {} of '{}', and the buffer has {length} of '{wanted}'",
                found.1, found.0
            ));
        }
        if self.data.len() as u64 != length * element.bytes() {
            return Err(format!("it has {} bytes of data", self.data.len()));
        }
        Ok(self.data)
    }
}

/// What follows `key:` in the dictionary.
fn value_of<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let rest = header.split_once(key)?.1.trim_start();
    rest.strip_prefix(':').map(str::trim_start)
}

fn text_of(header: &str, key: &str) -> Option<String> {
    let value = value_of(header, key)?.strip_prefix('\'')?;
    value.split_once('\'').map(|(text, _)| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_and_aligned() {
        let data: Vec<u8> = [1.5f32, -2.0, 3.25].iter().flat_map(|x| x.to_le_bytes()).collect();
        let bytes = Array::write(Element::F32, &data);
        assert_eq!((bytes.len() - data.len()) % 64, 0);
        let array = Array::read(&bytes).unwrap();
        assert_eq!((array.descr.as_str(), array.length), ("<f4", 3));
        assert_eq!(array.clone().expect(Element::F32, 3).unwrap(), data);
        assert!(array.clone().expect(Element::F32, 4).unwrap_err().contains("holds 3 of '<f4'"));
        assert!(array.expect(Element::I32, 3).unwrap_err().contains("'<i4'"));
    }

    #[test]
    fn a_header_of_numpy_is_read() {
        // numpy.save of a 2 × 3 array of int8.
        let header = "{'descr': '|i1', 'fortran_order': False, 'shape': (2, 3), }          \n";
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend([1, 2, 3, 4, 5, 6]);
        let array = Array::read(&bytes).unwrap();
        assert_eq!(array.expect(Element::I8, 6).unwrap(), [1, 2, 3, 4, 5, 6]);
        let fortran = String::from_utf8_lossy(&bytes).replace("False", "True ");
        let fortran = [MAGIC, &fortran.as_bytes()[fortran.find("NUMPY").unwrap() + 5..]].concat();
        assert!(Array::read(&fortran).unwrap_err().contains("Fortran"));
    }

    #[test]
    fn what_is_no_file_of_numpy_is_refused() {
        let table: [(&[u8], &str); 4] = [
            (b"PK\x03\x04", "no .npy"),
            (b"\x93NUMPY\x01\x00\xff\x00{}", "cut off"),
            (b"\x93NUMPY\x09\x00\x00\x00", "version is 9"),
            (b"\x93NUMPY\x01\x00\x02\x00{}", "names no type"),
        ];
        for (bytes, expected) in table {
            assert!(Array::read(bytes).unwrap_err().contains(expected), "{expected}");
        }
    }
}
