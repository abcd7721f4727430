//! Commands on the names of filters in a store, and on their expiry.

use super::{Client, cluster, config, redis, users};
use mayhap_server::{Config, Server};
use std::collections::BTreeSet;
use std::time::Duration;
use test_servers::RedisServer;

/// The bulk strings of an answer.
fn words(answer: &str) -> Vec<&str> {
    let lines: Vec<&str> = answer.split("\r\n").collect();
    lines.windows(2).filter(|pair| pair[0].starts_with('$')).map(|pair| pair[1]).collect()
}

/// The names of a whole scan, and the number of its pages.
fn scanned(client: &mut Client, options: &str) -> (Vec<String>, usize) {
    let (mut names, mut cursor, mut pages) = (Vec::new(), "0".to_owned(), 0);
    loop {
        let answer = client.ask(&format!("SCAN {cursor}{options}"));
        let mut words = words(&answer).into_iter().map(str::to_owned);
        cursor = words.next().unwrap_or_else(|| panic!("{answer}"));
        names.extend(words);
        pages += 1;
        if cursor == "0" {
            return (names, pages);
        }
    }
}

fn set(names: impl IntoIterator<Item = impl Into<String>>) -> BTreeSet<String> {
    names.into_iter().map(Into::into).collect()
}

/// The number of an answer.
fn number(answer: &str) -> i64 {
    let number = answer.strip_prefix(':').and_then(|rest| rest.trim_end().parse().ok());
    number.unwrap_or_else(|| panic!("{answer}"))
}

/// The seconds until each key in the store expires.
fn ttls(redis: &RedisServer) -> Vec<i64> {
    let keys = redis.cli(&["KEYS", "*"]).unwrap();
    let ttl = |key: &str| redis.cli(&["TTL", key]).unwrap().trim().parse().unwrap();
    keys.lines().filter(|key| !key.is_empty()).map(ttl).collect()
}

#[test]
fn no_filter_has_a_name_that_cannot_be_one() {
    let Some(redis) = redis() else { return };
    let own = Server::start(Config { port: 0, ..Config::default() }).unwrap();
    let front = Server::start(config(&redis.url())).unwrap();
    let (mut own, mut front) = (Client::of(&own), Client::of(&front));
    own.ask("BF.RESERVE f 0.01 100");
    front.ask("BF.RESERVE f 0.01 100");
    let long = "x".repeat(600);
    for name in ["a{b", "}", "{a}b", &long] {
        for words in [
            "EXISTS @",
            "EXISTS @ f",
            "TOUCH @",
            "TYPE @",
            "TTL @",
            "PTTL @",
            "PERSIST @",
            "EXPIRE @ 100",
            "PEXPIRE @ 100",
            "EXPIRE @ -1",
            "EXPIRE @ x",
            "RENAME @ g",
            "RENAMENX @ g",
            "DEL @",
            "UNLINK @ @",
        ] {
            let words = words.replace('@', name);
            assert_eq!(front.ask(&words), own.ask(&words), "{words}");
        }
        for words in ["BF.ADD @ a", "BF.EXISTS @ a", "BF.RESERVE @ 0.01 100", "RENAME f @"] {
            let words = words.replace('@', name);
            let refused = front.ask(&words);
            assert!(refused.starts_with("-ERR ") && refused.contains("name"), "{refused}");
        }
    }
    let words = |word| [&b"*2\r\n$6\r\nEXISTS\r\n$2\r\n"[..], word, b"\r\n"].concat();
    assert_eq!(front.ask_bytes(&words(b"\xff\xfe")), ":0\r\n");
    assert_eq!(front.ask("EXISTS f"), ":1\r\n");
}

#[test]
fn names_and_expiry_are_answered_as_by_a_server_with_its_own_filters() {
    let Some(redis) = redis() else { return };
    let own = Server::start(Config { port: 0, ..Config::default() }).unwrap();
    let pattern = format!("KEYS {}", "x".repeat(5_000));
    for hello in ["HELLO 2", "HELLO 3"] {
        let front = Server::start(config(&redis.url())).unwrap();
        let (mut own, mut front) = (Client::of(&own), Client::of(&front));
        own.ask(hello);
        front.ask(hello);
        for words in [
            "DBSIZE",
            "KEYS *",
            "SCAN 0",
            "TYPE f",
            "TTL f",
            "PTTL f",
            "EXPIRE f 10",
            "PERSIST f",
            "BF.RESERVE f 0.001 100000 NONSCALING",
            "BF.ADD f a",
            "DBSIZE",
            "KEYS *",
            "KEYS g*",
            "SCAN 0",
            "SCAN 0 COUNT 1",
            "SCAN 0 MATCH ? COUNT 100 TYPE MBbloom--",
            "SCAN 0 MATCH ??",
            "SCAN 0 TYPE string",
            "SCAN x",
            "SCAN 0 COUNT 0",
            "SCAN 0 COUNT x",
            "SCAN 0 ODD 1",
            "SCAN 0 MATCH",
            "SCAN",
            "KEYS",
            &pattern,
            "TYPE f",
            "TYPE f g",
            "TOUCH f g f",
            "TTL f",
            "PTTL f",
            "EXPIRE f 1000",
            "PEXPIRE f 2000000",
            "PERSIST f",
            "PERSIST f",
            "TTL f",
            "EXPIRE f x",
            "EXPIRE f",
            "EXPIRE f 10 ODD",
            "EXPIRE f 10 NX XX",
            "EXPIRE f 9223372036854775807",
            "PEXPIRE f 9223372036854775807",
            "EXPIRE f -9223372036854775808",
            "BF.EXISTS f a",
            "EXPIRE f 0",
            "EXPIRE f -1",
            "EXISTS f",
            "TYPE f",
            "BF.RESERVE f 0.001 1000 NONSCALING",
            "PEXPIRE f -5",
            "DBSIZE",
        ] {
            assert_eq!(front.ask(words), own.ask(words), "{hello}: {words}");
        }
        assert!(ttls(&redis).is_empty());
    }
    own.shut_down().unwrap();
}

#[test]
fn all_keys_of_a_filter_in_a_store_expire_together() {
    let Some(redis) = redis() else { return };
    let front = Server::start(config(&redis.url())).unwrap();
    let mut client = Client::of(&front);
    assert_eq!(client.ask("BF.RESERVE f 0.0001 1000000"), "+OK\r\n");
    assert_eq!(client.ask("BF.ADD f a"), ":1\r\n");
    assert!(ttls(&redis).len() > 2 && ttls(&redis).iter().all(|&ttl| ttl == -1));
    assert_eq!(client.ask("EXPIRE f 1000"), ":1\r\n");
    let left = ttls(&redis);
    assert!(left.iter().all(|ttl| (900..=1000).contains(ttl)), "{left:?}");
    assert!((900..=1000).contains(&number(&client.ask("TTL f"))));
    assert!((900_000..=1_000_000).contains(&number(&client.ask("PTTL f"))));
    assert_eq!(client.ask("PERSIST f"), ":1\r\n");
    assert!(ttls(&redis).iter().all(|&ttl| ttl == -1));
    for option in ["NX", "XX", "GT", "LT"] {
        let refused = client.ask(&format!("EXPIRE f 10 {option}"));
        assert!(refused.starts_with("-ERR NX, XX, GT and LT are not for filters"), "{refused}");
    }
    assert_eq!(client.ask("TTL f"), ":-1\r\n", "what was refused changed nothing");

    assert_eq!(client.ask("PEXPIRE f 1"), ":1\r\n");
    let is_gone = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        client.ask("EXISTS f") == ":0\r\n"
    });
    assert!(is_gone && ttls(&redis).is_empty());
    // By its kept handle too: an expired filter has no "surely not".
    assert!(client.ask("BF.EXISTS f a").starts_with("-ERR not found"));
    assert_eq!(client.ask("TTL f"), ":-2\r\n");
    assert_eq!(client.ask("BF.RESERVE f 0.0001 100"), "+OK\r\n");
    assert_eq!(client.ask("BF.ADD f a"), ":1\r\n");
}

#[test]
fn a_scan_has_the_names_of_all_filters_of_a_cluster_and_no_keys_of_others() {
    let Some((cluster, url)) = cluster() else { return };
    let front = Server::start(config(&url)).unwrap();
    let own = Server::start(Config { port: 0, ..Config::default() }).unwrap();
    let (mut client, mut own) = (Client::of(&front), Client::of(&own));
    let all = set((0..120).map(|i| format!("{}:{i}", ["shop", "log"][i % 2])));
    let reserve: Vec<String> = all.iter().map(|name| format!("BF.RESERVE {name} 0.01 9")).collect();
    for words in &reserve {
        assert_eq!((client.ask(words), own.ask(words)), ("+OK\r\n".into(), "+OK\r\n".into()));
    }
    // With many shards.
    client.ask("BF.RESERVE log:large 0.0001 10000000");
    own.ask("BF.RESERVE log:large 0.0001 10");
    for node in cluster.nodes() {
        // One of them has its slot.
        let _ = node.cli(&["SET", "log:other", "a"]);
    }
    for options in ["", " COUNT 7", " MATCH shop:*", " MATCH shop:1? COUNT 50", " TYPE hash"] {
        let (names, pages) = scanned(&mut client, options);
        assert_eq!(set(names.clone()), set(scanned(&mut own, options).0), "{options}");
        assert_eq!(names.len(), set(names).len(), "{options}: each once");
        assert!(options.contains("50") || pages > 9, "{options}: {pages} pages");
    }
    for request in ["KEYS *", "KEYS *:1*", "KEYS none"] {
        let (found, expected) = (client.ask(request), own.ask(request));
        assert_eq!(set(words(&found)), set(words(&expected)), "{request}");
    }
    assert_eq!(client.ask("DBSIZE"), ":121\r\n");
    assert_eq!(client.ask("TYPE log:large"), "+MBbloom--\r\n");
    assert_eq!(client.ask("EXPIRE log:large 1000"), ":1\r\n");
    assert!((900..=1000).contains(&number(&client.ask("TTL log:large"))));
    assert_eq!(client.ask("EXPIRE log:large 0"), ":1\r\n");
    assert_eq!(client.ask("DBSIZE"), ":120\r\n");
}

#[test]
fn users_find_the_names_under_their_prefix_and_change_no_others() {
    let Some(redis) = redis() else { return };
    let plain = Server::start(config(&redis.url())).unwrap();
    for name in ["shop:a", "shop:b", "log:a"] {
        assert_eq!(Client::of(&plain).ask(&format!("BF.RESERVE {name} 0.01 9")), "+OK\r\n");
    }
    let front = Server::start(Config { users: users(), ..config(&redis.url()) }).unwrap();
    let mut client = Client::of(&front);
    assert_eq!(client.ask("AUTH writer long-enough-password"), "+OK\r\n");
    assert_eq!(set(words(&client.ask("KEYS *"))), set(["shop:a", "shop:b"]));
    assert_eq!(set(scanned(&mut client, " COUNT 1").0), set(["shop:a", "shop:b"]));
    assert_eq!(client.ask("DBSIZE"), ":2\r\n");
    for words in ["TYPE log:a", "TTL log:a", "EXPIRE log:a 9", "PERSIST log:a", "TOUCH log:a"] {
        assert!(client.ask(words).starts_with("-NOPERM"), "{words}");
    }
    assert_eq!(client.ask("EXPIRE shop:a 900"), ":1\r\n");
    assert_eq!(client.ask("AUTH reader long-enough-password"), "+OK\r\n");
    assert!((800..=900).contains(&number(&client.ask("TTL shop:a"))));
    for words in ["EXPIRE shop:a 9", "PERSIST shop:a"] {
        assert!(client.ask(words).starts_with("-NOPERM"), "{words}");
    }
}

#[test]
fn a_deletion_of_several_filters_that_is_refused_deletes_none() {
    let Some(redis) = redis() else { return };
    let front = Server::start(config(&redis.url())).unwrap();
    let mut client = Client::of(&front);
    for name in ["a", "b"] {
        assert_eq!(client.ask(&format!("BF.RESERVE {name} 0.01 100")), "+OK\r\n");
    }
    redis.cli(&["SET", "{text}:meta", "hello"]).unwrap();
    redis.cli(&["HSET", "{hash}:meta", "a", "b"]).unwrap();
    for (words, why) in [
        ("UNLINK a text b", "{text}:meta holds something other than a filter"),
        ("DEL a b hash", "{hash}:meta is damaged"),
    ] {
        let refused = client.ask(words);
        assert!(refused.starts_with("-ERR ") && refused.contains(why), "{words}: {refused}");
        assert_eq!(client.ask("EXISTS a b"), ":2\r\n", "{words}");
    }
    assert_eq!(client.ask("DEL a none b o{d a"), ":2\r\n");
    assert_eq!(client.ask("EXISTS a b"), ":0\r\n");
    front.shut_down().unwrap();
}

/// Another server may have deleted it a moment ago, which only a call with keys would find.
#[test]
fn a_filter_that_is_created_without_items_is_there() {
    let Some(redis) = redis() else { return };
    let [one, other] = [(); 2].map(|()| Server::start(config(&redis.url())).unwrap());
    let (mut client, mut deleter) = (Client::of(&one), Client::of(&other));
    for _ in 0..2 {
        assert_eq!(client.ask("BF.RESERVE f 0.01 100"), "+OK\r\n");
        assert_eq!(client.ask("BF.ADD f a"), ":1\r\n");
        assert_eq!(deleter.ask("DEL f"), ":1\r\n");
        let refused = client.ask("BF.INSERT f NOCREATE");
        assert!(refused.starts_with("-ERR not found"), "{refused}");
        assert_eq!(client.ask("BF.INSERT f CAPACITY 10"), "*0\r\n");
        assert_eq!(client.ask("BF.EXISTS f a"), ":0\r\n", "there, and empty");
        assert_eq!(deleter.ask("DEL f"), ":1\r\n");
    }
    one.shut_down().unwrap();
    other.shut_down().unwrap();
}
