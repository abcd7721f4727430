//! Commands, executed in this process: one answer each, whatever the words are.

use crate::conformance::answer_len;
pub(crate) use crate::conformance::words;
use mayhap::SecretKey;
use mayhap_engine::keyspace::{Keyspace, Options};
use mayhap_engine::{Words, Work};
use mayhap_server::command::{After, execute};
use mayhap_server::{Config, Session, Shared, Turn};
use proptest::prelude::*;
use std::sync::Arc;

/// Milliseconds since 1970 at which everything happens: in the year 2026.
const NOW: u64 = 1_780_000_000_000;

/// A server without sockets, and one client of it.
pub(crate) struct Server {
    pub(crate) shared: Arc<Shared>,
    pub(crate) session: Session,
    pub(crate) turn: Turn,
    pub(crate) after: After,
}

impl Server {
    pub(crate) fn new() -> Self {
        Self::with(Config::default(), |_| {})
    }

    pub(crate) fn with(config: Config, limits: impl FnOnce(&mut Options)) -> Self {
        let mut options = Options::new(SecretKey::new(*b"0123456789abcdef"));
        options.max_filter_bytes = 256 << 20;
        options.max_name_bytes = 64 << 10;
        limits(&mut options);
        let shared = Shared::new(config, Keyspace::new(options), None);
        let session = Session::new(7, None, shared.config().users.anonymous());
        let turn = Turn { work: Work { now: NOW, ..Work::default() }, ..Turn::default() };
        Self { shared, session, turn, after: After::Go }
    }

    /// Another client of the same server.
    pub(crate) fn another(shared: &Arc<Shared>) -> Self {
        let session = Session::new(8, None, shared.config().users.anonymous());
        let turn = Turn { work: Work { now: NOW, ..Work::default() }, ..Turn::default() };
        Self { shared: shared.clone(), session, turn, after: After::Go }
    }

    pub(crate) fn ask(&mut self, request: &[Vec<u8>]) -> Vec<u8> {
        let (mut bytes, mut places) = (Vec::new(), Vec::new());
        for word in request {
            let start = bytes.len() as u32;
            bytes.extend_from_slice(word);
            places.push((start, bytes.len() as u32));
        }
        let mut out = b"before".to_vec();
        let words = Words::new(&bytes, &places);
        self.after = execute(words, &mut self.session, &self.shared, &mut self.turn, &mut out);
        assert!(out.starts_with(b"before"), "an answer does not change the bytes before it");
        out.split_off(6)
    }

    /// The answer to a line, for tests of text.
    pub(crate) fn line(&mut self, request: &str) -> String {
        String::from_utf8_lossy(&self.ask(&words(request))).into_owned()
    }
}

fn is_one_answer(answer: &[u8]) -> bool {
    answer_len(answer) == Some(answer.len())
}

impl Server {
    /// Whether a request got exactly one answer, or shut down the server.
    pub(crate) fn answers(&mut self, request: &[Vec<u8>]) -> bool {
        let answer = self.ask(request);
        is_one_answer(&answer) || answer.is_empty() && matches!(self.after, After::Shutdown { .. })
    }
}

/// All commands, from the server itself.
pub(crate) fn all_commands(server: &mut Server) -> Vec<String> {
    let answer = server.line("COMMAND LIST");
    let names: Vec<String> =
        answer.lines().filter(|line| !line.starts_with(['*', '$'])).map(str::to_owned).collect();
    assert!(names.len() > 50, "{answer}");
    names
}

/// Names that are harmless to code that treats them as bytes (test T13 has the same list).
pub(crate) fn hostile_names() -> Vec<Vec<u8>> {
    let mut names: Vec<Vec<u8>> = [
        "",
        " ",
        "/",
        "..",
        "../../etc/passwd",
        "/etc/passwd",
        "a/b",
        "a\\b",
        "C:\\x",
        "CON",
        "nul",
        "-rf",
        "--help",
        "*",
        "?",
        "[a-z]",
        "%00",
        "%s%s%n",
        "$(id)",
        "`id`",
        ";ls",
        "|cat",
        "&",
        "'",
        "\"",
        "<script>alert(1)</script>",
        "{{7*7}}",
        "a\nb",
        "a\r\n+OK\r\n",
        "a\tb",
        "\u{1b}[2J",
        "\u{202e}gnp",
        "\u{feff}x",
        "e\u{301}",
        "ITEMS",
        "NONSCALING",
        "EXPANSION",
        "\\x00",
        "key",
    ]
    .iter()
    .map(|name| name.as_bytes().to_vec())
    .collect();
    names.extend([b"\0".to_vec(), b"a\0b".to_vec(), b"\xff\xfe".to_vec(), vec![b'x'; 60_000]]);
    names
}

#[test]
fn a_hostile_name_is_a_name_and_nothing_more() {
    let names = hostile_names();
    assert!(names.len() >= 40);
    for resp3 in [false, true] {
        let mut server = Server::new();
        server.session.info.resp3 = resp3;
        let commands = all_commands(&mut server);
        for name in &names {
            for command in &commands {
                for more in [&["0.01", "10"][..], &[], &["1"], &["a", "b", "c"]] {
                    let mut request = vec![command.clone().into_bytes(), name.clone()];
                    request.extend(more.iter().map(|word| word.as_bytes().to_vec()));
                    assert!(server.answers(&request), "{command} {}", name.escape_ascii());
                    server.session.info.resp3 = resp3;
                }
            }
        }
        server.line("FLUSHALL");
        for (i, name) in names.iter().enumerate() {
            let request = [b"BF.ADD".to_vec(), name.clone(), name.clone()];
            let new = if resp3 { "#t\r\n" } else { ":1\r\n" };
            assert_eq!(server.ask(&request), new.as_bytes(), "{}", name.escape_ascii());
            assert_eq!(server.line("DBSIZE"), format!(":{}\r\n", i + 1));
        }
        for name in &names {
            assert_eq!(server.ask(&[b"DEL".to_vec(), name.clone()]), b":1\r\n");
        }
    }
}

#[test]
fn a_name_that_is_too_long_is_refused() {
    let mut server = Server::new();
    for command in ["BF.ADD", "BF.MADD"] {
        let answer = server.ask(&[command.into(), vec![b'x'; 70_000], b"a".to_vec()]);
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.starts_with("-ERR could not create filter: the name has 70000"), "{answer}");
    }
    assert_eq!(server.line("DBSIZE"), ":0\r\n");
}

#[test]
fn every_command_takes_any_number_of_words_of_any_length() {
    let mut server = Server::new();
    for command in all_commands(&mut server) {
        for word in ["", "x", "0", "-1", "1e309", "9223372036854775807", "ITEMS"] {
            for count in [0, 1, 2, 3, 4, 5, 8, 300] {
                let mut request = vec![command.clone().into_bytes()];
                request.resize(count + 1, word.as_bytes().to_vec());
                assert!(server.answers(&request), "{command} {count} times {word:?}");
            }
        }
        let huge = vec![b'9'; 2 << 20];
        let request = [command.clone().into_bytes(), huge.clone(), huge.clone(), huge];
        assert!(server.answers(&request), "{command} with huge words");
    }
}

#[test]
fn no_words_are_answered_too() {
    assert!(Server::new().answers(&[]));
}

fn any_word() -> impl Strategy<Value = Vec<u8>> {
    const WORDS: [&str; 50] = [
        "f",
        "g",
        "h",
        "0",
        "1",
        "2",
        "-1",
        "100",
        "0.01",
        "1e-9",
        "nan",
        "ITEMS",
        "NOCREATE",
        "NONSCALING",
        "EXPANSION",
        "CAPACITY",
        "ERROR",
        "TIGHTENING",
        "SEED",
        "VALIDATESCALETO",
        "KEYED",
        "yes",
        "no",
        "COUNTING",
        "WINDOW",
        "7d",
        "NOREFRESH",
        "CLEARAT",
        "0.5",
        "LAYOUT",
        "blocked",
        "compact",
        "BUCKETSIZE",
        "MAXITERATIONS",
        "MATCH",
        "COUNT",
        "GET",
        "*",
        "ID",
        "LIST",
        "INFO",
        "DOCS",
        "AUTH",
        "SETNAME",
        "NX",
        "GT",
        "TYPE",
        "USAGE",
        "DIGEST",
        "SIZE",
    ];
    prop_oneof![
        4 => proptest::sample::select(&WORDS[..]).prop_map(|word| word.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..40),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(7),
        ..ProptestConfig::with_cases(300)
    })]

    #[test]
    fn any_words_get_exactly_one_answer(
        requests in proptest::collection::vec(
            (any::<u16>(), proptest::collection::vec(any_word(), 0..10)), 1..60),
        resp3: bool,
    ) {
        let mut server = Server::new();
        let commands = all_commands(&mut server);
        server.session.info.resp3 = resp3;
        for (command, words) in requests {
            let mut request = vec![commands[usize::from(command) % commands.len()].clone().into()];
            request.extend(words);
            prop_assert!(server.answers(&request), "{:?}", request);
        }
    }
}

#[test]
fn memory_limits_are_reported_with_their_names() {
    let mut server = Server::with(Config::default(), |options| {
        options.max_filter_bytes = 1 << 20;
        options.max_memory = 3 << 20;
    });
    let refused = server.line("BF.RESERVE big 0.01 1000000000");
    assert!(refused.starts_with("-ERR Insufficient memory to create filter: "), "{refused}");
    assert!(refused.contains("1048576") && refused.contains("max_filter_bytes"), "{refused}");
    let mut made = 0;
    let refused = loop {
        match server.line(&format!("BF.RESERVE f{made} 0.01 500000 NONSCALING")) {
            answer if answer == "+OK\r\n" => made += 1,
            answer => break answer,
        }
    };
    assert!((3..6).contains(&made));
    assert!(refused.contains("max_memory") && refused.contains("3145728"), "{refused}");
    assert_eq!(server.line(&format!("EXISTS f{made}")), ":0\r\n");
    // A filter that has reached its limit reports it, and continues to answer.
    let mut server = Server::with(Config::default(), |options| options.max_filter_bytes = 20_000);
    let refused = (0..).find_map(|i| {
        let answer = server.line(&format!("BF.ADD f {i}"));
        answer.starts_with('-').then_some((i, answer))
    });
    let (added, refused) = refused.unwrap();
    assert!(refused.starts_with("-ERR problem inserting into filter: "), "{refused}");
    assert!(refused.contains("max_filter_bytes") && added > 2_048, "{refused}");
    assert_eq!(server.line("BF.EXISTS f 1"), ":1\r\n");
}

#[test]
fn the_loop_learns_of_the_end_of_a_connection_and_of_the_server() {
    let mut server = Server::new();
    for (line, answer, after) in [
        ("PING", "+PONG\r\n", After::Go),
        ("QUIT", "+OK\r\n", After::Close),
        ("SHUTDOWN", "", After::Shutdown { save: true }),
        ("SHUTDOWN NOSAVE", "", After::Shutdown { save: false }),
        ("SHUTDOWN SAVE NOW", "", After::Shutdown { save: true }),
        ("SHUTDOWN JUNK", "-ERR syntax error\r\n", After::Go),
    ] {
        assert_eq!(server.line(line), answer);
        assert_eq!(server.after, after, "{line}");
    }
}

#[test]
fn an_answer_that_depends_on_the_log_is_marked() {
    let mut server = Server::new();
    for (line, wrote) in [
        ("BF.EXISTS f a", false),
        ("BF.RESERVE f 0.01 100", true),
        ("BF.ADD f a", true),
        // Not new, but another client's insertion of it may not be safe yet.
        ("BF.ADD f a", true),
        ("BF.MADD f a b", true),
        ("BF.INSERT f ITEMS c", true),
        ("CF.ADD c a", true),
        ("CF.ADDNX c a", true),
        ("CF.INSERT c ITEMS a b", true),
        ("CF.INSERTNX c ITEMS a b", true),
        ("CF.DEL c a", true),
        ("CF.COUNT c a", false),
        ("BF.MEXISTS f a b", false),
        ("BF.INFO f", false),
        ("EXPIRE f 100", true),
        ("PERSIST f", true),
        ("BF.MERGE g f", true),
        ("RENAME g h", true),
        ("DEL f", true),
        ("PING", false),
        ("FLUSHALL", true),
    ] {
        (server.turn.wrote, server.turn.operated) = (false, false);
        let answer = server.line(line);
        assert!(!answer.starts_with('-'), "{line}: {answer}");
        assert_eq!(server.turn.wrote || server.turn.operated, wrote, "{line}");
    }
}

#[test]
fn a_kind_has_the_name_that_the_command_gives_it() {
    let mut server = Server::new();
    for (options, kind) in [
        ("", "scalable"),
        ("NONSCALING", "blocked"),
        ("NONSCALING LAYOUT standard", "standard"),
        ("COUNTING", "counting"),
        ("LAYOUT compact", "compact"),
        ("WINDOW 100", "window"),
        ("CLEARAT 0.5", "clearing"),
    ] {
        assert_eq!(server.line(&format!("BF.RESERVE {kind} 0.01 100 {options}")), "+OK\r\n");
        let answer = format!("*1\r\n${}\r\n{kind}\r\n", kind.len());
        assert_eq!(server.line(&format!("BF.INFO {kind} KIND")), answer);
    }
}

#[test]
fn which_refuses_more_work_than_a_request_may_make() {
    let mut server = Server::new();
    let mut request = words("BF.WHICH 2000");
    request.resize(2 + 2_000 + 600, b"x".to_vec());
    let answer = String::from_utf8(server.ask(&request)).unwrap();
    assert_eq!(answer, "-ERR filters times items must be at most 1048576\r\n");
}
