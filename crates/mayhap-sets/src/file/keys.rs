//! Keys as the bytes that another system hashes.

use crate::keys::{NotKeys, Texts};
use mayhap::Bitmap;
use mayhap_formats::{Error, ForeignFilter, KeyType};
use mayhap_units::number::grouped;

/// Encoded keys, in memory that is used again.
#[derive(Debug, Default)]
pub struct KeyBytes {
    scratch: Vec<u8>,
    bytes: Vec<u8>,
    /// Where each key ends.
    ends: Vec<usize>,
    /// The position among the texts of each key, and of each text that is none.
    lines: Vec<usize>,
    bad: Vec<usize>,
    all_bad: BadKeys,
    found: Bitmap,
}

impl KeyBytes {
    /// Replaces the contents by these keys, each encoded in this way; texts that are none are left
    /// out.
    pub fn encode(
        &mut self,
        keys: Texts<'_>,
        encode: impl for<'a> Fn(&'a [u8], &'a mut Vec<u8>) -> Result<&'a [u8], Error>,
    ) {
        self.bytes.clear();
        self.ends.clear();
        self.lines.clear();
        self.bad.clear();
        for (at, text) in keys.texts.iter().enumerate() {
            match encode(text, &mut self.scratch) {
                Ok(encoded) => {
                    self.bytes.extend_from_slice(encoded);
                    self.ends.push(self.bytes.len());
                    self.lines.push(at);
                }
                Err(error) => {
                    self.bad.push(at);
                    self.all_bad.add(keys.line(at), error);
                }
            }
        }
    }

    /// The keys.
    pub fn keys(&self) -> impl Iterator<Item = &[u8]> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start..end])
    }

    /// The keys, with their positions among the texts.
    pub fn lines_and_keys(&self) -> impl Iterator<Item = (usize, &[u8])> {
        self.lines.iter().copied().zip(self.keys())
    }

    /// How many texts there were.
    pub fn num_texts(&self) -> usize {
        self.lines.len() + self.bad.len()
    }

    /// The positions of the texts that are no keys.
    pub fn not_keys(&self) -> &[usize] {
        &self.bad
    }

    /// All texts given so far that were no keys for the set of this name, if there were any.
    pub fn all_not_keys(&self, name: &str) -> Option<NotKeys> {
        self.all_bad.of(name)
    }

    /// Sets a bit for each of these keys where its text stands among all.
    pub fn place(&self, keys: impl Iterator<Item = usize>, bits: &mut Bitmap) {
        bits.clear_to(self.num_texts());
        keys.for_each(|i| bits.set(self.lines[i]));
    }

    /// Queries the texts that were encoded last.
    pub fn query(&mut self, filter: &dyn ForeignFilter, found: &mut Bitmap) {
        if self.bad.is_empty() {
            return filter.contains_batch(&self.keys().collect::<Vec<_>>(), found);
        }
        let mut of_keys = std::mem::take(&mut self.found);
        filter.contains_batch(&self.keys().collect::<Vec<_>>(), &mut of_keys);
        self.place(of_keys.iter_ones(), found);
        self.found = of_keys;
    }
}

/// Lines whose text is no key of the type that a system hashes.
#[derive(Debug, Default)]
struct BadKeys {
    lines: u64,
    /// The line up to which they are counted.
    counted_to: u64,
    /// Its number in the list, if it stands in one.
    first: Option<(Option<u64>, Error)>,
}

impl BadKeys {
    /// Counts a line once: a full filter is queried for those that it is given next.
    fn add(&mut self, at: Option<u64>, why: Error) {
        if at.is_some_and(|line| line <= self.counted_to) {
            return;
        }
        self.counted_to = at.unwrap_or(self.counted_to);
        self.lines += 1;
        self.first.get_or_insert((at, why));
    }

    /// How many there were for the set of this name, if there were any.
    fn of(&self, name: &str) -> Option<NotKeys> {
        let (at, why) = self.first.as_ref()?;
        let lines = match self.lines {
            1 => "1 line is".to_owned(),
            lines => format!("{} lines are", grouped(lines)),
        };
        let at = at.map_or(String::new(), |at| format!("line {at}: "));
        let text = format!("{lines} no key for {name} (first: {at}{why})");
        Some(NotKeys { lines: self.lines, text })
    }
}

/// How a random number is written as a key of this type.
///
/// # Examples
///
/// ```
/// use mayhap_sets::file::random_text;
/// use mayhap_formats::KeyType;
///
/// assert_eq!(random_text(KeyType::Bytes)(255), "00000000000000ff");
/// assert_eq!(random_text(KeyType::Long)(u64::MAX), "-1");
/// ```
pub fn random_text(key_type: KeyType) -> fn(u64) -> String {
    const FORMS: [fn(u64) -> String; 3] = [
        |number| format!("{number:016x}"),
        |number| number.cast_signed().to_string(),
        |number| (number as i32).to_string(),
    ];
    let is_key = |form: &fn(u64) -> String| {
        [0x8123_4567_89AB_CDEF, 0xA123_4567_89AB_CDEF]
            .iter()
            .all(|&number| key_type.encode(form(number).as_bytes(), &mut Vec::new()).is_ok())
    };
    FORMS.into_iter().find(is_key).unwrap_or(FORMS[2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap_formats::{GuavaFilter, GuavaOptions, Limits};

    const TEXTS: [&[u8]; 7] = [b"7", b"x", b"-8", b"", b"9", b"1e3", b"10"];

    fn keys(first_line: Option<u64>) -> Texts<'static> {
        Texts { texts: &TEXTS, first_line }
    }

    fn encode(bytes: &mut KeyBytes, key_type: KeyType, keys: Texts<'_>) {
        bytes.encode(keys, |text, scratch| key_type.encode(text, scratch));
    }

    #[test]
    fn keys_know_their_places_among_texts_that_are_none() {
        let mut bytes = KeyBytes::default();
        // Memory that is used again holds nothing of what was there.
        for _ in 0..2 {
            encode(&mut bytes, KeyType::Long, keys(None));
            let expected = [(0, 7i64), (2, -8), (4, 9), (6, 10)];
            let expected = expected.map(|(at, number)| (at, number.to_le_bytes()));
            let found: Vec<_> =
                bytes.lines_and_keys().map(|(at, key)| (at, key.to_vec())).collect();
            assert_eq!(found, expected.map(|(at, key)| (at, key.to_vec())));
            assert!(bytes.keys().eq(expected.iter().map(|(_, key)| &key[..])));
            assert_eq!((bytes.not_keys(), bytes.num_texts()), (&[1, 3, 5][..], 7));
        }
        encode(&mut bytes, KeyType::Bytes, keys(None));
        assert!(bytes.keys().eq(TEXTS) && bytes.not_keys().is_empty());
    }

    /// A filter with 7, 9 and what is no key would be: its answers are of those texts.
    #[test]
    fn answers_stand_where_the_texts_do() {
        let mut filter =
            GuavaFilter::create(&GuavaOptions::new(1_000), &Limits::default()).unwrap();
        for key in [7i64, 9] {
            assert!(filter.insert(&key.to_le_bytes()));
        }
        let (mut bytes, mut found) = (KeyBytes::default(), Bitmap::new());
        for _ in 0..2 {
            encode(&mut bytes, KeyType::Long, keys(None));
            bytes.query(&filter, &mut found);
            assert_eq!((found.len(), found.iter_ones().collect::<Vec<_>>()), (7, vec![0, 4]));
            let all: [&[u8]; 3] = [b"8", b"9", b"7"];
            encode(&mut bytes, KeyType::Long, Texts { texts: &all, first_line: None });
            bytes.query(&filter, &mut found);
            assert_eq!((found.len(), found.iter_ones().collect::<Vec<_>>()), (3, vec![1, 2]));
        }
    }

    #[test]
    fn lines_are_counted_once_and_the_first_one_is_named() {
        let mut bytes = KeyBytes::default();
        assert_eq!(bytes.all_not_keys("f"), None);
        let mut count = |first_line| {
            encode(&mut bytes, KeyType::Long, keys(first_line));
            let found = bytes.all_not_keys("f").unwrap();
            (found.lines, found.text)
        };
        let (lines, text) = count(Some(100));
        assert!(text.starts_with("3 lines are no key for f (first: line 101: "), "{text}");
        assert_eq!(lines, 3);
        // Given again, as to a filter that was full; and two lines further on.
        assert_eq!(count(Some(100)).0, 3);
        assert_eq!(count(Some(102)).0, 4);
        let (lines, text) = count(Some(106));
        assert!(
            lines == 6 && text.contains("6 lines are") && text.contains("line 101: "),
            "{text}"
        );
        // Keys that stand in no list have no number, and each counts.
        let mut bytes = KeyBytes::default();
        encode(&mut bytes, KeyType::Long, Texts { texts: &TEXTS[..2], first_line: None });
        let found = bytes.all_not_keys("f").unwrap();
        assert!(found.text.starts_with("1 line is no key for f (first: "), "{found:?}");
        assert!(!found.text.contains("first: line"), "{found:?}");
    }

    #[test]
    fn a_random_number_is_a_key_of_every_type() {
        for &key_type in KeyType::ALL.iter().filter(|&&key_type| key_type != KeyType::Column) {
            let text = random_text(key_type);
            for number in [0, 1, u64::MAX, 1 << 63, 0x8123_4567_89AB_CDEF, 0x7FFF_FFFF_FFFF_FFFF] {
                let text = text(number);
                assert!(key_type.encode(text.as_bytes(), &mut Vec::new()).is_ok(), "{text}");
            }
        }
    }
}
