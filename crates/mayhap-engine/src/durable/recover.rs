//! Opening a data folder: manifest, images, log; cleans up after a crash.

use super::disk::{DiskFile, again, read_up_to, write_all_at};
use super::frame::Link;
use super::item::{Replayed, replay_items};
use super::journal::Changes;
use super::load::load_images;
use super::manifest::Manifest;
use super::previous::Checkpoints;
use super::segment::{self, Identity, Segment};
use super::store::{FILTERS, IMAGES, IMPORT, LOG, MANIFEST, segment_path};
use super::tail::{Current, Tail};
use super::{Dropped, Error, Options, Progress, Replay, Report, Store};
use crate::clock::unix_ms;
use crate::fail_point::{fail_point, fail_point_of};
use std::collections::{HashSet, VecDeque};
use std::io;

/// The state of a log in a folder, from which it continues.
pub(super) struct Recovered {
    pub(super) tail: Tail,
    pub(super) changes: Changes,
    pub(super) checkpoints: Checkpoints,
}

/// Opens a folder, or begins one, fills `replay` with its contents, and puts it right.
pub(super) fn recover(
    store: &Store,
    options: &Options,
    replay: &dyn Replay,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<(Recovered, Report), Error> {
    for folder in [LOG, FILTERS, IMPORT] {
        store.create_dir(folder)?;
    }
    let manifest = match Manifest::read(store)? {
        Some(manifest) => manifest,
        None => begin(store, options)?,
    };
    check_digests(store, &manifest, options)?;
    let mut report = Report { next_id: manifest.next_id, ..Report::default() };
    report.import = store.path(IMPORT);
    let packs = load_images(store, &manifest, options.threads, replay, progress, &mut report)?;
    let end = replay_log(store, &manifest, replay, None, progress, &mut report)?;
    let tail = put_right(store, &manifest, &end, &mut report)?;
    let changes = Changes { filters: end.replayed.filters, listed: end.replayed.listed };
    let checkpoints = Checkpoints::new(store, manifest, packs);
    Ok((Recovered { tail, changes, checkpoints }, report))
}

/// Checks that a folder without a manifest is new, or that its creation was cut short.
pub(super) fn check_new(store: &Store) -> Result<(), Error> {
    let missing = || Error::Missing {
        path: store.path(MANIFEST),
        why: "there is a log, or there are images, but no manifest describes them",
    };
    let numbers = |folder, suffix| match store.numbers(folder, suffix) {
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        numbers => numbers,
    };
    let segments = numbers(LOG, ".log")?;
    let mut has_images = false;
    for (suffix, _) in IMAGES {
        has_images |= !numbers(FILTERS, suffix)?.is_empty();
    }
    if has_images || segments.iter().any(|&n| n != 1) {
        return Err(missing());
    }
    if !segments.is_empty() {
        // The manifest is written before the first record.
        let path = &segment_path(1);
        let bytes = store.open(path)?.bytes().map_err(store.error("look at", path))?;
        if bytes > segment::HEADER_BYTES as u64 {
            return Err(missing());
        }
    }
    Ok(())
}

/// Begins the log of a new folder.
fn begin(store: &Store, options: &Options) -> Result<Manifest, Error> {
    check_new(store)?;
    let mut random = [0; 8];
    getrandom::fill(&mut random)
        .map_err(|error| store.error("make", MANIFEST)(io::Error::other(error)))?;
    let log_id = u64::from_le_bytes(random);
    let identity = Identity::new(log_id, &options.digest_function);
    store.sync_dir("")?;
    segment::create(store, &identity, 1)?;
    let manifest = Manifest {
        identity,
        made_at: unix_ms(),
        first_segment: 1,
        first: Link { sequence: 0, previous: log_id },
        next_id: 1,
        next_image: 1,
        lists: Vec::new(),
        filters: Vec::new(),
    };
    store.replace(MANIFEST, &manifest.encode())?;
    Ok(manifest)
}

pub(super) fn check_digests(
    store: &Store,
    manifest: &Manifest,
    options: &Options,
) -> Result<(), Error> {
    let wanted = Identity::new(manifest.identity.log_id, &options.digest_function);
    let found = &manifest.identity;
    for (parameter, folder, given) in [
        ("digest function", found.digest_id.into(), wanted.digest_id.into()),
        ("key id", found.digest_parameter, wanted.digest_parameter),
    ] {
        if folder != given {
            let path = store.path(MANIFEST);
            return Err(Error::OtherDigests { path, parameter, folder, given });
        }
    }
    Ok(())
}

/// Where the log ends, and how.
#[derive(Default)]
pub(super) struct End {
    /// The segments, in order.
    segments: Vec<u64>,
    /// The index in `segments` of the last segment, and where its last whole frame ends.
    last: usize,
    offset: u64,
    /// The place of the next frame.
    next: Link,
    /// Bytes after it, including later segments.
    left: u64,
    /// Bytes of segments before the last.
    older_bytes: u64,
    /// Frames that no later one declares safe: sequence, index in `segments`, offset.
    unsure: VecDeque<(u64, usize, u64)>,
    /// Whether the last frame is empty, and so only declares what was safe.
    said: bool,
    replayed: Replayed,
}

impl End {
    pub(super) const fn num_segments(&self) -> usize {
        self.segments.len()
    }

    /// The frame up to which all are declared safe already.
    fn vouched(&self) -> u64 {
        match self.unsure.front() {
            Some(&(sequence, ..)) if self.unsure.len() > usize::from(self.said) => sequence,
            _ => self.next.sequence,
        }
    }
}

/// Replays all segments up to the end, to an unfinished write, or to damage; changes no file. Of
/// filters other than `only`, which are in order, nothing is passed on.
pub(super) fn replay_log(
    store: &Store,
    manifest: &Manifest,
    replay: &dyn Replay,
    only: Option<&[u64]>,
    progress: &(dyn Fn(Progress) + Sync),
    report: &mut Report,
) -> Result<End, Error> {
    let numbers = store.numbers(LOG, ".log")?;
    let last = numbers.last().copied().unwrap_or(0).max(manifest.first_segment);
    let mut segments = Vec::new();
    for number in manifest.first_segment..=last {
        segments.push(Segment::open(store, &manifest.identity, number)?);
    }
    let total = segments.iter().map(|segment| segment.bytes).sum();
    let mut end = End {
        segments: (manifest.first_segment..=last).collect(),
        next: manifest.first,
        replayed: Replayed::none(only),
        ..End::default()
    };
    let mut before = 0;
    for (place, segment) in segments.iter_mut().enumerate() {
        let header = segment::HEADER_BYTES as u64;
        (end.last, end.offset, end.older_bytes) = (place, header, before);
        let report_progress = |done| progress(Progress::Log { done: before + done, total });
        replay_segment(store, segment, replay, &report_progress, &mut end)?;
        if end.offset < segment.bytes {
            break;
        }
        before += segment.bytes;
    }
    end.left = total - end.older_bytes - end.offset;
    if end.offset < segments[end.last].bytes {
        check_unfinished(&mut segments[end.last..], &end)?;
    }
    (report.digests, report.keys) = (end.replayed.digests, end.replayed.keys);
    report.operations = end.replayed.operations;
    report.log_bytes = total - end.left;
    report.next_id = report.next_id.max(end.replayed.next_id);
    Ok(end)
}

fn replay_segment(
    store: &Store,
    segment: &mut Segment<'_>,
    replay: &dyn Replay,
    report_progress: &dyn Fn(u64),
    end: &mut End,
) -> Result<(), Error> {
    let path = store.path(&segment.path);
    while let Some((frame, payload)) = segment.frame_at(end.offset)? {
        if frame.place != end.next {
            break;
        }
        replay_items(payload, replay, &mut end.replayed).map_err(|why| {
            let path = path.clone();
            Error::Replay { path, offset: end.offset, why }
        })?;
        fail_point("recover.replayed");
        while end.unsure.front().is_some_and(|&(sequence, ..)| sequence < frame.safe) {
            end.unsure.pop_front();
        }
        end.unsure.push_back((frame.place.sequence, end.last, end.offset));
        end.said = payload.is_empty();
        let before = end.offset >> 20;
        end.offset += frame.bytes() as u64;
        end.next = frame.next();
        if end.offset >> 20 != before {
            report_progress(end.offset);
        }
    }
    report_progress(end.offset);
    Ok(())
}

/// Distinguishes a write that a crash cut short from damage.
///
/// A disk that loses power may have kept a later write and not an earlier one, so a sound frame
/// after a bad one proves nothing by itself. But frames declare up to where all was on the disk
/// when they were written: if one declares this of the bad frame, that frame was complete.
fn check_unfinished(segments: &mut [Segment<'_>], end: &End) -> Result<(), Error> {
    let (mut from, bad) = (end.offset, end.next.sequence);
    for place in 0..segments.len() {
        let segment = &mut segments[place];
        while let Some((offset, frame)) = segment.find_header(from)? {
            if frame.safe > bad {
                let what = format!(
                    "record {bad} was on the disk, as the record at byte {offset} of {} states, \
                     but is missing",
                    segment.path
                );
                return Err(segments[0].damaged(end.offset, &what));
            }
            from = offset + 1;
        }
        from = segment::HEADER_BYTES as u64;
    }
    Ok(())
}

/// Removes files that are not part of the folder any more, and makes the rest survive a power cut:
/// clients will see it from now on.
fn put_right(
    store: &Store,
    manifest: &Manifest,
    end: &End,
    report: &mut Report,
) -> Result<Tail, Error> {
    let (kept, later) = end.segments.split_at(end.last + 1);
    let mut file = None;
    for (place, &number) in kept.iter().enumerate() {
        let path = &segment_path(number);
        let segment = store.open(path)?;
        if place == end.last && end.left > 0 {
            let cut = again(|| segment.set_len(end.offset));
            cut.map_err(store.error("cut the unfinished end of", path))?;
            fail_point("recover.cut");
            let (path, offset) = (store.path(path), end.offset);
            report.dropped = Some(Dropped { path, offset, bytes: end.left });
        }
        if let Some(&(_, unsure, offset)) = end.unsure.front()
            && place >= unsure
        {
            let from = if place == unsure { offset } else { segment::HEADER_BYTES as u64 };
            write_again(&*segment, from).map_err(store.error("write again", path))?;
            fail_point("recover.written_again");
        }
        store.sync(&*segment, path)?;
        file = Some((number, segment));
    }
    // From the last to the first, so that none is missing if this is cut short.
    for &number in later.iter().rev() {
        store.remove(&segment_path(number))?;
        fail_point("recover.later_removed");
        store.sync_dir(LOG)?;
    }
    remove_unneeded(store, manifest)?;
    fail_point("recover.put_right");
    let Some((number, file)) = file else {
        let why = "the manifest names it";
        let path = store.path(&segment_path(manifest.first_segment));
        return Err(Error::Missing { path, why });
    };
    let current = Current { number, file, end: end.offset };
    let (log_id, first) = (manifest.identity.log_id, manifest.first_segment);
    Ok(Tail::new(log_id, first, current, end.next, end.vouched(), end.older_bytes))
}

/// Removes files that no manifest names any more, and unfinished ones.
fn remove_unneeded(store: &Store, manifest: &Manifest) -> Result<(), Error> {
    for number in store.numbers(LOG, ".log")? {
        if number < manifest.first_segment {
            store.remove(&segment_path(number))?;
            fail_point_of("recover.removed", LOG);
        }
    }
    // All files there share one numbering.
    let images = manifest.filters.iter().map(|(_, image)| image.number);
    let needed: HashSet<u64> = images.chain(manifest.lists.iter().map(|of| of.number)).collect();
    for (suffix, path) in IMAGES {
        for number in store.numbers(FILTERS, suffix)? {
            if !needed.contains(&number) {
                store.remove(&path(number))?;
                fail_point_of("recover.removed", FILTERS);
            }
        }
    }
    store.remove_temporaries()?;
    for folder in ["", LOG, FILTERS] {
        store.sync_dir(folder)?;
    }
    Ok(())
}

/// Writes the contents of a file again.
///
/// If a sync failed before the process ended, the kernel may have dropped data that it could not
/// write and still show it: another sync would find nothing to do and succeed.
fn write_again(file: &dyn DiskFile, mut from: u64) -> io::Result<()> {
    let left = usize::try_from(file.bytes()?.saturating_sub(from)).unwrap_or(usize::MAX);
    let mut buffer = vec![0; left.clamp(1, 1 << 20)];
    loop {
        let found = read_up_to(file, &mut buffer, from)?;
        if found == 0 {
            return Ok(());
        }
        write_all_at(file, &buffer[..found], from)?;
        from += found as u64;
    }
}
