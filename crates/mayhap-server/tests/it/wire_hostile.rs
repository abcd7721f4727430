//! Clients that send nonsense, too much, too slowly, or do not read.

use crate::support::{Echo, Raw, Running, options, request};
use mayhap_server::net::Options;
use mayhap_server::resp::Limits;
use std::io::{ErrorKind, Read};
use std::time::Duration;

#[test]
fn what_is_no_request_is_told_and_the_connection_closed() {
    let running = Running::new(options());
    let long_line = vec![b'a'; 70_000];
    let digits = format!("*{}", "1".repeat(100));
    let table: &[(&[u8], &str)] = &[
        (b"*01\r\n", "invalid multibulk length"),
        (digits.as_bytes(), "invalid multibulk length"),
        (b"*2147483648\r\n", "invalid multibulk length"),
        (b"*99999999999999999999999\r\n", "invalid multibulk length"),
        (b"*3\n", "invalid multibulk length"),
        (b"*1\r\n$-10\r\n", "invalid bulk length"),
        (b"*1\r\n$2000000000\r\n", "invalid bulk length"),
        (b"*1\r\n$536870913\r\n", "invalid bulk length"),
        (b"*1\r\n$blabla\r\n", "invalid bulk length"),
        (b"*1\r\n*1\r\n$4\r\nPING\r\n", "expected '$', got '*'"),
        (b"*1\r\nPING\r\n", "expected '$', got 'P'"),
        (b"*1\r\n$4\r\nPINGPING\r\n", "bulk string without CR LF at its end"),
        (&long_line, "too big inline request"),
        (b"PING \"a\r\n", "unbalanced quotes in request"),
    ];
    for (bytes, error) in table {
        let mut raw = running.connect();
        raw.send("PING\r\n");
        raw.try_send(bytes);
        // The following requests must neither be executed nor displace the error.
        raw.try_send("PING\r\n".repeat(1000));
        assert_eq!(raw.rest(), format!("+PONG\r\n-ERR Protocol error: {error}\r\n"));
    }
    for ignored in ["*-10\r\n", "*0\r\n", "\r\n", "   \r\n"] {
        let mut raw = running.connect();
        raw.send(ignored);
        raw.call(&["PING"], "+PONG\r\n");
    }
    let mut zeros = running.connect();
    zeros.send([0; 64]);
    zeros.silent(&mut running.connect());
}

#[test]
fn oversized_requests_are_refused_and_the_connection_continues() {
    let limits = Limits { max_words: 1000, max_request_bytes: 1 << 20, ..Limits::default() };
    let running = Running::new(Options { limits, ..options() });
    let mut raw = running.connect();
    let many: Vec<&str> = vec!["x"; 70_000];
    let long = "x".repeat((1 << 20) + 1);
    let sum: Vec<&str> = vec![&long[..100_000]; 20];
    for (words, error) in [
        (&many[..], "the request has 70000 words, above the limit of 1000 (max_words)"),
        (&["ECHO", &long], "a word has 1048577 bytes, above the limit of 1048576 (max_word_bytes)"),
        (&sum, "the request has more than 1048576 bytes (max_request_bytes)"),
    ] {
        // Also in the middle of a pipeline.
        let pipeline = [request(&["PING"]), request(words), request(&["ECHO", "next"])].concat();
        raw.send(pipeline);
        raw.expect(format!("+PONG\r\n-ERR {error}; send it in parts\r\n$4\r\nnext\r\n"));
    }
    // The rest is not kept: the connection has the buffer of an idle one.
    let mut giant = running.connect();
    giant.send(format!("*1000000000\r\n{}", "$100000\r\n"));
    let many = "the request has 1000000000 words, above the limit of 1000 (max_words)";
    giant.expect(format!("-ERR {many}; send it in parts\r\n"));
    for _ in 0..200 {
        giant.send([b"y".repeat(100_000), b"\r\n$100000\r\n".to_vec()].concat());
    }
    raw.call(&["PING"], "+PONG\r\n");
    let bytes = running.clients().buffered_bytes();
    assert!(bytes < 200 << 10, "{bytes}");
    giant.send("oops");
    // Taken as the rest of a word, which it is not.
    giant.send("y".repeat(100_000));
    assert_eq!(giant.rest(), "-ERR Protocol error: bulk string without CR LF at its end\r\n");
}

#[test]
fn a_browser_is_hung_up_on_and_its_commands_are_not_carried_out() {
    let running = Running::new(options());
    for head in ["POST / HTTP/1.1\r\n", "Host: localhost:6379\r\n"] {
        let mut raw = running.connect();
        raw.send(format!("{head}Content-Length: 7\r\n\r\nADD k\r\n"));
        assert_eq!(raw.rest(), "");
    }
    assert!(running.engine.requests.lock().unwrap().is_empty());
}

#[test]
fn a_stranger_gets_ten_small_words_until_the_login() {
    let running = Running::with(options(), Echo::with_logins());
    let mut raw = running.connect();
    raw.send("*11\r\n");
    assert_eq!(raw.rest(), "-ERR Protocol error: unauthenticated multibulk length\r\n");
    let mut raw = running.connect();
    raw.send("*2\r\n$16385\r\n");
    assert_eq!(raw.rest(), "-ERR Protocol error: unauthenticated bulk length\r\n");
    let mut raw = running.connect();
    let word = "x".repeat(16385);
    // In one pipeline: requests after the login have the limits of a logged-in client.
    raw.send([request(&["LOGIN"]), request(&["ECHO", &word])].concat());
    raw.expect(format!("+OK\r\n$16385\r\n{word}\r\n"));
}

#[test]
fn a_thousand_announced_giants_take_no_memory() {
    let limits =
        Limits { max_word_bytes: 1 << 29, max_request_bytes: 1 << 30, ..Limits::default() };
    let running = Running::new(Options { limits, ..options() });
    let mut giants: Vec<_> = (0..1000).map(|_| running.connect()).collect();
    for giant in &mut giants {
        giant.send("*3\r\n$3\r\nADD\r\n$1\r\nx\r\n$536870912\r\ny");
    }
    let mut bystander = running.connect();
    let with_more_than = |bytes| {
        let all = running.clients().list();
        all.iter().filter(|client| client.buffered_bytes() > bytes).count()
    };
    bystander.until(|| with_more_than(0) == 1000);
    // The next part of a request takes no more either.
    for giant in &mut giants {
        giant.send("y".repeat(100));
    }
    bystander.until(|| with_more_than(130) == 1000);
    let bytes = running.clients().buffered_bytes();
    assert!(bytes < 1000 * 512, "{bytes}");
    drop(giants);
    bystander.until(|| running.clients().connected() == 1);
    assert_eq!(running.clients().buffered_bytes(), 0);
}

#[test]
fn clients_that_read_no_answers_wait_and_nobody_else_does() {
    const ANSWERS: usize = 200_000;
    let running = Running::new(options());
    let mut lazy: Vec<_> = (0..20).map(|_| running.connect()).collect();
    let mut bystander = running.connect();
    let pipeline = "BIG 100\r\n".repeat(ANSWERS);
    let threads: Vec<_> = lazy
        .iter()
        .map(|raw| {
            let mut writer = Raw { socket: raw.socket.try_clone().unwrap() };
            let pipeline = pipeline.clone();
            std::thread::spawn(move || writer.send(pipeline))
        })
        .collect();
    let stuck = || {
        let all = running.clients().list();
        all.iter().filter(|client| client.buffered_bytes() > 256 << 10).count()
    };
    bystander.until(|| stuck() == 20);
    // 256 KiB of answers, two eighths more, and one turn's input.
    let mut most = 0;
    let mut look = || {
        let all = running.clients().list();
        most = all.iter().map(|client| client.buffered_bytes()).chain([most]).max().unwrap();
        assert!(most < 400 << 10, "{most} bytes for one client");
    };
    look();
    let answer = format!("$100\r\n{}\r\n", "x".repeat(100));
    for raw in &mut lazy {
        for _ in 0..ANSWERS / 1000 {
            raw.expect(answer.repeat(1000));
            look();
        }
    }
    println!("at most {most} bytes for one client");
    for thread in threads {
        thread.join().unwrap();
    }
    bystander.until(|| running.clients().buffered_bytes() == 0);
}

#[test]
fn a_client_that_never_takes_its_answers_is_closed_and_an_idle_one_is_not() {
    let write_timeout = Duration::from_millis(200);
    let running = Running::new(Options { write_timeout, ..options() });
    let mut idle = running.connect();
    let mut bystander = running.connect();
    let mut lazy = running.connect();
    lazy.send("BIG 50000000\r\n");
    bystander.until(|| running.clients().received() == 3 && running.clients().connected() == 2);
    idle.call(&["PING"], "+PONG\r\n");
    drop(lazy);
}

#[test]
fn a_request_that_never_ends_is_closed_and_an_idle_client_is_not() {
    let request_timeout = Duration::from_millis(200);
    let running = Running::new(Options { request_timeout, ..options() });
    let mut idle = running.connect();
    let mut silent = running.connect();
    silent.send("*2\r\n$4\r\nECHO\r\n$10\r\nabc");
    // A byte now and then is no excuse.
    let mut slow = running.connect();
    slow.socket.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
    let mut got = [0; 100];
    let bytes = loop {
        slow.try_send("x");
        match slow.socket.read(&mut got) {
            Ok(bytes) => break bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => panic!("{error}"),
        }
    };
    let answer = "-ERR the request did not arrive in time (request_timeout)\r\n";
    assert_eq!(&got[..bytes], answer.as_bytes());
    assert_eq!(silent.rest(), answer);
    idle.call(&["PING"], "+PONG\r\n");
}

#[test]
fn a_silent_client_is_closed_if_configured() {
    let idle_timeout = Some(Duration::from_millis(200));
    let running = Running::new(Options { idle_timeout, ..options() });
    assert_eq!(running.connect().rest(), "");
}

#[test]
fn one_client_too_many_gets_an_error_and_may_connect_again() {
    let running = Running::new(Options { max_clients: 2, ..options() });
    let mut first = running.connect();
    let mut second = running.connect();
    first.call(&["PING"], "+PONG\r\n");
    second.call(&["PING"], "+PONG\r\n");
    assert_eq!(running.connect().rest(), "-ERR max number of clients reached\r\n");
    assert_eq!((running.clients().connected(), running.clients().refused()), (2, 1));
    drop(second);
    first.until(|| running.clients().connected() == 1);
    running.connect().call(&["PING"], "+PONG\r\n");
}

#[test]
fn all_buffers_together_have_a_limit() {
    let running = Running::new(Options { max_buffer_bytes: 1 << 20, ..options() });
    let mut bystander = running.connect();
    let mut modest = running.connect();
    let word = "y".repeat(20_000);
    modest.send(format!("*2\r\n$4\r\nECHO\r\n$20000\r\n{}", &word[1..]));
    let mut greedy: Vec<_> = (0..4).map(|_| running.connect()).collect();
    let half = format!("*2\r\n$4\r\nECHO\r\n$1000000\r\n{}", "x".repeat(500_000));
    for raw in &mut greedy {
        raw.try_send(&half);
    }
    bystander.until(|| running.clients().received() == 6 && running.clients().connected() < 6);
    bystander.until(|| running.clients().buffered_bytes() < 1 << 20);
    modest.send("y\r\n");
    modest.expect(format!("$20000\r\n{word}\r\n"));
}

#[test]
fn a_killed_client_is_closed_and_no_other() {
    let running = Running::new(options());
    let mut first = running.connect();
    let mut second = running.connect();
    first.call(&["NAME", "one"], "+OK\r\n");
    second.call(&["NAME", "two"], "+OK\r\n");
    // A turn updates the list before its answers are sent.
    let all = running.clients().list();
    let two = all.iter().find(|client| client.info().name == b"two").unwrap();
    assert_eq!(two.address, Some(second.socket.local_addr().unwrap()));
    assert!(running.clients().kill(two.id) && !running.clients().kill(99));
    assert_eq!(second.rest(), "");
    first.call(&["PING"], "+PONG\r\n");
    assert_eq!(running.clients().list().len(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn ten_thousand_idle_clients_have_no_buffers_and_are_served() {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let files: usize = line.split_whitespace().nth(3).unwrap().parse().unwrap_or(usize::MAX);
    // This process has both ends, and other tests have files too.
    let clients = (files.saturating_sub(2000) / 2).min(10_000);
    if clients < 10_000 {
        println!("only {clients} of 10,000 clients: the limit of open files is {files}");
    }
    let running = Running::new(options());
    let mut all: Vec<_> = (0..clients).map(|_| running.connect()).collect();
    for raw in &mut all {
        raw.call(&["PING"], "+PONG\r\n");
    }
    assert_eq!(running.clients().connected(), clients);
    assert_eq!(running.clients().buffered_bytes(), 0);
    for raw in all.iter_mut().rev() {
        raw.call(&["ECHO", "still here"], "$10\r\nstill here\r\n");
    }
}
