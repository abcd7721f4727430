//! New filters, as `--layout` and the sizes on the command line say: `kind.rs` empty ones,
//! `frozen.rs` from all keys at once, `matrix.rs` a set for each list, `segment.rs` a part of a
//! filter, `growing.rs` one that is never saved; `system.rs` those of other systems.

pub mod frozen;
mod growing;
mod kind;
pub mod matrix;
pub mod segment;
mod system;

pub use growing::{Chain, FIRST_ITEMS};
pub use kind::Create;
pub use system::{MAGNUS_DEFAULT, NewSystemFile};
