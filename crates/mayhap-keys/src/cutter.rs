//! From a line to its key.

use super::csv::CsvFields;
use super::fields::{Fields, escape_field, nth_field, push_separator};
use super::form::Form;
use super::keyless::NoKey;
use super::{JsonPointer, KeyOptions};

/// Cuts keys out of lines, by [`KeyOptions`].
///
/// Knows nothing of files and can be sent to another thread; it is `&mut` for the memory that it
/// reuses.
#[derive(Debug)]
pub struct Cutter {
    strip_cr: bool,
    record: Record,
    form: Form,
    /// A JSON text with its escapes resolved.
    scratch: String,
}

/// The part of a line that has the key.
#[derive(Debug)]
enum Record {
    Line,
    Fields { delim: u8, fields: Fields },
    Csv { reader: Box<CsvFields>, fields: Fields },
    Json(JsonPointer),
}

impl Cutter {
    /// A cutter of lines whose key is not the line itself; `None` where it is (except for a
    /// carriage return, see [`KeyOptions::without_cr`]), so that nothing has to be copied.
    pub fn new(options: &KeyOptions) -> Option<Self> {
        let delim = options.delim();
        let record = match (options.field.clone(), &options.json_pointer) {
            (Some(fields), _) if options.csv => {
                let reader = Box::new(CsvFields::new(delim, options.separator()));
                Record::Csv { reader, fields }
            }
            (Some(fields), _) => Record::Fields { delim, fields },
            (None, Some(pointer)) => Record::Json(pointer.clone()),
            (None, None) => Record::Line,
        };
        let form = Form::new(options);
        if matches!(record, Record::Line) && form.is_none() {
            return None;
        }
        let form = form.unwrap_or_default();
        Some(Self { strip_cr: options.strips_cr(), record, form, scratch: String::new() })
    }

    /// Appends the key of a line, which is passed without its separator, to `keys`. A carriage
    /// return at the end of a record of CSV is never part of one.
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
            [line @ .., b'\r'] if self.strip_cr || matches!(self.record, Record::Csv { .. }) => {
                line
            }
            line => line,
        };
        let form = &self.form;
        match &mut self.record {
            Record::Line => form.push(line, keys),
            Record::Fields { delim, fields } => push_fields(form, fields, keys, |at| {
                let number = fields.numbers()[at];
                nth_field(line, *delim, number).ok_or(NoKey::Field(number))
            }),
            Record::Csv { reader, fields } => {
                reader.read(line, fields)?;
                push_fields(form, fields, keys, |at| Ok(reader.field(at)))
            }
            Record::Json(pointer) => form.push(pointer.find(line, &mut self.scratch)?, keys),
        }
    }
}

/// Appends one field, or several as one key: each in its form, with a separator between them.
fn push_fields<'a>(
    form: &Form,
    fields: &Fields,
    keys: &mut Vec<u8>,
    field: impl Fn(usize) -> Result<&'a [u8], NoKey>,
) -> Result<(), NoKey> {
    if !fields.are_several() {
        return form.push(field(0)?, keys);
    }
    let start = keys.len();
    for at in 0..fields.numbers().len() {
        if at > 0 {
            push_separator(keys);
        }
        let field_start = keys.len();
        if let Err(why) = field(at).and_then(|field| form.push(field, keys)) {
            keys.truncate(start);
            return Err(why);
        }
        escape_field(keys, field_start);
    }
    Ok(())
}
