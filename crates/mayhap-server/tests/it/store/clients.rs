//! Clients of a server in front of Redis: with many requests at once, and while Redis is away.

use super::{Client, config, get, redis};
use crate::support::request;
use mayhap_server::{Config, Server};
use std::io::{Read, Write};
use std::time::Duration;

#[test]
fn pipelined_requests_are_executed_together_and_answered_in_their_order() {
    let Some(redis) = redis() else { return };
    let own = Server::start(Config { port: 0, ..Config::default() }).unwrap();
    let front = Server::start(config(&redis.url())).unwrap();
    let jobs = || {
        let metrics = get(front.http_addresses()[0], "/metrics").1;
        let count = metrics.lines().find_map(|line| line.strip_prefix("mayhap_job_seconds_count "));
        count.unwrap().parse::<u64>().unwrap()
    };
    let (mut own, mut other) = (Client::of(&own), Client::of(&front));
    // Filters so sparse that both agree on every key.
    for name in ["f", "g"] {
        let create = format!("BF.RESERVE {name} 1e-9 20000 NONSCALING");
        assert_eq!(own.ask(&create), other.ask(&create));
    }
    let keys: Vec<String> = (0..400).map(|key| format!("key-{key}")).collect();
    let mut state = 1u64;
    let mut below = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((state >> 33) % bound) as usize
    };
    for round in 0..30 {
        let mut requests: Vec<Vec<&str>> = Vec::new();
        while requests.len() < [10, 300, 3_000][round % 3] {
            let command = ["BF.ADD", "BF.EXISTS", "bf.add"][below(3)];
            let name = ["f", "g"][below(2)];
            let run = [1, 2, 40, 1_100][below(4)];
            requests.extend((0..run).map(|_| vec![command, name, &keys[below(400)]]));
            match below(9) {
                0 => requests.push(vec!["PING"]),
                1 => requests.push(vec!["BF.MADD", name, "a", "b"]),
                2 => requests.push(vec!["BF.ADD", name]),
                3 => requests.push(vec!["BF.EXISTS", name, "a", "b"]),
                4 => requests.push(vec!["NONE", name]),
                _ => {}
            }
        }
        let requests: Vec<&[&str]> = requests.iter().map(Vec::as_slice).collect();
        let part = [usize::MAX, 1_000, 37][round / 3 % 3];
        assert!(own.ask_all(&requests) == other.ask_in_parts(&requests, part), "round {round}");
    }
    let before = jobs();
    let requests: Vec<Vec<&str>> = keys.iter().map(|key| vec!["BF.EXISTS", "f", key]).collect();
    let requests: Vec<&[&str]> = requests.iter().map(Vec::as_slice).collect();
    other.ask_all(&requests);
    assert!(jobs() - before <= 4, "{} for 400 requests", jobs() - before);
    let missing: Vec<&[&str]> = vec![&["BF.ADD", "none", "a"]; 50];
    let refused = other.ask_all(&missing);
    assert_eq!(refused.matches("-ERR not found").count(), 50, "{refused}");
    assert_eq!(refused.lines().count(), 50);
    // Malformed bytes after them: the answers, then an error.
    let mut bytes = request(&["BF.ADD", "f", "last"]);
    bytes.extend_from_slice(b"*1\r\n%nonsense\r\n");
    other.0.write_all(&bytes).unwrap();
    let mut rest = String::new();
    other.0.read_to_string(&mut rest).unwrap();
    assert!(rest.starts_with(":1\r\n-ERR Protocol error"), "{rest}");
}

#[test]
fn while_the_store_is_away_requests_fail_without_waiting_for_it() {
    let Some(redis) = redis() else { return };
    let hurried = Config { store_timeout_ms: 600, ..config(&redis.url()) };
    let front = Server::start(hurried).unwrap();
    let http = front.http_addresses()[0];
    let mut client = Client::of(&front);
    client.ask("BF.RESERVE f 0.01 1000");
    client.ask("BF.ADD f a");
    redis.pause().unwrap();
    let not_sent = "this one was not sent";
    // Failures of all clients count.
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let refused = Client::of(&front).ask("BF.EXISTS f a");
                assert!(refused.starts_with("-ERR redis://"), "{refused}");
                assert!(!refused.contains(not_sent), "{refused}");
            });
        }
    });
    let (mut sent, mut others) = (0, 0);
    for i in 0..1000 {
        for words in ["BF.EXISTS f a", "BF.ADD f b", "BF.INFO f", "EXISTS f", "BF.RESERVE g 0.1 9"]
        {
            let refused = client.ask(words);
            assert!(refused.starts_with("-ERR redis://"), "{words}: {refused}");
            let counts = if refused.contains(not_sent) { &mut others } else { &mut sent };
            *counts += 1;
        }
        // One a second, each for 600 ms.
        assert!(sent <= 50, "{sent} sent, {others} not");
        if i % 100 == 0 {
            assert_eq!(client.ask("PING"), "+PONG\r\n");
        }
    }
    let metrics = get(http, "/metrics").1;
    let unanswered = metrics.lines().find(|line| line.starts_with("mayhap_store_unanswered_total"));
    // Those of the clients, and one look at the filter for this page.
    assert_eq!(unanswered, Some("mayhap_store_unanswered_total 5009"), "{metrics}");
    redis.resume().unwrap();
    let is_back = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        client.ask("BF.EXISTS f a") == ":1\r\n"
    });
    assert!(is_back);
    for _ in 0..100 {
        assert_eq!(client.ask("BF.EXISTS f a"), ":1\r\n");
    }
}

#[test]
fn requests_of_many_clients_are_sent_to_the_store_together() {
    let Some(redis) = redis() else { return };
    let front = Server::start(config(&redis.url())).unwrap();
    // Four keys of eight bits in a command of the store.
    Client::of(&front).ask("BF.RESERVE f 0.001 100000");
    let mut clients: Vec<Client> = (0..64).map(|_| Client::of(&front)).collect();
    let executed = |command: &str| {
        let stats = redis.cli(&["INFO", "commandstats"]).unwrap();
        let calls = stats.split(&format!("cmdstat_{command}:calls=")).nth(1);
        calls.map_or(0, |calls| calls.split(',').next().unwrap().parse::<u64>().unwrap())
    };
    // If the server was busy elsewhere, it may not have read all of them before the store goes on;
    // without sharing it is 64 calls each time.
    let mut fewest = u64::MAX;
    for round in 0..20 {
        for (command, fresh) in [("BF.ADD", 32), ("BF.ADD", 0), ("BF.EXISTS", 64)] {
            let before = executed("bitfield");
            redis.pause().unwrap();
            for (i, client) in clients.iter_mut().enumerate() {
                let key = format!("key-{round}-{}", i / 2);
                client.0.write_all(&request(&[command, "f", &key])).unwrap();
            }
            // Two of them have left, and change nothing for the others.
            let gone = clients.split_off(62);
            std::thread::sleep(Duration::from_millis(500));
            drop(gone);
            redis.resume().unwrap();
            let answers = clients.iter_mut().map(|client| client.ask("PING"));
            let yes = answers.filter(|answer| answer.as_str() == ":1\r\n+PONG\r\n").count();
            assert!(yes + 2 >= fresh.min(62), "{command}: {yes} of {fresh}");
            assert!(yes <= fresh, "{command}: {yes} of {fresh}, each key twice");
            if command == "BF.ADD" {
                let calls = executed("bitfield") - before;
                assert!(calls > 0);
                fewest = fewest.min(calls);
            }
            clients.extend((0..2).map(|_| Client::of(&front)));
        }
        if fewest < 40 {
            break;
        }
    }
    assert!(fewest < 40, "{fewest} calls for 64 keys");
    // Those that wait behind others for too long are told so.
    let hurried = Config { store_timeout_ms: 600, ..config(&redis.url()) };
    let front = Server::start(hurried).unwrap();
    Client::of(&front).ask("BF.EXISTS f a");
    redis.pause().unwrap();
    let mut clients: Vec<Client> = (0..450).map(|_| Client::of(&front)).collect();
    for (i, client) in clients.iter_mut().enumerate() {
        client.0.write_all(&request(&["BF.ADD", "f", &format!("late-{i}")])).unwrap();
    }
    for client in &mut clients {
        let answer = client.ask("PING");
        assert!(answer.starts_with("-ERR redis://") && answer.ends_with("+PONG\r\n"), "{answer}");
    }
    redis.resume().unwrap();
    assert!((0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        Client::of(&front).ask("BF.EXISTS f key-0-1") == ":1\r\n"
    }));
}

/// Whether the store keeps its filters, and evicts them, is not what this server would say of its
/// own.
#[test]
fn settings_say_nothing_of_the_store() {
    let Some(redis) = redis() else { return };
    let front = Server::start(config(&redis.url())).unwrap();
    let mut client = Client::of(&front);
    for name in ["appendonly", "save", "maxmemory-policy", "appendon*"] {
        assert_eq!(client.ask(&format!("CONFIG GET {name}")), "*0\r\n", "{name}");
    }
    assert!(client.ask("CONFIG GET *").contains("\r\nstore\r\n"));
    front.shut_down().unwrap();
}
