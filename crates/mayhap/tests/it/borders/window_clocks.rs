//! Time windows against the true time, under clocks that jump both ways, stop, and are right again:
//! saved, loaded and replayed from a log in between.

use super::{Random, is_whole};
use crate::window_kinds::{Kind, random};
use mayhap::native;
use mayhap::{Digest, WindowBloomFilter};

/// Keys of a run.
const KEYS: u64 = 40;

/// When a key was written last.
#[derive(Debug, Clone, Copy)]
struct Written {
    /// The true time.
    at: u64,
    /// The time that may have passed for the window until then.
    passed: u64,
    /// How much later it may be forgotten because of the clock's behaviour until then.
    late: u64,
}

/// The way in which the clock is wrong for a while.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Wrong {
    /// It is later than before, until this true time, and then as before.
    Ahead(u64),
    /// It is earlier.
    Behind(u64),
}

struct Model {
    window: WindowBloomFilter,
    kind: Kind,
    refresh: bool,
    span: u64,
    generation: u64,
    now: u64,
    /// The clock shows the true time plus this.
    offset: i128,
    /// The time that may have passed for the window: all, and by how much the clock was set ahead.
    passed: u64,
    /// How much later keys may be forgotten because of the clock.
    late: u64,
    wrong: Option<(Wrong, i128)>,
    /// The true time of the last insertion, and when the clock was set.
    called: u64,
    jumped: u64,
    /// How long the window had not seen the clock when it was set.
    unseen: u64,
    written: Vec<Option<Written>>,
    /// When, in true time, the last image was made.
    saved: u64,
    image: Vec<u8>,
    log: Vec<(u64, Digest)>,
}

impl Model {
    fn new(kind: Kind, span: u64, refresh: bool) -> Self {
        // Room for all keys, in any generations.
        let window = kind.make(span, 100 * KEYS, 1e-9);
        let (generation, image) = (window.generation_size(), native::encode(&window, ""));
        let (offset, wrong, written) = (0, None, vec![None; KEYS as usize]);
        let (now, log) = (1_700_000_000_000, Vec::new());
        let (passed, late, jumped, called, unseen, saved) = (now, 0, 0, 0, 0, now);
        #[rustfmt::skip]
        let model = Self {
            window, kind, refresh, span, generation, now, offset, passed, late, wrong, called,
            jumped, unseen, written, saved, image, log,
        };
        model
    }

    fn clock(&self) -> u64 {
        u64::try_from(i128::from(self.now) + self.offset).unwrap()
    }

    fn set_clock(&mut self, by: i128) {
        self.offset += by;
        self.jumped = self.now;
        // A generation more or less on either side, and one in which it is not known; and how long
        // the window had not seen the clock.
        self.unseen = self.now - self.called;
        self.late += 3 * self.generation + self.unseen;
    }

    fn is_unsettled(&self) -> bool {
        self.now - self.jumped <= 3 * self.generation || self.wrong.is_some()
    }

    /// The clock may be set: for a while or for good, by a little or by a century.
    fn jump(&mut self, random: &mut Random) {
        if self.is_unsettled() || !random.once_in(30) {
            return;
        }
        let (span, generation) = (self.span, self.generation);
        let by = match random.below(5) {
            0 => 1 + random.below(generation),
            1 => 3 * generation + random.below(generation),
            2 => 2 * span + random.below(span),
            3 => 1_000 * span,
            _ => 3_153_600_000_000,
        };
        let by = if by < self.clock() / 2 { by } else { self.clock() - 1 - random.below(9) };
        let signed = i128::from(by);
        match random.below(4) {
            0 => {
                self.wrong = Some((Wrong::Ahead(self.now + random.below(generation / 2)), -signed));
                self.set_clock(signed);
                // A clock that is hardly ahead is not detected, and one kind no longer has the
                // columns.
                if by <= 2 * generation || matches!(self.kind, Kind::OldTime) {
                    self.passed += by;
                }
            }
            1 => {
                let until = self.now + random.below(generation / 2);
                self.wrong = Some((Wrong::Behind(until), signed));
                self.set_behind(by);
            }
            2 => {
                self.set_clock(signed);
                self.passed += by;
            }
            _ => self.set_behind(by),
        }
    }

    fn set_behind(&mut self, by: u64) {
        self.set_clock(-i128::from(by));
        if by < 20 * self.span || self.clock() < self.span {
            // Keys within the span by the clock are remembered again; keys that would be from
            // before 1970 are as young as that.
            self.late += by.min(20 * self.span);
        }
    }

    fn return_if_due(&mut self) {
        let Some((Wrong::Ahead(until) | Wrong::Behind(until), by)) = self.wrong else { return };
        if self.now > until {
            self.wrong = None;
            self.set_clock(by);
        }
    }

    /// Time advances, mostly by little.
    fn tick(&mut self, random: &mut Random) {
        let in_doubt = self.is_unsettled();
        let by = match random.below(50) {
            0..20 => 0,
            20..48 => random.below(self.generation / 4),
            48 => random.below(self.generation / 2),
            _ if in_doubt => 0,
            _ => random.below(2 * self.span),
        };
        self.now += by;
        self.passed += by;
    }

    fn check(&self, key: u64, found: bool) {
        let Some(written) = self.written[key as usize] else {
            return assert!(!found, "{key} was never inserted");
        };
        let is_ahead = matches!(self.wrong, Some((Wrong::Ahead(_), _)));
        let passed = self.passed - written.passed;
        let is_due = passed > self.span || is_ahead && written.late < self.late;
        assert!(found || is_due, "{key} of {written:?} is forgotten at {}", self.now);
        let mut late = self.late - written.late;
        if matches!(self.kind, Kind::OldTime) {
            // Keys inserted while the right time was unknown are in the column of one of two
            // generations.
            late += self.generation;
        }
        let age = self.now - written.at;
        let is_old = age > self.window.max_age() + late;
        assert!(!found || !is_old, "{key} of {written:?} is present {age} later, {late} allowed");
    }

    fn query(&self, key: u64) {
        let found = self.window.contains_digest_at(random(key), self.clock());
        let age = self.window.age_of_digest_at(random(key), self.clock());
        assert_eq!(found, age.is_some());
        assert!(age.is_none_or(|age| age.at_least <= age.at_most), "{age:?}");
        if found || !self.window.is_ahead_of(self.clock()) {
            self.check(key, found);
        }
    }

    fn insert(&mut self, key: u64) {
        let (clock, digest) = (self.clock(), random(key));
        self.called = self.now;
        self.window.advance(clock);
        let moment = self.window.moment();
        let new = if self.refresh {
            self.window.insert_digest(digest)
        } else {
            self.window.insert_absent_digest(digest)
        };
        self.check(key, !new);
        assert!(self.window.contains_digest_at(digest, clock), "{key} at {clock}");
        if self.refresh || new {
            let (at, mut passed, mut late) = (self.now, self.passed, self.late);
            if self.is_unsettled() {
                // The latest change of the clock affects it, too.
                late = late.saturating_sub(3 * self.generation);
            }
            if let Some((Wrong::Behind(_), by)) = self.wrong
                && by <= i128::from(2 * self.generation + self.unseen)
            {
                // A clock that is hardly behind is not detected either.
                passed = passed.saturating_sub(by as u64);
            }
            self.written[key as usize] = Some(Written { at, passed, late });
            self.log.push((moment, digest));
        }
    }

    fn save_and_load(&mut self) {
        self.saved = self.now;
        self.image = native::encode(&self.window, "");
        self.log.clear();
        self.window = native::decode_as(&self.image, None).unwrap().0;
        assert!(native::encode(&self.window, "") == self.image);
    }

    fn crash(&mut self) {
        if !self.refresh && self.is_unsettled() {
            return;
        }
        if !self.refresh && self.jumped + 3 * self.generation > self.saved {
            // A log without repeats may not have seen the clock between two jumps.
            self.passed += 2 * self.span;
            self.late += self.now - self.saved + self.span;
            self.jumped = self.now - self.generation;
        }
        self.window = native::decode_as(&self.image, None).unwrap().0;
        for (moment, digest) in &self.log {
            self.window.resume(*moment);
            self.window.insert_digest(*digest);
        }
    }
}

fn run(seed: u64, steps: u64) {
    let mut random = Random(seed);
    let kind = if random.once_in(4) { Kind::OldTime } else { Kind::Time };
    let span = [200, 1_000, 60_000, 3_600_000][random.below(4) as usize];
    let mut model = Model::new(kind, span, seed.is_multiple_of(2));
    for _ in 0..steps {
        model.tick(&mut random);
        model.return_if_due();
        model.jump(&mut random);
        model.insert(random.below(KEYS));
        model.query(random.below(KEYS));
        if random.once_in(100) {
            model.save_and_load();
        }
        if random.once_in(200) {
            model.crash();
        }
    }
    assert!(model.window.clock_jumps().count < steps);
}

#[test]
fn a_window_of_time_keeps_its_promise_whatever_the_clock_does() {
    let (runs, steps) = if is_whole() { (1_000, 2_000) } else { (50, 1_000) };
    for seed in 0..runs {
        if let Err(panic) = std::panic::catch_unwind(|| run(seed, steps)) {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(panic);
        }
    }
}
