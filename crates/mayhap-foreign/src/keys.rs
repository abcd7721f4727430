//! Keys as the bytes that another system hashes.

use mayhap::Bitmap;
use mayhap_formats::{Error, ForeignFilter, KeyType};
use mayhap_sets::{Keys, NotKeys};
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
    found: Bitmap,
}

impl KeyBytes {
    /// Replaces the contents by these keys; texts that are none are left out.
    pub fn encode(&mut self, key_type: KeyType, keys: Keys<'_>, bad_keys: &mut BadKeys) {
        self.encode_with(|text, scratch| key_type.encode(text, scratch), keys, bad_keys);
    }

    /// [`KeyBytes::encode`] of keys as this filter has them.
    pub fn encode_for(
        &mut self,
        (filter, key_type): (&dyn ForeignFilter, KeyType),
        keys: Keys<'_>,
        bad_keys: &mut BadKeys,
    ) {
        self.encode_with(
            |text, scratch| filter.encode_key(key_type, text, scratch),
            keys,
            bad_keys,
        );
    }

    fn encode_with(
        &mut self,
        encode: impl for<'a> Fn(&'a [u8], &'a mut Vec<u8>) -> Result<&'a [u8], Error>,
        keys: Keys<'_>,
        bad_keys: &mut BadKeys,
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
                    bad_keys.add(keys.line(at), error);
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

    /// Queries the texts that were encoded last.
    pub fn query(&mut self, filter: &dyn ForeignFilter, found: &mut Bitmap) {
        if self.bad.is_empty() {
            return filter.contains_batch(&self.keys().collect::<Vec<_>>(), found);
        }
        let mut of_keys = std::mem::take(&mut self.found);
        filter.contains_batch(&self.keys().collect::<Vec<_>>(), &mut of_keys);
        found.clear_to(self.num_texts());
        of_keys.iter_ones().for_each(|i| found.set(self.lines[i]));
        self.found = of_keys;
    }
}

/// Lines whose text is no key of the type that a system hashes.
#[derive(Debug, Default)]
pub struct BadKeys {
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
    pub fn of(&self, name: &str) -> Option<NotKeys> {
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
/// use mayhap_foreign::random_text;
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
