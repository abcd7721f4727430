//! The contents of a filter that is created with some, on their way into the log.

use crate::durable::{Contents, Log, Refused};
use crate::fail_point::fail_point;

/// Bytes of a dump that stand in one record. Tests have more than one of small filters too.
const PART_BYTES: usize = if cfg!(test) { 8 << 10 } else { 4 << 20 };

/// Writes what is in a filter that is to be created; what comes back is kept until it can be seen.
///
/// # Errors
///
/// [`Refused`]: the filter must not be created.
pub(super) fn write_contents<'a>(
    log: &'a Log,
    id: u64,
    dump: &[u8],
) -> Result<Contents<'a>, Refused> {
    let mut contents = log.begin_contents(id);
    for part in dump.chunks(PART_BYTES) {
        contents.write(part)?;
        fail_point("create.part");
    }
    Ok(contents)
}
