//! The rights of a user.

use super::ValueError;
use std::sync::Arc;

/// The rights of a user.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rights {
    /// Query filters.
    pub read: bool,
    /// Change them.
    pub write: bool,
    /// Shut down, flush, look at clients and configuration.
    pub admin: bool,
    /// Only filters whose names have this prefix; `None` for all.
    pub prefix: Option<Arc<[u8]>>,
}

impl Rights {
    /// The rights before a login.
    pub const NONE: Self = Self { read: false, write: false, admin: false, prefix: None };
    /// Everything, on every filter.
    pub const ALL: Self = Self { read: true, write: true, admin: true, prefix: None };

    /// Whether any right is given.
    #[inline]
    pub const fn has_any(&self) -> bool {
        self.read || self.write || self.admin
    }

    /// Whether filters of this name are within the user's prefix.
    #[inline]
    pub fn covers(&self, name: &[u8]) -> bool {
        self.prefix.as_ref().is_none_or(|prefix| name.starts_with(prefix))
    }

    /// Parses `read`, `write` and `admin`, separated by commas or spaces.
    ///
    /// # Errors
    ///
    /// [`ValueError::NotRight`], [`ValueError::NoRight`].
    pub(super) fn parse(text: &str) -> Result<Self, ValueError> {
        let mut rights = Self::NONE;
        let words = text.split([',', ' ']).filter(|word| !word.is_empty());
        for word in words {
            match word {
                "read" => rights.read = true,
                "write" => rights.write = true,
                "admin" => rights.admin = true,
                _ => return Err(ValueError::NotRight(word.into())),
            }
        }
        if !rights.has_any() {
            return Err(ValueError::NoRight);
        }
        Ok(rights)
    }
}
