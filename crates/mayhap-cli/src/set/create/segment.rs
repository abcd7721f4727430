//! One segment of a filter, built from the lines whose digests belong to it.

use crate::args::{DigestArgs, SizeArgs};
use crate::error::Error;
use crate::io::progress::Progress;
use crate::memory;
use crate::set::fill::Counts;
use mayhap::{Bitmap, Layout, Segment, Segments};
use mayhap_lists::LineReader;

/// Which segment of how many: `1/16` is the first of sixteen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// From 1.
    pub number: u64,
    /// How many there are.
    pub count: u64,
}

/// A text that names no segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be I/N, from 1/N to N/N, as 3/16")]
pub struct NotASegment;

impl Part {
    /// Parses `I/N`.
    ///
    /// # Errors
    ///
    /// [`NotASegment`] for anything else.
    pub fn parse(text: &str) -> Result<Self, NotASegment> {
        let numbers = text.split_once('/').and_then(|(number, count)| {
            Some(Self { number: number.parse().ok()?, count: count.parse().ok()? })
        });
        numbers.filter(|part| (1..=part.count).contains(&part.number)).ok_or(NotASegment)
    }
}

/// An empty segment.
///
/// # Errors
///
/// [`Error::Usage`] for filters that have no segments, or no size; [`Error::TooMuchMemory`],
/// [`Error::Filter`], those of [`DigestArgs::function`].
pub fn empty(size: &SizeArgs, digest: &DigestArgs, part: Part) -> Result<Segment, Error> {
    if size.layout.is_some_and(|name| name.layout() != Some(Layout::Blocked)) {
        return Err(Error::usage(
            "only blocked filters have segments: in others the bits of a key are all over the \
             filter",
            "omit --layout, or give --layout blocked",
        ));
    }
    if !size.is_fixed() {
        return Err(Error::usage(
            "all segments are of a filter of one size, so -n must be given",
            "for example: mayhap build -o part.mayhap --segment 1/16 -n 1B keys.txt",
        ));
    }
    let params = size.builder(size.items)?.layout(Layout::Blocked).params()?;
    size.check_rate(params.expected_items(), params.num_bytes(), params.target_fpp())?;
    let cut = Segments::new(&params, part.count).map_err(|source| {
        Error::usage(format!("cannot cut the filter: {source}"), "use fewer segments: I/N")
    })?;
    let pages = cut.pages(part.number - 1)?;
    let bytes = (pages.end - pages.start) * mayhap::native::PAGE_BYTES as u64;
    memory::check(bytes, size.max_bytes())?;
    // Last, so that no key file is made for a segment that is refused.
    Ok(Segment::new(params, digest.function()?, pages)?)
}

/// Inserts the lines whose digests belong to the segment.
///
/// # Errors
///
/// Those of [`LineReader`].
pub fn fill(
    segment: &mut Segment,
    reader: &mut LineReader,
    progress: &mut Progress,
) -> Result<Counts, Error> {
    let (function, range) = (*segment.digest_function(), segment.digests());
    reader.digest_by(function);
    let (mut taken, mut digests, mut new) = (Counts::default(), Vec::new(), Bitmap::new());
    loop {
        let (lines, raw_bytes) = (reader.lines(), reader.raw_bytes());
        let Some(batch) = reader.next_batch(|| Ok::<(), Error>(()))? else { break };
        // Leaves none for lines without a key.
        batch.digest_into(&function, &mut digests);
        digests.retain(|digest| range.contains(digest));
        segment.insert_digests_into(&digests, &mut new)?;
        taken.lines += digests.len() as u64;
        taken.new += new.count_ones() as u64;
        progress.tick(lines, raw_bytes, String::new);
    }
    Ok(taken)
}
