//! Pictures of the rate models, as SVG. The same input gives the same bytes everywhere: every
//! number comes from [`mayhap::sizing`] and is drawn in whole pixels.
//!
//! `frame.rs` is what all have in common (axes, lines with a label at their end), then a file for
//! each picture: `fpp.rs`, `bits.rs`, `overfill.rs`. A further curve is a further row in the table
//! of its picture.

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

/// A page for a browser with this picture in it, as wide as the window; it needs no other file.
pub fn page(svg: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>mayhap</title>\n\
         <style>body {{ margin: 2vw; background: #fff }} svg {{ width: 100%; height: auto \
         }}</style>\n\
         {svg}</html>\n"
    )
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
