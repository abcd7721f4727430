//! Replies and errors, word for word, in both versions of the protocol.
//!
//! A case is a request as one would type it and its answer in RESP2 and RESP3. In answers `|`
//! stands for the end of a line (the last is left out), `?` for any line, and `...` at the end of a
//! line for any rest of it. [`check`] sends requests through a closure, so that the same cases run
//! against the server's `execute`, through a socket, and against the command.
//!
//! | file | contents |
//! |---|---|
//! | `case.rs` | a request and its answers |
//! | `filters.rs` | `BF.*` |
//! | `cuckoo.rs` | `CF.*` |
//! | `others.rs` | everything but the filters' own commands, and what goes beyond `RedisBloom` |
//! | `text.rs` | requests as one types them, answers as bytes |

mod case;
mod cuckoo;
mod filters;
mod others;
mod text;

use case::Case;
use std::io::{Read, Write};
use std::net::TcpStream;
pub use text::{answer_len, words};

/// Each group begins without any filter.
const GROUPS: [(&str, &[Case]); 19] = [
    ("reserve", filters::RESERVE),
    ("add", filters::ADD),
    ("full", filters::FULL),
    ("insert", filters::INSERT),
    ("info", filters::INFO),
    ("cuckoo reserve", cuckoo::RESERVE),
    ("cuckoo add", cuckoo::ADD),
    ("cuckoo insert", cuckoo::INSERT),
    ("cuckoo info", cuckoo::INFO),
    ("digests", others::DIGESTS),
    ("merge", others::MERGE),
    ("dump", others::DUMP),
    ("which", others::WHICH),
    ("keys", others::KEYS),
    ("expiry", others::EXPIRY),
    ("connection", others::CONNECTION),
    ("server", others::SERVER),
    ("transactions", others::TRANSACTIONS),
    ("unknown", others::UNKNOWN),
];

/// Whether an answer is as expected.
fn fits(answer: &[u8], expected: &str) -> bool {
    let Some(answer) = answer.strip_suffix(b"\r\n") else { return false };
    let answer = String::from_utf8_lossy(answer).replace("\r\n", "|");
    let (mut lines, mut wanted) = (answer.split('|'), expected.split('|'));
    loop {
        let fits = match (lines.next(), wanted.next()) {
            (None, None) => return true,
            (Some(line), Some(wanted)) => match (wanted.strip_suffix("..."), wanted) {
                (Some(start), _) => line.starts_with(start),
                (_, "?") => true,
                // A number of either version: a text or a double.
                (_, "$?") => line.starts_with('$'),
                _ => line == wanted,
            },
            _ => false,
        };
        if !fits {
            return false;
        }
    }
}

/// Sends all cases of a version through `ask`; returns how many.
pub fn check(resp3: bool, mut ask: impl FnMut(&[Vec<u8>]) -> Vec<u8>) -> usize {
    let mut sent = 0;
    ask(&words(if resp3 { "HELLO 3" } else { "HELLO 2" }));
    let mut wrong = Vec::new();
    for (group, cases) in GROUPS {
        assert_eq!(ask(&words("FLUSHALL")), b"+OK\r\n");
        for case in cases {
            let expected = if resp3 { case.resp3 } else { case.resp2 };
            let answer = ask(&words(case.request));
            sent += 1;
            if !fits(&answer, expected) {
                let answer = answer.escape_ascii();
                wrong.push(format!("{group}: {}: {answer}, not {expected}", case.request));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    sent
}

/// The answer through a socket.
pub fn ask(socket: &mut TcpStream, request: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", request.len()).into_bytes();
    for word in request {
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    socket.write_all(&bytes).unwrap();
    let mut answer = Vec::new();
    let mut part = [0; 8_192];
    while answer_len(&answer).is_none() {
        let read = socket.read(&mut part).unwrap();
        assert!(read > 0, "closed after {}", request[0].escape_ascii());
        answer.extend_from_slice(&part[..read]);
    }
    answer
}

#[test]
fn an_expectation_can_fail() {
    assert!(fits(b"*1\r\n:1\r\n", "*1|:1") && fits(b"-ERR a b\r\n", "-ERR ..."));
    assert!(fits(b"*2\r\n+a\r\n:7\r\n", "*2|+a|?"));
    for (answer, expected) in [
        (":1\r\n", ":0"),
        (":1", ":1"),
        ("*1\r\n:1\r\n", "*1"),
        ("*1\r\n", "*1|?"),
        ("-a\r\n", "-ERR ..."),
    ] {
        assert!(!fits(answer.as_bytes(), expected), "{answer:?} {expected}");
    }
    assert_eq!(words("A 'b c' '' '\\x00\\r'"), [&b"A"[..], b"b c", b"", b"\0\r"]);
}
