//! A filter file that is added to or removed from, in turns with others.

use super::waiting::{Waiting, own};
use super::whole::Whole;
use crate::error::Error;
use crate::io::messages::Reporter;
use crate::set::notes::say;
use mayhap::set::Repeats;
use mayhap::{Bitmap, Digest, SecretKey};
use mayhap_lists::Pause;
use mayhap_sets::{KeySet, Note, OwnSet, Refusal};
use mayhap_store::{Found, Image, LogFound, Operation, Recovery, Session, SessionOptions};
use mayhap_units::number::{format_count, noun};
use std::path::Path;
use std::time::{Duration, Instant};

/// Keys after which they are recorded where a log is kept.
const RECORD_KEYS: usize = 4096;

/// A checkpoint is due when the log is as long as the filter, but not for less than this; and the
/// log of a filter of this size is kept at the end, where it is the record of a stream.
const MIN_LOG_BYTES: u64 = 64 << 20;

/// A stream is recorded at least so often, and no lock is held for longer while others wait.
pub(super) const TURN: Duration = Duration::from_secs(1);

/// Between two looks whether others wait.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Input that does not come for so long pauses: others may have the lock meanwhile. A reader that
/// is only a little slower than this command is not worth a turn.
const PAUSE: Duration = Duration::from_millis(20);

/// When what was done is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recording {
    /// In a log, after each few keys: what was recorded is not done again, whatever happens.
    Always,
    /// When the input, a stream, pauses, and each second.
    Streams,
    /// When others wait; else the file is replaced at the end and no log is needed.
    WhenOthersWait,
}

/// A filter in memory that others may change too, on disk.
#[derive(Debug)]
pub struct Writer {
    file: File,
    waiting: Waiting,
    recording: Recording,
    recorded: Instant,
    looked: Instant,
}

/// How its file takes what is done to it.
#[derive(Debug)]
enum File {
    /// One of ours, which has a log.
    Logged(Box<Session>),
    Whole(Whole),
}

impl File {
    fn is_held(&self) -> bool {
        match self {
            Self::Logged(session) => session.is_held(),
            Self::Whole(whole) => whole.is_held(),
        }
    }

    fn is_wanted_after(&self, held: Duration) -> bool {
        match self {
            Self::Logged(session) => session.is_wanted_after(held),
            Self::Whole(whole) => whole.is_wanted_after(held),
        }
    }

    /// The session of a file whose log is in use, or has to be in any case.
    fn logged(&self, recording: Recording) -> Option<&Session> {
        let Self::Logged(session) = self else { return None };
        Some(&**session).filter(|it| recording == Recording::Always || it.log_bytes() > 0)
    }
}

impl Writer {
    /// For the file of a set that has no log; the lock is not held yet.
    pub fn of_whole(recording: Recording, waiting: &Waiting) -> Self {
        Self::new(File::Whole(Whole::new()), waiting, recording)
    }

    /// Opens a filter to change it, with its log, and says what that had.
    ///
    /// # Errors
    ///
    /// As [`Waiting::lock`]; [`Error::Store`]; [`Error::Usage`] for kinds that never change.
    pub fn open(
        path: &Path,
        key: Option<SecretKey>,
        (recording, without_log): (Recording, bool),
        waiting: &Waiting,
        talk: Reporter,
    ) -> Result<(OwnSet, Self), Error> {
        let name = path.display().to_string();
        let how = options(waiting, recording, without_log);
        let opening = waiting.check(Session::open(path, how))?;
        let mut set = load(opening.image(), &name, key)?;
        let (session, recovery) = opening.follow(&mut set)?;
        if without_log && session.has_to_be_saved() {
            talk.warn(&format!("{name}: continues without its log; the keys in it are lost"));
        }
        // A kept log is no news.
        if session.is_shared() || !session.keeps_log() {
            say_recovery(talk, &name, &recovery, session.is_shared());
        }
        talk.notices();
        if matches!(session.blocked(), Some(LogFound::Foreign { .. })) {
            say([Note::LogOfAnother { log: session.log_path() }], talk);
        }
        Ok((set, Self::new(File::Logged(Box::new(session)), waiting, recording)))
    }

    /// Makes the file of a filter that is not there yet.
    ///
    /// # Errors
    ///
    /// As [`Waiting::lock`]; [`Error::Store`].
    pub fn create(
        path: &Path,
        set: &mut OwnSet,
        options: &str,
        waiting: &Waiting,
    ) -> Result<Self, Error> {
        let how = self::options(waiting, Recording::Always, false);
        let session = waiting.check(Session::create(path, how, set, options))?;
        Ok(Self::new(File::Logged(Box::new(session)), waiting, Recording::Always))
    }

    fn new(file: File, waiting: &Waiting, recording: Recording) -> Self {
        let (waiting, now) = (waiting.clone(), Instant::now());
        Self { file, waiting, recording, recorded: now, looked: now }
    }

    /// Whether the lock is held.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.file.is_held()
    }

    /// Takes the lock, unless it is held, and brings the filter to where others left it; whether
    /// they changed it.
    ///
    /// # Errors
    ///
    /// As [`Waiting::lock`]; [`Error::Store`] if it is another filter by now.
    pub fn ready(&mut self, set: &mut dyn KeySet) -> Result<bool, Error> {
        let is_changed = match &mut self.file {
            File::Logged(session) => {
                self.waiting.check(session.ready(own(set)?))? == Found::Changed
            }
            File::Whole(whole) => whole.ready(set, &self.waiting)?,
        };
        self.looked = Instant::now();
        Ok(is_changed)
    }

    /// Notes what was done to the filter, to be recorded.
    #[inline]
    pub fn note(
        &mut self,
        operation: Operation,
        time: u64,
        digests: impl IntoIterator<Item = Digest>,
    ) {
        if let File::Logged(session) = &mut self.file {
            session.note(operation, time, digests);
        }
    }

    /// Notes digests that were inserted into the set: all, or those that were new where the others
    /// changed nothing. Writes digests to keep, if those that were noted take much memory.
    ///
    /// # Errors
    ///
    /// [`Error::Store`].
    pub fn note_inserted(
        &mut self,
        set: &OwnSet,
        repeats: Repeats,
        (digests, new): (&[Digest], &Bitmap),
    ) -> Result<(), Error> {
        let renews = repeats == Repeats::Renew && set.capabilities().renews;
        let all = renews || self.keeps_digests();
        let noted = if all { digests.len() } else { new.count_ones() };
        let time = set.log_time(noted);
        if all {
            self.note(Operation::Insert, time, digests.iter().copied());
        } else if noted == 0 && set.moves_with_repeats(repeats) {
            self.note(Operation::Pass, time, [Digest::default()]);
        } else {
            // Most lines are new, or most are not: both are few runs.
            for run in new.runs() {
                self.note(Operation::Insert, time, digests[run].iter().copied());
            }
        }
        match &mut self.file {
            File::Logged(session) => Ok(session.spill_digests()?),
            File::Whole(_) => Ok(()),
        }
    }

    /// Whether every digest has to be noted, not only those that were new: they are kept beside the
    /// file.
    pub fn keeps_digests(&self) -> bool {
        matches!(&self.file, File::Logged(session) if session.keeps_digests())
    }

    /// Work that is due after a batch. Where lines are printed they have to be out before they are
    /// recorded.
    #[inline]
    pub fn due(&mut self) -> Due {
        let session = self.file.logged(self.recording);
        if session.is_some_and(|session| session.num_pending() >= RECORD_KEYS) {
            return Due::Record;
        }
        let now = Instant::now();
        if now.duration_since(self.looked) < BETWEEN_LOOKS {
            return Due::Nothing;
        }
        self.looked = now;
        if self.file.is_wanted_after(TURN) {
            return Due::Release;
        }
        let is_old = now.duration_since(self.recorded) >= TURN;
        let is_due = self.recording != Recording::WhenOthersWait && is_old;
        if is_due { Due::Record } else { Due::Nothing }
    }

    /// Work that is due after waiting this long for the next lines.
    pub fn due_in_pause(&self, paused: Duration) -> Due {
        if !self.file.is_held() {
            return Due::Nothing;
        }
        if paused < PAUSE {
            let keeps_log = self.file.logged(self.recording).is_some();
            return if keeps_log { Due::Record } else { Due::Later };
        }
        let streams = self.recording != Recording::WhenOthersWait;
        let may_save = match &self.file {
            File::Logged(_) => true,
            File::Whole(whole) => whole.may_save(),
        };
        if may_save && (streams || self.file.is_wanted_after(Duration::ZERO)) {
            Due::Release
        } else {
            Due::Later
        }
    }

    /// Does what is due.
    ///
    /// # Errors
    ///
    /// [`Error::Store`].
    pub fn settle(&mut self, set: &mut dyn KeySet, due: Due) -> Result<(), Error> {
        match due {
            Due::Nothing | Due::Later => Ok(()),
            Due::Record => self.record(set),
            Due::Release => self.release(set),
        }
    }

    /// Saves the filter as it is, in the place of what was recorded of it.
    ///
    /// # Errors
    ///
    /// [`Error::Store`].
    pub fn save(&mut self, set: &mut dyn KeySet) -> Result<(), Error> {
        self.recorded = Instant::now();
        let session = match &mut self.file {
            File::Logged(session) => session,
            File::Whole(whole) => return whole.release(set),
        };
        self.waiting.check(session.checkpoint(own(set)?))
    }

    /// Records what was noted.
    fn record(&mut self, set: &mut dyn KeySet) -> Result<(), Error> {
        self.recorded = Instant::now();
        let File::Logged(session) = &mut self.file else { return Ok(()) };
        if !session.is_held() {
            return Ok(());
        }
        let set = own(set)?;
        self.waiting.check(session.record(set).and_then(|()| {
            let bytes = session.log_bytes();
            // The numbers of a set take a while.
            let is_long = bytes > MIN_LOG_BYTES && bytes > set.numbers(Repeats::Renew).num_bytes;
            if is_long { session.checkpoint(set) } else { Ok(()) }
        }))
    }

    /// Records, and lets others have the lock.
    fn release(&mut self, set: &mut dyn KeySet) -> Result<(), Error> {
        self.recorded = Instant::now();
        let session = match &mut self.file {
            File::Logged(session) => session,
            File::Whole(whole) => return whole.release(set),
        };
        if self.recording == Recording::WhenOthersWait && session.blocked().is_some() {
            // Without a record the file is not released: the others wait, or give up.
            return Ok(());
        }
        self.waiting.check(session.release(own(set)?))
    }

    /// Ends it: the file is the whole filter, unless others go on with it, or a large one was given
    /// few keys, which stay in its log.
    ///
    /// # Errors
    ///
    /// As [`Writer::ready`] and [`Writer::settle`].
    pub fn finish(self, set: &mut dyn KeySet) -> Result<(), Error> {
        match self.file {
            File::Logged(session) => self.waiting.check(session.finish(own(set)?).map(|_| ())),
            File::Whole(mut whole) => whole.release(set),
        }
    }
}

/// The next step of a writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Nothing.
    Nothing,
    /// Nothing yet: to be looked at again soon, in a pause.
    Later,
    /// Record the changes.
    Record,
    /// It is to be recorded, and others are to have the lock.
    Release,
}

fn options(waiting: &Waiting, recording: Recording, without_log: bool) -> SessionOptions {
    let options = SessionOptions::new(waiting.options()).without_log(without_log).keeps_digests();
    match recording {
        Recording::WhenOthersWait => options,
        Recording::Streams => options.needs_log(),
        Recording::Always => options.needs_log().keeps_log_from(MIN_LOG_BYTES),
    }
}

/// The filter in a file, if it can be changed.
fn load(image: &Image, name: &str, key: Option<SecretKey>) -> Result<OwnSet, Error> {
    let refused = |why| Error::Refused { name: name.into(), why };
    if !image.header().kind().capabilities().inserts {
        // Nothing of it has to be read to know.
        return Err(refused(Refusal::NeverChanges));
    }
    let set = mayhap_sets::load(image, key)?;
    set.capabilities().inserts.map_err(refused)?;
    Ok(set)
}

impl Due {
    /// The next step of the reader of lines.
    pub fn pause(self) -> Pause {
        match self {
            Self::Later | Self::Record => Pause::CallAgain,
            Self::Nothing | Self::Release => Pause::Wait,
        }
    }
}

/// Says what a run that did not end has left, or what those that go on have done.
fn say_recovery(talk: Reporter, name: &str, recovery: &Recovery, is_shared: bool) {
    if recovery.replayed_digests == 0 {
        return;
    }
    let lines = recovery.replayed_digests;
    let lines = format!("{} {}", format_count(lines), noun(lines, "line"));
    talk.say(&if is_shared {
        format!("{name}: continues with {lines} recorded by other runs")
    } else {
        format!("{name}: recovered {lines} from its log")
    });
}
