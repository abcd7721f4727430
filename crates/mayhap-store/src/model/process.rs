//! The actions of processes on a filter: sessions, replacements, readers.

use super::kinds::ModelKind;
use super::oracle::{Note, digest, is_blocked, is_refusal, read};
use super::world::{Random, World};
use crate::state::Held;
use crate::{Error, FilterLock, Finished, LockOptions, Operation, Session, SessionOptions};
use mayhap::native::{Header, Native};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// State that all processes of a run share outside of the files.
#[derive(Debug, Default)]
pub(super) struct Shared {
    next_process: AtomicU64,
    next_generation: AtomicU64,
    /// The failures found.
    pub(super) bad: Mutex<Vec<String>>,
    /// The number of occurrences of each event, so that a run that tests nothing is noticed.
    pub(super) done: Mutex<std::collections::BTreeMap<&'static str, u64>>,
}

impl Shared {
    /// A number of its own for each process of a run, to be taken before they begin.
    pub(super) fn process(&self) -> u64 {
        // ORDERING: Relaxed. The number is all that is handed over.
        self.next_process.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn generation(&self) -> u64 {
        // ORDERING: Relaxed, as above.
        1 + self.next_generation.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn count(&self, what: &'static str) {
        *self.done.lock().unwrap().entry(what).or_default() += 1;
    }

    fn is_bad(&self, what: String) {
        self.bad.lock().unwrap().push(what);
    }
}

/// One process.
pub(super) struct Process {
    pub(super) world: World<Note>,
    pub(super) number: usize,
    /// The first key of this process.
    pub(super) next_key: u64,
    pub(super) name: &'static str,
    pub(super) random: Random,
    pub(super) shared: Arc<Shared>,
    /// It leaves a log of at most this share of its filter when it ends.
    pub(super) kept_share: Option<u64>,
    /// Files were copied over each other: a part may be missing.
    pub(super) may_refuse: bool,
    /// A log of another filter may be beside it.
    pub(super) may_be_blocked: bool,
    /// Another process may replace it by another filter.
    pub(super) may_be_replaced: bool,
}

fn options() -> LockOptions {
    LockOptions::new("model").timeout(Duration::from_secs(1 << 30))
}

/// A session, with its noted and recorded operations.
struct Turn<K> {
    session: Session,
    held: Held<K>,
    generation: u64,
    /// Done and not recorded.
    noted: Vec<(Operation, u64)>,
    /// Recorded, and not known to be safe from power cuts.
    recorded: Vec<(Operation, u64)>,
    /// Keys that this session may remove: its own, each once.
    own: Vec<u64>,
}

impl Process {
    /// An error is an expected one, or it is bad; killed processes report nothing.
    fn judge(&self, what: &str, error: &Error) {
        let was_killed = matches!(error, Error::Io { source, .. } | Error::NoSpace { source, .. }
            if source.to_string().contains("killed"));
        let is_expected = was_killed
            || self.may_refuse && is_refusal(error)
            || self.may_be_blocked && is_blocked(error)
            || self.may_be_replaced
                && matches!(error, Error::Replaced { .. } | Error::LogLost { .. })
            || matches!(error, Error::LogLost { .. }) && self.may_refuse;
        if was_killed {
            self.shared.count("killed");
        } else if is_expected {
            self.shared.count("refused or replaced");
        } else {
            self.shared
                .is_bad(format!("process {} on {}: {what}: {error}", self.number, self.name));
        }
    }

    /// Opens the filter, changes it for some rounds, and ends cleanly or not.
    pub(super) fn write<K: ModelKind>(mut self) {
        let rounds = 1 + self.random.below(6);
        let mut turn = match self.open::<K>() {
            Ok(turn) => turn,
            Err(error) => return self.judge("open", &error),
        };
        for _ in 0..rounds {
            if let Err(error) = self.round(&mut turn) {
                return self.judge("a round", &error);
            }
        }
        if self.random.below(8) == 0 {
            // It ends without having saved, as after a panic.
            return self.shared.count("abandoned");
        }
        if let Err(error) = self.finish(turn) {
            self.judge("finish", &error);
        }
    }

    fn open<K: ModelKind>(&mut self) -> Result<Turn<K>, Error> {
        let mut how = SessionOptions::new(options());
        if self.random.below(2) == 0 {
            how = how.needs_log();
        }
        if let Some(share) = self.kept_share {
            how = how.keeps_log_from(0).kept_share(share);
        }
        let opening = Session::open_on(self.world.disk(self.number), Path::new(self.name), how)?;
        let generation = K::generation(opening.image().header());
        let filter = opening.image().load(None, |_, _| {})?;
        let mut held = Held { filter, secret_key: None };
        let (session, _) = opening.follow(&mut held)?;
        let (noted, recorded, own) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Turn { session, held, generation, noted, recorded, own })
    }

    fn round<K: ModelKind>(&mut self, turn: &mut Turn<K>) -> Result<(), Error> {
        turn.session.ready(&mut turn.held)?;
        // Another filter may have replaced it, if nothing was recorded in the previous one.
        turn.generation = K::generation(turn.session.image().header());
        for _ in 0..self.random.below(4) {
            self.change(turn);
        }
        match self.random.below(8) {
            0..=1 => self.record(turn),
            2 => {
                self.record(turn)?;
                turn.session.sync()?;
                self.synced(turn.generation, &mut turn.recorded);
                Ok(())
            }
            3 => {
                turn.session.checkpoint(&mut turn.held)?;
                self.shared.count("checkpoint");
                turn.recorded.append(&mut turn.noted);
                self.synced(turn.generation, &mut turn.recorded);
                Ok(())
            }
            4..=6 => {
                turn.session.release(&mut turn.held)?;
                self.shared.count("release");
                self.recorded(turn);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Inserts a key, or removes one of this process.
    fn change<K: ModelKind>(&mut self, turn: &mut Turn<K>) {
        let removes = K::REMOVES && !turn.own.is_empty() && self.random.below(3) == 0;
        let (operation, key) = match turn.own.pop() {
            Some(key) if removes => (Operation::Remove, key),
            own => {
                turn.own.extend(own);
                self.next_key += 1;
                (Operation::Insert, self.next_key)
            }
        };
        self.world.note(self.number, Note::Issued(self.name, turn.generation, operation, key));
        let digests = [digest(key)];
        if operation == Operation::Insert {
            turn.held.filter.insert_one(digests[0]);
            turn.own.push(key);
        } else {
            turn.held.filter.remove_into(&digests, &mut mayhap::Bitmap::new()).unwrap();
        }
        turn.session.note(operation, 0, digests);
        turn.noted.push((operation, key));
    }

    fn record<K: ModelKind>(&mut self, turn: &mut Turn<K>) -> Result<(), Error> {
        turn.session.record(&mut turn.held)?;
        self.recorded(turn);
        Ok(())
    }

    /// Marks the noted operations as recorded.
    fn recorded<K>(&self, turn: &mut Turn<K>) {
        for (operation, key) in last_of_each(&mut turn.noted) {
            let note = Note::Acknowledged(self.name, turn.generation, operation, key, false);
            self.world.note(self.number, note);
            turn.recorded.push((operation, key));
        }
    }

    /// Marks the recorded operations as safe from power cuts.
    fn synced(&self, generation: u64, recorded: &mut Vec<(Operation, u64)>) {
        for (operation, key) in last_of_each(recorded) {
            let note = Note::Acknowledged(self.name, generation, operation, key, true);
            self.world.note(self.number, note);
        }
    }

    fn finish<K: ModelKind>(&mut self, turn: Turn<K>) -> Result<(), Error> {
        let Turn { session, mut held, generation, noted, mut recorded, .. } = turn;
        let finished = session.finish(&mut held)?;
        self.shared.count(match finished {
            Finished::Saved => "saved",
            Finished::Unchanged => "unchanged",
            Finished::LeftToOthers => "left to others",
            Finished::Recorded => "recorded",
        });
        recorded.extend(noted);
        self.synced(generation, &mut recorded);
        Ok(())
    }

    /// Replaces the current filter by an empty one.
    pub(super) fn replace<K: ModelKind>(self) {
        let generation = self.shared.generation();
        self.world.note(self.number, Note::Replacing(self.name, generation));
        let disk = self.world.disk(self.number);
        let filter = K::empty(generation);
        let saved = FilterLock::take_on(disk, Path::new(self.name), &mut options())
            .and_then(|lock| lock.save(&Header::of(&filter, ""), &Native::segments(&filter), true));
        match saved {
            Ok(()) => {
                self.shared.count("replaced");
                self.world.note(self.number, Note::Replaced(self.name, generation));
            }
            Err(error) => self.judge("replace", &error),
        }
    }

    /// Makes a new state.
    pub(super) fn create<K: ModelKind>(self) {
        let generation = self.shared.generation();
        self.world.note(self.number, Note::Replacing(self.name, generation));
        let disk = self.world.disk(self.number);
        let mut held = Held { filter: K::empty(generation), secret_key: None };
        let how = SessionOptions::new(options()).needs_log();
        match Session::create_on(disk, Path::new(self.name), how, &mut held, "") {
            Ok(session) => {
                self.shared.count("created");
                self.world.note(self.number, Note::Replaced(self.name, generation));
                drop(session);
            }
            Err(error) => self.judge("create", &error),
        }
    }

    /// Reads repeatedly, and finds at least the keys recorded before each read, and none that was
    /// never inserted.
    pub(super) fn read<K: ModelKind>(mut self) {
        for _ in 0..=self.random.below(3) {
            let before = known(&self.world, self.name);
            match read::<K>(&self.world, self.number, self.name) {
                Ok((filter, generation)) => {
                    self.shared.count("read");
                    self.judge_answer(&filter, generation, &before);
                }
                Err(error) => return self.judge("read", &error),
            }
        }
    }

    fn judge_answer<K: ModelKind>(&self, filter: &K, generation: u64, before: &Known) {
        let after = known(&self.world, self.name);
        let lost = |key: &&(u64, u64)| {
            key.0 == generation && !after.removed.contains(key) && filter.count(digest(key.1)) == 0
        };
        if let Some(key) = before.recorded.iter().find(lost) {
            self.shared.is_bad(format!("a reader of {} does not find {key:?}", self.name));
        }
        let strange = |key: &&(u64, u64)| {
            let is_there = filter.count(digest(key.1)) > 0;
            key.0 != generation && is_there
        };
        if let Some(key) = after.issued.iter().find(strange) {
            self.shared
                .is_bad(format!("a reader of {} finds {key:?} of another filter", self.name));
        }
    }
}

/// The last operation on each key, which decides its final state.
fn last_of_each(done: &mut Vec<(Operation, u64)>) -> Vec<(Operation, u64)> {
    let all = std::mem::take(done);
    let is_last = |&(at, &(_, key)): &(usize, &(Operation, u64))| {
        !all[at + 1..].iter().any(|&(_, later)| later == key)
    };
    all.iter().enumerate().filter(is_last).map(|(_, &done)| done).collect()
}

/// Keys by generation, as all processes together have noted them.
struct Known {
    issued: BTreeSet<(u64, u64)>,
    recorded: BTreeSet<(u64, u64)>,
    removed: BTreeSet<(u64, u64)>,
}

fn known(world: &World<Note>, name: &str) -> Known {
    let mut known =
        Known { issued: BTreeSet::new(), recorded: BTreeSet::new(), removed: BTreeSet::new() };
    for entry in &world.state().entries {
        let super::world::Entered::Note(note) = entry else { continue };
        match *note {
            Note::Issued(of, generation, Operation::Insert, key) if of == name => {
                known.issued.insert((generation, key));
            }
            Note::Issued(of, generation, _, key) if of == name => {
                known.removed.insert((generation, key));
            }
            Note::Acknowledged(of, generation, Operation::Insert, key, _) if of == name => {
                known.recorded.insert((generation, key));
            }
            Note::Became(_) => {
                // The meaning of names has changed: only later operations are compared.
                known.issued.clear();
                known.recorded.clear();
                known.removed.clear();
            }
            _ => {}
        }
    }
    known
}
