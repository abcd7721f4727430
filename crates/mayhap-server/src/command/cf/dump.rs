//! `CF.SCANDUMP`, `CF.LOADCHUNK`: moving compact filters between servers, as `BF.SCANDUMP` and
//! `BF.LOADCHUNK` do.

use crate::command::bf;
use crate::command::call::{Call, NOT_FOUND, Outcome};
use crate::command::number;
use mayhap::native::{self, Header, Kind};

const POSITION: &str = "Invalid position";
/// The fingerprints of a cuckoo filter are too short for any other filter.
const NO_HEADER: &str = "Invalid header: a dump of RedisBloom cannot be loaded; CF.RESERVE, then \
                         add the items again";

/// `CF.SCANDUMP key cursor`.
pub(super) fn scan_dump(call: &mut Call<'_, '_>) -> Outcome {
    number::integer(call.word(2)).ok_or(POSITION)?;
    call.compact()?.ok_or(NOT_FOUND)?;
    bf::dump::scan_dump(call)
}

/// `CF.LOADCHUNK key cursor bytes`.
pub(super) fn load_chunk(call: &mut Call<'_, '_>) -> Outcome {
    let cursor = number::integer(call.word(2)).filter(|&cursor| cursor > 0).ok_or(POSITION)?;
    // A chunk after the header belongs to that header.
    let is_header = cursor == 1;
    let header = || Header::decode(&native::paged(call.word(3)).ok()?).ok();
    if is_header && !header().is_some_and(|header| header.kind() == Kind::Compact) {
        return Err(NO_HEADER.into());
    }
    bf::dump::load_chunk(call)
}
