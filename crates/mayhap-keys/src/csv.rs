//! Comma-separated values (RFC 4180): records whose fields may be quoted.
//!
//! A field that begins with a quote ends with the next one that is not doubled, and may hold
//! delimiters and line ends in between. A quote elsewhere is a character like any other.

use super::fields::Fields;
use super::keyless::NoKey;
use csv_core::{ReadFieldResult, Reader, ReaderBuilder, Terminator};
use std::ops::Range;

const QUOTE: u8 = b'"';

/// Reads the fields of records.
#[derive(Debug)]
pub(super) struct CsvFields {
    reader: Reader,
    separator: u8,
    /// The fields that are kept, one after another.
    text: Vec<u8>,
    /// The place of each wanted field there.
    kept: Vec<Range<usize>>,
}

impl CsvFields {
    /// For records with `delim` between fields and `separator` after each record.
    pub(super) fn new(delim: u8, separator: u8) -> Self {
        let mut fields = Self {
            reader: reader(delim, separator),
            separator,
            text: Vec::new(),
            kept: Vec::new(),
        };
        fields.forget_start();
        fields
    }

    /// Reads the wanted fields of a record, which is passed without its separator.
    ///
    /// # Errors
    ///
    /// [`NoKey::Field`] for the first of them that it does not have, [`NoKey::Quote`] if it ends
    /// within quotes.
    pub(super) fn read(&mut self, record: &[u8], wanted: &Fields) -> Result<(), NoKey> {
        self.kept.clear();
        self.kept.resize(wanted.numbers().len(), 0..0);
        // No field is longer than its written form; a separator may be taken for a part of it.
        if self.text.len() <= record.len() {
            self.text.resize(record.len() + 1, 0);
        }
        let missing = |number: u32| match wanted.numbers().iter().find(|it| it.get() > number) {
            Some(field) => Err(NoKey::Field(*field)),
            None => Ok(()),
        };
        if record.is_empty() {
            // One empty field; the reader would skip it, as an empty line.
            return missing(1);
        }
        let (mut rest, mut used) = (record, 0);
        for number in 1.. {
            let (is_last, end) = self.read_field(&mut rest, used)?;
            let mut is_wanted = false;
            for (kept, field) in self.kept.iter_mut().zip(wanted.numbers()) {
                if field.get() == number {
                    (*kept, is_wanted) = (used..end, true);
                }
            }
            if is_wanted {
                used = end;
            }
            if is_last {
                return missing(number);
            }
        }
        Ok(())
    }

    /// The wanted field at this place among them.
    pub(super) fn field(&self, at: usize) -> &[u8] {
        &self.text[self.kept[at].clone()]
    }

    /// Reads the next field to `start` of the text; returns whether it ends the record, and its
    /// end.
    fn read_field(&mut self, rest: &mut &[u8], start: usize) -> Result<(bool, usize), NoKey> {
        let (separator, mut end) = ([self.separator], start);
        loop {
            let is_end = rest.is_empty();
            let input = if is_end { &separator[..] } else { *rest };
            let (result, read, written) = self.reader.read_field(input, &mut self.text[end..]);
            end += written;
            if !is_end {
                *rest = &rest[read..];
            }
            match result {
                ReadFieldResult::Field { record_end } => return Ok((record_end, end)),
                ReadFieldResult::InputEmpty if !is_end => {}
                // The separator was taken for a part of the field.
                _ => {
                    self.reader.reset();
                    self.forget_start();
                    return Err(NoKey::Quote);
                }
            }
        }
    }

    /// Keeps the reader from taking bytes for a byte-order mark: the reader of lists has removed
    /// it.
    fn forget_start(&mut self) {
        let separator = [b'x', self.separator];
        let mut rest = &separator[..];
        while let (ReadFieldResult::InputEmpty, read, _) = self.reader.read_field(rest, &mut [0; 4])
        {
            rest = &rest[read..];
        }
    }
}

fn reader(delim: u8, separator: u8) -> Reader {
    ReaderBuilder::new().delimiter(delim).terminator(Terminator::Any(separator)).build()
}

/// Finds the ends of records in text that arrives in pieces.
#[derive(Debug)]
pub struct CsvRecords {
    delim: u8,
    separator: u8,
    /// Whether the bytes so far end within quotes.
    is_quoted: bool,
    /// The start of the current record, and the last quote that closed a field.
    start: usize,
    closed: Option<usize>,
}

impl CsvRecords {
    /// For records with `delim` between fields and `separator` after each record.
    pub fn new(delim: u8, separator: u8) -> Self {
        Self { delim, separator, is_quoted: false, start: 0, closed: None }
    }

    /// Restarts with a text whose first record begins at `start`.
    pub fn begin(&mut self, start: usize) {
        *self = Self { start, ..Self::new(self.delim, self.separator) };
    }

    /// Appends the ends of records, after their separators, in the bytes from `from` on. All
    /// earlier bytes have been processed.
    ///
    /// ```
    /// use mayhap_keys::CsvRecords;
    /// let mut records = CsvRecords::new(b',', b'\n');
    /// let (text, mut ends) = (b"a,\"b\nc\"\nd\n", Vec::new());
    /// records.ends(text, 0, &mut ends);
    /// assert_eq!(ends, [8, 10]);
    /// ```
    pub fn ends(&mut self, text: &[u8], from: usize, ends: &mut Vec<usize>) {
        for at in memchr::memchr2_iter(QUOTE, self.separator, &text[from..]) {
            let at = from + at;
            if text[at] == QUOTE {
                self.quote(text, at);
            } else if !self.is_quoted {
                self.start = at + 1;
                ends.push(self.start);
            }
        }
    }

    fn quote(&mut self, text: &[u8], at: usize) {
        if self.is_quoted {
            (self.is_quoted, self.closed) = (false, Some(at));
            return;
        }
        let before = at.checked_sub(1);
        let is_doubled = before.is_some() && before == self.closed;
        let begins = at == self.start || before.is_some_and(|at| text[at] == self.delim);
        self.is_quoted = is_doubled || begins;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;
    use std::num::NonZeroU32;

    fn fields(record: &str, wanted: &str) -> Result<Vec<String>, NoKey> {
        let mut csv = CsvFields::new(b',', b'\n');
        let wanted = Fields::parse(wanted).unwrap();
        csv.read(record.as_bytes(), &wanted)?;
        let text = |at| String::from_utf8(csv.field(at).to_vec()).unwrap();
        Ok((0..wanted.numbers().len()).map(text).collect())
    }

    /// The examples of RFC 4180, section 2.
    #[test]
    fn fields_are_those_of_the_rfc() {
        for (record, expected) in [
            ("aaa,bbb,ccc", ["aaa", "bbb", "ccc"]),
            ("\"aaa\",\"bbb\",\"ccc\"", ["aaa", "bbb", "ccc"]),
            ("\"aaa\",\"b\r\nbb\",\"ccc\"", ["aaa", "b\r\nbb", "ccc"]),
            ("\"aaa\",\"b\"\"bb\",\"ccc\"", ["aaa", "b\"bb", "ccc"]),
            // And cases that the RFC leaves open: quotes inside of a field, and after its end.
            ("5\" disk,\"a\"b\"c\", \"d\"", ["5\" disk", "ab\"c\"", " \"d\""]),
            (",,", ["", "", ""]),
            ("\u{FEFF}a,\u{FEFF}b,c", ["\u{FEFF}a", "\u{FEFF}b", "c"]),
        ] {
            assert_eq!(fields(record, "1,2,3").unwrap(), expected, "{record}");
            assert_eq!(fields(record, "3,1").unwrap(), [expected[2], expected[0]], "{record}");
        }
        let missing = |number| NoKey::Field(NonZeroU32::new(number).unwrap());
        assert_eq!(fields("a,b", "1,3"), Err(missing(3)));
        assert_eq!(fields("", "1").unwrap(), [""]);
        assert_eq!(fields("", "2"), Err(missing(2)));
        assert_eq!(fields("a,\"b", "1"), Err(NoKey::Quote));
        assert_eq!(fields("a,\"b\"\"", "2"), Err(NoKey::Quote));
    }

    #[test]
    fn a_record_that_ends_within_quotes_spoils_no_other() {
        let mut csv = CsvFields::new(b';', 0);
        let wanted = Fields::parse("2").unwrap();
        for _ in 0..3 {
            assert_eq!(csv.read(b"a;\"b", &wanted), Err(NoKey::Quote));
            csv.read(b"\xEF\xBB\xBFa;\"b\n\"", &wanted).unwrap();
            assert_eq!(csv.field(0), b"b\n");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            rng_seed: RngSeed::Fixed(18),
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn records_are_those_of_another_reader_however_the_text_is_cut(
            text in "[a,;\"\n]{0,30}\n", cut in 0usize..31
        ) {
            let text = text.as_bytes();
            let mut records = CsvRecords::new(b',', b'\n');
            let (mut ends, cut) = (Vec::new(), cut.min(text.len()));
            records.ends(&text[..cut], 0, &mut ends);
            records.ends(text, cut, &mut ends);
            prop_assert_eq!(ends, expected_ends(text));
        }

        #[test]
        fn quoted_fields_are_read_back(
            fields in proptest::collection::vec("[a,\"\n\r]{0,6}", 1..5)
        ) {
            let quoted: Vec<String> =
                fields.iter().map(|field| format!("\"{}\"", field.replace('"', "\"\""))).collect();
            let all: Vec<String> = (1..=fields.len()).map(|number| number.to_string()).collect();
            prop_assert_eq!(super::tests::fields(&quoted.join(","), &all.join(",")), Ok(fields));
        }
    }

    /// Where csv-core ends records; empty ones, which it skips, end with their line feed.
    fn expected_ends(text: &[u8]) -> Vec<usize> {
        let (mut ends, mut at) = (Vec::new(), 0);
        let (mut reader, mut output, mut fields) = (reader(b',', b'\n'), [0; 64], [0; 64]);
        while at < text.len() {
            if text[at] == b'\n' {
                at += 1;
                ends.push(at);
                continue;
            }
            let (result, read, ..) = reader.read_record(&text[at..], &mut output, &mut fields);
            at += read;
            if result != csv_core::ReadRecordResult::Record {
                break;
            }
            ends.push(at);
        }
        ends
    }
}
