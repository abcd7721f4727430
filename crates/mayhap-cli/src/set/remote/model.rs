//! A filter like which another one is made.

use crate::error::Error;
use mayhap::native::{Header, Kind};
use mayhap::{AnyFilter, DigestFunction, FilterParams, OwnedBlocks, SecretKey};
use mayhap_redis::NativeOptions;

/// The numbers, digests and key options of a plain filter.
#[derive(Debug)]
pub struct Model {
    params: FilterParams,
    function: DigestFunction,
    key_options: String,
}

impl Model {
    /// That of the filter with this header; its bits are not read.
    ///
    /// # Errors
    ///
    /// The errors of [`Header::params`] and [`Header::digest_function`].
    pub fn of(header: &Header, key: Option<SecretKey>) -> Result<Self, mayhap::Error> {
        Ok(Self::new(header.params()?, header.digest_function(key)?, header.key_options()))
    }

    /// That of these parts.
    pub fn new(params: FilterParams, function: DigestFunction, key_options: &str) -> Self {
        Self { params, function, key_options: key_options.to_owned() }
    }

    /// The request to a server to hold such a filter.
    pub fn native_options(&self) -> NativeOptions {
        let mut options = NativeOptions::new(self.params);
        options.digest_function = self.function;
        options.key_options.clone_from(&self.key_options);
        options
    }

    /// The header of a file of such a filter, with a count of 0.
    ///
    /// # Errors
    ///
    /// The errors of [`Header::with_params`].
    pub fn header(&self) -> Result<Header, Error> {
        let (layout, num_hashes) = (self.params.layout(), self.params.num_hashes());
        let small = FilterParams::new(layout, 512, num_hashes, 1, self.params.target_fpp())?;
        let empty = AnyFilter::from_parts(small, self.function, OwnedBlocks::zeroed(1)?, 0)?;
        Ok(Header::of(&empty, &self.key_options).with_params(&self.params)?)
    }

    /// Such a filter without keys, and its header.
    ///
    /// # Errors
    ///
    /// [`mayhap::Error::OutOfMemory`].
    pub fn empty(&self) -> Result<(Header, AnyFilter), Error> {
        let blocks = OwnedBlocks::zeroed(self.params.num_blocks())?;
        let filter = AnyFilter::from_parts(self.params, self.function, blocks, 0)?;
        Ok((Header::of(&filter, &self.key_options), filter))
    }
}

/// The error for filters, by name and key options, whose keys were cut differently.
pub fn unlike((name, options): (&str, &str), (ours, our_options): (&str, &str)) -> Error {
    Error::usage(
        format!(
            "{name} and {ours} cannot be merged: they differ in key options: {options:?} against \
             {our_options:?}"
        ),
        "filters whose keys were extracted differently cannot be queried together",
    )
}

/// Refuses kinds that do not move to servers.
///
/// # Errors
///
/// [`Error::Usage`].
pub fn check_kind(name: &str, header: &Header) -> Result<(), Error> {
    if header.kind() == Kind::Bloom {
        return Ok(());
    }
    Err(refuse_kind(name, header.kind().name()))
}

/// The error for a filter of a kind that does not move to servers.
pub fn refuse_kind(name: &str, kind: &str) -> Error {
    const BUILD: &str = "build a plain one from its keys: mayhap build -o FILE KEYS";
    let other = if kind == Kind::Scalable.name() {
        "while it has one layer it moves as a plain one: mayhap move FROM TO; or "
    } else if [Kind::Compact, Kind::Counting, Kind::Window].iter().any(|at| at.name() == kind) {
        "mayhap serve has empty ones of this kind: mayhap create URL --layout LAYOUT; or "
    } else {
        ""
    };
    Error::usage(
        format!("{name} is a {kind} filter, but only plain ones move to servers and merge there"),
        format!("{other}{BUILD}"),
    )
}

/// Says of a file that is no filter of ours what could be done.
pub fn refuse_foreign(name: &str, error: mayhap_store::Error) -> Error {
    match error {
        mayhap_store::Error::Foreign { looks_like, .. } if looks_like != "an empty file" => {
            Error::usage(
                format!("{name}: this looks like {looks_like}, not a mayhap filter"),
                "the bit positions of other systems differ from mayhap's: build a filter from the \
                 keys with mayhap build -o FILE KEYS",
            )
        }
        error => error.into(),
    }
}
