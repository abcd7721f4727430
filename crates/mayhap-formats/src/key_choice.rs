//! How the keys of a filter become bytes: recorded, the only way, given, or guessed.

use crate::{Error, ForeignFilter, KeyType};

/// The key type that a filter is queried and filled with, and how sure that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyChoice {
    /// The type.
    pub key_type: KeyType,
    /// All types that the filter may have, the usual one first.
    pub known: &'static [KeyType],
    /// Whether neither the file nor the caller determines which of several types its keys have: the
    /// answer for present keys may be "surely not" then, so a caller warns, or refuses.
    pub is_guess: bool,
}

impl KeyChoice {
    /// Chooses the type of a filter's keys: the given one if the filter can have it, else the one
    /// that the file records or the system always has, else the usual one, as a guess.
    ///
    /// [`KeyType::Hex`] is the bytes that the system hashes, written out, and fits every filter.
    ///
    /// # Errors
    ///
    /// [`Error::WrongKeyType`] for a given type that the filter cannot have; [`Error::UnknownKeys`]
    /// if none is given for one whose encoding of keys is unknown.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_formats::{BloomFileter, BloomFileterOptions, KeyChoice, KeyType, Limits};
    ///
    /// let options = BloomFileterOptions::new(100, "BloomFileter");
    /// let filter = BloomFileter::create(&options, &Limits::default())?;
    /// let choice = KeyChoice::of(&filter, None)?;
    /// assert_eq!((choice.key_type, choice.is_guess), (KeyType::Utf16, false));
    /// assert!(KeyChoice::of(&filter, Some(KeyType::Bytes)).is_err());
    /// # Ok::<(), mayhap_formats::Error>(())
    /// ```
    pub fn of(filter: &dyn ForeignFilter, given: Option<KeyType>) -> Result<Self, Error> {
        Self::among(filter.format().name(), filter.key_types(), given)
    }

    /// [`KeyChoice::of`] a filter of this system that may have these types, the usual one first.
    ///
    /// # Errors
    ///
    /// The errors of [`KeyChoice::of`].
    pub fn among(
        format: &'static str,
        known: &'static [KeyType],
        given: Option<KeyType>,
    ) -> Result<Self, Error> {
        if let Some(given) = given
            && given != KeyType::Hex
            && !known.contains(&given)
        {
            return Err(Error::WrongKeyType { format, given, known });
        }
        let usual = known.first().copied().unwrap_or_default();
        if given.is_none() && usual == KeyType::Hex {
            return Err(Error::UnknownKeys { format });
        }
        let choice = Self { key_type: given.unwrap_or(usual), known, is_guess: false };
        let is_guess = given.is_none() && choice.others().next().is_some();
        Ok(Self { is_guess, ..choice })
    }

    /// The other types that the keys may have; hexadecimal digits are only a way to write bytes.
    pub fn others(&self) -> impl Iterator<Item = KeyType> + use<> {
        let taken = self.key_type;
        self.known.iter().copied().filter(move |&other| other != taken && other != KeyType::Hex)
    }
}
