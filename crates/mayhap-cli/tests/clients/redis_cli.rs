//! `redis-cli` and `redis-benchmark`, as shipped with Redis.

use crate::server::Server;
use std::io::Write;
use std::process::{Command, Stdio};
use test_servers::ready;

/// The output of a tool of Redis for this input; it must succeed.
fn run(program: &str, server: &Server, arguments: &[&str], input: &[u8]) -> String {
    let mut child = Command::new(program)
        .args(["-p", &server.port.to_string()])
        .args(arguments)
        .current_dir(server.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    let _ = writer.join().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap() + &errors
}

/// Checks for the programs of Redis.
fn tools() -> bool {
    ready(&["redis-cli", "redis-benchmark"])
}

#[test]
fn the_page_of_commands_is_what_redis_cli_shows() {
    if !tools() {
        return;
    }
    let server = Server::start(&[]);
    let page = include_str!("../../../../docs/commands.md");
    let mut blocks = 0;
    for block in page.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap();
        assert_eq!(run("redis-cli", &server, &["FLUSHALL"], b""), "OK\n");
        let (mut requests, mut expected) = (Vec::new(), Vec::new());
        for line in block.lines() {
            match line.strip_prefix("> ") {
                Some(request) => requests.push(request),
                None => expected.push(line),
            }
        }
        let shown = run("redis-cli", &server, &["--no-raw"], requests.join("\n").as_bytes());
        // It puts an empty line after an error.
        let shown: Vec<&str> = shown.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(shown, expected, "{requests:?}");
        blocks += 1;
    }
    assert!(blocks >= 12, "{blocks}");
}

#[test]
fn redis_cli_shows_booleans_and_maps_of_the_new_protocol() {
    if !tools() {
        return;
    }
    let server = Server::start(&[]);
    let requests = b"BF.RESERVE f 0.01 5000 NONSCALING\nBF.MADD f a b a\nBF.EXISTS f c\n\
        BF.INFO f CAPACITY\nBF.INFO f ERROR\nBF.INFO f EXPANSION\nBF.CARD f\n";
    let shown = run("redis-cli", &server, &["-3", "--no-raw"], requests);
    let wanted = "OK\n1) (true)\n2) (true)\n3) (false)\n(false)\n\
        1# Capacity => (integer) 5000\n1# Error rate => (double) 0.01\n\
        1# Expansion rate => (nil)\n(integer) 2\n";
    assert_eq!(shown, wanted);
}

#[test]
fn the_tools_of_redis_work() {
    if !tools() {
        return;
    }
    let server = Server::start(&[]);
    let cli = |arguments: &[&str], input: &[u8]| run("redis-cli", &server, arguments, input);
    // Raw requests from a pipe.
    let items = 10_000;
    let request = |i| format!("*3\r\n$6\r\nBF.ADD\r\n$1\r\nf\r\n$5\r\n{i:05}\r\n");
    let requests = (0..items).map(request).collect::<Vec<_>>().concat();
    let said = cli(&["--pipe"], requests.as_bytes());
    assert!(said.contains(&format!("errors: 0, replies: {items}")), "{said}");
    assert!(cli(&["BF.CARD", "f"], b"").trim().parse::<u64>().unwrap() > 9_800);
    // The last word from stdin, names one by one, a number of requests.
    assert_eq!(cli(&["-x", "BF.EXISTS", "f"], b"00042"), "1\n");
    cli(&["BF.ADD", "g", "a"], b"");
    let names = cli(&["--scan", "--pattern", "?"], b"");
    assert_eq!(names.lines().collect::<std::collections::BTreeSet<_>>(), ["f", "g"].into());
    assert_eq!(cli(&["-r", "3", "PING"], b""), "PONG\nPONG\nPONG\n");
    // The lack of Redis's own features does not stop it.
    let keys = cli(&["--bigkeys"], b"") + &cli(&["--memkeys"], b"");
    assert!(!keys.contains("rror"), "{keys}");
    let arguments = ["-q", "-n", "2000", "-P", "16", "-c", "5", "-r", "1000"];
    let mut add = arguments.to_vec();
    add.extend(["BF.ADD", "bench", "__rand_int__"]);
    let said = run("redis-benchmark", &server, &add, b"");
    assert!(said.contains("requests per second") && !said.contains("rror"), "{said}");
    let added: u64 = cli(&["BF.CARD", "bench"], b"").trim().parse().unwrap();
    assert!((500..=1000).contains(&added), "{added}");
    assert_eq!(cli(&["SHUTDOWN"], b""), "");
}
