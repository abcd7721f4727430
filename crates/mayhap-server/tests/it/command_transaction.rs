//! `MULTI` and `EXEC`, in which clients wrap their pipelines.

use crate::command::Server;
use mayhap_server::Config;

#[test]
fn queued_requests_are_executed_in_order_with_an_answer_each() {
    let mut server = Server::new();
    for resp in [2, 3] {
        server.line(&format!("HELLO {resp}"));
        let [yes, no] = if resp == 3 { ["#t", "#f"] } else { [":1", ":0"] };
        assert_eq!(server.line("MULTI"), "+OK\r\n");
        for request in ["BF.ADD f a", "BF.MADD f b a", "BF.RESERVE f 0.01 10", "bf.exists f b"] {
            assert_eq!(server.line(request), "+QUEUED\r\n");
        }
        assert!(server.shared.keyspace.get(b"f", server.turn.work.now).is_none(), "nothing yet");
        server.turn.wrote = false;
        let answer = format!("*4\r\n{yes}\r\n*2\r\n{yes}\r\n{no}\r\n-ERR item exists\r\n{yes}\r\n");
        assert_eq!(server.line("EXEC"), answer);
        assert!(server.turn.wrote, "it depends on the log");
        assert_eq!(server.line("EXEC"), "-ERR EXEC without MULTI\r\n");
        assert_eq!(server.line("DEL f"), ":1\r\n");
    }
    server.line("MULTI");
    assert_eq!(server.line("EXEC"), "*0\r\n");
}

#[test]
fn nothing_is_executed_after_a_discard_or_a_refused_request() {
    let mut server = Server::new();
    let abort = "-EXECABORT Transaction discarded because of previous errors.\r\n";
    for wrong in ["FOO", "BF.ADD f", "HELLO 3", "AUTH x", "SHUTDOWN", "MULTI"] {
        server.line("MULTI");
        server.line("BF.ADD f a");
        assert!(server.line(wrong).starts_with("-ERR "), "{wrong}");
        assert_eq!(server.line("EXEC"), abort, "{wrong}");
    }
    for end in ["DISCARD", "RESET"] {
        server.line("MULTI");
        server.line("BF.ADD f a");
        server.line(end);
        assert_eq!(server.line("EXEC"), "-ERR EXEC without MULTI\r\n", "{end}");
    }
    assert_eq!(server.line("DISCARD"), "-ERR DISCARD without MULTI\r\n");
    assert_eq!(server.line("EXISTS f"), ":0\r\n");
}

#[test]
fn a_transaction_is_no_larger_than_a_request() {
    let config = Config { max_words: 10, max_request_bytes: 100, ..Config::default() };
    let mut server = Server::with(config, |_| {});
    server.line("MULTI");
    for _ in 0..3 {
        assert_eq!(server.line("BF.ADD f a"), "+QUEUED\r\n");
    }
    let refused = server.line("BF.ADD f a");
    assert!(refused.contains("at most 10 words (max_words)"), "{refused}");
    assert!(server.line("EXEC").starts_with("-EXECABORT "));
    server.line("MULTI");
    let refused = server.line(&format!("ECHO {}", "x".repeat(97)));
    assert!(refused.contains("at most 100 bytes (max_request_bytes)"), "{refused}");
}

/// A few bytes can request many answers: not all queued requests are executed.
#[test]
fn the_answers_of_a_transaction_are_bounded() {
    let mut server = Server::new();
    for i in 0..1000 {
        server.line(&format!("BF.RESERVE {}{i} 0.01 1", "n".repeat(1000)));
    }
    server.line("MULTI");
    for _ in 0..200 {
        assert_eq!(server.line("KEYS *"), "+QUEUED\r\n");
    }
    let answer = server.line("EXEC");
    assert!(answer.len() <= 64 << 20, "{}", answer.len());
    let last = answer.rsplit('\n').nth(1).unwrap();
    assert!(last.starts_with("-ERR the answer would have "), "{last}");
    assert!(last.contains("above the limit of 67108864"), "{last}");
    // The next request has the whole allowance again.
    assert!(server.line("KEYS *").starts_with("*1000\r\n"));
}
