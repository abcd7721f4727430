//! What the parser takes, what it refuses and in which words.
#![allow(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use super::{Limits, Malformed, Parser};

type Request = Vec<Vec<u8>>;

/// All requests at the front of `input`, given in pieces that end at `cuts`, and how it ended.
fn parse(input: &[u8], cuts: &[usize], limits: &Limits) -> (Vec<Request>, Result<usize, String>) {
    let (mut parser, mut places, mut requests) = (Parser::new(), Vec::new(), Vec::new());
    let mut start = 0;
    for &cut in cuts.iter().chain([&input.len()]) {
        while start < cut {
            match parser.parse(&input[start..cut], &mut places, limits) {
                Ok(Some(bytes)) => {
                    assert!(bytes > 0 && start + bytes <= cut);
                    let words = parser.words(&input[start..cut], &places);
                    requests.push(words.iter().map(<[u8]>::to_vec).collect());
                    start += bytes;
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
fn quotes_are_those_of_redis() {
    assert_eq!(words(b"a\"b c\"\r\n"), [b"ab c"]);
    assert_eq!(words(b"\"\" ''\n"), [b"", b""]);
    assert_eq!(words(b"\"\\x4g\\q\\\"\\t\"\n"), [b"x4gq\"\t"]);
    assert_eq!(words(b"'\\n\\'\"'\n"), [b"\\n'\""]);
    for input in [&b"\"a\n"[..], b"'a\n", b"\"a\"b\n", b"'a'b\n", b"\"\\\"\n", b"a\"\n"] {
        assert_eq!(refused(input, &Limits::default()), "unbalanced quotes in request");
    }
}

#[test]
fn what_is_no_request_is_refused_in_the_words_of_redis() {
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
        b"*65537\r\n",
        b"*2147483648\r\n",
        b"*99999999999999999999\r\n",
        &digits,
    ] {
        assert_eq!(refused(input, &limits), "invalid multibulk length");
    }
    for bulk in ["-1", "-10", "blabla", "", "01", "1048577", "2000000000", "18446744073709551617"] {
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
fn a_browser_is_told_nothing() {
    for input in [&b"POST / HTTP/1.1\r\n"[..], b"post /\n", b"Host: localhost\r\n", b"hOST:\n"] {
        assert_eq!(parse(input, &[], &Limits::default()).1, Err(String::new()));
    }
    assert_eq!(words(b"POSTS\n"), [b"POSTS"]);
}

#[test]
fn strangers_are_told_that_they_are() {
    let limits = Limits::STRANGER;
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
    let more = head("BF.LOADCHUNK", chunk + 1);
    assert_eq!(refused(more.as_bytes(), &limits), "invalid bulk length");
    assert_eq!(refused(head("BF.ADD", 1_048_577).as_bytes(), &limits), "invalid bulk length");
    // Of a first word it is not known yet.
    assert_eq!(refused(b"*1\r\n$16777216\r\n", &limits), "invalid bulk length");
}

#[test]
fn many_small_words_are_a_large_request_too() {
    let limits = Limits { max_request_bytes: 100, ..Limits::default() };
    let word = b"$4\r\nabcd\r\n";
    let input = [b"*11\r\n".to_vec(), word.repeat(11)].concat();
    assert_eq!(refused(&input, &limits), "request too large (max_request_bytes)");
    assert_eq!(parse(&[b"*9\r\n".to_vec(), word.repeat(9)].concat(), &[], &limits).0.len(), 1);
}
