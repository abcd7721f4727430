//! The server ends at named points of its own (T07), under load, and is started again.
//!
//! Only with the feature `fail-points` (`make points`). Losses at the points are found by the
//! checks of `load.rs` and `mover.rs`; repairs have a load of their own.

use crate::client::Answer;
use crate::damage;
use crate::load::{ARGUMENTS, Load, missing};
use crate::mover::Mover;
use crate::seed;
use crate::server::{Ended, Server, command, ok};
use crate::shim::files;
use rustix::process::Signal;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

const POLICIES: [&str; 3] = ["always", "everysec", "no"];
/// Clients that wait a little leave the checkpoints time.
const PAUSE: Duration = Duration::from_millis(2);
/// The number of tries for a point that depends on where the load was cut short.
const ATTEMPTS: usize = 5;
/// The bytes of an interrupted write.
const TORN: &[u8] = b"\x89mhf unfinished";

/// A point, and the number of the pass at which it ends the server under each policy; 0 for never.
type Point = (&'static str, [u64; 3]);

/// While clients write.
const UNDER_LOAD: [Point; 42] = [
    ("log.writing", [1, 40, 400]),
    ("log.written", [2, 50, 300]),
    // Without a policy that syncs there is no sync.
    ("log.syncing", [1, 1, 0]),
    ("log.syncing", [20, 0, 0]),
    ("log.synced", [1, 1, 0]),
    ("log.synced", [20, 0, 0]),
    ("replace.created:log", [1, 2, 3]),
    ("replace.written:log", [1, 2, 3]),
    ("replace.synced:log", [1, 2, 3]),
    ("replace.renamed:log", [1, 2, 3]),
    ("replace.done:log", [1, 2, 3]),
    ("checkpoint.begun", [1, 2, 3]),
    ("checkpoint.rotated", [1, 2, 3]),
    ("image.created", [1, 2, 3]),
    ("image.written", [1, 2, 3]),
    ("image.synced", [1, 2, 3]),
    ("checkpoint.images_made", [1, 2, 3]),
    ("list.created", [1, 2, 3]),
    ("list.written", [1, 2, 3]),
    ("list.synced", [1, 2, 3]),
    ("replace.created:manifest", [1, 2, 3]),
    ("replace.written:manifest", [1, 2, 3]),
    ("replace.synced:manifest", [1, 2, 3]),
    ("replace.renamed:manifest", [1, 2, 3]),
    ("replace.done:manifest", [1, 2, 3]),
    ("checkpoint.settled", [1, 2, 3]),
    ("checkpoint.removing:filters", [1, 2, 3]),
    ("checkpoint.removed:filters", [1, 2, 3]),
    ("checkpoint.removing:log", [1, 2, 3]),
    ("checkpoint.removed:log", [1, 2, 3]),
    ("create.indexed", [1, 3, 6]),
    ("create.logged", [1, 3, 6]),
    ("create.done", [1, 3, 6]),
    ("remove.logged", [1, 2, 4]),
    ("remove.done", [1, 2, 4]),
    ("rename.logged", [1, 2, 5]),
    ("rename.both", [1, 2, 5]),
    ("rename.done", [1, 2, 5]),
    ("expire.logged", [1, 2, 5]),
    ("expire.done", [1, 2, 5]),
    ("growth.before", [1, 2, 3]),
    ("growth.published", [1, 2, 3]),
];

/// Points in opening a folder left by a server that was ended at another point, with a write cut
/// short at the end of the last segment or of the one before it.
const AT_START: [(Point, &str, usize); 10] = [
    (("recover.image_loaded", [1, 3, 6]), "checkpoint.begun*2", 0),
    (("recover.replayed", [1, 10, 30]), "checkpoint.images_made*2", 0),
    (("recover.cut", [1, 1, 1]), "log.writing*60", 0),
    (("recover.written_again", [1, 1, 1]), "log.written*60", 0),
    (("recover.written_again", [1, 1, 1]), "checkpoint.images_made*2", 0),
    (("recover.later_removed", [1, 1, 1]), "checkpoint.begun*2", 1),
    (("recover.removed:log", [1, 1, 1]), "replace.done:manifest*2", 0),
    (("recover.removed:filters", [1, 1, 1]), "replace.done:manifest*2", 0),
    (("recover.removed:filters", [1, 1, 1]), "image.synced*2", 0),
    (("recover.put_right", [1, 1, 1]), "replace.synced:manifest", 0),
];

/// While a new folder is made.
const OF_FIRST_START: [&str; 15] = [
    "replace.created:key",
    "replace.written:key",
    "replace.synced:key",
    "replace.renamed:key",
    "replace.done:key",
    "replace.created:log",
    "replace.written:log",
    "replace.synced:log",
    "replace.renamed:log",
    "replace.done:log",
    "replace.created:manifest",
    "replace.written:manifest",
    "replace.synced:manifest",
    "replace.renamed:manifest",
    "replace.done:manifest",
];

/// Points in writing the contents of two filters for a third one, in three parts.
const IN_MERGE: [&str; 4] = ["create.part", "create.part*2", "create.part*3", "create.contents*3"];

/// Points in the repair of a folder whose file with this ending is damaged.
const IN_REPAIR: [(&str, &str); 13] = [
    ("repair.copying:log", ".log"),
    ("repair.copied:log", ".log"),
    ("repair.removed", ".log"),
    ("repair.cut", ".log"),
    ("repair.copying:filters", ".pack"),
    ("repair.copied:filters", ".pack"),
    ("repair.copying:manifest", ".pack"),
    ("repair.copied:manifest", ".pack"),
    ("replace.created:manifest", ".pack"),
    ("replace.written:manifest", ".pack"),
    ("replace.synced:manifest", ".pack"),
    ("replace.renamed:manifest", ".pack"),
    ("replace.done:manifest", ".pack"),
];

/// The number of ends of the server at each point.
type Ends = Mutex<BTreeMap<String, u64>>;

fn note(ends: &Ends, point: &str) {
    let name = point.split('*').next().unwrap();
    *ends.lock().unwrap().entry(name.to_owned()).or_default() += 1;
}

/// Whether the server was ended by a point, as it reports, and by nothing else.
fn was_ended(ended: &Ended, point: &str) -> bool {
    let told = ended.said.contains("fail point ");
    let killed = ended.status.signal() == Some(Signal::KILL.as_raw());
    assert_eq!(told, killed, "{point}: {ended:?}");
    killed
}

fn begin(folder: &Path, policy: &str, point: &str) -> Result<Server, Ended> {
    let mut arguments = vec!["--appendfsync", policy];
    arguments.extend(ARGUMENTS);
    Server::begin(folder, &[], &arguments, &[("FAIL_POINT", Path::new(point))])
}

/// Starts without a point; nothing unfinished is in the folder afterwards.
fn start(folder: &Path, policy: &str, point: &str) -> Server {
    let server = begin(folder, policy, "").unwrap_or_else(|ended| panic!("{point}: {ended:?}"));
    let left = files(&folder.join("data")).into_iter().map(|(path, _)| path);
    let left: Vec<PathBuf> = left.filter(|path| path.extension() == Some("tmp".as_ref())).collect();
    assert!(left.is_empty(), "{point}: {left:?} stay");
    server
}

/// A server of one policy through all points.
struct Run<'a> {
    policy: usize,
    folder: PathBuf,
    load: Load,
    mover: Mover,
    ends: &'a Ends,
}

impl Run<'_> {
    /// Ends the server at a point while clients write.
    fn end_at(&mut self, point: &str) {
        let server = begin(&self.folder, POLICIES[self.policy], point)
            .unwrap_or_else(|ended| panic!("{point}, before the first request: {ended:?}"));
        let client = server.connect();
        let mover = &mut self.mover;
        let ended = self.load.run(server, PAUSE, |server, _| {
            mover.run(client);
            server.kill()
        });
        assert!(was_ended(&ended, point), "{point} is never reached");
        note(self.ends, point);
    }

    /// Restarts it and checks everything acknowledged since the last time.
    fn check(&mut self, point: &str) {
        let server = start(&self.folder, POLICIES[self.policy], point);
        let round = self.load.end_round();
        let missing = missing(&server, &round);
        assert!(missing.is_empty(), "{point}: {} of {} are lost", missing.len(), round.len());
        self.load.check_passing(&server);
        let checked = self.mover.check(&mut server.connect());
        checked.unwrap_or_else(|why| panic!("{point}: {why}"));
        server.kill();
    }

    fn under_load(&mut self) {
        for (name, times) in UNDER_LOAD {
            let times = times[self.policy];
            if times > 0 {
                let point = format!("{name}*{times}");
                self.end_at(&point);
                self.check(&point);
            }
        }
    }

    fn at_start(&mut self) {
        for ((name, times), before, place) in AT_START {
            let point = format!("{name}*{}", times[self.policy]);
            let ended = (0..ATTEMPTS).any(|_| {
                self.end_at(before);
                tear(&self.folder, place);
                let struck = match begin(&self.folder, POLICIES[self.policy], &point) {
                    Err(ended) => was_ended(&ended, &point),
                    Ok(server) => {
                        server.kill();
                        false
                    }
                };
                self.check(&point);
                struck
            });
            assert!(ended, "{point} after {before} is never reached");
            note(self.ends, &point);
        }
    }

    /// All keys of all rounds.
    fn end(self) -> usize {
        let server = start(&self.folder, POLICIES[self.policy], "the end");
        let missing = missing(&server, &self.load.before);
        assert!(missing.is_empty(), "{} are lost by now", missing.len());
        server.stop();
        self.load.before.len() + self.mover.acknowledged
    }
}

/// Leaves an unfinished write at the end of the last segment, or of the one `place` before it.
fn tear(folder: &Path, place: usize) {
    let number = |path: &Path| path.file_stem().unwrap().to_str().unwrap().parse::<u64>().unwrap();
    let mut logs: Vec<PathBuf> = files(&folder.join("data/log"))
        .into_iter()
        .map(|(path, _)| path)
        .filter(|path| path.extension() == Some("log".as_ref()))
        .collect();
    logs.sort_by_key(|path| number(path));
    let path = logs.iter().rev().nth(place).unwrap();
    let mut bytes = fs::read(path).unwrap();
    bytes.extend_from_slice(TORN);
    fs::write(path, bytes).unwrap();
}

/// Ends the first server of a folder while it creates the folder, and continues.
fn first_starts(policy: &str, ends: &Ends) {
    for point in OF_FIRST_START {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        match begin(folder, policy, point) {
            Err(ended) => assert!(was_ended(&ended, point), "{point}: {ended:?}"),
            Ok(_) => panic!("{point} is never reached"),
        }
        note(ends, point);
        let server = start(folder, policy, point);
        assert_eq!(
            server.connect().ask("BF.MADD a 1 2 3"),
            Answer::List(vec![Answer::Number(1); 3])
        );
        server.kill();
        let server = start(folder, policy, point);
        assert_eq!(server.connect().ask("BF.ADD a 3"), Answer::Number(0), "{point}");
        server.kill();
    }
}

/// Ends the server while it creates a filter from others; no part of it is visible, and it can be
/// created again.
fn merges(policy: &str, ends: &Ends) {
    for point in IN_MERGE {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let server = begin(folder, policy, point).unwrap();
        let mut client = server.connect();
        for (name, keys) in [("a", "1 2 3"), ("b", "4 5 6")] {
            assert_eq!(client.ask(&format!("BF.RESERVE {name} 0.01 8000000")), ok());
            let added = client.ask(&format!("BF.MADD {name} {keys}"));
            assert_eq!(added, Answer::List(vec![Answer::Number(1); 3]));
        }
        client.call("BF.MERGE all a b").unwrap_err();
        assert!(was_ended(&server.wait(), point), "{point} is never reached");
        note(ends, point);
        let server = start(folder, policy, point);
        let mut client = server.connect();
        assert_eq!(client.ask("EXISTS all"), Answer::Number(0), "{point}");
        assert_eq!(client.ask("BF.MERGE all a b"), ok(), "{point}");
        let found = client.ask("BF.MEXISTS all 1 2 3 4 5 6");
        assert_eq!(found, Answer::List(vec![Answer::Number(1); 6]), "{point}");
        server.kill();
        let server = start(folder, policy, point);
        assert!(damage::has(&server, "all", "6"), "{point}");
        server.kill();
    }
}

/// Ends a repair, and repairs again.
fn repairs(ends: &Ends) {
    for (point, damaged) in IN_REPAIR {
        let folder = damage::folder();
        let folder = folder.path();
        if point == "repair.removed" {
            // A segment after the damaged one.
            let server = begin(folder, "everysec", "checkpoint.begun").unwrap();
            server.connect().call("SAVE").unwrap_err();
            assert!(was_ended(&server.wait(), point));
        }
        let path = damage::find(folder, damaged);
        let middle = fs::metadata(&path).unwrap().len() as usize / 2;
        damage::flip(&path, middle);
        let bytes = fs::read(&path).unwrap();
        let status = command(folder, &[], &["--repair"]).env("FAIL_POINT", point).status().unwrap();
        let said = fs::read_to_string(folder.join("said")).unwrap();
        assert!(was_ended(&Ended { status, said }, point), "{point} is never reached");
        note(ends, point);

        let (code, said) = damage::repair(folder);
        assert_eq!(code, Some(0), "{point}: {said}");
        let copies = files(&folder.join("data/damaged"));
        let is_kept = copies.iter().any(|(copy, _)| fs::read(copy).unwrap() == bytes);
        assert!(is_kept, "{point}: no copy of the damaged files");
        let server = start(folder, "everysec", point);
        let there = [("saved", "saved-key"), ("other", "other-key"), ("logged", "5")];
        let there = there.map(|(filter, key)| damage::has(&server, filter, key));
        let lost = there.iter().filter(|&&there| !there).count();
        assert!(there[2] && lost == usize::from(damaged == ".pack"), "{point}: {there:?}");
        assert_eq!(server.connect().ask("SAVE"), ok());
        server.stop();
    }
}

/// All points in the source of the engine, without the suffixes of their names.
fn in_source() -> BTreeSet<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mayhap-engine/src");
    let mut points = BTreeSet::new();
    for (path, _) in files(&source) {
        let text = fs::read_to_string(&path).unwrap();
        for call in ["fail_point(\"", "fail_point_of(\""] {
            let names = text.split(call).skip(1).map(|rest| rest.split('"').next().unwrap());
            points.extend(names.map(str::to_owned));
        }
    }
    points
}

#[test]
fn nothing_acknowledged_is_lost_wherever_the_server_ends() {
    println!("SEED={}", seed());
    let (ends, keys) = (Ends::default(), Mutex::new(0));
    std::thread::scope(|scope| {
        for (policy, name) in POLICIES.into_iter().enumerate() {
            let (ends, keys) = (&ends, &keys);
            scope.spawn(move || {
                let folder = tempfile::tempdir().unwrap();
                let (load, mover) = (Load::new(seed() << 20), Mover::new(seed()));
                let folder = folder.path().to_path_buf();
                start(&folder, name, "the beginning").stop();
                let mut run = Run { policy, folder, load, mover, ends };
                run.under_load();
                run.at_start();
                *keys.lock().unwrap() += run.end();
                first_starts(name, ends);
                merges(name, ends);
                repairs(ends);
            });
        }
    });
    let ends = ends.into_inner().unwrap();
    let names = ends.keys().map(|point| point.split(':').next().unwrap().to_owned());
    assert_eq!(names.collect::<BTreeSet<_>>(), in_source(), "points without a test");
    for (point, times) in &ends {
        assert!(*times >= 3, "{point}: {times}");
    }
    let (all, keys) = (ends.values().sum::<u64>(), keys.into_inner().unwrap());
    println!("{} points, {all} ends, {keys} keys acknowledged, 0 lost", ends.len());
    assert!(ends.len() >= 20 && keys > 10_000);
}
