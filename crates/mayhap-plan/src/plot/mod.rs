//! Pictures of the rate models, as SVG. The same input gives the same bytes everywhere: every
//! number comes from [`mayhap::sizing`] and is drawn in whole pixels.
//!
//! `picture.rs` names the pictures and `frame.rs` is what all have in common (colours, axes, lines
//! with a label at their end); then there is a file for each picture: `fpp.rs`, `bits.rs`,
//! `overfill.rs`, and `relation.rs` for the rate against n, m or k with numbers of one's own. A
//! further curve is a further row in the table of its picture.
//!
//! # Examples
//!
//! ```
//! let svg = mayhap_plan::plot::Plot::Overfill.svg()?;
//! assert!(svg.starts_with("<svg") && svg.contains("Twice the planned keys break the promise"));
//! # Ok::<(), mayhap::Error>(())
//! ```

mod bits;
mod fpp;
mod frame;
mod overfill;
mod picture;
mod relation;

pub use picture::{Plot, page};
