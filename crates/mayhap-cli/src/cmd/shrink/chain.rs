//! Growing filters: their layers fold to one, where that keeps their rate.

use crate::error::Error;
use crate::io::messages::{counted, grouped, rate};
use mayhap::sizing::Shrink;
use mayhap_sets::OwnSet;
use std::path::Path;

/// Another way to a smaller filter of the same keys.
const OTHERWISE: &str =
    "with kept digests: mayhap grow --layout blocked; or build it again from its keys";

/// The chain as a single, smaller layer; `None` if it has one layer already, and no smaller size
/// keeps the rate.
///
/// # Errors
///
/// [`Error::Usage`] if its layers have no size in common that keeps the rate, or a factor does not
/// divide it; [`Error::Filter`].
pub(super) fn fold(path: &Path, chain: &OwnSet, how: Shrink) -> Result<Option<OwnSet>, Error> {
    chain.shrunk(how).map_err(|error| refused(path, error))
}

/// An error of the core in words of the command, with a way out.
fn refused(path: &Path, error: mayhap::Error) -> Error {
    use mayhap::Error as E;
    let name = path.display();
    match error {
        E::NoShrink { items, expected_fpp, target_fpp } => Error::usage(
            format!(
                "{name} cannot shrink: at its size the rate for {} is {}, above {}, the share of \
                 its layer",
                counted(items, "key"),
                rate(expected_fpp),
                rate(target_fpp)
            ),
            "a fold raises the rate: choose a higher -p, or build it larger",
        ),
        E::NoCollapse { num_layers, num_blocks, items, expected_fpp, target_fpp } => Error::usage(
            format!(
                "{name} does not fold: the largest size to which all of its {num_layers} layers \
                 fold is {}, where the rate for {} is {}, above {}, their share",
                counted(num_blocks, "block"),
                counted(items, "key"),
                rate(expected_fpp),
                rate(target_fpp)
            ),
            format!("choose a higher -p; {OTHERWISE}"),
        ),
        E::UnlikeLayers { .. } => Error::usage(format!("{name} does not fold: {error}"), OTHERWISE),
        E::NoFold { .. } => Error::usage(
            format!("{name}: {error}"),
            "a factor has to divide the blocks of a single layer; omit it for the smallest size \
             that keeps the rate",
        ),
        E::FoldOverfull { items, expected_items, .. } => Error::usage(
            format!(
                "{name} has {}, more than the {} of -n",
                counted(items, "key"),
                grouped(expected_items)
            ),
            "choose a larger -n, or omit it",
        ),
        error => error.into(),
    }
}
