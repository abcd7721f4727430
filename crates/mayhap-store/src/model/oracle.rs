//! The guarantees for each name, and the check that files keep them.

use super::files::Files;
use super::kinds::ModelKind;
use super::world::World;
use crate::state::Held;
use crate::{Error, LockOptions, Operation, Session, SessionOptions, Snapshot};
use mayhap::Digest;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// The bounds on the count of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Counts {
    /// Whatever happens to processes.
    pub(super) kill: (u32, u32),
    /// If the power fails too.
    pub(super) power: (u32, u32),
}

/// One filter that a name referred to: its number, which is in its header, and its keys.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Filter {
    pub(super) generation: u64,
    pub(super) keys: BTreeMap<u64, Counts>,
    /// It is about to get the name, or the process that was to rename it was killed.
    pub(super) is_coming: bool,
}

/// The filters that a name may lead to. Several are possible while one replaces the other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Named {
    pub(super) filters: Vec<Filter>,
    /// It may lead to nothing.
    pub(super) may_be_absent: bool,
    /// Files were copied, moved or removed so that a part of it may be missing, which is reported.
    pub(super) may_refuse: bool,
}

impl Named {
    /// The filter of this generation is final: no earlier one returns.
    fn settle(&mut self, generation: u64) {
        self.filters.retain(|filter| filter.generation == generation || filter.is_coming);
        self.may_be_absent = false;
    }
}

/// A message to a user, or an action of a user.
#[derive(Debug, Clone)]
pub(super) enum Note {
    /// A key is about to be inserted or removed.
    Issued(&'static str, u64, Operation, u64),
    /// It is recorded; `true`: and safe from power cuts.
    Acknowledged(&'static str, u64, Operation, u64, bool),
    /// A filter is about to replace the current one.
    Replacing(&'static str, u64),
    Replaced(&'static str, u64),
    /// The files after a careful user's change, and the meaning of the names from then on.
    Became(Box<Promised>),
}

/// The guarantees for all names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Promised {
    pub(super) names: BTreeMap<&'static str, Named>,
    /// Names with a log of another filter beside them: since a replacement by this one has begun
    /// and not ended, or since a user's change (0).
    pub(super) left: BTreeSet<(&'static str, u64)>,
}

/// The later history of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Promise {
    Kill,
    PowerCut,
}

impl Promised {
    /// Whether a log of another filter may be beside this name.
    pub(super) fn may_be_blocked(&self, name: &str) -> bool {
        self.left.iter().any(|(of, _)| *of == name)
    }

    pub(super) fn hear(&mut self, note: &Note) {
        match note {
            Note::Issued(name, generation, operation, key) => {
                let counts = self.counts(name, *generation, *key);
                let (low, high) = if *operation == Operation::Insert { (0, 1) } else { (0, 0) };
                counts.kill = (counts.kill.0.min(low), counts.kill.1.max(high));
                counts.power = (counts.power.0.min(low), counts.power.1.max(high));
            }
            Note::Acknowledged(name, generation, operation, key, is_synced) => {
                let count = u32::from(*operation == Operation::Insert);
                let counts = self.counts(name, *generation, *key);
                counts.kill = (count, count);
                if *is_synced {
                    counts.power = (count, count);
                    // The previous contents are lost for good.
                    let named = self.names.get_mut(name).expect("it was issued");
                    named.settle(*generation);
                }
            }
            Note::Replacing(name, generation) => {
                let named = self
                    .names
                    .entry(name)
                    .or_insert_with(|| Named { may_be_absent: true, ..Named::default() });
                let generation = *generation;
                // Until it has ended, a log of the previous filter may be left.
                self.left.insert((name, generation));
                named.filters.push(Filter { generation, is_coming: true, ..Filter::default() });
            }
            Note::Replaced(name, generation) => {
                let named = self.names.get_mut(name).expect("it was announced");
                let is_it = |filter: &&mut Filter| filter.generation == *generation;
                named.filters.iter_mut().filter(is_it).for_each(|filter| filter.is_coming = false);
                named.settle(*generation);
                named.may_refuse = false;
                self.left.remove(&(*name, *generation));
            }
            Note::Became(promised) => *self = (**promised).clone(),
        }
    }

    fn counts(&mut self, name: &'static str, generation: u64, key: u64) -> &mut Counts {
        let named = self.names.get_mut(name).expect("a name that is known");
        let of = |filter: &&mut Filter| filter.generation == generation;
        let filter = named.filters.iter_mut().find(of).expect("a filter that is known");
        filter.keys.entry(key).or_insert(Counts { kill: (0, 0), power: (0, 0) })
    }

    /// After a power cut, only the guarantees that survive one remain.
    pub(super) fn after_power_cut(&mut self) {
        for filter in self.names.values_mut().flat_map(|named| &mut named.filters) {
            filter.keys.values_mut().for_each(|counts| counts.kill = counts.power);
        }
    }
}

/// The digest of a key of the model.
pub(super) fn digest(key: u64) -> Digest {
    Digest::new(super::world::Random(key).next())
}

fn options() -> SessionOptions {
    SessionOptions::new(LockOptions::new("model").timeout(Duration::from_secs(1 << 30)))
}

/// Whether an answer is one that may be given where a part of a state may be missing.
pub(super) fn is_refusal(error: &Error) -> bool {
    matches!(error, Error::MissingLog { .. } | Error::OlderCopy { .. })
}

/// Whether a writer may report this where files were copied over each other.
pub(super) fn is_blocked(error: &Error) -> bool {
    matches!(error, Error::ForeignLog { .. } | Error::NotALog { .. } | Error::OrphanLog { .. })
}

/// Compares the contents of a filter with the guarantees for the filter of this generation.
fn compare<K: ModelKind>(
    what: &str,
    (filter, generation): (&K, u64),
    named: &Named,
    promise: Promise,
) -> Result<(), String> {
    let of = |promised: &&Filter| promised.generation == generation;
    let Some(promised) = named.filters.iter().find(of) else {
        let known: Vec<u64> = named.filters.iter().map(|filter| filter.generation).collect();
        return Err(format!("{what}: the filter is number {generation}, of {known:?}"));
    };
    let mut all = (0, 0);
    for (&key, counts) in &promised.keys {
        let (low, high) = if promise == Promise::Kill { counts.kill } else { counts.power };
        all = (all.0 + low, all.1 + high);
        let found = filter.count(digest(key));
        if found < low || found > high {
            return Err(format!("{what}: key {key} is there {found} times, not {low} to {high}"));
        }
    }
    let found = filter.items();
    if found < all.0.into() || found > all.1.into() {
        return Err(format!(
            "{what}: {found} keys are counted, not {} to {}, of {generation} in {named:?}",
            all.0, all.1
        ));
    }
    Ok(())
}

/// Reads a name without a lock, as `check` does.
pub(super) fn read<K: ModelKind>(
    world: &World<Note>,
    process: usize,
    name: &str,
) -> Result<(K, u64), Error> {
    let disk = world.disk(process);
    let snapshot = Snapshot::open_on(&*disk, Path::new(name))?;
    snapshot.check()?;
    let mut filter: K = snapshot.image().load(None, |_, _| {})?;
    snapshot.replay_on(&*disk, |record| crate::apply(&mut filter, record))?;
    Ok((filter, K::generation(snapshot.header())))
}

/// Checks files that are left, by a reader and by the next writer.
pub(super) fn judge<K: ModelKind>(
    files: &Files,
    promised: &Promised,
    promise: Promise,
    is_written: bool,
) -> Result<(), String> {
    for (&name, named) in &promised.names {
        let world = World::new(files.clone(), 1);
        judge_reader::<K>(&world, name, named, promise)?;
        if is_written {
            let may_be_blocked = promised.may_be_blocked(name);
            judge_writer::<K>(&world, name, (named, may_be_blocked), promise)?;
        }
    }
    Ok(())
}

fn judge_reader<K: ModelKind>(
    world: &World<Note>,
    name: &str,
    named: &Named,
    promise: Promise,
) -> Result<(), String> {
    match read::<K>(world, 0, name) {
        Ok((filter, generation)) => compare(name, (&filter, generation), named, promise),
        Err(error) if is_refusal(&error) && named.may_refuse => Ok(()),
        Err(error) if error.is_not_found() && named.may_be_absent => Ok(()),
        Err(error) => Err(format!("{name} is not read: {error}")),
    }
}

fn judge_writer<K: ModelKind>(
    world: &World<Note>,
    name: &str,
    (named, may_be_blocked): (&Named, bool),
    promise: Promise,
) -> Result<(), String> {
    const NEW: u64 = u64::MAX;
    let disk = world.disk(0);
    let opened = Session::open_on(disk, Path::new(name), options()).and_then(|opening| {
        let filter: K = opening.image().load(None, |_, _| {})?;
        let generation = K::generation(opening.image().header());
        let mut held = Held { filter, secret_key: None };
        let (session, _) = opening.follow(&mut held)?;
        Ok((session, held, generation))
    });
    let (mut session, mut held, generation) = match opened {
        Ok(opened) => opened,
        Err(error) if is_refusal(&error) && named.may_refuse => return Ok(()),
        Err(error) if error.is_not_found() && named.may_be_absent => return Ok(()),
        Err(error) => return Err(format!("{name} is not opened: {error}")),
    };
    compare(name, (&held.filter, generation), named, promise)?;
    held.filter.insert_one(digest(NEW));
    session.note(Operation::Insert, 0, [digest(NEW)]);
    match session.record(&mut held) {
        Ok(()) => {}
        Err(error) if is_blocked(&error) && may_be_blocked => return Ok(()),
        Err(error) => return Err(format!("{name} is not recorded: {error}")),
    }
    let recorded = read::<K>(world, 0, name).map_err(|error| format!("{name}: {error}"))?;
    if recorded.0.count(digest(NEW)) != 1 {
        return Err(format!("{name}: a record is not found"));
    }
    session.finish(&mut held).map_err(|error| format!("{name} is not saved: {error}"))?;
    let (saved, _) = read::<K>(world, 0, name).map_err(|error| format!("{name}: {error}"))?;
    if saved.count(digest(NEW)) != 1 || saved.items() != recorded.0.items() {
        return Err(format!("{name}: it is saved otherwise"));
    }
    let state = world.state();
    let left = state.files.names.keys().find(|path| {
        path.to_string_lossy().starts_with(&format!(".{name}."))
            || path.as_os_str() == format!("{name}.log").as_str() && !may_be_blocked
    });
    match left {
        None => Ok(()),
        Some(left) => Err(format!("{name}: {} is left behind", left.display())),
    }
}
