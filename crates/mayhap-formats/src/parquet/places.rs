//! Where the filters of a column are in the file, and where they end at the latest.

use super::column::ParquetColumn;
use super::footer::{Footer, Metadata, fewer};
use crate::Error;

/// The position of the filter of one row group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) start: u64,
    /// Bytes up to the next part of the file: a page, a filter, an index or the footer.
    pub(super) room: u64,
    /// Bytes of header and bits; not all writers record it.
    pub(super) len: Option<u32>,
    pub(super) row_group: u32,
    /// The number of columns that refer to it.
    uses: u8,
    /// Whether its column has only nulls.
    pub(super) is_null: bool,
}

/// The places of the filters of a column, by their offset, in a file whose footer starts at `end`;
/// fills in the other facts about the column in `found`.
pub(super) fn places(
    footer: &Footer,
    index: usize,
    end: u64,
    found: &mut ParquetColumn,
) -> Result<Vec<Place>, Error> {
    // Counted first, so that only the memory of the places is allocated.
    let mut places = Vec::with_capacity(footer.num_row_groups());
    for group in footer.row_groups() {
        let (row_group, mut chunks) = group?;
        let metadata = chunks.nth(index).ok_or_else(fewer)??.metadata;
        let is_null = metadata.as_ref().is_some_and(Metadata::is_null);
        if !is_null {
            found.widen_range(metadata.as_ref().and_then(Metadata::range));
        }
        let Some((start, len)) = metadata.and_then(|metadata| metadata.filter) else {
            found.lacks_filter_of(row_group);
            continue;
        };
        let outside = || Error::bad("offset of a filter", "a place inside of the file", start);
        let start = u64::try_from(start).map_err(|_| outside())?;
        let room = end.checked_sub(start).filter(|&room| room > 0 && start >= 4);
        let room = room.ok_or_else(outside)?;
        let length = |len| u32::try_from(len).map_err(|_| bad_length(len));
        let (len, row_group) = (len.map(length).transpose()?, row_group as u32);
        places.push(Place { start, room, len, row_group, uses: 0, is_null });
    }
    places.sort_unstable_by_key(|place| place.start);
    for group in footer.row_groups() {
        for chunk in group?.1 {
            let offsets = chunk?;
            let offsets = offsets.offsets().filter_map(|at| u64::try_from(at).ok());
            offsets.for_each(|at| bound(&mut places, at));
        }
    }
    match places.iter().find(|place| place.uses != 1) {
        None => {
            places.sort_unstable_by_key(|place| place.row_group);
            Ok(places)
        }
        Some(place) => Err(Error::refused(format_args!(
            "the filter at byte {} is that of two columns or row groups, or of another part of the \
             file",
            place.start
        ))),
    }
}

pub(super) fn bad_length(found: impl std::fmt::Display) -> Error {
    Error::bad("length of a filter", "that of its header and bit set", found)
}

/// Ends the place before this position; counts one that starts here.
fn bound(places: &mut [Place], at: u64) {
    let before = places.partition_point(|place| place.start < at);
    if let Some(place) = before.checked_sub(1).map(|last| &mut places[last]) {
        place.room = place.room.min(at - place.start);
    }
    for place in places[before..].iter_mut().take_while(|place| place.start == at) {
        place.uses = place.uses.saturating_add(1);
    }
}
