//! Keys in a buffer: NumPy arrays, `array.array`, memoryviews.
//!
//! Integers of 8 to 64 bits, and texts and bytes of fixed width (`U`, `S`), in one dimension and
//! with any stride. Floats and NumPy's bool are refused, as they are as single keys.
#![expect(unsafe_code, reason = "memory of other libraries is read where it lies")]

use super::{DETACH_FROM, Sink, no_digest};
use crate::error::Error;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// The type of the elements of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Element {
    /// Integers, sign-extended if they are signed.
    Integer { signed: bool },
    /// Bytes of a fixed width; zeros at the end are not part of it.
    Bytes,
    /// UCS-4 characters, without zeros at the end.
    Text,
}

/// The place of the elements of a buffer. The buffer is held by the creator of this value.
#[derive(Debug, Clone, Copy)]
struct Elements {
    start: usize,
    len: usize,
    stride: isize,
    size: usize,
    is_swapped: bool,
}

/// Hands over the elements of a buffer; `false` if the object is no buffer, or one of objects.
pub(super) fn feed(keys: &Bound<'_, PyAny>, sink: &mut impl Sink) -> PyResult<bool> {
    let Ok(buffer) = PyUntypedBuffer::get(keys) else { return Ok(false) };
    let format = buffer.format().to_bytes().to_vec();
    if format == b"O" {
        return Ok(false);
    }
    let Some((element, is_swapped)) = element_of(&format, buffer.item_size()) else {
        return Err(PyTypeError::new_err(format!(
            "keys in arrays are integers, texts or bytes, not of the format {:?}; convert them, \
             as keys.astype(str) or keys.view(\"u{}\")",
            String::from_utf8_lossy(&format),
            buffer.item_size()
        )));
    };
    let is_digest = (element, buffer.item_size()) == (Element::Integer { signed: false }, 8);
    if sink.takes_digests() && !is_digest {
        let format = String::from_utf8_lossy(&format);
        return Err(no_digest(&format!("of the format {format:?}")).into());
    }
    let ([len], [stride]) = (buffer.shape(), buffer.strides()) else {
        return Err(PyTypeError::new_err(format!(
            "arrays of keys have one dimension, not {}; flatten it, as keys.ravel()",
            buffer.dimensions()
        )));
    };
    if buffer.suboffsets().is_some_and(|offsets| offsets.iter().any(|&offset| offset >= 0)) {
        return Err(PyTypeError::new_err("arrays of pointers hold no keys; copy it"));
    }
    let (len, stride, size) = (*len, *stride, buffer.item_size());
    let elements = Elements { start: buffer.buf_ptr() as usize, len, stride, size, is_swapped };
    let py = keys.py();
    if len < DETACH_FROM {
        feed_elements(elements, element, sink)?;
    } else {
        py.detach(|| feed_elements(elements, element, sink))?;
    }
    buffer.release(py);
    Ok(true)
}

/// The meaning of a format of the `struct` module, and whether its bytes are swapped.
fn element_of(format: &[u8], size: usize) -> Option<(Element, bool)> {
    let (order, code) = match format {
        [order @ (b'@' | b'=' | b'<' | b'>' | b'!'), code @ ..] => (*order, code),
        code => (b'@', code),
    };
    let is_swapped = match order {
        b'<' => cfg!(target_endian = "big"),
        b'>' | b'!' => cfg!(target_endian = "little"),
        _ => false,
    };
    let element = match code {
        [b'b' | b'h' | b'i' | b'l' | b'q' | b'n'] => Element::Integer { signed: true },
        [b'B' | b'H' | b'I' | b'L' | b'Q' | b'N'] => Element::Integer { signed: false },
        [width @ .., b's'] if width.iter().all(u8::is_ascii_digit) => Element::Bytes,
        [width @ .., b'w'] if width.iter().all(u8::is_ascii_digit) => Element::Text,
        _ => return None,
    };
    let is_sized = match element {
        Element::Integer { .. } => matches!(size, 1 | 2 | 4 | 8),
        Element::Bytes => true,
        Element::Text => size.is_multiple_of(4),
    };
    is_sized.then_some((element, is_swapped))
}

fn feed_elements(elements: Elements, element: Element, sink: &mut impl Sink) -> Result<(), Error> {
    match (element, elements.size) {
        (Element::Bytes, _) => feed_bytes(elements, sink),
        (Element::Text, _) => feed_texts(elements, sink),
        (Element::Integer { signed: false }, 1) => {
            feed_integers(elements, sink, |[byte]: [u8; 1]| byte.into())
        }
        (Element::Integer { signed: false }, 2) => {
            feed_integers(elements, sink, |bytes| u16::from_ne_bytes(bytes).into())
        }
        (Element::Integer { signed: false }, 4) => {
            feed_integers(elements, sink, |bytes| u32::from_ne_bytes(bytes).into())
        }
        (Element::Integer { signed: true }, 1) => {
            feed_integers(elements, sink, |bytes| i64::from(i8::from_ne_bytes(bytes)) as u64)
        }
        (Element::Integer { signed: true }, 2) => {
            feed_integers(elements, sink, |bytes| i64::from(i16::from_ne_bytes(bytes)) as u64)
        }
        (Element::Integer { signed: true }, 4) => {
            feed_integers(elements, sink, |bytes| i64::from(i32::from_ne_bytes(bytes)) as u64)
        }
        (Element::Integer { .. }, _) => feed_integers(elements, sink, u64::from_ne_bytes),
    }
}

/// Integers of `N` bytes, which `widen` extends to 64 bits.
fn feed_integers<const N: usize>(
    elements: Elements,
    sink: &mut impl Sink,
    widen: impl Fn([u8; N]) -> u64,
) -> Result<(), Error> {
    const AT_ONCE: usize = 512;
    let mut keys = [0; AT_ONCE];
    let is_plain = elements.stride == N as isize && !elements.is_swapped;
    for start in (0..elements.len).step_by(AT_ONCE) {
        let count = AT_ONCE.min(elements.len - start);
        for (i, key) in keys[..count].iter_mut().enumerate() {
            // The common case has a stride that the compiler knows, and is vectorised.
            let mut bytes =
                if is_plain { elements.plain(start + i) } else { elements.read(start + i) };
            if !is_plain && elements.is_swapped {
                bytes.reverse();
            }
            *key = widen(bytes);
        }
        sink.integers(&keys[..count])?;
    }
    Ok(())
}

fn feed_bytes(elements: Elements, sink: &mut impl Sink) -> Result<(), Error> {
    let mut key = vec![0; elements.size];
    for i in 0..elements.len {
        elements.copy(i, &mut key);
        let len = key.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        sink.bytes(&key[..len])?;
    }
    Ok(())
}

fn feed_texts(elements: Elements, sink: &mut impl Sink) -> Result<(), Error> {
    let (mut raw, mut utf8) = (vec![0; elements.size], Vec::new());
    for i in 0..elements.len {
        elements.copy(i, &mut raw);
        utf8.clear();
        let units = raw.chunks_exact(4).map(|unit| {
            let unit = u32::from_ne_bytes([unit[0], unit[1], unit[2], unit[3]]);
            if elements.is_swapped { unit.swap_bytes() } else { unit }
        });
        let units: Vec<u32> = units.collect();
        let len = units.iter().rposition(|&unit| unit != 0).map_or(0, |last| last + 1);
        for &unit in &units[..len] {
            let Some(character) = char::from_u32(unit) else {
                return Err(Error::Python(pyo3::exceptions::PyValueError::new_err(format!(
                    "text {i} has the unit U+{unit:04X}, which is no character and has no UTF-8"
                ))));
            };
            utf8.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
        sink.text(&utf8)?;
    }
    Ok(())
}

impl Elements {
    /// The address of element `i`.
    fn at(&self, i: usize) -> *const u8 {
        debug_assert!(i < self.len);
        self.start.wrapping_add_signed(self.stride.wrapping_mul(i as isize)) as *const u8
    }

    /// The bytes of an element of `N` bytes.
    #[inline(always)]
    fn read<const N: usize>(&self, i: usize) -> [u8; N] {
        // SAFETY: the exporter of the buffer, which is held, promises `size` = `N` readable bytes
        // at each of `len` strides from the start; no alignment is needed. Another thread may write
        // to the array meanwhile, as it may during any loop of NumPy: any bytes are a key.
        unsafe { self.at(i).cast::<[u8; N]>().read_unaligned() }
    }

    /// Like [`Elements::read`], where elements are adjacent.
    #[inline(always)]
    fn plain<const N: usize>(&self, i: usize) -> [u8; N] {
        // SAFETY: as in `read`, with a stride of `N`.
        unsafe { (self.start as *const [u8; N]).add(i).read_unaligned() }
    }

    /// Copies an element of any size.
    fn copy(&self, i: usize, target: &mut [u8]) {
        assert_eq!(target.len(), self.size, "an element is as long as the buffer says");
        // SAFETY: as in `read`; `target` is as long as the element, and is memory of ours.
        unsafe { self.at(i).copy_to_nonoverlapping(target.as_mut_ptr(), self.size) }
    }
}
