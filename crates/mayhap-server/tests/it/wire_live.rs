//! Requests that leave their loop: those that would stop it.

use crate::command::{Server as Caller, words};
use crate::conformance::{answer_len, ask};
use crate::support::{Raw, options};
use mayhap::{DigestFunction, SecretKey};
use mayhap_engine::Words;
use mayhap_engine::durable::{self, DataFolder, Log, Policy, State, Ticket, Unwritten};
use mayhap_engine::keyspace::{self, Recovery};
use mayhap_server::command::After;
use mayhap_server::config::{Rights, Users, hash_password};
use mayhap_server::net::{Clients, Live, Loops, Options, Service};
use mayhap_server::{Config, Session, Shared, Turn};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The real engine, whose slow requests take as long as `busy` is locked.
struct Gated {
    live: Live,
    busy: Mutex<()>,
    slow: AtomicUsize,
}

impl Service for Gated {
    fn clients(&self) -> &Clients {
        self.live.clients()
    }

    fn open(&self, id: u64, address: Option<SocketAddr>) -> Session {
        self.live.open(id, address)
    }

    fn turn(&self) -> Turn {
        self.live.turn()
    }

    fn execute(
        &self,
        words: Words<'_>,
        session: &mut Session,
        turn: &mut Turn,
        out: &mut Vec<u8>,
    ) -> After {
        if !turn.hurried {
            self.slow.fetch_add(1, Ordering::SeqCst);
            drop(self.busy.lock().unwrap());
        }
        self.live.execute(words, session, turn, out)
    }

    fn commit(&self, turn: &mut Turn) -> Result<Option<Ticket>, Unwritten> {
        self.live.commit(turn)
    }

    fn end(&self, turn: &mut Turn, took: Duration) {
        self.live.end(turn, took);
    }

    fn end_job(&self, words: Words<'_>, session: &Session, turn: &mut Turn, took: Duration) {
        self.live.end_job(words, session, turn, took);
    }

    fn state(&self, ticket: Ticket) -> State {
        self.live.state(ticket)
    }

    fn last_operation(&self) -> Option<Ticket> {
        self.live.last_operation()
    }

    fn is_undone(&self, number: u64) -> bool {
        self.live.is_undone(number)
    }

    fn on_progress(&self, wake: Box<dyn Fn() + Send + Sync>) {
        self.live.on_progress(wake);
    }
}

pub(crate) fn users() -> Config {
    let mut users = Users::new().unwrap();
    users.add("default", b"plain", Rights::ALL).unwrap();
    users.add_hashed("hashed", &hash_password(b"secret").unwrap(), Rights::ALL).unwrap();
    Config { users: Arc::new(users), ..Config::default() }
}

/// The shared state of a server, with a log in this folder.
pub(crate) fn shared(folder: &std::path::Path) -> Arc<Shared> {
    let key = SecretKey::new([7; 16]);
    let options = keyspace::Options { max_name_bytes: 64 << 10, ..keyspace::Options::new(key) };
    let recovery = Recovery::new(options);
    let mut durable = durable::Options::new(DigestFunction::sip13(key));
    // No thread syncs here, for which answers would wait after two seconds.
    durable.policy = Policy::No;
    let folder = DataFolder::open(folder).unwrap();
    let (log, report) = Log::open(folder, durable, &recovery, &|_| {}).unwrap();
    let keyspace = recovery.finish(report.next_id).unwrap();
    Shared::new(users(), keyspace, Some(log))
}

/// Filters above and below the size that others can wait for, and an incomplete dump.
const PREPARE: [&str; 5] = [
    "BF.RESERVE large 0.01 2000000 NONSCALING",
    "BF.RESERVE large2 0.01 2000000 NONSCALING",
    "BF.RESERVE small 0.01 1000 NONSCALING",
    "BF.ADD large a",
    "BF.ADD small a",
];

/// Requests that leave the loop, in an order in which each does.
const SLOW: [&str; 10] = [
    "AUTH hashed wrong",
    "AUTH nobody wrong",
    // As slow as a name with a hash, or it would be known not to have one.
    "AUTH default wrong",
    "HELLO 2 AUTH hashed secret",
    "SAVE",
    "BF.SCANDUMP large 0",
    "BF.INFO large FILL",
    "BF.INFO large fillalarm",
    "BF.MERGE union large large2",
    "AUTH hashed wrong2",
];

#[test]
fn neighbours_are_answered_while_each_slow_request_runs() {
    let folder = tempfile::tempdir().unwrap();
    let live = Live(shared(folder.path()));
    let engine = Arc::new(Gated { live, busy: Mutex::new(()), slow: AtomicUsize::new(0) });
    let server = Loops::start(Options { threads: 1, ..options() }, Arc::clone(&engine)).unwrap();
    let address = server.address().unwrap();
    let (mut raw, mut other) = (Raw::connect(address), Raw::connect(address));
    other.call(&["AUTH", "plain"], "+OK\r\n");
    raw.call(&["AUTH", "plain"], "+OK\r\n");
    assert_eq!(engine.slow.load(Ordering::SeqCst), 0, "a plain password is not slow");
    for line in PREPARE {
        let answer = ask(&mut other.socket, &words(line));
        assert!(!answer.starts_with(b"-"), "{line}");
    }
    // The two large filters were created outside of the loop.
    let made = engine.slow.load(Ordering::SeqCst);
    assert_eq!(made, 2);
    for (i, line) in SLOW[..9].iter().enumerate() {
        let busy = engine.busy.lock().unwrap();
        raw.send(format!("{line}\r\n"));
        other.until(|| engine.slow.load(Ordering::SeqCst) == made + i + 1);
        for _ in 0..10 {
            raw.silent(&mut other);
            other.call(&["BF.EXISTS", "small", "a"], ":1\r\n");
            other.call(&["BF.ADD", "large", "a"], ":0\r\n");
        }
        drop(busy);
        let mut answer = Vec::new();
        while answer_len(&answer) != Some(answer.len()) {
            let mut part = [0; 8192];
            let bytes = std::io::Read::read(&mut raw.socket, &mut part).unwrap();
            assert!(bytes > 0, "{line}");
            answer.extend_from_slice(&part[..bytes]);
        }
        let is_wrong = line.ends_with("wrong");
        assert_eq!(answer.starts_with(b"-WRONGPASS "), is_wrong, "{line}");
        assert_eq!(answer.starts_with(b"-"), is_wrong, "{line}: {}", answer.escape_ascii());
        raw.call(&["PING"], "+PONG\r\n");
    }
    other.call(&["BF.EXISTS", "union", "a"], ":1\r\n");
    let shared = &engine.live.0;
    assert!(shared.log.as_ref().unwrap().stats().checkpoint_at > 0);
    let mut page = String::new();
    mayhap_server::metrics::page(shared, &Rights::ALL, &[], &mut page);
    for line in [
        "mayhap_job_seconds_count 11",
        "mayhap_checkpoint_seconds_count 1",
        "mayhap_login_failures_total 3",
    ] {
        assert!(page.lines().any(|other| other == line), "{line}\nnot in\n{page}");
    }
    assert!(page.contains("mayhap_log_sync_seconds_bucket{le=\"+Inf\"}"), "{page}");
    drop((raw, other));
    server.stop();
    server.join().unwrap();
}

#[test]
fn in_a_hurried_turn_only_long_requests_are_left_alone() {
    let mut server = Caller::with(users(), |_| {});
    server.line("AUTH plain");
    for line in PREPARE {
        assert!(!server.line(line).starts_with('-'), "{line}");
    }
    let fast = [
        "AUTH plain",
        "AUTH a b c",
        "HELLO 3",
        "HELLO 2 AUTH default plain",
        "HELLO 9 AUTH hashed wrong",
        "BF.SCANDUMP small 0",
        "BF.SCANDUMP none 0",
        "BF.SCANDUMP large 1",
        "BF.SCANDUMP large x",
        "BF.INFO large",
        "BF.INFO large SIZE",
        "BF.INFO small FILL",
        "BF.MERGE u small small",
        "BF.ADD large x",
        "BF.EXISTS large x",
        "KEYS *",
        "BGSAVE",
        "EXEC",
    ];
    for line in fast {
        server.turn.hurried = true;
        assert!(!server.line(line).is_empty(), "{line}");
        assert_eq!(server.after, After::Go, "{line}");
    }
    let names = server.line("DBSIZE");
    server.line("AUTH plain");
    for line in SLOW {
        server.turn.hurried = true;
        assert_eq!(server.line(line), "", "{line}");
        assert_eq!(server.after, After::Later, "{line}");
        assert_eq!(server.session.failed_logins, 0, "{line}");
        assert_eq!(server.line("DBSIZE"), names, "{line}");
        assert_eq!(server.session.info.user.as_deref(), Some("default"));
    }
    // A password that was right once is not slow any more.
    server.turn.hurried = false;
    assert_eq!(server.line("AUTH hashed secret"), "+OK\r\n");
    server.turn.hurried = true;
    assert_eq!(server.line("AUTH hashed secret"), "+OK\r\n");
    assert_eq!(server.line("AUTH hashed other"), "");
}

#[test]
fn the_last_chunk_of_a_large_filter_and_long_lists_leave_the_loop() {
    let mut server = Caller::new();
    server.line("BF.RESERVE large 0.01 2000000 NONSCALING KEYED no");
    let mut chunks = Vec::new();
    let mut cursor = 0;
    loop {
        let (next, bytes) = server
            .shared
            .keyspace
            .dump(&server.shared.keyspace.get(b"large", 1).unwrap(), cursor, 1)
            .unwrap();
        if next == 0 {
            break;
        }
        cursor = next;
        chunks.push((next, bytes));
    }
    let last = chunks.len();
    assert!(last > 3);
    for (i, (cursor, bytes)) in chunks.into_iter().enumerate() {
        let request =
            [b"BF.LOADCHUNK".to_vec(), b"copy".to_vec(), cursor.to_string().into(), bytes];
        server.turn.hurried = true;
        let answer = server.ask(&request);
        assert_eq!(server.after == After::Later, i + 1 == last, "{i} of {last}");
        if i + 1 == last {
            server.turn.hurried = false;
            assert_eq!(server.ask(&request), b"+OK\r\n");
        } else {
            assert_eq!(answer, b"+OK\r\n");
        }
    }
    for i in 0..5_000 {
        server.line(&format!("BF.RESERVE f{i} 0.01 10 NONSCALING"));
    }
    for line in ["KEYS *", "FLUSHDB", "FLUSHALL"] {
        server.turn.hurried = true;
        assert_eq!(server.line(line), "", "{line}");
        assert_eq!(server.after, After::Later);
    }
}

#[test]
fn a_transaction_with_a_slow_request_leaves_the_loop_as_a_whole() {
    let mut server = Caller::new();
    server.line("BF.RESERVE large 0.01 2000000 NONSCALING");
    server.turn.hurried = true;
    for (middle, is_slow) in [("BF.INFO large SIZE", false), ("BF.INFO large FILL", true)] {
        assert_eq!(server.line("MULTI"), "+OK\r\n");
        for line in ["BF.ADD large a", middle, "PING"] {
            assert_eq!(server.line(line), "+QUEUED\r\n");
        }
        let answer = server.line("EXEC");
        assert_eq!(server.after == After::Later, is_slow);
        if is_slow {
            assert_eq!(answer, "");
            server.turn.hurried = false;
            assert!(server.line("EXEC").ends_with("+PONG\r\n"));
            server.turn.hurried = true;
        } else {
            assert!(answer.ends_with("+PONG\r\n"));
        }
        assert!(server.turn.hurried);
    }
    // One that has become slow meanwhile is executed in place.
    server.line("MULTI");
    server.line("BF.INFO other FILL");
    let mut second = Session::new(8, None, Rights::ALL);
    std::mem::swap(&mut second, &mut server.session);
    server.turn.hurried = false;
    server.line("BF.RESERVE other 0.01 2000000 NONSCALING");
    server.turn.hurried = true;
    std::mem::swap(&mut second, &mut server.session);
    assert!(server.line("EXEC").starts_with("*1\r\n*1\r\n"));
    assert!(server.turn.hurried);
}

#[test]
fn a_transaction_that_is_refused_is_over() {
    let folder = tempfile::tempdir().unwrap();
    let live = Live(shared(folder.path()));
    let engine = Arc::new(Gated { live, busy: Mutex::new(()), slow: AtomicUsize::new(0) });
    let options = Options { threads: 1, max_jobs: 1, ..options() };
    let server = Loops::start(options, Arc::clone(&engine)).unwrap();
    let mut all = [(); 3].map(|()| Raw::connect(server.address().unwrap()));
    for raw in &mut all {
        raw.call(&["AUTH", "plain"], "+OK\r\n");
    }
    let [first, second, third] = &mut all;
    let busy = engine.busy.lock().unwrap();
    first.send("SAVE\r\n");
    third.until(|| engine.slow.load(Ordering::SeqCst) == 1);
    second.send("SAVE\r\n");
    let waits = || engine.clients().list().iter().filter(|of| of.buffered_bytes() > 0).count() == 2;
    third.until(waits);
    third.send("MULTI\r\nSAVE\r\nEXEC\r\nPING\r\n");
    third.expect("+OK\r\n+QUEUED\r\n-ERR too many requests that take long");
    third.expect(" are waiting already; nothing was done, try again later\r\n+PONG\r\n");
    drop(busy);
    first.expect("+OK\r\n");
    second.expect("+OK\r\n");
    third.send("MULTI\r\nSAVE\r\nEXEC\r\n");
    third.expect("+OK\r\n+QUEUED\r\n*1\r\n+OK\r\n");
    drop(all);
    server.stop();
    server.join().unwrap();
}
