//! Rounds of commands on one file, some of them killed: successful commands have lost nothing. A
//! few here; `MAYHAP_SOAK=1` makes 240, `ROUNDS=N` N, `SEED=N` repeats a run.

use crate::support::{file, folder, lines, mayhap, numbers, run, stderr, succeed};
use crate::turns::names;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};

/// Keys of each command, and the parts in which they are written.
const KEYS: u64 = 6000;
const PARTS: u64 = 12;

fn rounds() -> u64 {
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let is_soak = std::env::var_os("MAYHAP_SOAK").is_some_and(|value| value != "0");
    number("ROUNDS").unwrap_or(if is_soak { 240 } else { 8 })
}

fn seed() -> u64 {
    std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(17)
}

/// An operation on the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Add,
    Dedup,
    /// Adds each key twice and then removes it once.
    AddAndRemove,
    /// Merges the file with another one, into itself.
    Merge,
    /// Replaces it by an empty one.
    Build,
}

/// One command, and its outcome.
#[derive(Debug)]
struct Done {
    verb: Verb,
    keys: Vec<u8>,
    /// Ended with exit code 0.
    is_acknowledged: bool,
    was_killed: bool,
    printed: Vec<u8>,
    /// The time by a clock shared by all.
    began: u64,
    ended: u64,
}

struct Round<'a> {
    folder: &'a Path,
    number: u64,
    kind: &'static [&'static str],
    clock: AtomicU64,
}

impl Round<'_> {
    fn tick(&self) -> u64 {
        // ORDERING: Relaxed. The order that it records also follows from the ends of processes.
        self.clock.fetch_add(1, Ordering::Relaxed)
    }

    /// Runs a command with its keys on its input, in parts; killed after the part of this number.
    fn command(
        &self,
        id: u64,
        arguments: &[&str],
        input: &[u8],
        kill_at: Option<u64>,
    ) -> (bool, bool) {
        let output = File::create(self.folder.join(format!("in-out-{id}"))).unwrap();
        let errors = File::create(self.folder.join(format!("in-err-{id}"))).unwrap();
        let mut child = mayhap(self.folder)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(output)
            .stderr(errors)
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let part_bytes = input.len().div_ceil(PARTS as usize).max(1);
        for (part, bytes) in input.chunks(part_bytes).enumerate() {
            if kill_at == Some(part as u64) {
                child.kill().unwrap();
            }
            // A process that was killed, or whose filter was replaced, reads no more.
            if stdin.write_all(bytes).is_err() {
                break;
            }
        }
        if kill_at.is_some_and(|part| part >= PARTS) {
            child.kill().unwrap();
        }
        drop(stdin);
        let status = child.wait().unwrap();
        let talk = fs::read_to_string(self.folder.join(format!("in-err-{id}"))).unwrap();
        let was_replaced = talk.contains("was replaced") || talk.contains("is missing");
        assert!(
            status.success() || status.signal() == Some(9) || was_replaced,
            "round {}, {arguments:?}: {talk}",
            self.number
        );
        (status.success(), status.signal() == Some(9))
    }

    fn work(&self, id: u64, verb: Verb, kill_at: Option<u64>) -> Done {
        let began = self.tick();
        let keys = lines(&format!("key-{}-{id}", self.number), 0..KEYS);
        let (is_acknowledged, was_killed) = match verb {
            Verb::Add => self.command(id, &["add", "-q", "f"], &keys, kill_at),
            Verb::Dedup => {
                let dedup = ["dedup", "-q", "--state", "f", "-p", "1e-9"];
                self.command(id, &dedup, &keys, kill_at)
            }
            Verb::AddAndRemove => {
                let twice = [&keys[..], &keys].concat();
                match self.command(id, &["add", "-q", "f"], &twice, kill_at) {
                    (true, _) => self.command(id, &["remove", "-q", "f"], &keys, None),
                    ended => ended,
                }
            }
            Verb::Merge => {
                self.command(id, &["merge", "-q", "--force", "-o", "f", "f", "in-other"], b"", None)
            }
            Verb::Build => {
                let build = ["build", "-q", "--force", "-o", "f", "-p", "1e-9", "-n", "200k"];
                self.command(id, &build, b"", None)
            }
        };
        let printed = fs::read(self.folder.join(format!("in-out-{id}"))).unwrap();
        let ended = self.tick();
        Done { verb, keys, is_acknowledged, was_killed, printed, began, ended }
    }

    /// Checks all acknowledged operations; returns the number of keys.
    fn judge(&self, all: &[Done]) -> u64 {
        // Nothing but the file is left when the next one has saved it: also of one that was killed
        // while it did.
        succeed(self.folder, &["add", "-q", "f"], b"last\n");
        assert_eq!(names(self.folder), ["f"], "round {}", self.number);
        let builds = || all.iter().filter(|done| done.verb == Verb::Build);
        let mut found = 0;
        for (id, done) in all.iter().enumerate() {
            let what = format!("round {}, {:?} {id} {:?}", self.number, self.kind, done.verb);
            if matches!(done.verb, Verb::Merge | Verb::Build) {
                assert!(done.is_acknowledged, "{what}");
                continue;
            }
            let output = run(self.folder, &["check", "f"], &done.keys);
            let is_sure = builds().all(|build| build.ended < done.began);
            if done.is_acknowledged && is_sure {
                assert!(output.stdout == done.keys, "{what}: acknowledged keys are lost");
                found += KEYS;
            }
            if builds().any(|build| done.ended < build.began) {
                assert_eq!(output.stdout, b"", "{what}: keys of a filter that was replaced");
            }
            if done.verb == Verb::Dedup {
                let printed: HashSet<&[u8]> =
                    done.printed.split_inclusive(|&b| b == b'\n').collect();
                let lines = output.stdout.split_inclusive(|&b| b == b'\n');
                let lost = lines.filter(|line| !printed.contains(line)).count();
                assert_eq!(lost, 0, "{what}: lines that are known and were never printed");
                let count = done.printed.split_inclusive(|&b| b == b'\n').count();
                assert_eq!(count, printed.len(), "{what}: a line was printed twice");
            }
        }
        if self.kind.contains(&"counting") || self.kind.contains(&"compact") {
            // Each key that was added twice and removed once is inside once.
            for done in all.iter().filter(|done| done.is_acknowledged) {
                succeed(self.folder, &["remove", "-q", "f"], &done.keys);
                let left = run(self.folder, &["check", "-c", "f"], &done.keys).stdout;
                assert_eq!(left, b"0\n", "round {}: counted more than once", self.number);
            }
        }
        found
    }
}

/// The commands of a round.
fn verbs_of(round: u64) -> (&'static [&'static str], &'static [Verb]) {
    use Verb::{Add, AddAndRemove, Build, Dedup, Merge};
    match round % 5 {
        0 => (&[], &[Add, Add, Add, Dedup, Add, Add, Dedup, Add]),
        1 => (&["--layout", "scalable"], &[Add, Dedup, Dedup, Add, Dedup, Add, Add, Dedup]),
        2 => (&["--layout", "counting"], &[AddAndRemove; 8]),
        3 => (&["--layout", "compact"], &[AddAndRemove; 8]),
        _ => (&[], &[Add, Dedup, Merge, Add, Build, Dedup, Merge, Add]),
    }
}

#[test]
fn of_many_commands_some_of_them_killed_no_acknowledged_key_is_lost() {
    let (rounds, seed) = (rounds(), seed());
    println!("SEED={seed}");
    let mut random = numbers(seed);
    let (mut found, mut killed, mut acknowledged) = (0, 0, 0);
    for number in 0..rounds {
        let (kind, verbs) = verbs_of(number);
        let folder = folder();
        let folder = folder.path();
        succeed(folder, &[&["create", "f", "-n", "200k", "-p", "1e-9"], kind].concat(), b"");
        file(folder, "in-keys", &lines("other", 0..100));
        if kind.is_empty() {
            let build = ["build", "-q", "-o", "in-other", "-n", "200k", "-p", "1e-9", "in-keys"];
            succeed(folder, &build, b"");
        }
        let round = Round { folder, number, kind, clock: AtomicU64::new(0) };
        let kills: Vec<Option<u64>> = verbs
            .iter()
            .map(|_| random.next().filter(|n| n % 5 < 2).map(|n| n / 5 % (PARTS + 2)))
            .collect();
        let all: Vec<Done> = std::thread::scope(|scope| {
            let work = verbs.iter().zip(kills).enumerate().map(|(id, (&verb, kill_at))| {
                let round = &round;
                scope.spawn(move || round.work(id as u64, verb, kill_at))
            });
            let work: Vec<_> = work.collect();
            work.into_iter().map(|work| work.join().unwrap()).collect()
        });
        found += round.judge(&all);
        killed += all.iter().filter(|done| done.was_killed).count();
        acknowledged += all.iter().filter(|done| done.is_acknowledged).count();
    }
    println!(
        "{rounds} rounds: {killed} commands killed, {acknowledged} ended well, {found} keys there"
    );
    assert!(killed as u64 >= rounds && found >= rounds * KEYS, "hardly anything was tested");
}

#[test]
fn a_round_without_kills_leaves_every_key_of_every_command() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &["create", "f", "-n", "200k", "-p", "1e-9"], b"");
    let round = Round { folder, number: 0, kind: &[], clock: AtomicU64::new(0) };
    let all: Vec<Done> = std::thread::scope(|scope| {
        let round = &round;
        let verb = |id| if id % 2 == 0 { Verb::Add } else { Verb::Dedup };
        let work = (0..8).map(|id| scope.spawn(move || round.work(id, verb(id), None)));
        let work: Vec<_> = work.collect();
        work.into_iter().map(|work| work.join().unwrap()).collect()
    });
    assert_eq!(round.judge(&all), 8 * KEYS);
    let output = run(folder, &["info", "--json", "f"], b"");
    let info = crate::support::json(&output.stdout);
    assert_eq!(info["inserted_items"], 8 * KEYS + 1, "{}", stderr(&output));
}
