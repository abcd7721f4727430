//! What a user may do.

use std::sync::Arc;

/// What a user may do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rights {
    /// Ask filters.
    pub read: bool,
    /// Change them.
    pub write: bool,
    /// Shut down, flush, look at clients and configuration.
    pub admin: bool,
    /// Only filters whose names begin so; `None` for all.
    pub prefix: Option<Arc<[u8]>>,
}

impl Rights {
    /// Of one who has still to log in.
    pub const NONE: Self = Self { read: false, write: false, admin: false, prefix: None };
    /// Everything, with every filter.
    pub const ALL: Self = Self { read: true, write: true, admin: true, prefix: None };

    /// Whether filters of this name are within the user's prefix.
    #[inline]
    pub fn covers(&self, name: &[u8]) -> bool {
        self.prefix.as_ref().is_none_or(|prefix| name.starts_with(prefix))
    }

    /// Reads `read`, `write` and `admin`, separated by commas or spaces.
    ///
    /// # Errors
    ///
    /// What is allowed.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut rights = Self::NONE;
        let words = text.split([',', ' ']).filter(|word| !word.is_empty());
        for word in words {
            match word {
                "read" => rights.read = true,
                "write" => rights.write = true,
                "admin" => rights.admin = true,
                _ => return Err(format!("{word:?} is not a right; allowed: read, write, admin")),
            }
        }
        if rights == Self::NONE {
            return Err("has no right; allowed: read, write, admin".into());
        }
        Ok(rights)
    }
}
