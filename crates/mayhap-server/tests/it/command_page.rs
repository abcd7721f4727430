//! docs/commands.md: every example on it is run.

use crate::command::Server;
use mayhap_server::resp::{Limits, Parser};

/// An answer as `redis-cli` shows it, and the bytes after it.
fn shown(bytes: &[u8]) -> (Vec<String>, &[u8]) {
    let line_end = bytes.windows(2).position(|end| end == b"\r\n").unwrap();
    let (line, rest) = (&bytes[1..line_end], &bytes[line_end + 2..]);
    let line = std::str::from_utf8(line).unwrap();
    match bytes[0] {
        b'+' => (vec![line.to_owned()], rest),
        b'-' => (vec![format!("(error) {line}")], rest),
        b':' => (vec![format!("(integer) {line}")], rest),
        b'$' if line == "-1" => (vec!["(nil)".to_owned()], rest),
        b'$' => {
            let (text, rest) = rest.split_at(line.parse().unwrap());
            (vec![format!("\"{}\"", text.escape_ascii())], &rest[2..])
        }
        b'*' if line == "0" => (vec!["(empty array)".to_owned()], rest),
        b'*' => {
            let (count, mut rest): (usize, _) = (line.parse().unwrap(), rest);
            let width = line.len();
            let mut lines = Vec::new();
            for i in 1..=count {
                let (element, left) = shown(rest);
                rest = left;
                for (at, line) in element.into_iter().enumerate() {
                    let head =
                        if at == 0 { format!("{i:width$}) ") } else { " ".repeat(width + 2) };
                    lines.push(head + &line);
                }
            }
            (lines, rest)
        }
        other => panic!("{} is not an answer of RESP2", other.escape_ascii()),
    }
}

/// The words of a line as `redis-cli` reads it.
fn words(line: &str) -> Vec<Vec<u8>> {
    let bytes = format!("{line}\r\n").into_bytes();
    let (mut parser, mut places) = (Parser::new(), Vec::new());
    let parsed = parser.parse(&bytes, &mut places, &Limits::default()).unwrap();
    assert_eq!(parsed, Some(bytes.len()), "{line}");
    parser.words(&bytes, &places).iter().map(<[u8]>::to_vec).collect()
}

#[test]
fn every_example_of_the_page_answers_as_it_says() {
    let page = include_str!("../../../../docs/commands.md");
    let mut run = 0;
    for block in page.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        let mut server = Server::new();
        let mut examples = block.split("> ").skip(1).peekable();
        assert!(examples.peek().is_some(), "{block}");
        for example in examples {
            let (request, expected) = example.split_once('\n').unwrap();
            let answer = server.ask(&words(request));
            let (lines, rest) = shown(&answer);
            assert!(rest.is_empty());
            assert_eq!(lines.join("\n"), expected.trim_end_matches('\n'), "{request}");
            run += 1;
        }
    }
    println!("{run} examples");
    assert!(run >= 55, "{run}");
}

/// The names in the first column of the tables that are commands.
#[test]
fn every_command_is_on_the_page_and_nothing_else_is() {
    let page = include_str!("../../../../docs/commands.md");
    let mut server = Server::new();
    for name in crate::command::all_commands(&mut server) {
        let name = name.to_uppercase();
        let found = page.match_indices(&name).any(|(at, _)| page[..at].ends_with('`'));
        assert!(found, "{name} is not on the page");
    }
    let families = ["`BF.", "`CF."].into_iter().flat_map(|family| page.match_indices(family));
    for start in families.map(|(at, _)| at + 1) {
        let name: String =
            page[start..].chars().take_while(|c| c.is_ascii_uppercase() || *c == '.').collect();
        if ["BF.LOAD", "CF.DEBUG", "BF.", "CF."].contains(&&*name) {
            continue; // Documented as missing, or a family.
        }
        let answer = server.line(&format!("COMMAND INFO {name}"));
        assert!(answer.starts_with("*1\r\n*10"), "{name}: {answer}");
    }
}
