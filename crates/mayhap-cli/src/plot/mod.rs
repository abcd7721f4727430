//! Pictures of the rate models, as SVG. The same input gives the same bytes everywhere: every
//! number comes from [`mayhap::sizing`] and is drawn in whole pixels.
//!
//! `frame.rs` is what all have in common (axes, lines with a label at their end), then a file for
//! each picture. A further curve is a further row in the table of its picture.

mod bits;
mod fpp;
mod frame;
mod overfill;

use crate::error::Error;

/// What can be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Plot {
    /// The rate against the number of keys, for several k, in 1 MiB
    Fpp,
    /// Bits per key against the rate, for every kind of filter
    Bits,
    /// The rate of filters with up to 10 times the keys they were made for
    Overfill,
}

/// Draws.
///
/// # Errors
///
/// [`Error::Filter`] where a model refuses a size.
pub fn svg(plot: Plot) -> Result<String, Error> {
    match plot {
        Plot::Fpp => Ok(fpp::svg()),
        Plot::Bits => bits::svg(),
        Plot::Overfill => overfill::svg(),
    }
}
