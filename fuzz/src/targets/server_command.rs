//! Streams of a client → requests → commands on a server with small limits.
//!
//! Oracles: exactly one whole answer for each request, in the version of the protocol in force,
//! except for a `SHUTDOWN` that is executed; filters stay within the limits; memory is bounded by
//! them, not by the requested sizes; afterwards the server serves as before, and gives all memory
//! back.
use mayhap::SecretKey;
use mayhap_fuzz::limited_to;
use mayhap_server::command::{After, execute};
use mayhap_engine::keyspace::{Keyspace, Options, Upkeep};
use mayhap_server::resp::{Limits, Parser};
use mayhap_server::{Config, Session, Shared, Turn};
use std::sync::{Arc, OnceLock};

const MAX_FILTER_BYTES: u64 = 1 << 18;
const MAX_MEMORY: u64 = 1 << 20;
/// The limits, an answer, and 16 MiB for everything else.
const ALLOCATION: usize = MAX_MEMORY as usize + (16 << 20);

pub(super) fn run(data: &[u8]) {
    let shared = shared();
    let mut session = Session::new(1, None, shared.config().users.anonymous());
    let mut turn = Turn::default();
    turn.work.now = 1_780_000_000_000;
    limited_to(ALLOCATION, || serve(data, shared, &mut session, &mut turn));
    shared.reload(settings()).expect("the settings of the start");

    let mut other = Session::new(2, None, shared.config().users.anonymous());
    for (request, answer) in [
        (&b"PING\r\n"[..], &b"+PONG\r\n"[..]),
        (b"FLUSHALL\r\n", b"+OK\r\n"),
        (b"BF.ADD f a\r\nBF.EXISTS f a\r\n", b":1\r\n:1\r\n"),
        (b"FLUSHALL\r\n", b"+OK\r\n"),
    ] {
        assert_eq!(serve(request, shared, &mut other, &mut turn), answer);
    }
    // Dumps that are still coming in are forgotten after a minute.
    let later = turn.work.now + 120_000;
    Upkeep::sweep(&shared.keyspace, 0, 10, later, None);
    assert_eq!(shared.keyspace.used_bytes(), 0);
}

/// One server for all inputs, since each has to leave it as it was: sizes of filters that it has
/// computed once are kept, which take most of the time.
fn shared() -> &'static Shared {
    static SHARED: OnceLock<Arc<Shared>> = OnceLock::new();
    SHARED.get_or_init(|| {
        let mut options = Options::new(SecretKey::new([7; 16]));
        options.max_filter_bytes = MAX_FILTER_BYTES;
        options.max_memory = MAX_MEMORY;
        Shared::new(settings(), Keyspace::new(options), None)
    })
}

fn settings() -> Config {
    Config { max_memory: Some(MAX_MEMORY), ..Config::default() }
}

/// Executes the requests in these bytes; returns the last answer, except for long streams.
fn serve(mut input: &[u8], shared: &Shared, session: &mut Session, turn: &mut Turn) -> Vec<u8> {
    let (mut parser, mut places, mut answers) = (Parser::new(), Vec::new(), Vec::new());
    while let Ok(Some(used)) = parser.parse(input, &mut places, &Limits::default()) {
        let words = parser.words(input, &places);
        if !places.is_empty() {
            let mut out = Vec::new();
            let after = execute(words, session, shared, turn, &mut out);
            let shut = out.is_empty() && matches!(after, After::Shutdown { .. });
            assert!(shut || whole(&out) == Some(out.len()), "{}", out.escape_ascii());
            if shared.config().max_memory != Some(MAX_MEMORY) {
                // `CONFIG SET`, which lasts for this request.
                shared.reload(settings()).expect("the settings of the start");
            }
            let used = shared.keyspace.used_bytes();
            assert!(used <= MAX_MEMORY, "{used} bytes");
            answers.append(&mut out);
            answers.truncate(100);
            if !matches!(after, After::Go) {
                break;
            }
        }
        input = &input[used..];
    }
    answers
}

/// The length of the first answer in these bytes, if it is whole.
fn whole(bytes: &[u8]) -> Option<usize> {
    let line = bytes.windows(2).position(|end| end == b"\r\n")? + 2;
    let text = std::str::from_utf8(&bytes[1..line - 2]);
    let number = || text.ok()?.parse::<i64>().ok();
    let many =
        |count: i64| (0..count).try_fold(line, |end, _| Some(end + whole(bytes.get(end..)?)?));
    match bytes[0] {
        b'+' | b'-' => Some(line),
        b':' => number().map(|_| line),
        b'#' => matches!(&bytes[1..line], b"t\r\n" | b"f\r\n").then_some(line),
        b'_' => (line == 3).then_some(line),
        b',' => text.ok()?.parse::<f64>().ok().map(|_| line),
        b'$' | b'=' => match number()? {
            -1 => Some(line),
            len => {
                let end = line + usize::try_from(len).ok()? + 2;
                (bytes.get(end - 2..end)? == b"\r\n").then_some(end)
            }
        },
        b'*' | b'~' => many(number()?.max(0)),
        b'%' => many(number()?.checked_mul(2)?),
        _ => None,
    }
}
