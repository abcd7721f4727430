//! Random operations on a log, and the contents required afterwards.

use super::client::{Client, Names};
use super::disk::{Files, MemoryDisk};
use super::model::Model;
use super::note::{Note, What};
use crate::durable::options::Clock;
use crate::durable::{
    Answered, DataFolder, Error, Filters, Log, Operation, Options, Piece, Policy, ReadBack,
    Recorder, Replay, Saved, Snapshot, State, Ticket,
};
use mayhap::{Digest, DigestFunction};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// `SplitMix64`.
#[derive(Debug, Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Setting {
    pub(super) policy: Policy,
    pub(super) seed: u64,
    pub(super) steps: usize,
}

/// A miniature server: filters, a log, a client.
pub(super) struct Run {
    pub(super) disk: MemoryDisk,
    pub(super) names: Vec<Names>,
    setting: Setting,
    random: Random,
    time: Arc<AtomicU64>,
    model: Model,
    log: Option<Arc<Log>>,
    recorder: Option<Recorder>,
    next_id: u64,
    turn: Vec<What>,
    /// A checkpoint is being made; nothing is put back before its end.
    saving: bool,
    waiting: Vec<(Ticket, Vec<What>)>,
    /// Writes that were refused.
    pub(super) refused: usize,
    /// The clients' knowledge before a power cut, if one preceded this run.
    pub(super) before: Option<Client>,
}

pub(crate) fn options(policy: Policy, time: &Arc<AtomicU64>) -> Options {
    let time = time.clone();
    Options {
        policy,
        threads: 1,
        clock: Clock::of(move || time.load(Ordering::Relaxed)),
        ..Options::new(DigestFunction::xxh3(1))
    }
}

pub(crate) fn folder(disk: &MemoryDisk) -> DataFolder {
    DataFolder::on(Arc::new(disk.clone()), Path::new(""))
}

pub(super) fn names(model: &Model) -> Names {
    let sets = model.0.lock().unwrap();
    sets.iter().map(|(&id, set)| (id, (set.name.clone(), set.expires_at))).collect()
}

impl Run {
    pub(super) fn new(disk: MemoryDisk, setting: Setting) -> Self {
        Self {
            disk,
            names: vec![Names::new()],
            random: Random(setting.seed),
            setting,
            time: Arc::default(),
            model: Model::default(),
            log: None,
            recorder: None,
            next_id: 1,
            turn: Vec::new(),
            saving: false,
            waiting: Vec::new(),
            refused: 0,
            before: None,
        }
    }

    /// A run after a power cut that left these files.
    pub(super) fn after(&self, files: Files, client: &Client, seed: u64) -> Self {
        // The promises until then were checked; the contents found now are promised from now on.
        let before = Client { acknowledged: BTreeMap::new(), last: 0, ..client.clone() };
        // Only the operations that had begun by then.
        let (next_id, names) = (self.next_id, self.names[..=client.operations].to_vec());
        let setting = Setting { seed, steps: 12, ..self.setting };
        let run = Self::new(MemoryDisk::of(files), setting);
        Self { next_id, names, before: Some(before), ..run }
    }

    /// Clients see the current contents.
    fn show(&self) {
        for (&id, set) in &*self.model.0.lock().unwrap() {
            set.digests.iter().for_each(|&digest| self.tell(What::There(id, digest)));
            self.tell(What::Items(id, set.items()));
            set.counts.keys().for_each(|&digest| self.tell(What::Counted(id, digest)));
        }
        self.tell(What::Operations(self.names.len() - 1));
    }

    /// Runs all steps. Errors of the disk affect only the calls that they strike.
    pub(super) fn go(&mut self) {
        self.restart();
        if self.before.is_some() && self.log.is_some() {
            self.show();
        }
        for _ in 0..self.setting.steps {
            self.time.fetch_add(self.random.below(700), Ordering::Relaxed);
            match self.random.below(32) {
                0..=1 => self.checkpoint(),
                2..=3 => self.operate(),
                4 => {
                    self.commit();
                    self.restart();
                }
                5..=12 => self.tick(),
                13 => self.insert_while_saving(),
                14 => self.create_whole(),
                15..=16 => self.unite(),
                _ => {
                    self.insert();
                    self.commit();
                }
            }
            self.acknowledge();
        }
        if self.random.below(2) == 0 {
            self.close();
        }
    }

    /// The client's current knowledge.
    pub(super) fn client(&self) -> Client {
        let mut client = self.before.clone().unwrap_or_default();
        for event in &self.disk.state().events {
            if let super::disk::Event::Note(note) = event {
                client.hear(note);
            }
        }
        client
    }

    /// The orderly shutdown of a server.
    pub(super) fn close(&mut self) {
        if let Some(log) = self.log.clone() {
            let _ = log.close();
            self.acknowledge();
        }
    }

    /// Writes a record that is not acknowledged, and dies; returns its length.
    pub(super) fn last_record(&mut self) -> usize {
        self.restart();
        let id = self.some_filter().unwrap_or(0);
        let log = self.log.clone().unwrap();
        let before = log.stats().log_bytes;
        for _ in 0..5 {
            let digest = self.random.next();
            self.issue(What::Inserted(id, digest));
            let tally = self.model.tally(id);
            let recorder = self.recorder.as_mut().unwrap();
            tally.announce(1).hand_over(1);
            recorder.insert(&tally, id, &[Digest::new(digest)]);
        }
        self.recorder.as_mut().unwrap().commit().unwrap();
        (log.stats().log_bytes - before) as usize
    }

    /// The process dies, and another one opens the folder.
    fn restart(&mut self) {
        (self.log, self.recorder) = (None, None);
        (self.turn, self.waiting) = (Vec::new(), Vec::new());
        self.model = Model::default();
        let folder = folder(&self.disk);
        // Some runs have images in packs, some in files, some of both.
        let packed_bytes = [0, 64, usize::MAX][self.setting.seed as usize % 3];
        let options = Options { packed_bytes, ..options(self.setting.policy, &self.time) };
        if let Ok((log, report)) = Log::open(folder, options, &self.model, &|_| {}) {
            self.model.go_on();
            self.next_id = self.next_id.max(report.next_id);
            self.recorder = Some(log.recorder());
            self.log = Some(log);
            let names = names(&self.model);
            if self.names.last() != Some(&names) {
                // Refused changes, and those that could not be acknowledged, may be gone.
                self.names.push(names);
                self.issue(What::Operations(self.names.len() - 1));
            }
        }
    }

    fn issue(&self, what: What) {
        self.disk.note(Note::Issued(what));
    }

    fn tell(&self, what: What) {
        self.disk.note(Note::Acknowledged(what, self.time.load(Ordering::Relaxed)));
    }

    fn some_filter(&mut self) -> Option<u64> {
        let ids: Vec<u64> = self.model.0.lock().unwrap().keys().copied().collect();
        (!ids.is_empty()).then(|| ids[self.random.below(ids.len() as u64) as usize])
    }

    fn insert(&mut self) {
        if self.log.as_ref().is_none_or(|log| log.check_writable().is_err()) {
            return self.tick();
        }
        for _ in 0..=self.random.below(3) {
            let Some(id) = self.some_filter() else { return self.operate() };
            let Some(recorder) = &mut self.recorder else { return };
            let digest = self.random.next();
            match self.random.below(8) {
                0 => {
                    let mut sets = self.model.0.lock().unwrap();
                    let Some(set) = sets.get_mut(&id) else { return };
                    self.disk.note(Note::Issued(What::Counted(id, digest)));
                    set.counts.insert(digest, 1);
                    recorder.ordered(id, set.mark, 1, &[Digest::new(digest)]);
                    set.mark += 1;
                    self.turn.push(What::Counted(id, digest));
                }
                1 => self.insert_again(id),
                kind => {
                    self.disk.note(Note::Issued(What::Inserted(id, digest)));
                    let tally = self.model.tally(id);
                    tally.announce(1).hand_over(1);
                    if kind == 2 {
                        let key = digest.to_le_bytes();
                        let keys = || std::iter::once(key.as_slice());
                        Replay::keys(&self.model, id, &mut keys()).unwrap();
                        recorder.keys(&tally, id, keys()).unwrap();
                    } else {
                        let digest = [Digest::new(digest)];
                        Replay::insert(&self.model, id, &digest, Answered::New).unwrap();
                        recorder.insert(&tally, id, &digest);
                    }
                    self.turn.push(What::Inserted(id, digest));
                }
            }
        }
    }

    /// A key that is present: recorded only if a crash could lose it.
    fn insert_again(&mut self, id: u64) {
        let set = self.model.copy(id);
        let Some(&digest) = set.as_ref().and_then(|set| set.digests.iter().next_back()) else {
            return;
        };
        let tally = self.model.tally(id);
        let own = self.recorder.as_ref().map_or(0, |recorder| recorder.recorded(&tally));
        if tally.is_at_risk(own)
            && let Some(recorder) = &mut self.recorder
        {
            self.disk.note(Note::Issued(What::There(id, digest)));
            tally.announce(1).hand_over(1);
            recorder.repeat(&tally, id, &[Digest::new(digest)]);
        }
        self.turn.push(What::There(id, digest));
    }

    /// A filter with initial contents, in several records.
    fn create_whole(&mut self) {
        let Some(log) = self.log.clone() else { return };
        self.next_id += 1;
        let (id, name) = (self.next_id, vec![b'a' + self.random.below(4) as u8]);
        let mut contents = log.begin_contents(id);
        for _ in 0..3 {
            let digest = self.random.next();
            self.issue(What::Contents(id, digest));
            let bytes = digest.to_le_bytes();
            if contents.write(&bytes).is_err() {
                self.refused += 1;
                return;
            }
            let part = self.random.below(8);
            if part == 0 {
                // Another client took the name meanwhile.
                return;
            }
            self.model.load(id, contents.parts - 1, &bytes).unwrap();
        }
        self.operate_on(&log, id, &Operation::Create { id, name: &name, spec: b"", expires_at: 0 });
    }

    /// A piece of a filter, with a key that counts, which the log has before the filter.
    fn unite(&mut self) {
        let (Some(log), Some(id)) = (self.log.clone(), self.some_filter()) else { return };
        let digest = self.random.next();
        let offset = self.model.copy(id).map_or(0, |set| set.pieces);
        let bits = &digest.to_le_bytes()[..];
        let tally = self.model.tally(id);
        self.issue(What::Inserted(id, digest));
        let operation = Operation::Unite { id, num_bits: 512, offset, items: 1, bits };
        let Ok(logged) = log.now_counting(&operation, &tally, 1) else {
            self.refused += 1;
            return self.put_back();
        };
        let piece = Piece { num_bits: 512, offset, items: 1, bits };
        self.model.unite(id, piece).unwrap();
        let what = vec![What::Inserted(id, digest)];
        self.waiting.extend(logged.ticket.map(|ticket| (ticket, what)));
    }

    fn commit(&mut self) {
        let Some(recorder) = &mut self.recorder else { return };
        let turn = std::mem::take(&mut self.turn);
        match recorder.commit() {
            Ok(None) => turn.into_iter().for_each(|what| self.tell(what)),
            Ok(Some(ticket)) => self.waiting.push((ticket, turn)),
            Err(_) => {
                self.refused += 1;
                self.put_back();
            }
        }
    }

    /// As the checkpoint thread does it; deferred creations may be gone.
    fn put_back(&mut self) {
        let Some(log) = self.log.as_ref().filter(|_| !self.saving) else { return };
        let _ = log.put_back(&self.model);
        let names = names(&self.model);
        if self.names.last() != Some(&names) {
            self.names.push(names);
            self.issue(What::Operations(self.names.len() - 1));
        }
    }

    fn acknowledge(&mut self) {
        let Some(log) = self.log.clone() else { return };
        for (ticket, whats) in std::mem::take(&mut self.waiting) {
            match log.state(ticket) {
                State::Safe => whats.into_iter().for_each(|what| self.tell(what)),
                State::Waiting => self.waiting.push((ticket, whats)),
                State::Refused => {}
            }
        }
    }

    fn tick(&mut self) {
        self.put_back();
        if let Some(log) = &self.log {
            log.tick();
        }
    }

    fn operate(&mut self) {
        let Some(log) = self.log.clone() else { return self.restart() };
        let name = vec![b'a' + self.random.below(4) as u8];
        let expires_at = self.random.next();
        let kind = self.random.below(8);
        let (id, operation) = match (kind, self.some_filter()) {
            (0, Some(id)) => (id, Operation::Remove { id }),
            (1..=2, Some(id)) => (id, Operation::Rename { id, name: &name }),
            (3, Some(id)) => (id, Operation::Expire { id, expires_at }),
            _ => {
                self.next_id += 1;
                let (id, spec) = (self.next_id, b"spec");
                (id, Operation::Create { id, name: &name, spec, expires_at })
            }
        };
        self.operate_on(&log, id, &operation);
    }

    fn operate_on(&mut self, log: &Log, id: u64, operation: &Operation<'_>) {
        let place = self.names.len();
        self.issue(What::Operations(place));
        // Some creations are deferred, but none of a name that is taken.
        let is_free = |name: &[u8]| !names(&self.model).values().any(|(of, _)| of == name);
        let is_deferred = matches!(operation, Operation::Create { spec: b"spec", name, .. }
            if id.is_multiple_of(2) && is_free(name));
        if let Some(recorder) = self.recorder.as_mut().filter(|_| is_deferred) {
            recorder.begin();
        }
        let logged = if is_deferred { log.defer(operation) } else { log.now(operation) };
        let Ok(logged) = logged else {
            self.refused += 1;
            // Issued, so it might be found, but never is: its frame was cut off.
            self.names.push(self.names[place - 1].clone());
            return self.put_back();
        };
        match *operation {
            Operation::Remove { .. } => self.model.remove(id),
            Operation::Rename { name, .. } => self.model.rename(id, name),
            Operation::Expire { expires_at, .. } => self.model.expire(id, expires_at),
            Operation::Create { name, spec, expires_at, .. } => {
                self.model.create(id, name, spec, expires_at).unwrap();
            }
            Operation::Load { .. }
            | Operation::Fold { .. }
            | Operation::Unite { .. }
            | Operation::Clear => {}
        }
        self.names.push(names(&self.model));
        match logged.ticket {
            Some(ticket) => self.waiting.push((ticket, vec![What::Operations(place)])),
            None => self.turn.push(What::Operations(place)),
        }
    }

    fn checkpoint(&mut self) {
        // It waits for the end of all turns; a refusal is that of the commit, too.
        let _ = self.recorder.as_mut().map(Recorder::end_early);
        if let Some(log) = &self.log {
            let _ = log.checkpoint(&self.model);
        }
    }

    /// A checkpoint between an insertion and its record, or insertions while it copies filters.
    fn insert_while_saving(&mut self) {
        self.insert();
        if self.random.below(2) == 0 {
            self.commit();
        }
        if let Some(log) = self.log.clone() {
            self.saving = true;
            let _ = log.checkpoint(&Busy(Mutex::new(self)));
            self.saving = false;
            self.put_back();
        }
        self.commit();
    }

    /// Whether a checkpoint will copy a filter.
    fn has_changes(&self) -> bool {
        let ids = self.model.ids();
        self.log.as_ref().is_some_and(|log| ids.iter().any(|id| log.has_changed(*id)))
    }
}

/// Filters that receive keys between the copy of their bits and their count.
struct Busy<'a>(Mutex<&'a mut Run>);

impl Filters for Busy<'_> {
    fn ids(&self) -> Vec<u64> {
        let mut run = self.0.lock().unwrap();
        if !run.has_changes() {
            // The checkpoint waits for the turn in progress.
            run.commit();
        }
        run.model.ids()
    }

    fn saved(&self, id: u64) -> Option<Saved> {
        self.0.lock().unwrap().model.saved(id)
    }

    fn snapshot(&self, id: u64, segment: u64) -> io::Result<Option<Box<dyn Snapshot>>> {
        let mut run = self.0.lock().unwrap();
        let Some(copy) = run.model.copy(id) else { return Ok(None) };
        run.commit();
        run.insert();
        run.commit();
        Ok(Some(run.model.count(id, segment, copy)))
    }

    fn put_back(&self, ids: &[u64], read: &ReadBack<'_>) -> Result<(), Error> {
        self.0.lock().unwrap().model.put_back(ids, read)
    }
}
