//! The filters of mayhap as classes of Python: the extension module `mayhap_bloom._mayhap`.
//!
//! Thin: what a filter does is in the crates of the project. Here is what Python needs: `key.rs`,
//! which bytes an object is; `batch/`, keys in lists, arrays and columns; `set/`, what the class
//! needs of each kind of filter; `filter/`, the class that all kinds share; `kinds.rs`, how each is
//! created; `amount.rs`, numbers that are arguments; `sizes.rs`, sizes that are remembered;
//! `state/`, filters in files that are changed in turns with other processes; `matrix.rs`,
//! `foreign.rs`, `remote.rs` and `segment.rs`, classes of their own; `open.rs`, files; `cut.rs`,
//! the form of keys; `secret.rs`, secret keys; `fork.rs`, processes that fork; `error.rs`,
//! exceptions; `log.rs`, what is no exception.

mod amount;
mod batch;
mod cut;
mod error;
mod filter;
mod foreign;
mod fork;
mod key;
mod kinds;
mod log;
mod matrix;
mod open;
mod remote;
mod secret;
mod segment;
mod set;
mod sizes;
mod state;

use pyo3::prelude::*;

/// The extension module; `mayhap_bloom` exports what is public of it.
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
    use super::kinds::{Bloom, Counting, Fuse, Scalable, Window};
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
