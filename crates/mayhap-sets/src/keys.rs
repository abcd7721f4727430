//! Keys by their bytes, for sets that hash them by themselves.

/// Keys by their bytes, and where they stand.
///
/// # Examples
///
/// ```
/// use mayhap_sets::Keys;
///
/// let texts: [&[u8]; 2] = [b"one", b"two"];
/// assert_eq!(Keys::from(&texts[..]).first_line, None);
/// let keys = Keys { texts: &texts, first_line: Some(7) };
/// assert_eq!(keys.line(1), Some(8));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Keys<'a> {
    /// The keys, as texts that a system may still have to encode.
    pub texts: &'a [&'a [u8]],
    /// The number of the first one's line, if they stand in a list one after another.
    pub first_line: Option<u64>,
}

impl<'a> From<&'a [&'a [u8]]> for Keys<'a> {
    /// Keys that stand in no list.
    fn from(texts: &'a [&'a [u8]]) -> Self {
        Self { texts, first_line: None }
    }
}

impl Keys<'_> {
    /// The number of the line of one of them.
    pub fn line(&self, index: usize) -> Option<u64> {
        self.first_line.map(|first| first + index as u64)
    }

    /// The first ones.
    #[must_use]
    pub fn first(self, count: usize) -> Self {
        Self { texts: &self.texts[..count], ..self }
    }
}

/// Texts that are no keys of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotKeys {
    /// How many there were so far.
    pub lines: u64,
    /// A sentence on them.
    pub text: String,
}

/// What a system hashes of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyTypes {
    /// The type that keys are taken to be of, as `--key-type` takes it.
    pub taken: &'static str,
    /// The others that they may be of.
    pub others: Vec<&'static str>,
    /// Formats of other releases of its system whose files look the same.
    pub formats: Vec<&'static str>,
    /// Whether it was guessed among them.
    pub is_guess: bool,
}
