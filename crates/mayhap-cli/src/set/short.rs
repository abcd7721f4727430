//! Short files: which filters fit into one.

use crate::error::Error;
use mayhap::Block;
use mayhap::native::Header;
use std::path::Path;

/// Refuses a filter that has no short form, or is too large for it.
///
/// # Errors
///
/// [`Error::Usage`].
pub fn check(path: &Path, header: &Header, segments: &[&[Block]]) -> Result<(), Error> {
    let name = path.display();
    let header = header.clone().with_identity(None).map_err(in_file(path))?;
    match header.encode_short(segments) {
        Ok(_) => Ok(()),
        Err(mayhap::Error::TooLarge { limit, found, .. }) => Err(Error::usage(
            format!("{name}: a short file of this filter has {found} bytes, at most {limit} fit"),
            "keep the form with pages, which has any size: omit --short",
        )),
        Err(mayhap::Error::NotOfKind { kind, .. }) => Err(no_short_form(kind)),
        Err(source) => Err(in_file(path)(source)),
    }
}

/// The error for a kind of filter without a short form.
pub fn no_short_form(kind: &str) -> Error {
    Error::usage(
        format!("a {kind} filter has no short form"),
        "only plain filters have one: --layout blocked or --layout standard",
    )
}

fn in_file(path: &Path) -> impl FnOnce(mayhap::Error) -> Error {
    let path = path.into();
    |source| mayhap_store::Error::Format { path, source }.into()
}
