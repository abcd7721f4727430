//! A data folder is opened: manifest, images, log; what a crash left is put right.

use super::disk::{DiskFile, again, read_up_to, write_all_at};
use super::item::{Replayed, replay_items};
use super::load::load_images;
use super::log::Inner;
use super::manifest::Manifest;
use super::previous::Checkpoints;
use super::recorder::Batch;
use super::segment::{self, Identity, Segment};
use super::store::{
    FILTERS, IMPORT, LOG, MANIFEST, image_path, list_path, pack_path, segment_path,
};
use super::{DataFolder, Error, Log, Options, Replay, Store};
use crate::clock::unix_ms;
use crate::fail_point::{fail_point, fail_point_of};
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// The path of a file of this number.
type PathOf = fn(u64) -> String;

/// The files in the folder of images: how their names end, and their paths.
const IMAGES: [(&str, PathOf); 3] =
    [(".mayhap", image_path), (".pack", pack_path), (".list", list_path)];

/// How far the opening of a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Bytes of images that were read.
    Images {
        /// So far.
        done: u64,
        /// In all.
        total: u64,
    },
    /// Bytes of the log that were replayed.
    Log {
        /// So far.
        done: u64,
        /// In all.
        total: u64,
    },
}

/// The end of a log that a crash had cut short, and that was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The segment.
    pub path: PathBuf,
    /// Where its last whole record ends.
    pub offset: u64,
    /// How many bytes were removed, those of later segments included.
    pub bytes: u64,
}

/// What was found in a data folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Images that were read.
    pub images: u64,
    /// Their bytes.
    pub image_bytes: u64,
    /// Bytes of the log that were replayed.
    pub log_bytes: u64,
    /// Digests in them.
    pub digests: u64,
    /// Keys in them.
    pub keys: u64,
    /// Operations in them.
    pub operations: u64,
    /// What a power cut or a kill left unfinished. Nothing that was acknowledged, but for the
    /// last two seconds before a power cut under `everysec`.
    pub dropped: Option<Dropped>,
    /// The number of the next filter: higher than all before, of removed ones too.
    pub next_id: u64,
    /// The folder of files that users put there, to be served by their names without extension.
    pub import: PathBuf,
}

impl Log {
    /// Opens a data folder, or makes one, and fills `replay` with what it has.
    ///
    /// What was recorded before a crash is there again; a write that
    /// the crash cut short is removed and reported. `progress` is called from several threads, some
    /// hundred times a second.
    ///
    /// # Errors
    ///
    /// [`Error`], with file and offset for what is damaged. Then nothing was changed.
    pub fn open(
        folder: DataFolder,
        options: Options,
        replay: &dyn Replay,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<(Arc<Self>, Report), Error> {
        let store = folder.store;
        for folder in [LOG, FILTERS, IMPORT] {
            store.create_dir(folder)?;
        }
        let manifest = match Manifest::read(&store)? {
            Some(manifest) => manifest,
            None => begin(&store, &options)?,
        };
        check_digests(&store, &manifest, &options)?;
        let mut report = Report { next_id: manifest.next_id, ..Report::default() };
        report.import = store.path(IMPORT);
        let packs = load_images(&store, &manifest, options.threads, replay, progress, &mut report)?;
        let end = replay_log(&store, &manifest, replay, progress, &mut report)?;
        let (inner, replayed) = put_right(&store, &manifest, end, &mut report)?;
        let checkpoints = Checkpoints::new(manifest, packs);
        let identity = *checkpoints.identity();
        let inner = Inner { filters: replayed.filters, listed: replayed.listed, ..inner };
        let log = Self::new(store, options, identity.log_id, inner, checkpoints);
        Ok((Arc::new(log), report))
    }
}

/// Checks that a folder without a manifest is one that is new, or whose making was cut short.
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
        // The manifest comes before the first record.
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
        first_sequence: 0,
        first_previous: log_id,
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
pub(super) struct End {
    /// The segments, the first one first.
    pub(super) segments: Vec<u64>,
    /// In which of them, by its place in `segments`, and where the last whole frame ends.
    pub(super) last: usize,
    pub(super) offset: u64,
    pub(super) previous: u64,
    pub(super) sequence: u64,
    /// Bytes after it, those of later segments included.
    pub(super) left: u64,
    /// Bytes of segments before the last.
    pub(super) older_bytes: u64,
    /// Frames that no later one says to be on the disk: sequence, place in `segments`, offset.
    unsure: VecDeque<(u64, usize, u64)>,
    /// Whether the last frame is empty, and says no more than what was on the disk.
    said: bool,
    replayed: Replayed,
}

impl End {
    /// Up to which frame all are said to be on the disk, so that it need not be said again.
    fn vouched(&self) -> u64 {
        match self.unsure.front() {
            Some(&(sequence, ..)) if self.unsure.len() > usize::from(self.said) => sequence,
            _ => self.sequence,
        }
    }
}

/// Replays all segments up to the end, or to what a crash cut short, or to damage; changes no
/// file.
pub(super) fn replay_log(
    store: &Store,
    manifest: &Manifest,
    replay: &dyn Replay,
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
        last: 0,
        offset: 0,
        previous: manifest.first_previous,
        sequence: manifest.first_sequence,
        left: 0,
        older_bytes: 0,
        unsure: VecDeque::new(),
        said: false,
        replayed: Replayed::default(),
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
        if (frame.sequence, frame.previous) != (end.sequence, end.previous) {
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
        end.unsure.push_back((frame.sequence, end.last, end.offset));
        end.said = payload.is_empty();
        let before = end.offset >> 20;
        end.offset += frame.bytes() as u64;
        (end.sequence, end.previous) = (frame.sequence + 1, frame.checksum);
        if end.offset >> 20 != before {
            report_progress(end.offset);
        }
    }
    report_progress(end.offset);
    Ok(())
}

/// Tells what a crash cut short from damage.
///
/// A disk that loses power may have kept a later write and not an earlier one, so a sound frame
/// after a bad one proves nothing by itself. But frames say up to where all was on the disk when
/// they were written: if one says so of the frame that is bad, that frame was there.
fn check_unfinished(segments: &mut [Segment<'_>], end: &End) -> Result<(), Error> {
    let mut from = end.offset;
    let mut vouching = None;
    for (place, segment) in segments.iter_mut().enumerate() {
        while let Some((offset, frame)) = segment.find_header(from)? {
            if frame.safe > end.sequence {
                vouching = Some((place, offset));
                break;
            }
            from = offset + 1;
        }
        if vouching.is_some() {
            break;
        }
        from = segment::HEADER_BYTES as u64;
    }
    let Some((place, offset)) = vouching else { return Ok(()) };
    let what = format!(
        "record {} was on the disk, as the record at byte {offset} of {} states, but is missing",
        end.sequence, segments[place].path,
    );
    Err(segments[0].damaged(end.offset, &what))
}

/// Removes what is no part of the folder any more, and makes what is survive a power cut: from
/// now on it is known to clients.
fn put_right(
    store: &Store,
    manifest: &Manifest,
    end: End,
    report: &mut Report,
) -> Result<(Inner, Replayed), Error> {
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
    let Some((segment, file)) = file else {
        let why = "the manifest names it";
        let path = store.path(&segment_path(manifest.first_segment));
        return Err(Error::Missing { path, why });
    };
    let inner = Inner {
        segment,
        first_segment: manifest.first_segment,
        file,
        end: end.offset,
        previous: end.previous,
        sequence: end.sequence,
        vouched: end.vouched(),
        older_bytes: end.older_bytes,
        older: Vec::new(),
        dirty_since: None,
        syncing_since: None,
        trouble: None,
        filters: HashSet::new(),
        listed: HashSet::new(),
        waiting: VecDeque::new(),
        unwritten: Vec::new(),
        spoiled: BTreeSet::new(),
        deferred: Batch::default(),
        deferred_ids: Vec::new(),
        next_id: report.next_id,
        last_sync: None,
        last_error: None,
    };
    Ok((inner, end.replayed))
}

/// Removes what no manifest names any more, and what was never finished.
fn remove_unneeded(store: &Store, manifest: &Manifest) -> Result<(), Error> {
    for number in store.numbers(LOG, ".log")? {
        if number < manifest.first_segment {
            store.remove(&segment_path(number))?;
            fail_point_of("recover.removed", LOG);
        }
    }
    // All files there are numbered together.
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

/// Writes what a file has once more.
///
/// If a sync failed before the process ended, the kernel may have given up what it could not write
/// and still show it: another sync would find nothing to do and succeed.
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
