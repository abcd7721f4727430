//! Layouts by name: how the bits of a plain filter lie, or a filter of another kind.

use mayhap::Layout;
use mayhap_units::span::write_millis;
use mayhap_units::window::{WindowError, WindowSize, parse_window};
use std::fmt;

/// Why a text names no layout.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutNameError {
    /// There is none of that name.
    #[error(
        "there are blocked, standard, compact, counting, scalable, fuse, ribbon, matrix, \
         window:KEYS, window:TIME"
    )]
    Unknown,
    /// The size of a window is none.
    #[error(transparent)]
    Window(#[from] WindowError),
}

/// A layout or a kind by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayoutName {
    /// One cache line per key: fast.
    Blocked,
    /// k bits anywhere: the fewest bits.
    Standard,
    /// Keys can be removed from it, and copies of them count: fingerprints.
    Compact,
    /// Keys can be removed from it: counters.
    Counting,
    /// Grows with its keys.
    Scalable,
    /// Made of all its keys at once.
    Fuse,
    /// Made of all its keys at once, in the fewest bits.
    Ribbon,
    /// Many sets, queried all at once.
    Matrix,
    /// Remembers the last keys, and forgets older ones.
    Window(WindowSize),
}

impl LayoutName {
    /// Reads a name, for clap.
    ///
    /// # Errors
    ///
    /// Those of [`LayoutNameError`].
    pub fn parse(text: &str) -> Result<Self, LayoutNameError> {
        match (text, text.strip_prefix("window:")) {
            (_, Some(size)) => Ok(Self::Window(parse_window(size, "window:")?)),
            ("blocked", _) => Ok(Self::Blocked),
            ("standard", _) => Ok(Self::Standard),
            ("compact", _) => Ok(Self::Compact),
            ("counting", _) => Ok(Self::Counting),
            ("fuse", _) => Ok(Self::Fuse),
            ("matrix", _) => Ok(Self::Matrix),
            ("ribbon", _) => Ok(Self::Ribbon),
            ("scalable", _) => Ok(Self::Scalable),
            ("window", _) => Ok(Self::Window(parse_window("", "window:")?)),
            _ => Err(LayoutNameError::Unknown),
        }
    }

    /// The layout of a plain filter, if it is one.
    pub fn layout(self) -> Option<Layout> {
        match self {
            Self::Blocked => Some(Layout::Blocked),
            Self::Standard => Some(Layout::Standard),
            _ => None,
        }
    }

    /// Whether its filters are built from all keys at once and never change.
    pub const fn is_frozen(self) -> bool {
        matches!(self, Self::Fuse | Self::Ribbon)
    }

    /// The name without a number.
    pub fn name(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Standard => "standard",
            Self::Compact => "compact",
            Self::Counting => "counting",
            Self::Scalable => "scalable",
            Self::Fuse => "fuse",
            Self::Matrix => "matrix",
            Self::Ribbon => "ribbon",
            Self::Window(_) => "window",
        }
    }
}

/// As it is typed.
impl fmt::Display for LayoutName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Window(WindowSize::Items(items)) => write!(f, "window:{items}"),
            Self::Window(WindowSize::Millis(span)) => write!(f, "window:{}", write_millis(*span)),
            name => f.write_str(name.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let day = 24 * 60 * 60 * 1_000;
        for (text, name, layout) in [
            ("blocked", LayoutName::Blocked, Some(Layout::Blocked)),
            ("standard", LayoutName::Standard, Some(Layout::Standard)),
            ("compact", LayoutName::Compact, None),
            ("counting", LayoutName::Counting, None),
            ("scalable", LayoutName::Scalable, None),
            ("fuse", LayoutName::Fuse, None),
            ("matrix", LayoutName::Matrix, None),
            ("ribbon", LayoutName::Ribbon, None),
            ("window:1000", LayoutName::Window(WindowSize::Items(1_000)), None),
            ("window:7d", LayoutName::Window(WindowSize::Millis(7 * day)), None),
            ("window:500ms", LayoutName::Window(WindowSize::Millis(500)), None),
        ] {
            assert_eq!(LayoutName::parse(text), Ok(name));
            assert_eq!((name.to_string().as_str(), name.layout()), (text, layout));
            assert!(text.starts_with(name.name()), "{text}");
        }
        assert_eq!(
            LayoutName::parse("window:10M"),
            Ok(LayoutName::Window(WindowSize::Items(10_000_000)))
        );
        for text in ["", "Blocked", "blocked64", "windows:5"] {
            assert_eq!(LayoutName::parse(text), Err(LayoutNameError::Unknown), "{text}");
        }
        for text in ["window", "window:", "window:0", "window:x"] {
            assert!(matches!(LayoutName::parse(text), Err(LayoutNameError::Window(_))), "{text}");
        }
        let error = LayoutName::parse("window:x").unwrap_err().to_string();
        assert!(error.contains("window:"), "{error}");
    }
}
