//! Accepted and refused input of the parser, and its errors.
#![allow(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use super::{Limits, Malformed, Parser};

type Request = Vec<Vec<u8>>;

/// All requests at the front of `input`, given in pieces that end at `cuts`, and the final result.
fn parse(input: &[u8], cuts: &[usize], limits: &Limits) -> (Vec<Request>, Result<usize, String>) {
    let (mut parser, mut places, mut requests) = (Parser::new(), Vec::new(), Vec::new());
    let mut start = 0;
    for &cut in cuts.iter().chain([&input.len()]) {
        while start < cut {
            let was_skipping = parser.is_skipping();
            match parser.parse(&input[start..cut], &mut places, limits) {
                Ok(Some(bytes)) => {
                    assert!(bytes > 0 && start + bytes <= cut);
                    start += bytes;
                    if was_skipping {
                        assert!(places.is_empty() && parser.take_refusal().is_none());
                        continue;
                    }
                    let words = parser.words(&input[start - bytes..cut], &places);
                    let words = words.iter().map(<[u8]>::to_vec).collect();
                    let refusal = parser.take_refusal();
                    requests.push(refusal.map_or(words, |why| vec![why.into_bytes()]));
                }
                Ok(None) => break,
                Err(Malformed(text)) => return (requests, Err(text)),
            }
        }
    }
    (requests, Ok(start))
}

fn words(input: &[u8]) -> Request {
    let (mut requests, end) = parse(input, &[], &Limits::default());
    assert_eq!(end, Ok(input.len()), "{}", input.escape_ascii());
    assert_eq!(requests.len(), 1);
    requests.remove(0)
}

fn refused(input: &[u8], limits: &Limits) -> String {
    let (_, end) = parse(input, &[], limits);
    let text = end.expect_err(&input.escape_ascii().to_string());
    text.strip_prefix("ERR Protocol error: ").unwrap_or_else(|| panic!("{text}")).to_owned()
}

const STREAM: &[u8] = b"*3\r\n$9\r\nBF.EXISTS\r\n$4\r\nname\r\n$3\r\nk\r\n\r\nPING\r\n\
    *0\r\n\n*-3\r\nECHO \"a\\x41\\n\" 'b\\'c'\n*2\r\n$4\r\nECHO\r\n$12\r\n\
    abcdefghijkl\r\n\r\n  \r\n";

#[test]
fn a_stream_means_the_same_wherever_it_is_cut() {
    let limits = Limits::default();
    let whole = parse(STREAM, &[], &limits);
    assert_eq!(whole.1, Ok(STREAM.len()));
    assert_eq!(whole.0.len(), 9);
    assert_eq!(whole.0[5], [b"ECHO".to_vec(), b"aA\n".to_vec(), b"b'c".to_vec()]);
    for first in 0..STREAM.len() {
        assert_eq!(parse(STREAM, &[first], &limits), whole, "cut at {first}");
    }
    let everywhere: Vec<_> = (0..STREAM.len()).collect();
    assert_eq!(parse(STREAM, &everywhere, &limits), whole);
}

#[test]
fn words_are_bytes_of_any_kind() {
    assert_eq!(words(b"*2\r\n$0\r\n\r\n$4\r\n\r\n\0\xff\r\n"), [&b""[..], b"\r\n\0\xff"]);
    assert_eq!(words(b"\0\xff \x01\n"), [&b"\0\xff"[..], b"\x01"]);
}

#[test]
fn an_array_of_no_words_has_no_words() {
    for input in [&b"*0\r\n"[..], b"*-1\r\n", b"*-10\r\n", b"*-9223372036854775807\r\n", b"\r\n"] {
        assert_eq!(words(input), Request::new());
    }
}

#[test]
fn quotes_work_as_in_redis() {
    assert_eq!(words(b"a\"b c\"\r\n"), [b"ab c"]);
    assert_eq!(words(b"\"\" ''\n"), [b"", b""]);
    assert_eq!(words(b"\"\\x4g\\q\\\"\\t\"\n"), [b"x4gq\"\t"]);
    assert_eq!(words(b"'\\n\\'\"'\n"), [b"\\n'\""]);
    for input in [&b"\"a\n"[..], b"'a\n", b"\"a\"b\n", b"'a'b\n", b"\"\\\"\n", b"a\"\n"] {
        assert_eq!(refused(input, &Limits::default()), "unbalanced quotes in request");
    }
}

#[test]
fn malformed_requests_are_refused_in_the_words_of_redis() {
    let limits = Limits::default();
    let digits = [b"*".as_slice(), &[b'1'; 100]].concat();
    for input in [
        &b"*01\r\n"[..],
        b"*x\r\n",
        b"*\r\n",
        b"*-\r\n",
        b"*-0\r\n",
        b"*+1\r\n",
        b"* 1\r\n",
        b"*1\n",
        b"*1\rx",
        b"*2147483648\r\n",
        b"*99999999999999999999\r\n",
        &digits,
    ] {
        assert_eq!(refused(input, &limits), "invalid multibulk length");
    }
    for bulk in ["-1", "-10", "blabla", "", "01", "536870913", "2000000000", "18446744073709551617"]
    {
        let input = format!("*1\r\n${bulk}\r\n");
        assert_eq!(refused(input.as_bytes(), &limits), "invalid bulk length", "{input}");
    }
    assert_eq!(refused(b"*1\r\n*1\r\n", &limits), "expected '$', got '*'");
    assert_eq!(refused(b"*1\r\n\n", &limits), "expected '$', got '\\n'");
    let line = vec![b'a'; 65_537];
    assert_eq!(refused(&line, &limits), "too big inline request");
    let longer = [&line[..], b"\r\n"].concat();
    assert_eq!(refused(&longer, &limits), "too big inline request");
    assert_eq!(refused(b"*1\r\n$1\r\nabc", &limits), "bulk string without CR LF at its end");
}

#[test]
fn a_browser_gets_no_answer() {
    for input in [&b"POST / HTTP/1.1\r\n"[..], b"post /\n", b"Host: localhost\r\n", b"hOST:\n"] {
        assert_eq!(parse(input, &[], &Limits::default()).1, Err(String::new()));
    }
    assert_eq!(words(b"POSTS\n"), [b"POSTS"]);
}

#[test]
fn errors_mention_a_missing_login() {
    let limits = Limits::UNAUTHENTICATED;
    assert_eq!(refused(b"*11\r\n", &limits), "unauthenticated multibulk length");
    assert_eq!(refused(b"*1\r\n$16385\r\n", &limits), "unauthenticated bulk length");
    assert_eq!(refused(b"*1\r\n$-1\r\n", &limits), "invalid bulk length");
    assert_eq!(parse(b"*10\r\n$16384\r\n", &[], &limits).1, Ok(0));
}

#[test]
fn only_a_part_of_a_filter_may_be_large() {
    let limits = Limits::default();
    let chunk = limits.max_chunk_bytes;
    let head = |name: &str, bytes: u32| format!("*2\r\n${}\r\n{name}\r\n${bytes}\r\n", name.len());
    assert_eq!(parse(head("bf.LoadChunk", chunk).as_bytes(), &[], &limits).1, Ok(0));
    for (input, setting) in [
        (head("BF.LOADCHUNK", chunk + 1), "max_chunk_bytes"),
        (head("BF.ADD", 1_048_577), "max_word_bytes"),
        // For a first word the command is not known yet.
        ("*1\r\n$16777216\r\n".to_owned(), "max_word_bytes"),
    ] {
        let (requests, end) = parse(input.as_bytes(), &[], &limits);
        assert_eq!(end, Ok(input.len()), "{input}");
        let why = String::from_utf8(requests[0][0].clone()).unwrap();
        assert!(why.starts_with("ERR a word has ") && why.contains(setting), "{why}");
    }
}

/// Requests that exceed a limit, each with a word that occurs nowhere else, followed by a `PING`.
fn too_large() -> (Vec<u8>, Vec<&'static str>) {
    let mut input = b"PING\r\n*5\r\n$4\r\nECHO\r\n".to_vec();
    input.extend_from_slice(&b"$3\r\nabc\r\n".repeat(4));
    input.extend_from_slice(b"*2\r\n$4\r\nECHO\r\n$11\r\n$1\r\na\r\n*1\r\n\r\nPING\r\n");
    input.extend_from_slice(b"*3\r\n$10\r\n0123456789\r\n$9\r\n012345678\r\n$10\r\n0123456789\r\n");
    input.extend_from_slice(b"*1\r\n$4\r\nPING\r\na b c d e\nPING\r\n");
    let expected = vec![
        "PING",
        "ERR the request has 5 words, above the limit of 4 (max_words); send it in parts",
        "ERR a word has 11 bytes, above the limit of 10 (max_word_bytes); send it in parts",
        "PING",
        "ERR the request has more than 40 bytes (max_request_bytes); send it in parts",
        "PING",
        "ERR the request has 5 words, above the limit of 4 (max_words); send it in parts",
        "PING",
    ];
    (input, expected)
}

#[test]
fn oversized_requests_are_refused_with_the_limit_and_the_next_one_is_read() {
    let limits = Limits {
        max_words: 4,
        max_word_bytes: 10,
        max_chunk_bytes: 10,
        max_request_bytes: 40,
        unauthenticated: false,
    };
    let (input, expected) = too_large();
    let expected: Vec<Request> =
        expected.iter().map(|text| vec![text.as_bytes().to_vec()]).collect();
    let whole = (expected, Ok(input.len()));
    assert_eq!(parse(&input, &[], &limits), whole);
    for first in 0..input.len() {
        assert_eq!(parse(&input, &[first], &limits), whole, "cut at {first}");
    }
    let everywhere: Vec<_> = (0..input.len()).collect();
    assert_eq!(parse(&input, &everywhere, &limits), whole);
}

#[test]
fn the_rest_of_a_refused_request_is_held_to_the_protocol() {
    let limits = Limits { max_words: 1, ..Limits::default() };
    for (input, error) in [
        (&b"*2\r\nPING\r\n"[..], "expected '$', got 'P'"),
        (b"*2\r\n$4\r\nPINGPING", "bulk string without CR LF at its end"),
        (b"*2\r\n$-1\r\n", "invalid bulk length"),
        (b"*2\r\n$536870913\r\n", "invalid bulk length"),
        (b"*2\r\n$x", "invalid bulk length"),
    ] {
        let (requests, end) = parse(input, &[], &limits);
        assert_eq!(requests.len(), 1);
        assert_eq!(end, Err(format!("ERR Protocol error: {error}")));
    }
}

#[test]
fn a_million_words_are_a_request() {
    let words = 1 << 20;
    let mut input = format!("*{words}\r\n").into_bytes();
    input.extend_from_slice(&b"$0\r\n\r\n".repeat(words));
    let (requests, end) = parse(&input, &[1000, 1 << 20], &Limits::default());
    assert_eq!((requests.len(), requests[0].len(), end), (1, words, Ok(input.len())));
    let more =
        [format!("*{}\r\n", words + 1).as_bytes(), &b"$0\r\n\r\n".repeat(words + 1)].concat();
    let (requests, end) = parse(&more, &[1000, 1 << 20], &Limits::default());
    assert_eq!((requests.len(), end), (1, Ok(more.len())));
    assert!(requests[0][0].ends_with(b"above the limit of 1048576 (max_words); send it in parts"));
}

#[test]
fn many_small_words_are_a_large_request_too() {
    let limits = Limits { max_request_bytes: 100, ..Limits::default() };
    let word = b"$4\r\nabcd\r\n";
    let input = [b"*11\r\n".to_vec(), word.repeat(11)].concat();
    let (requests, end) = parse(&input, &[], &limits);
    assert_eq!((requests.len(), end), (1, Ok(input.len())));
    assert!(requests[0][0].ends_with(b"more than 100 bytes (max_request_bytes); send it in parts"));
    assert_eq!(parse(&[b"*9\r\n".to_vec(), word.repeat(9)].concat(), &[], &limits).0.len(), 1);
}
