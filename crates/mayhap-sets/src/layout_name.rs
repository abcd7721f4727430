//! What `--layout` names: how the bits of a plain filter lie, or a filter of another kind.

use mayhap::Layout;
use mayhap_units::span::write_millis;
use mayhap_units::window::{WindowSize, parse_window};
use std::fmt;

/// A layout or a kind by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayoutName {
    /// One cache line per key: fast.
    Blocked,
    /// k bits anywhere: the fewest bits.
    Standard,
    /// Keys can be removed from it.
    Counting,
    /// Grows with its keys.
    Scalable,
    /// Made of all its keys at once.
    Fuse,
    /// Many sets, queried all at once.
    Matrix,
    /// Remembers the last keys, and forgets older ones.
    WindowItems(u64),
    /// Remembers the keys of the last so many milliseconds.
    WindowMillis(u64),
}

impl LayoutName {
    /// Reads a name, for clap.
    ///
    /// # Errors
    ///
    /// What is wrong, the names that there are, and an example.
    pub fn parse(text: &str) -> Result<Self, String> {
        match (text, text.strip_prefix("window:")) {
            (_, Some(size)) => Self::window(size, "window:"),
            ("blocked", _) => Ok(Self::Blocked),
            ("standard", _) => Ok(Self::Standard),
            ("counting", _) => Ok(Self::Counting),
            ("fuse", _) => Ok(Self::Fuse),
            ("matrix", _) => Ok(Self::Matrix),
            ("scalable", _) => Ok(Self::Scalable),
            ("window", _) => Self::window("", "window:"),
            _ => {
                let names = "blocked, standard, counting, scalable, fuse, matrix, window:KEYS, \
                             window:TIME";
                Err(format!("there are {names}"))
            }
        }
    }

    /// Reads the size of a window, `10M` or `7d`, for clap.
    ///
    /// # Errors
    ///
    /// What is wrong, and an example.
    pub fn parse_window(text: &str) -> Result<Self, String> {
        Self::window(text, "--window ")
    }

    fn window(text: &str, prefix: &str) -> Result<Self, String> {
        match parse_window(text).map_err(|error| error.after(prefix))? {
            WindowSize::Items(items) => Ok(Self::WindowItems(items)),
            WindowSize::Millis(millis) => Ok(Self::WindowMillis(millis)),
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

    /// The name without a number.
    pub fn name(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Standard => "standard",
            Self::Counting => "counting",
            Self::Scalable => "scalable",
            Self::Fuse => "fuse",
            Self::Matrix => "matrix",
            Self::WindowItems(_) | Self::WindowMillis(_) => "window",
        }
    }
}

/// As it is typed.
impl fmt::Display for LayoutName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WindowItems(items) => write!(f, "window:{items}"),
            Self::WindowMillis(millis) => {
                write!(f, "window:{}", write_millis(*millis))
            }
            name => f.write_str(name.name()),
        }
    }
}
