//! What a buffer holds when a chain begins. The same bytes on every machine.

use std::sync::{Mutex, PoisonError};

use half::{bf16, f16};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::chain_file::{Array, Element, Fill, ResolvedBuffer};
use crate::error::{Error, Result};

/// The bytes of one copy.
///
/// # Errors
/// A file that cannot be read or holds something else.
pub fn bytes(buffer: &ResolvedBuffer) -> Result<Vec<u8>> {
    let length = buffer.bytes() as usize;
    match &buffer.fill {
        Fill::Poison => Ok(vec![0xff; length]),
        Fill::Zeros => Ok(vec![0; length]),
        Fill::Iota => {
            let mut bytes = Vec::with_capacity(length);
            (0..buffer.length).for_each(|at| write(buffer.element, Number::Whole(at), &mut bytes));
            Ok(bytes)
        }
        Fill::Random { seed, low, high } => {
            // Every buffer has its own numbers.
            let name =
                buffer.name.bytes().fold(*seed, |seed, b| seed.rotate_left(7) ^ u64::from(b));
            Ok(random(buffer, name, *low, *high))
        }
        Fill::Npy(name) => {
            let action = || format!("fill {} from {name}", buffer.name);
            let path = buffer.npy.as_ref().expect("a fill from a file was located when resolved");
            let file = std::fs::read(path).map_err(|error| Error::failed(action(), error))?;
            let array = Array::read(&file).and_then(|a| a.expect(buffer.element, buffer.length));
            array.map_err(|cause| Error::failed(action(), cause))
        }
    }
}

/// Elements that one thread makes at a time.
const PART: usize = 1 << 16;

/// Random numbers, made by all processors: each part begins where its numbers lie in the one stream of
/// the seed, so that the bytes are the same however many there are.
fn random(buffer: &ResolvedBuffer, seed: u64, low: f64, high: f64) -> Vec<u8> {
    let (element, size) = (buffer.element, buffer.element.bytes() as usize);
    let mut bytes = vec![0; buffer.bytes() as usize];
    let parts: Mutex<Vec<(usize, &mut [u8])>> =
        Mutex::new(bytes.chunks_mut(PART * size).enumerate().collect());
    let work = || {
        let mut made = Vec::with_capacity(PART * size);
        loop {
            let part = parts.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some((place, part)) = part else { break };
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            // Two words a number.
            rng.set_word_pos(2 * (place * PART) as u128);
            made.clear();
            for _ in 0..part.len() / size {
                let part: f64 = rng.random();
                let number = if whole(element) {
                    (low.ceil() + (part * (high.floor() - low.ceil() + 1.0)).floor()).min(high)
                } else {
                    low + part * (high - low)
                };
                write(element, Number::Real(number), &mut made);
            }
            part.copy_from_slice(&made);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.min((buffer.length as usize).div_ceil(PART));
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    bytes
}

#[derive(Clone, Copy)]
enum Number {
    Whole(u64),
    Real(f64),
}

fn whole(element: Element) -> bool {
    !matches!(element, Element::F16 | Element::Bf16 | Element::F32 | Element::F64)
}

/// Appends a number as an element: whole ones wrapped to the type.
fn write(element: Element, number: Number, bytes: &mut Vec<u8>) {
    let real = match number {
        Number::Whole(n) => n as f64,
        Number::Real(x) => x,
    };
    let bits = match number {
        Number::Whole(n) => n,
        Number::Real(x) if x < 0.0 => x as i64 as u64,
        Number::Real(x) => x as u64,
    };
    match element {
        Element::F16 => bytes.extend(f16::from_f64(real).to_le_bytes()),
        Element::Bf16 => bytes.extend(bf16::from_f64(real).to_le_bytes()),
        Element::F32 => bytes.extend((real as f32).to_le_bytes()),
        Element::F64 => bytes.extend(real.to_le_bytes()),
        _ => bytes.extend(&bits.to_le_bytes()[..element.bytes() as usize]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(element: Element, length: u64, fill: Fill) -> ResolvedBuffer {
        ResolvedBuffer { name: "x".into(), element, length, fill, npy: None, copies: Some(1) }
    }

    #[test]
    fn iota_wraps_to_its_type() {
        let of = |element, length| bytes(&buffer(element, length, Fill::Iota)).unwrap();
        assert_eq!(of(Element::I8, 300)[255..259], [255, 0, 1, 2]);
        assert_eq!(of(Element::U16, 3), [0, 0, 1, 0, 2, 0]);
        assert_eq!(of(Element::F16, 2), [0, 0, 0x00, 0x3c]);
        assert_eq!(of(Element::Bf16, 2), [0, 0, 0x80, 0x3f]);
        assert_eq!(of(Element::F32, 2)[4..], 1.0_f32.to_le_bytes());
    }

    #[test]
    fn random_numbers_are_those_of_one_stream_however_they_are_made() {
        let length = 3 * PART as u64 + 17;
        let fill = Fill::Random { seed: 5, low: -1.0, high: 1.0 };
        let made = bytes(&buffer(Element::F64, length, fill)).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(5_u64.rotate_left(7) ^ u64::from(b'x'));
        for (at, bytes) in made.chunks(8).enumerate() {
            let part: f64 = rng.random();
            assert_eq!(f64::from_le_bytes(bytes.try_into().unwrap()), -1.0 + part * 2.0, "{at}");
        }
    }

    #[test]
    fn random_numbers_stay_in_their_range_and_are_the_same_again() {
        let fill = Fill::Random { seed: 3, low: -8.0, high: 7.0 };
        let ints = bytes(&buffer(Element::I8, 4000, fill.clone())).unwrap();
        let seen: std::collections::BTreeSet<i8> = ints.iter().map(|&b| b as i8).collect();
        assert_eq!(seen, (-8..=7).collect());
        assert_eq!(ints, bytes(&buffer(Element::I8, 4000, fill.clone())).unwrap());
        let floats = bytes(&buffer(Element::F32, 4000, fill)).unwrap();
        let floats: Vec<f32> =
            floats.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
        assert!(floats.iter().all(|x| (-8.0..7.0).contains(x)));
        let mean = floats.iter().sum::<f32>() / 4000.0;
        assert!((mean + 0.5).abs() < 0.3, "{mean}");
    }
}
