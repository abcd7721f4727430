//! From a line to its key.

use super::keyless::NoKey;
use super::{JsonPointer, KeyOptions, push_hex, push_url};
use std::num::NonZeroU32;

/// Cuts keys out of lines, as [`KeyOptions`] say.
///
/// Knows nothing of files and can be sent to another thread; it is `&mut` for the memory that it
/// uses again.
#[derive(Debug)]
pub struct Cutter {
    strip_cr: bool,
    record: Record,
    trim: bool,
    form: Form,
    lower: bool,
    /// A JSON text with its escapes resolved.
    scratch: String,
}

/// The part of a line that has the key.
#[derive(Debug)]
enum Record {
    Line,
    Field { delim: u8, field: NonZeroU32 },
    Json(JsonPointer),
}

#[derive(Debug)]
enum Form {
    AsIs,
    Hex,
    Url,
}

impl Cutter {
    /// A cutter of lines whose key is not the line itself; `None` where it is (but for a carriage
    /// return), so that nothing has to be copied.
    pub fn new(options: &KeyOptions) -> Option<Self> {
        let record = match (options.field, &options.json_pointer) {
            (Some(field), _) => Record::Field { delim: options.delim(), field },
            (None, Some(pointer)) => Record::Json(pointer.clone()),
            (None, None) => Record::Line,
        };
        let form = match (options.hex, options.normalize_url) {
            (true, _) => Form::Hex,
            (false, true) => Form::Url,
            (false, false) => Form::AsIs,
        };
        let cuts = !matches!((&record, &form), (Record::Line, Form::AsIs));
        (cuts || options.trim || options.lower).then(|| Self {
            strip_cr: options.strip_cr,
            record,
            trim: options.trim,
            form,
            lower: options.lower,
            scratch: String::new(),
        })
    }

    /// From now on leaves a carriage return at the end of a line out of its key, or does not.
    pub fn strip_cr(&mut self, strip_cr: bool) {
        self.strip_cr = strip_cr;
    }

    /// Appends the key of a line, which comes without its separator, to `keys`.
    ///
    /// # Errors
    ///
    /// [`NoKey`] if it has none; `keys` is then as it was.
    ///
    /// ```
    /// use mayhap_keys::{Cutter, KeyOptions};
    /// let options = KeyOptions { trim: true, lower: true, ..KeyOptions::default() };
    /// let mut cutter = Cutter::new(&options).unwrap();
    /// let mut keys = Vec::new();
    /// cutter.cut(b" Hello\t", &mut keys).unwrap();
    /// assert_eq!(keys, b"hello");
    /// ```
    pub fn cut(&mut self, line: &[u8], keys: &mut Vec<u8>) -> Result<(), NoKey> {
        let line = match line {
            [line @ .., b'\r'] if self.strip_cr => line,
            line => line,
        };
        let mut record = match &self.record {
            Record::Line => line,
            Record::Field { delim, field } => {
                nth_field(line, *delim, *field).ok_or(NoKey::Field(*field))?
            }
            Record::Json(pointer) => pointer.find(line, &mut self.scratch)?,
        };
        if self.trim {
            record = record.trim_ascii();
        }
        let start = keys.len();
        match self.form {
            Form::AsIs => keys.extend_from_slice(record),
            Form::Hex => push_hex(record, keys)?,
            Form::Url => push_url(record, keys)?,
        }
        if self.lower {
            // After a URL's normal form, so that what that form escapes is lower case as well.
            keys[start..].make_ascii_lowercase();
        }
        Ok(())
    }
}

/// The bytes between two delimiters, counted from 1; a line without delimiters is one field.
fn nth_field(line: &[u8], delim: u8, field: NonZeroU32) -> Option<&[u8]> {
    let mut delims = memchr::memchr_iter(delim, line);
    let start = match field.get() as usize - 1 {
        0 => 0,
        before => delims.nth(before - 1)? + 1,
    };
    Some(&line[start..delims.next().unwrap_or(line.len())])
}
