//! Pictures of the rate models, as SVG. The same input gives the same bytes everywhere: every
//! number comes from [`mayhap::sizing`] and is drawn in whole pixels.
//!
//! `plot.rs` names the pictures and `frame.rs` is what all have in common (axes, lines with a label
//! at their end); then there is a file for each picture: `fpp.rs`, `bits.rs`, `overfill.rs`, and
//! `relation.rs` for the rate against n, m or k with numbers that are `given.rs`. A further curve
//! is a further row in the table of its picture.
//!
//! # Examples
//!
//! ```
//! let svg = mayhap_plot::Plot::Overfill.svg()?;
//! assert!(svg.starts_with("<svg") && svg.contains("Twice the planned keys break the promise"));
//! # Ok::<(), mayhap::Error>(())
//! ```

#![forbid(unsafe_code)]

mod bits;
mod fpp;
mod frame;
mod given;
mod overfill;
mod plot;
mod relation;

pub use given::Given;
pub use plot::{Plot, page};
