//! The filters of mayhap as classes of Python: the extension module `mayhap_bloom._mayhap`.
//!
//! A thin layer: filters are implemented in the crates of the project. Here are the parts that
//! Python needs: `key.rs`, the bytes of an object; `batch/`, keys in lists, arrays and columns;
//! `held.rs`, a filter in memory, mapped or of a state; `full.rs`, its room; `filter/`, the class
//! that all kinds share; `kinds.rs`, the class of each kind; `amount.rs`, numbers as arguments;
//! `sizes.rs`, cached sizes; `state/`, filters in files that are changed in turns with other
//! processes; `matrix.rs`, `foreign.rs`, `remote.rs` and `segment.rs`, classes of their own;
//! `open.rs`, files; `cut.rs`, the form of keys; `secret.rs`, secret keys; `fork.rs`, processes
//! that fork; `error.rs`, exceptions, with `hints.rs`, the next step; `log.rs`, warnings without an
//! exception.

mod amount;
mod batch;
mod cut;
mod error;
mod filter;
mod foreign;
mod fork;
mod frozen;
mod full;
mod held;
mod hints;
mod key;
mod kinds;
mod log;
mod matrix;
mod open;
mod remote;
mod secret;
mod segment;
mod sizes;
mod state;

use pyo3::prelude::*;

/// The extension module; `mayhap_bloom` exports its public part.
#[pymodule]
mod _mayhap {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::batch::ArrowAnswers;
    #[pymodule_export]
    use super::filter::Filter;
    #[pymodule_export]
    use super::foreign::{Foreign, formats, key_types};
    #[pymodule_export]
    use super::frozen::{Fuse, Ribbon};
    #[pymodule_export]
    use super::kinds::{Bloom, Compact, Counting, Scalable, Window};
    #[pymodule_export]
    use super::matrix::Matrix;
    #[pymodule_export]
    use super::open::{_restore, from_bytes, open};
    #[pymodule_export]
    use super::remote::{Remote, create};
    #[pymodule_export]
    use super::secret::new_secret_key;
    #[pymodule_export]
    use super::segment::{Segment, assemble, digests, segment_bounds};
    #[pymodule_export]
    use super::state::State;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::filter::install_add(module.py())?;
        super::fork::install(module.py())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
