//! Keys that are objects.

use super::{Sink, no_digest};
use crate::key;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// Texts after one beyond ASCII that are encoded into a temporary.
const CAREFUL_FOR: u32 = 4096;

/// Encodes texts without leaving a copy of each in the interpreter's memory.
///
/// `PyUnicode_AsUTF8AndSize` is free for ASCII, but keeps the UTF-8 form of other texts in the
/// object for as long as that lives: 100 MB for a million URLs. The stable ABI cannot tell whether
/// a text is ASCII before that call. So after each text that was not, the next ones are encoded
/// into temporaries, and at most one in [`CAREFUL_FOR`] keeps a copy.
struct Texts {
    careful: u32,
}

impl Texts {
    #[inline(always)]
    fn feed(&mut self, text: &Bound<'_, PyString>, sink: &mut impl Sink) -> PyResult<()> {
        if self.careful > 0 {
            return self.feed_carefully(text, sink);
        }
        let utf8 = text.to_str()?;
        sink.text(utf8.as_bytes())?;
        if text.len()? != utf8.len() {
            self.careful = CAREFUL_FOR;
        }
        Ok(())
    }

    fn feed_carefully(&mut self, text: &Bound<'_, PyString>, sink: &mut impl Sink) -> PyResult<()> {
        let temporary = text.encode_utf8()?;
        let utf8 = temporary.as_bytes();
        sink.text(utf8)?;
        self.careful = if text.len()? == utf8.len() { self.careful - 1 } else { CAREFUL_FOR };
        Ok(())
    }
}

/// Hands over the keys of an iterator.
pub(super) fn feed<'py>(
    mut keys: impl Iterator<Item = Bound<'py, PyAny>>,
    sink: &mut impl Sink,
) -> PyResult<()> {
    if sink.takes_digests() {
        return keys.try_for_each(|digest| feed_digest(&digest, sink));
    }
    let mut texts = Texts { careful: 0 };
    for key in keys {
        feed_one(&key, &mut texts, sink)?;
    }
    Ok(())
}

/// Hands over the keys of any iterable.
pub(super) fn feed_iterable(keys: &Bound<'_, PyAny>, sink: &mut impl Sink) -> PyResult<()> {
    if sink.takes_digests() {
        return keys.try_iter()?.try_for_each(|digest| feed_digest(&digest?, sink));
    }
    let mut texts = Texts { careful: 0 };
    for key in keys.try_iter()? {
        feed_one(&key?, &mut texts, sink)?;
    }
    Ok(())
}

fn feed_digest(digest: &Bound<'_, PyAny>, sink: &mut impl Sink) -> PyResult<()> {
    if !key::is_integer(digest)? {
        return Err(no_digest(&digest.get_type().name()?.to_string()).into());
    }
    let number: u64 = digest.extract().map_err(|_| no_digest(&digest.to_string()))?;
    Ok(sink.integers(&[number])?)
}

#[inline(always)]
fn feed_one(key: &Bound<'_, PyAny>, texts: &mut Texts, sink: &mut impl Sink) -> PyResult<()> {
    if let Ok(text) = key.cast_exact::<PyString>() {
        texts.feed(text, sink)
    } else if let Ok(bytes) = key.cast_exact::<PyBytes>() {
        Ok(sink.bytes(bytes.as_bytes())?)
    } else if let Ok(text) = key.cast::<PyString>() {
        texts.feed(text, sink)
    } else if key::is_integer(key)? {
        Ok(sink.integers(&[u64::from_le_bytes(key::integer(key)?)])?)
    } else {
        Ok(key::with_bytes(key, |bytes| sink.bytes(bytes))??)
    }
}
