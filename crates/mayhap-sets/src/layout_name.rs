//! What `--layout` names: how the bits of a plain filter lie, or a filter of another kind.

use mayhap::Layout;
use mayhap_units::span::write_millis;
use mayhap_units::window::{TypedWindowError, WindowSize, parse_window};
use std::fmt;

/// Why a text names no layout.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutNameError {
    /// There is none of that name.
    Unknown,
    /// The size of a window is none.
    Window(TypedWindowError),
}

impl fmt::Display for LayoutNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str(
                "there are blocked, standard, counting, scalable, fuse, matrix, window:KEYS, \
                 window:TIME",
            ),
            Self::Window(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LayoutNameError {}

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
    /// Those of [`LayoutNameError`].
    pub fn parse(text: &str) -> Result<Self, LayoutNameError> {
        match (text, text.strip_prefix("window:")) {
            (_, Some(size)) => Self::window(size, "window:"),
            ("blocked", _) => Ok(Self::Blocked),
            ("standard", _) => Ok(Self::Standard),
            ("counting", _) => Ok(Self::Counting),
            ("fuse", _) => Ok(Self::Fuse),
            ("matrix", _) => Ok(Self::Matrix),
            ("scalable", _) => Ok(Self::Scalable),
            ("window", _) => Self::window("", "window:"),
            _ => Err(LayoutNameError::Unknown),
        }
    }

    /// Reads the size of a window, `10M` or `7d`, for clap.
    ///
    /// # Errors
    ///
    /// [`LayoutNameError::Window`].
    pub fn parse_window(text: &str) -> Result<Self, LayoutNameError> {
        Self::window(text, "--window ")
    }

    fn window(text: &str, prefix: &'static str) -> Result<Self, LayoutNameError> {
        let size = parse_window(text).map_err(|error| error.after(prefix));
        match size.map_err(LayoutNameError::Window)? {
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
