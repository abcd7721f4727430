//! The pictures by name.

use crate::{bits, fpp, overfill};
use mayhap::Error;

/// What can be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plot {
    /// The rate against the number of keys, for several k, in 1 MiB.
    Fpp,
    /// Bits per key against the rate, for every kind of filter.
    Bits,
    /// The rate of filters with up to 10 times the keys they were created for.
    Overfill,
}

impl Plot {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Fpp, Self::Bits, Self::Overfill];

    /// Its name, in one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fpp => "fpp",
            Self::Bits => "bits",
            Self::Overfill => "overfill",
        }
    }

    /// What it shows, in a line.
    pub fn about(self) -> &'static str {
        match self {
            Self::Fpp => "The rate against the number of keys, for several k, in 1 MiB",
            Self::Bits => "Bits per key against the rate, for every kind of filter",
            Self::Overfill => {
                "The rate of filters with up to 10 times the keys they were created for"
            }
        }
    }

    /// Draws it.
    ///
    /// # Errors
    ///
    /// Those of [`mayhap::sizing`] where a model refuses a size; the sizes drawn here are constants
    /// that none refuses.
    pub fn svg(self) -> Result<String, Error> {
        match self {
            Self::Fpp => Ok(fpp::svg()),
            Self::Bits => bits::svg(),
            Self::Overfill => overfill::svg(),
        }
    }
}

/// A page for a browser with this picture in it, as wide as the window; it needs no other file.
///
/// ```
/// let page = mayhap_plot::page("<svg/>");
/// assert!(page.starts_with("<!doctype html>") && page.contains("<svg/>"));
/// ```
pub fn page(svg: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>mayhap</title>\n\
         <style>body {{ margin: 2vw; background: #fff }} svg {{ width: 100%; height: auto \
         }}</style>\n\
         {svg}</html>\n"
    )
}
