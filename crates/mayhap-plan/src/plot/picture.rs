//! The pictures by name.

use super::relation::{self, Against};
use super::{bits, fpp, overfill};
use crate::Known;
use mayhap::Error;

/// The pictures that can be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plot {
    /// The rate against the number of keys, for several k, in 1 MiB.
    Fpp,
    /// The rate against the bits of the filter, for several k.
    Size,
    /// The rate against k, for several numbers of bits per key.
    Hashes,
    /// Bits per key against the rate, for every kind of filter.
    Bits,
    /// The rate of filters with up to 10 times the keys they were created for.
    Overfill,
}

impl Plot {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Fpp, Self::Size, Self::Hashes, Self::Bits, Self::Overfill];

    /// Its name, in one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fpp => "fpp",
            Self::Size => "size",
            Self::Hashes => "hashes",
            Self::Bits => "bits",
            Self::Overfill => "overfill",
        }
    }

    /// Draws it.
    ///
    /// # Errors
    ///
    /// The errors of [`mayhap::sizing`] where a model refuses a size; the sizes drawn here are
    /// constants that none refuses.
    pub fn svg(self) -> Result<String, Error> {
        match self {
            Self::Fpp => Ok(fpp::svg()),
            Self::Size => relation::svg(Against::Bits, &Known::default()),
            Self::Hashes => relation::svg(Against::Hashes, &Known::default()),
            Self::Bits => bits::svg(),
            Self::Overfill => overfill::svg(),
        }
    }

    /// Draws it for numbers of one's own. [`Plot::Fpp`] is drawn over n, [`Plot::Size`] over m and
    /// [`Plot::Hashes`] over k, so these numbers change nothing there; [`Plot::Bits`] and
    /// [`Plot::Overfill`] are of all kinds of filter and have no numbers.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`], [`Error::ZeroItems`], [`Error::FppOutOfRange`] for numbers that no
    /// filter has.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_plan::{Known, plot::Plot};
    /// let given = Known { num_bits: Some(20), num_hashes: Some(3), ..Known::default() };
    /// let svg = Plot::Fpp.svg_of(&given)?;
    /// assert!(svg.contains("In 20 bits") && svg.contains("k = 3") && !svg.contains("k = 7"));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn svg_of(self, given: &Known) -> Result<String, Error> {
        match self {
            Self::Fpp => relation::svg(Against::Items, given),
            Self::Size => relation::svg(Against::Bits, given),
            Self::Hashes => relation::svg(Against::Hashes, given),
            Self::Bits | Self::Overfill => self.svg(),
        }
    }
}

/// A page for a browser with this picture in it, as wide as the window; it needs no other file.
///
/// ```
/// let page = mayhap_plan::plot::page("<svg/>");
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
