//! Keys for sets, by their digests or by their bytes.

use crate::error::{Error, Refusal};
use mayhap::{Digest, DigestFunction};
use mayhap_formats::{KeyChoice, KeyType};
use std::borrow::Cow;

/// Keys that a set is queried for, or given.
///
/// # Examples
///
/// ```
/// use mayhap::DigestFunction;
/// use mayhap_sets::Keys;
///
/// let texts: [&[u8]; 2] = [b"one", b"two"];
/// let function = DigestFunction::default();
/// let digests = Keys::from(&texts[..]).digests(&function);
/// assert_eq!(*digests, [function.digest("one"), function.digest("two")]);
/// assert_eq!(Keys::from(&digests[..]).first(1).digests(&function).len(), 1);
/// ```
#[derive(Debug, Clone, Copy)]
pub enum Keys<'a> {
    /// By their digests, for a set that has a digest function.
    Digests(&'a [Digest]),
    /// By their bytes, for any set.
    Texts(Texts<'a>),
}

/// Keys by their bytes, and where they stand.
///
/// # Examples
///
/// ```
/// use mayhap_sets::Texts;
///
/// let texts = Texts { texts: &[b"one", b"two"], first_line: Some(7) };
/// assert_eq!(texts.line(1), Some(8));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Texts<'a> {
    /// The keys, as texts that a system may still have to encode.
    pub texts: &'a [&'a [u8]],
    /// The number of the first one's line, if they stand in a list one after another.
    pub first_line: Option<u64>,
}

impl<'a> From<&'a [&'a [u8]]> for Keys<'a> {
    /// Keys that stand in no list.
    fn from(texts: &'a [&'a [u8]]) -> Self {
        Self::Texts(Texts { texts, first_line: None })
    }
}

impl<'a> From<&'a [Digest]> for Keys<'a> {
    fn from(digests: &'a [Digest]) -> Self {
        Self::Digests(digests)
    }
}

impl<'a> Keys<'a> {
    /// How many they are.
    pub fn len(self) -> usize {
        match self {
            Self::Digests(digests) => digests.len(),
            Self::Texts(Texts { texts, .. }) => texts.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The first ones.
    #[must_use]
    pub fn first(self, count: usize) -> Self {
        match self {
            Self::Digests(digests) => Self::Digests(&digests[..count]),
            Self::Texts(Texts { texts, first_line }) => {
                Self::Texts(Texts { texts: &texts[..count], first_line })
            }
        }
    }

    /// Their digests, which are made of bytes by this function.
    pub fn digests(self, function: &DigestFunction) -> Cow<'a, [Digest]> {
        match self {
            Self::Digests(digests) => digests.into(),
            Self::Texts(Texts { texts, .. }) => {
                let mut digests = vec![Digest::default(); texts.len()];
                function.digest_batch(texts, &mut digests);
                digests.into()
            }
        }
    }

    /// Their bytes, for the set of this name, which hashes keys itself.
    pub(crate) fn texts(self, name: &str) -> Result<Texts<'a>, Error> {
        match self {
            Self::Texts(texts) => Ok(texts),
            Self::Digests(_) => {
                Err(Error::Refused { name: name.to_owned(), why: Refusal::TakesKeys })
            }
        }
    }
}

impl Texts<'_> {
    /// The number of the line of one of them.
    pub fn line(&self, index: usize) -> Option<u64> {
        self.first_line.map(|first| first + index as u64)
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

/// How a system hashes keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyTypes {
    /// The type that keys are taken to be of, by name.
    pub taken: &'static str,
    /// The others that they may be of.
    pub others: Vec<&'static str>,
    /// Formats of other releases of its system whose files look the same.
    pub formats: Vec<&'static str>,
    /// Whether it was guessed among them.
    pub is_guess: bool,
}

impl KeyTypes {
    pub(crate) fn of(keys: &KeyChoice) -> Self {
        Self {
            taken: keys.key_type.name(),
            others: keys.others().map(KeyType::name).collect(),
            formats: Vec::new(),
            is_guess: keys.is_guess,
        }
    }
}

/// A set whose system hashes keys by itself, or whose files are of another system, and its
/// treatment of texts.
pub trait TakesTexts {
    /// The positions, in the keys given last, of texts that are no keys of this set; sorted.
    fn not_keys(&self) -> &[usize];

    /// All texts given so far that are no keys of this set, if there were any. A line counts once,
    /// however often it is given.
    fn all_not_keys(&self) -> Option<NotKeys>;

    /// How its system hashes keys.
    fn key_types(&self) -> KeyTypes;

    /// Why any key may be in it, whatever its bits are: a sentence. `None` if its bits decide.
    fn holds_any(&self) -> Option<String> {
        None
    }

    /// A sentence about a filter that holds too many keys for its answers to be of use, or
    /// of less than was promised. Reads all bits.
    fn overfilled(&self) -> Option<String>;

    /// A random number as the text of a key.
    fn random_key(&self, number: u64) -> String;
}
