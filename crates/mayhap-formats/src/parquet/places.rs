//! Where the filters of a column are in the file, and where they end at the latest.

use super::footer::Footer;
use crate::Error;

/// The position of the filter of one row group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) start: u64,
    /// Bytes up to the next part of the file: a page, a filter, an index or the footer.
    pub(super) room: u64,
    /// Bytes of header and bits; not all writers record it.
    pub(super) len: Option<u32>,
    /// How many columns refer to it.
    uses: u32,
}

/// The places of the filters of a column, by their offset, in a file whose footer starts at `end`.
pub(super) fn places(footer: &Footer, column: usize, end: u64) -> Result<Vec<Place>, Error> {
    // Counted first, so that memory is that of the places alone.
    let mut places = Vec::with_capacity(footer.chunks_of(column)?.count());
    for chunk in footer.chunks_of(column)? {
        let metadata = chunk?.1.metadata;
        if let Some((start, len)) = metadata.and_then(|metadata| metadata.filter) {
            let outside = || Error::bad("offset of a filter", "a place inside of the file", start);
            let start = u64::try_from(start).map_err(|_| outside())?;
            let room = end.checked_sub(start).filter(|&room| room > 0 && start >= 4);
            let room = room.ok_or_else(outside)?;
            let length = |len| u32::try_from(len).map_err(|_| bad_length(len));
            places.push(Place { start, room, len: len.map(length).transpose()?, uses: 0 });
        }
    }
    places.sort_unstable_by_key(|place| place.start);
    for group in footer.row_groups()? {
        for chunk in group?.chunks {
            let offsets = chunk?;
            let offsets = offsets.offsets().filter_map(|at| u64::try_from(at).ok());
            offsets.for_each(|at| bound(&mut places, at));
        }
    }
    match places.iter().find(|place| place.uses != 1) {
        None => Ok(places),
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
        place.uses += 1;
    }
}
