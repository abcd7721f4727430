//! kill -9 and power cuts under load (T02).

use crate::load::{ARGUMENTS, Load, Random, missing};
use crate::server::{Server, ok};
use crate::shim::Shim;
use crate::{seed, soak};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The bound on loss in the worst case: acknowledgements stop this long after the oldest record
/// that is not on the disk, in whole milliseconds of one clock.
const WINDOW: Duration = Duration::from_millis(2010);

/// Servers may be killed before each of their checkpoints, and the replayed part would grow.
const SAVED_EVERY: u64 = 7;

/// The end of one server.
struct Round {
    /// After this time or number of keys.
    time: Duration,
    keys: u64,
    /// Milliseconds that a sync takes, from a time on.
    slow: u64,
    slow_after: Duration,
    power_cut: bool,
}

/// A server of one policy through many kills.
struct Run<'a> {
    policy: &'static str,
    folder: &'a Path,
    shim: &'a Shim,
    load: Load,
    random: Random,
    kills: u64,
    lost: u64,
    cut: u64,
}

impl<'a> Run<'a> {
    fn new(policy: &'static str, seed: u64, folder: &'a Path, shim: &'a Shim) -> Self {
        let (load, random) = (Load::new(seed << 20), Random(seed));
        Self { policy, folder, shim, load, random, kills: 0, lost: 0, cut: 0 }
    }

    fn start(&self) -> Server {
        // Checkpoints all the time, so that some are interrupted by kills.
        let mut arguments = vec!["--appendfsync", self.policy, "--checkpoint-bytes", "256KiB"];
        arguments.extend(ARGUMENTS);
        let settings = self.shim.settings();
        Server::begin(self.folder, &[], &arguments, &settings)
            .unwrap_or_else(|ended| panic!("{}: {ended:?}", self.policy))
    }

    /// Kills the server while clients write.
    fn kill(&mut self, round: &Round) {
        let &Round { slow, power_cut, .. } = round;
        let data = &self.folder.join("data");
        let safe = self.shim.begin(data);
        let server = self.start();
        let before = self.shim.notes();
        // Slow syncs are observed over time, so few keys are enough.
        let pause = Duration::from_millis(if slow == 0 { 0 } else { 4 });
        let shim = self.shim;
        let killed = self.load.run(server, pause, |server, count: &AtomicU64| {
            let begun = Instant::now();
            while begun.elapsed() < round.time && count.load(Ordering::Relaxed) < round.keys {
                if begun.elapsed() >= round.slow_after {
                    shim.slow(slow);
                }
                std::thread::sleep(Duration::from_micros(500));
            }
            server.kill()
        });
        assert_eq!(killed.status.code(), None, "{}: it had ended: {}", self.policy, killed.said);
        self.kills += 1;
        let is_synced = self.policy == "always" && slow == 0;
        assert!(!is_synced || self.shim.notes() > before, "no sync is noted");
        if power_cut {
            self.cut += self.shim.cut(data, safe);
        }
        self.shim.slow(0);
        let server = self.start();
        if power_cut && self.policy != "always" {
            self.take_loss(&server);
            self.load.forget_passing(&server);
        } else {
            let round = self.load.end_round();
            let missing = missing(&server, &round);
            assert!(missing.is_empty(), "{}: {} of {}", self.policy, missing.len(), round.len());
            self.load.check_passing(&server);
        }
        if self.kills.is_multiple_of(SAVED_EVERY) {
            assert_eq!(server.connect().ask("SAVE"), ok());
        }
        server.kill();
    }

    /// After a power cut: lost keys were acknowledged in the last 2 s before acknowledgements
    /// stopped.
    fn take_loss(&mut self, server: &Server) {
        let last = self.load.round().filter(|put| put.is_new).map(|put| put.sent).max();
        let round: Vec<_> = self.load.round().map(|put| put.key).collect();
        let missing: std::collections::HashSet<_> = missing(server, &round).into_iter().collect();
        let mut first_heard = std::collections::HashMap::new();
        for put in self.load.round().filter(|put| missing.contains(&put.key)) {
            let heard = first_heard.entry(put.key).or_insert(put.heard);
            *heard = put.heard.min(*heard);
        }
        if self.policy == "everysec" {
            for (key, heard) in &first_heard {
                let age = last.unwrap().saturating_duration_since(*heard);
                assert!(age <= WINDOW, "{key:?} is lost, acknowledged {age:?} before the last");
            }
        }
        self.lost += missing.len() as u64;
        self.load.end_round();
        self.load.before.retain(|key| !missing.contains(key));
    }

    /// All keys of all rounds.
    fn end(self) -> Self {
        let _ = self.shim.begin(&self.folder.join("data"));
        let server = self.start();
        let missing = missing(&server, &self.load.before);
        assert!(missing.is_empty(), "{}: {} are lost by now", self.policy, missing.len());
        let (removals, refused) = self.load.removals_and_refused();
        println!(
            "{}: {} kills, {} keys acknowledged and there, {removals} filters removed, {} bytes \
             cut off, {} keys lost within the promise, {refused} refused by full filters",
            self.policy,
            self.kills,
            self.load.before.len(),
            self.cut,
            self.lost,
        );
        assert!(removals > 0);
        server.stop();
        self
    }
}

/// Runs for each policy at once, in a folder of its own.
fn each_policy(seed: u64, test: impl Fn(&mut Run<'_>) + Sync, check: impl Fn(&Run<'_>) + Sync) {
    println!("SEED={seed}");
    std::thread::scope(|scope| {
        for policy in ["always", "everysec", "no"] {
            let (test, check) = (&test, &check);
            scope.spawn(move || {
                let folder = tempfile::tempdir().unwrap();
                let Some(shim) = Shim::build(folder.path()) else { return };
                let mut run = Run::new(policy, seed, folder.path(), &shim);
                test(&mut run);
                check(&run.end());
            });
        }
    });
}

/// The milliseconds that syncs take: under `always`, clients waiting for them would get no answer
/// at all.
fn slow(policy: &str) -> [u64; 3] {
    if policy == "always" { [0, 50, 300] } else { [0, 1700, 5000] }
}

#[test]
fn nothing_acknowledged_is_lost_when_the_process_is_killed() {
    // Batches of 300, each with folders of its own, so that not all keys have to be remembered.
    let kills = std::env::var("KILLS").ok().map(|kills| kills.parse::<u64>().unwrap());
    let (batches, rounds) = match kills {
        Some(kills) => (kills.div_ceil(300), 100),
        None if soak() => (1, 100),
        None => (1, 21),
    };
    let test = |run: &mut Run<'_>| {
        for round in 0..rounds {
            let slow = slow(run.policy)[round as usize % 3];
            let (time, keys) = match slow {
                0 => (20_000, 1 + run.random.below(30_000)),
                // The sync of each second has begun and not ended.
                _ => (200 + run.random.below(1300), u64::MAX),
            };
            let (time, slow_after) = (Duration::from_millis(time), Duration::ZERO);
            run.kill(&Round { time, keys, slow, slow_after, power_cut: false });
        }
    };
    for batch in 0..batches {
        each_policy(seed() + batch, test, |run| {
            assert_eq!((run.kills, run.lost), (rounds, 0));
            assert!(run.load.before.len() as u64 > rounds, "{}: hardly any load", run.policy);
        });
    }
}

#[test]
fn a_power_cut_takes_no_more_than_the_policy_says() {
    let rounds = if soak() { 60 } else { 6 };
    let test = |run: &mut Run<'_>| {
        for round in 0..rounds {
            let slow = slow(run.policy)[round % 3];
            // At first syncs are quick, and some of the keys should be on the disk.
            let slow_after = 1000 + run.random.below(500);
            let (time, keys) = match slow {
                0 => (20_000, 1 + run.random.below(30_000)),
                // Until acknowledgements have stopped.
                _ => (slow_after + 500 + run.random.below(3500), u64::MAX),
            };
            let (time, slow_after) =
                (Duration::from_millis(time), Duration::from_millis(slow_after));
            run.kill(&Round { time, keys, slow, slow_after, power_cut: true });
        }
    };
    each_policy(seed(), test, |run| {
        assert!(run.cut > 0, "{}: nothing was cut off", run.policy);
        // Losses with the other policies show that losses are found.
        assert_eq!(run.lost == 0, run.policy == "always", "{}: {}", run.policy, run.lost);
        assert!(run.policy == "no" || !run.load.before.is_empty(), "{}: all is lost", run.policy);
    });
}
