//! Files of segments → one file of the whole filter, in one pass and constant memory.

use crate::body::{Body, CHUNK_BYTES};
use crate::disk::DiskFile;
use crate::save::Replacement;
use crate::union::{Assembled, Union, difference};
use crate::{Error, FilterLock, image};
use mayhap::native::{Header, PAGE_BYTES};
use mayhap::{Block, SegmentFields};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

/// Writes the filter whose segments ([`mayhap::Segment`]) are in the files at `paths`, in any
/// order, to the file of a lock; an existing one is replaced only if `replace`.
///
/// The pages are copied, 256 KiB at a time, and every byte of every segment is checked; files are
/// open one at a time. The new file is, byte for byte, that of a filter into which all keys were
/// inserted at once and whose count follows from its bits
/// ([`mayhap::Filter::settle_inserted_items`]). No secret key is needed. `progress` receives the
/// bytes done and the bytes in all.
///
/// # Errors
///
/// [`Error::SegmentsUnlike`] unless all are of one filter; [`Error::SegmentsOverlap`] and
/// [`Error::SegmentsMissing`] unless every page is in exactly one of them; the errors of
/// [`crate::load()`] for each file and of [`crate::save()`], except for the lock. After an error
/// the path is unchanged.
///
/// # Panics
///
/// If `paths` is empty.
///
/// # Examples
///
/// ```
/// use mayhap::{BlockedBloomFilter, Segment, Segments};
/// use mayhap_store::{FilterLock, LockOptions};
/// # let folder = tempfile::tempdir()?;
/// # let [a, b, all] = ["a", "b", "all"].map(|name| folder.path().join(name));
/// let mut whole = BlockedBloomFilter::builder().expected_items(9_000).target_fpp(0.01).build()?;
/// let (params, function) = (*whole.params(), *whole.digest_function());
/// let cut = Segments::new(&params, 2)?;
/// for (index, path) in [&a, &b].into_iter().enumerate() {
///     let mut segment = Segment::new(params, function, cut.pages(index as u64)?)?;
///     for key in 0..9_000u64 {
///         let digest = function.digest(&key);
///         if segment.digests().contains(&digest) {
///             segment.insert_digest(digest)?;
///             whole.insert_digest(digest);
///         }
///     }
///     mayhap_store::save(path, &segment, "")?;
/// }
/// let lock = FilterLock::take(&all, &mut LockOptions::new("assemble"))?;
/// mayhap_store::assemble(&lock, &[b, a], false, |_, _| {})?;
/// whole.settle_inserted_items();
/// assert_eq!(std::fs::read(&all)?, mayhap::native::encode(&whole, ""));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn assemble(
    lock: &FilterLock,
    paths: &[PathBuf],
    replace: bool,
    mut progress: impl FnMut(u64, u64),
) -> Result<Assembled, Error> {
    assert!(!paths.is_empty(), "there is at least one segment");
    let parts = in_order(paths)?;
    let first = &parts[0];
    let header = first.header.whole(0).map_err(Error::format(first.path))?;
    let params = header.params().map_err(Error::format(first.path))?;
    let new = Replacement::begin(lock, header.digest_id() != 1, replace)?;
    let mut union = Union::new(params, lock.path(), &header);
    let mut table = Xxh3::new();
    for part in &parts {
        copy(part, &mut union, new.file(), &mut table, &mut progress)?;
    }
    let header = first.header.whole(union.ones()).map_err(Error::format(first.path))?;
    let assembled = union.finish(new.file(), &header, table.digest())?;
    new.commit()?;
    Ok(assembled)
}

/// A file of a segment.
struct Part<'a> {
    path: &'a Path,
    header: Header,
    fields: SegmentFields,
}

/// The segments in the order of their pages, if they belong to one filter, each page once.
fn in_order(paths: &[PathBuf]) -> Result<Vec<Part<'_>>, Error> {
    let mut parts: Vec<Part<'_>> = Vec::new();
    for path in paths {
        let header = image::open(path)?.header().clone();
        let fields = header.segment().map_err(Error::format(path))?;
        let part = Part { path, header, fields };
        if let Some(first) = parts.first() {
            check_alike(first, &part)?;
        }
        parts.push(part);
    }
    parts.sort_by_key(|part| part.fields.pages.start);
    let num_pages = (parts[0].fields.params.num_bytes()).div_ceil(PAGE_BYTES as u64);
    let (mut next, mut missing) = (0, Vec::new());
    let mut before = parts[0].path;
    for Part { path, fields, .. } in &parts {
        let pages = fields.pages.clone();
        if pages.start < next {
            let (path, other) = ((*path).into(), before.into());
            let pages = pages.start..pages.end.min(next);
            return Err(Error::SegmentsOverlap { path, other, pages });
        }
        if pages.start > next {
            missing.push(next..pages.start);
        }
        (next, before) = (pages.end, path);
    }
    if next < num_pages {
        missing.push(next..num_pages);
    }
    if !missing.is_empty() {
        let path = parts[0].path.into();
        return Err(Error::SegmentsMissing { path, missing, num_pages });
    }
    Ok(parts)
}

fn check_alike(first: &Part<'_>, part: &Part<'_>) -> Result<(), Error> {
    let (left, right) = (&first.fields.params, &part.fields.params);
    let capacity = |part: &Part<'_>| {
        let params = &part.fields.params;
        format!("{} at a rate of {}", params.expected_items(), params.target_fpp())
    };
    let difference = difference(&first.header, &part.header)
        .or_else(|| (left != right).then(|| ("capacity", capacity(first), capacity(part))));
    let Some((parameter, expected, found)) = difference else { return Ok(()) };
    let (path, first) = (part.path.into(), first.path.into());
    Err(Error::SegmentsUnlike { path, first, parameter, found, expected })
}

/// Copies the pages of a segment to their place, with every byte checked.
fn copy(
    part: &Part<'_>,
    union: &mut Union<'_>,
    output: &dyn DiskFile,
    table: &mut Xxh3,
    progress: &mut impl FnMut(u64, u64),
) -> Result<(), Error> {
    let Part { path, header, fields } = part;
    let image = image::open(path)?;
    if image.header() != header {
        return Err(Error::Replaced { path: path.into() });
    }
    let mut body = Body::new(image.file(), path, header);
    let ones_before = union.ones();
    let num_blocks: u64 = header.segment_blocks().iter().sum();
    let mut chunk = vec![Block::default(); CHUNK_BYTES / Block::BYTES];
    let mut done = fields.pages.start * PAGE_BYTES as u64;
    let mut left = num_blocks * Block::BYTES as u64;
    while left > 0 {
        let used = left.min(CHUNK_BYTES as u64) as usize;
        let pages = &mut chunk[..used.next_multiple_of(PAGE_BYTES) / Block::BYTES];
        body.read(bytemuck::cast_slice_mut(pages), used)?;
        union.count(&pages[..used / Block::BYTES])?;
        union.write_pages(output, bytemuck::cast_slice(pages), done, table)?;
        done += used as u64;
        left -= used as u64;
        progress(done, fields.params.num_bytes());
    }
    body.finish()?;
    if union.ones() - ones_before != fields.ones {
        let source = mayhap::Error::BadField { field: "ones", found: fields.ones };
        return Err(Error::format(path)(source));
    }
    Ok(())
}
