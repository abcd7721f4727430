//! A run: episodes in which several processes work at once, with changes by a user or a power cut
//! between them.

use super::files::{Cache, Event, Files, Mix, One, UpTo};
use super::kinds::ModelKind;
use super::oracle::{Counts, Filter, Named, Note, Promise, Promised, judge};
use super::process::{Process, Shared};
use super::world::{Body, Entered, Random, World};
use std::collections::HashSet;
use std::hash::BuildHasher;
use std::path::PathBuf;
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3DefaultBuilder;

/// Names that users copy to and from.
const COPIES: [&str; 2] = ["g", "h"];

/// A run of one kind of filter, repeated by its seed.
pub(super) struct Run {
    world: World<Note>,
    random: Random,
    shared: Arc<Shared>,
    /// The share of a filter that a log may have to stay when a session ends; `None`: none stays.
    kept_share: Option<u64>,
    /// The number of entries already judged.
    looked: usize,
    promised: Promised,
    cache: Cache,
    seen: HashSet<u64>,
    pub(super) states: usize,
    pub(super) written: usize,
    pub(super) power_cuts: usize,
}

impl Run {
    pub(super) fn new(seed: u64, kept_share: Option<u64>) -> Self {
        Self {
            world: World::new(Files::default(), seed),
            random: Random(seed ^ 0xF11E),
            shared: Arc::default(),
            kept_share,
            looked: 0,
            promised: Promised::default(),
            cache: Cache::default(),
            seen: HashSet::new(),
            states: 0,
            written: 0,
            power_cuts: 0,
        }
    }

    /// The number of occurrences of each event.
    pub(super) fn done(&self) -> std::collections::BTreeMap<&'static str, u64> {
        self.shared.done.lock().unwrap().clone()
    }

    /// Episodes, until something is bad.
    pub(super) fn go<K: ModelKind>(&mut self, episodes: u64) -> Result<(), String> {
        for _ in 0..episodes {
            self.episode::<K>()?;
            self.look::<K>()?;
            match self.random.below(6) {
                0 | 1 => self.user_does_something(),
                2 => self.power_cut(),
                _ => {}
            }
            self.look::<K>()?;
        }
        Ok(())
    }

    /// Several processes at once.
    fn episode<K: ModelKind>(&mut self) -> Result<(), String> {
        let name = match self.random.below(4) {
            0 => *self.promised.names.keys().next_back().unwrap_or(&"f"),
            _ => "f",
        };
        let known = self.promised.names.get(name);
        let may_refuse = known.is_some_and(|it| it.may_refuse);
        let is_new = self.world.state().files.read(name).is_none();
        let may_be_replaced = self.random.below(4) == 0;
        // Also by a replacing process that is killed before it has ended.
        let may_be_blocked = may_be_replaced || self.promised.may_be_blocked(name);
        let mut bodies: Vec<Body<Note>> = Vec::new();
        let count = 2 + self.random.below(3);
        for number in 0..count {
            let process = Process {
                world: self.world.clone(),
                number: number as usize,
                next_key: self.shared.process() << 16,
                name,
                random: Random(self.random.next()),
                shared: Arc::clone(&self.shared),
                kept_share: self.kept_share,
                may_refuse,
                may_be_blocked,
                may_be_replaced,
            };
            let what = self.random.below(8);
            bodies.push(Box::new(move |_, _| match what {
                // A new name is created by only one process.
                _ if is_new && number == 0 && what < 4 => process.create::<K>(),
                _ if is_new && number == 0 => process.replace::<K>(),
                _ if is_new => {}
                0 if may_be_replaced => process.replace::<K>(),
                0..=1 => process.read::<K>(),
                _ => process.write::<K>(),
            }));
        }
        let kills = [0, 0, 2, 6][self.random.below(4) as usize];
        self.world.run(kills, bodies);
        match self.shared.bad.lock().unwrap().pop() {
            Some(bad) => {
                trace(&self.world.state().entries);
                Err(bad)
            }
            None => Ok(()),
        }
    }

    /// A change by a careful user while no process uses the files: each file is whole, and synced.
    fn user_does_something(&mut self) {
        let Some((from, named)) = self.any_name() else { return };
        let to =
            if self.random.below(2) == 0 { "f" } else { COPIES[self.random.below(2) as usize] };
        let files = self.world.state().files.clone();
        let (image, log) = (files.read(from), files.read(&format!("{from}.log")));
        let Some(image) = image.map(<[u8]>::to_vec) else { return };
        let log = log.map(<[u8]>::to_vec);
        let mut promised = self.promised.clone();
        match self.random.below(8) {
            // cp, with or without the log; over another file in place.
            0..=2 if from != to => {
                let with_log = self.random.below(2) == 0;
                self.put(to, &image);
                match log {
                    Some(log) if with_log => self.put(&format!("{to}.log"), &log),
                    None if with_log => self.take(&format!("{to}.log")),
                    _ => {}
                }
                let copy = copied(&named, promised.names.get(to));
                promised.names.insert(to, copy);
                promised.left.insert((to, 0));
                self.shared.count("cp");
            }
            // mv of only the file: its log stays behind.
            3 if from != to => {
                let inode = files.names[&PathBuf::from(from)];
                self.enter(Event::Rename { from: from.into(), to: to.into(), inode });
                let moved = copied(&named, promised.names.get(to));
                promised.names.insert(to, moved);
                promised.names.remove(from);
                promised.left.extend([(from, 0), (to, 0)]);
                self.shared.count("mv");
            }
            4 => {
                self.take(from);
                promised.names.remove(from);
                promised.left.insert((from, 0));
                self.shared.count("rm");
            }
            // A log, perhaps one without which its file is not whole.
            5..=7 => {
                self.take(&format!("{from}.log"));
                let named = promised.names.get_mut(from).expect("it is known");
                named.may_refuse |= log.is_some();
                promised.left.retain(|(of, _)| *of != from);
                self.shared.count("rm of a log");
            }
            _ => return,
        }
        self.enter(Event::SyncAll);
        self.world.note(0, Note::Became(Box::new(promised)));
    }

    fn any_name(&mut self) -> Option<(&'static str, Named)> {
        let count = self.promised.names.len() as u64;
        if count == 0 {
            return None;
        }
        let place = self.random.below(count) as usize;
        self.promised.names.iter().nth(place).map(|(name, named)| (*name, named.clone()))
    }

    fn enter(&mut self, event: Event) {
        let mut state = self.world.state();
        state.files.apply(&event);
        state.entries.push(Entered::Disk(event));
    }

    /// Writes a whole file, in place if there is one.
    fn put(&mut self, name: &str, bytes: &[u8]) {
        let there = self.world.state().files.names.get(&PathBuf::from(name)).copied();
        let inode = there.unwrap_or_else(|| {
            let inode = self.world.state().files.contents.keys().max().map_or(1, |max| max + 1);
            let inode = inode.max(1 << 32);
            self.enter(Event::Create { path: name.into(), inode });
            inode
        });
        self.enter(Event::SetLen { inode, bytes: 0 });
        self.enter(Event::Write { inode, at: 0, bytes: bytes.to_vec() });
    }

    fn take(&mut self, name: &str) {
        self.enter(Event::Remove { path: name.into() });
    }

    /// The power fails, and the disk keeps an arbitrary part of the unsynced changes.
    fn power_cut(&mut self) {
        self.catch_up();
        let files = self.cache.left(&mut Mix(&mut self.random));
        let mut promised = self.promised.clone();
        promised.after_power_cut();
        // The current contents are now certain, and they decide which filter a name means.
        let seed = self.random.next();
        self.world = World::new(files.clone(), seed);
        self.cache = Cache::of(files);
        self.looked = 0;
        self.promised = promised;
        self.power_cuts += 1;
        let promised = self.promised.clone();
        self.world.note(0, Note::Became(Box::new(promised)));
    }

    /// Catches up with the events, without judging every moment.
    fn catch_up(&mut self) {
        let entries = self.world.state().entries[self.looked..].to_vec();
        for entry in &entries {
            match entry {
                Entered::Disk(event) => self.cache.apply(event),
                Entered::Note(note) => self.promised.hear(note),
            }
        }
        self.looked += entries.len();
    }

    /// Judges every state of the disk that was possible since the last call.
    fn look<K: ModelKind>(&mut self) -> Result<(), String> {
        let entries = self.world.state().entries[self.looked..].to_vec();
        for (place, entry) in entries.iter().enumerate() {
            match entry {
                Entered::Disk(event) => self.cache.apply(event),
                Entered::Note(note) => self.promised.hear(note),
            }
            let is_user = matches!(entry, Entered::Note(Note::Became(_)));
            let in_between = entries[place..].iter().find_map(|entry| match entry {
                Entered::Note(Note::Became(_)) | Entered::Disk(Event::SyncAll) => Some(true),
                Entered::Note(_) => Some(false),
                Entered::Disk(_) => None,
            });
            // A user's copy is judged when it is whole.
            if in_between == Some(true) && !is_user {
                continue;
            }
            self.look_at_moment::<K>().map_err(|bad| {
                trace(&entries[..=place]);
                format!("{bad}; after entry {} {entry:?}", self.looked + place)
            })?;
        }
        self.looked += entries.len();
        Ok(())
    }

    fn look_at_moment<K: ModelKind>(&mut self) -> Result<(), String> {
        let hasher = Xxh3DefaultBuilder::new();
        for (number, files) in self.states().into_iter().enumerate() {
            let promise = if number == 0 { Promise::Kill } else { Promise::PowerCut };
            if !self.seen.insert(hasher.hash_one((&files, &self.promised, promise))) {
                continue;
            }
            self.states += 1;
            let is_written = self.states.is_multiple_of(3);
            self.written += usize::from(is_written);
            judge::<K>(&files, &self.promised, promise, is_written)
                .map_err(|bad| format!("{promise:?}, state {number}: {bad}"))?;
        }
        Ok(())
    }

    /// All states of the disk that may be left at this moment; the first one is the state that
    /// processes see.
    fn states(&mut self) -> Vec<Files> {
        let (cache, random) = (&self.cache, &mut self.random);
        let count = cache.num_pending();
        let mut states = vec![cache.left(&mut UpTo(count.checked_sub(1)))];
        states.push(cache.left(&mut UpTo(None)));
        // Only the last ones of many, since earlier ones have been judged.
        for place in count.saturating_sub(3)..count {
            states.push(cache.left(&mut UpTo(Some(place))));
            states.push(cache.left(&mut One { place, is_kept: true }));
            states.push(cache.left(&mut One { place, is_kept: false }));
        }
        if count > 0 {
            states.extend((0..4).map(|_| cache.left(&mut Mix(random))));
        }
        states
    }
}

/// Prints the events that led to a failure, if requested.
fn trace(entries: &[Entered<Note>]) {
    if std::env::var_os("TRACE").is_some() {
        for entry in entries {
            println!("{:.150}", format!("{entry:?}"));
        }
    }
}

/// The meaning of a copy: the same as the file, or less if that is reported; plus the records of a
/// log beside its new name, if it belongs to the same state.
fn copied(from: &Named, to: Option<&Named>) -> Named {
    let mut copy = Named { may_refuse: true, ..from.clone() };
    for filter in to.iter().flat_map(|to| &to.filters) {
        let same = |ours: &&mut Filter| ours.generation == filter.generation;
        let Some(ours) = copy.filters.iter_mut().find(same) else { continue };
        for (&key, theirs) in &filter.keys {
            let ours = ours.keys.entry(key).or_insert(Counts { kill: (0, 0), power: (0, 0) });
            for (ours, theirs) in [(&mut ours.kill, theirs.kill), (&mut ours.power, theirs.power)] {
                *ours = (ours.0.min(theirs.0), ours.1.max(theirs.1));
            }
        }
    }
    copy
}
