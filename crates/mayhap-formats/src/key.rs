//! From the text of a key to the bytes that a system hashes.

use crate::Error;

/// How a system encodes a key before it hashes it: its funnel, codec or charset. Files do not say
/// which; a wrong one shows only as "nothing is contained".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum KeyType {
    /// The bytes as they are; text is UTF-8.
    #[default]
    Bytes,
}

impl KeyType {
    /// The name, as the command line takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
        }
    }

    /// The bytes to hash for a key that is given as text; in `scratch` unless they are the same.
    ///
    /// # Errors
    ///
    /// [`Error::BadKey`] for a text that is no key of this type.
    pub fn encode<'a>(self, text: &'a [u8], _scratch: &'a mut Vec<u8>) -> Result<&'a [u8], Error> {
        match self {
            Self::Bytes => Ok(text),
        }
    }
}
