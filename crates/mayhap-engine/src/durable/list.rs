//! Lists: the existing filters and where their images are, in files that never change.
//!
//! | offset | bytes | field | allowed |
//! |---|---|---|---|
//! | 0 | 8 | `magic` | `\x89mhplst\n` |
//! | 8 | 2 | `version` | 1 |
//! | 10 | 6 | reserved | 0 |
//! | 16 | … | records | |
//!
//! The manifest names the lists in order, with length, checksum and number of records of each: the
//! first one has all filters of its time, each later one the changes since the one before it. A
//! record:
//!
//! | bytes | field | allowed |
//! |---|---|---|
//! | 8 | `id` of the filter | higher than that of the record before |
//! | 4 | `kind` | 1 a filter, 2 another image of one, 3 a filter that is gone |
//! | 40 | image (kinds 1 and 2) | number, offset, bytes, checksum, mark: 8 bytes each |
//! | 8 | `expires_at` (kind 1) | milliseconds since 1970; 0 for never |
//! | 4 | bytes of the name (kind 1) | |
//! | 4 | bytes of the spec (kind 1) | |
//! | … | name, spec (kind 1) | |
//!
//! The number of an image is 0 if the filter was never inserted into, its offset is 0 if it is a
//! file of its own, and `mark` is how much of the filter's history it has, or 0 if that does not
//! matter.

use super::image::ImageOf;
use super::input::Input;
use super::{ReplayError, Saved};

const MAGIC: &[u8; 8] = b"\x89mhplst\n";
pub(super) const VERSION: u16 = 1;
pub(super) const HEADER_BYTES: usize = 16;
/// The minimum of a filter: without name and spec.
pub(super) const FILTER_BYTES: usize = 12 + 40 + 16;
const FILTER: u32 = 1;
const IMAGE: u32 = 2;
const GONE: u32 = 3;

/// The entry of a list for one filter: of a [`Saved`] one when it is read, of a borrowed one when
/// it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Record<S> {
    /// The filter itself.
    Filter(S, ImageOf),
    /// A new image of it.
    Image(u64, ImageOf),
    /// It is gone.
    Gone(u64),
}

impl Record<Saved> {
    pub(super) const fn id(&self) -> u64 {
        match self {
            Self::Filter(saved, _) => saved.id,
            Self::Image(id, _) | Self::Gone(id) => *id,
        }
    }
}

/// Why bytes with the right checksum are not a list.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadList {
    /// They do not begin like a list.
    #[error("this is not a list of filters")]
    Header,
    /// A later version wrote them.
    #[error("format {found}, at most {VERSION} is read")]
    Newer { found: u16 },
    /// A record has fewer bytes than it announces.
    #[error(transparent)]
    Short(#[from] ReplayError),
    /// A record of an unknown kind.
    #[error("a record of the unknown kind {found}")]
    Kind { found: u32 },
    /// A record whose filter does not follow that of the record before.
    #[error("the record of filter {found} comes after that of filter {previous}")]
    Order { found: u64, previous: u64 },
    /// An image for a filter that no list names.
    #[error("an image for filter {id}, which is not listed")]
    Unknown { id: u64 },
    /// More or fewer records than the manifest announces.
    #[error("{found} records; the manifest announces {expected}")]
    Count { found: u64, expected: u64 },
}

pub(super) fn header() -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
    bytes
}

/// Appends a record.
pub(super) fn encode(record: &Record<&Saved>, out: &mut Vec<u8>) {
    let (id, kind, image) = match record {
        Record::Filter(saved, of) => (saved.id, FILTER, Some(of)),
        Record::Image(id, of) => (*id, IMAGE, Some(of)),
        Record::Gone(id) => (*id, GONE, None),
    };
    out.extend_from_slice(&id.to_le_bytes());
    out.extend_from_slice(&kind.to_le_bytes());
    if let Some(&ImageOf { number, offset, bytes, checksum, mark }) = image {
        let numbers = [number, offset, bytes, checksum, mark];
        out.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    }
    if let Record::Filter(saved, _) = record {
        out.extend_from_slice(&saved.expires_at.to_le_bytes());
        out.extend_from_slice(&(saved.name.len() as u32).to_le_bytes());
        out.extend_from_slice(&(saved.spec.len() as u32).to_le_bytes());
        out.extend_from_slice(&saved.name);
        out.extend_from_slice(&saved.spec);
    }
}

/// The records of a list, up to the end or the first invalid one.
#[derive(Debug)]
pub(super) struct Records<'a> {
    input: Input<'a>,
    bytes: usize,
    previous: Option<u64>,
}

impl<'a> Records<'a> {
    /// The records of a whole file.
    ///
    /// # Errors
    ///
    /// [`BadList::Header`], [`BadList::Newer`].
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, BadList> {
        let (found, rest) = bytes.split_at_checked(HEADER_BYTES).ok_or(BadList::Header)?;
        let version = u16::from_le_bytes([found[8], found[9]]);
        if found[..8] == *MAGIC && version > VERSION {
            return Err(BadList::Newer { found: version });
        }
        if found != header() {
            return Err(BadList::Header);
        }
        Ok(Self { input: Input(rest), bytes: bytes.len(), previous: None })
    }

    /// Offset of the next record.
    pub(super) const fn offset(&self) -> u64 {
        (self.bytes - self.input.0.len()) as u64
    }

    /// The next record, if there is one.
    ///
    /// # Errors
    ///
    /// [`BadList`]; then [`Records::offset`] is the offset of the bad record.
    pub(super) fn next(&mut self) -> Result<Option<Record<Saved>>, BadList> {
        if self.input.0.is_empty() {
            return Ok(None);
        }
        let mut input = self.input;
        let found = decode(&mut input)?;
        let id = found.id();
        if let Some(previous) = self.previous.filter(|&previous| previous >= id) {
            return Err(BadList::Order { found: id, previous });
        }
        (self.input, self.previous) = (input, Some(id));
        Ok(Some(found))
    }
}

fn decode(input: &mut Input<'_>) -> Result<Record<Saved>, BadList> {
    let (id, kind) = (input.u64()?, input.u32()?);
    match kind {
        FILTER => {
            let of = decode_image(input)?;
            let expires_at = input.u64()?;
            let (name_bytes, spec_bytes) = (input.u32()? as usize, input.u32()? as usize);
            // Both lengths are checked before either is copied.
            let (name, spec) = (input.bytes(name_bytes)?, input.bytes(spec_bytes)?);
            Ok(Record::Filter(Saved { id, name: name.into(), spec: spec.into(), expires_at }, of))
        }
        IMAGE => Ok(Record::Image(id, decode_image(input)?)),
        GONE => Ok(Record::Gone(id)),
        found => Err(BadList::Kind { found }),
    }
}

fn decode_image(input: &mut Input<'_>) -> Result<ImageOf, BadList> {
    let [number, offset, bytes] = [input.u64()?, input.u64()?, input.u64()?];
    let [checksum, mark] = [input.u64()?, input.u64()?];
    Ok(ImageOf { number, offset, bytes, checksum, mark })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved(id: u64) -> Saved {
        let (name, spec) = (b"\0/..\xff".as_slice().into(), b"spec".as_slice().into());
        Saved { id, name, spec, expires_at: id }
    }

    fn image(number: u64) -> ImageOf {
        ImageOf { number, offset: 24, bytes: 3, checksum: u64::MAX, mark: 5 }
    }

    fn all(bytes: &[u8]) -> Result<Vec<Record<Saved>>, (u64, BadList)> {
        let mut records = Records::new(bytes).map_err(|bad| (0, bad))?;
        let mut all = Vec::new();
        while let Some(found) = records.next().map_err(|bad| (records.offset(), bad))? {
            all.push(found);
        }
        Ok(all)
    }

    fn list(records: &[Record<&Saved>]) -> Vec<u8> {
        let mut bytes = header().to_vec();
        for record in records {
            encode(record, &mut bytes);
        }
        bytes
    }

    #[test]
    fn records_are_decoded_again_and_a_cut_through_any_is_refused() {
        let filter = saved(1);
        let records =
            [Record::Filter(&filter, image(7)), Record::Image(2, image(8)), Record::Gone(9)];
        let bytes = list(&records);
        let found =
            [Record::Filter(saved(1), image(7)), Record::Image(2, image(8)), Record::Gone(9)];
        assert_eq!(all(&bytes).unwrap(), found);
        let ends = [16, 16 + 68 + 9, 16 + 68 + 9 + 52, bytes.len()];
        for cut in 0..=bytes.len() {
            match (all(&bytes[..cut]), ends.iter().position(|&end| end == cut)) {
                (Ok(read), Some(whole)) => assert_eq!(read, found[..whole]),
                (Err((0, BadList::Header)), None) => assert!(cut < 16),
                (Err((offset, BadList::Short(_))), None) => {
                    let start = ends.iter().rev().find(|&&end| end < cut).unwrap();
                    assert_eq!(offset, *start as u64);
                }
                (read, end) => panic!("{cut}: {read:?}, {end:?}"),
            }
        }
    }

    #[test]
    fn forged_records_are_refused_where_they_begin() {
        let twice = list(&[Record::Gone(5), Record::Gone(5)]);
        let bad = all(&twice).unwrap_err();
        assert!(matches!(bad, (28, BadList::Order { found: 5, previous: 5 })), "{bad:?}");
        let mut kind = list(&[Record::Gone(5)]);
        kind[24] = 4;
        let bad = all(&kind).unwrap_err();
        assert!(matches!(bad, (16, BadList::Kind { found: 4 })), "{bad:?}");
        let (filter, mut long) = (saved(1), Vec::new());
        encode(&Record::Filter(&filter, image(1)), &mut long);
        long[12 + 40 + 8..][..4].copy_from_slice(&u32::MAX.to_le_bytes());
        let bad = all(&[&header()[..], &long].concat()).unwrap_err();
        assert!(matches!(bad, (16, BadList::Short(_))), "{bad:?}");
        let mut newer = header();
        newer[8] = 2;
        let bad = all(&newer).unwrap_err();
        assert!(matches!(bad, (0, BadList::Newer { found: 2 })), "{bad:?}");
        newer[8..11].copy_from_slice(&[1, 0, 1]);
        assert!(matches!(all(&newer), Err((0, BadList::Header))));
    }
}
