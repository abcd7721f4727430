//! Sets that never change, built from all lines at once.

use crate::args::{DEFAULT_FPP, DigestArgs, SizeArgs};
use crate::error::Error;
use crate::io::messages::rate;
use crate::io::progress::Progress;
use crate::memory;
use mayhap::sizing::ribbon;
use mayhap::{BinaryFuse, Digest, DigestFunction, RibbonFilter};
use mayhap_lists::LineReader;
use mayhap_sets::{LayoutName, OwnSet};

/// Bytes of memory per line while a filter is built, at most: its building takes 26 at 0.1 % and 31
/// at the lowest rate, after our digests of 8 are freed.
const BYTES_PER_LINE: u64 = 31;

/// Builds a filter of all lines; none is added later.
///
/// # Errors
///
/// [`Error::Usage`] for numbers that it has no use for, [`Error::TooMuchMemory`],
/// [`Error::Filter`], those of [`LineReader`].
pub fn build(
    size: &SizeArgs,
    digest: &DigestArgs,
    reader: &mut LineReader,
    progress: &mut Progress,
) -> Result<OwnSet, Error> {
    // Before anything is read, and before a key file is made.
    check(size)?;
    let function = digest.function()?;
    reader.digest_by(function);
    let (mut all, mut digests): (Vec<Digest>, _) = (Vec::new(), Vec::new());
    loop {
        let raw_bytes = reader.raw_bytes();
        let Some(batch) = reader.next_batch(|| Ok::<(), Error>(()))? else { break };
        // Leaves none for lines without a key.
        batch.digest_into(&function, &mut digests);
        let lines = (all.len() + digests.len()) as u64;
        memory::check(lines * BYTES_PER_LINE, size.max_bytes())?;
        let no_memory = |_| mayhap::Error::OutOfMemory { bytes: lines * BYTES_PER_LINE };
        all.try_reserve(digests.len()).map_err(no_memory)?;
        all.extend_from_slice(&digests);
        progress.tick(lines, raw_bytes, String::new);
    }
    of_digests(size, function, all)
}

/// Refuses numbers that a fuse or ribbon filter has no use for.
///
/// # Errors
///
/// [`Error::Usage`].
pub fn check(size: &SizeArgs) -> Result<(), Error> {
    let name = size.layout.map_or("fuse", LayoutName::name);
    size.refuse_preset(name)?;
    if size.is_fixed() {
        return Err(Error::usage(
            format!("a {name} filter is sized by its keys, but -n or --mem is given"),
            "omit them; -p sets its rate",
        ));
    }
    // The rates of both are the same.
    ribbon::check_target(1, target_fpp(size)).map(drop).map_err(|error| match error {
        mayhap::Error::FppUnreachable { target_fpp, lowest_fpp } => Error::usage(
            format!("a {name} filter cannot keep the rate {}", rate(target_fpp)),
            format!("its lowest is {}; --layout standard keeps lower ones", rate(lowest_fpp)),
        ),
        error => error.into(),
    })
}

/// A filter of digests, repeats among them: a ribbon or, if its layout is named, a fuse filter.
///
/// # Errors
///
/// [`Error::Filter`].
pub fn of_digests(
    size: &SizeArgs,
    function: DigestFunction,
    digests: Vec<Digest>,
) -> Result<OwnSet, Error> {
    let target_fpp = target_fpp(size);
    Ok(if size.layout == Some(LayoutName::Fuse) {
        BinaryFuse::build_for_target(target_fpp, function, digests)?.into()
    } else {
        RibbonFilter::build_for_target(target_fpp, function, digests)?.into()
    })
}

/// The bytes of memory that building it from this many digests takes.
pub fn building_bytes(digests: u64) -> u64 {
    digests.saturating_mul(BYTES_PER_LINE)
}

fn target_fpp(size: &SizeArgs) -> f64 {
    size.fpp.unwrap_or(DEFAULT_FPP)
}
