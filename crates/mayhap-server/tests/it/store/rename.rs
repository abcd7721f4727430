//! Other names for filters in a store, while clients of two servers use them.

use super::{Client, cluster, config, redis, users};
use mayhap_server::{Config, Server};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;

#[test]
fn renames_are_answered_as_by_a_server_with_its_own_filters() {
    let Some(redis) = redis() else { return };
    let own = Server::start(Config { port: 0, ..Config::default() }).unwrap();
    for hello in ["HELLO 2", "HELLO 3"] {
        redis.flush().unwrap();
        let front = Server::start(config(&redis.url())).unwrap();
        let (mut own, mut front) = (Client::of(&own), Client::of(&front));
        own.ask(hello);
        front.ask(hello);
        for words in [
            "RENAME a b",
            "RENAMENX a b",
            "RENAME a a",
            "RENAMENX a a",
            "RENAME a",
            "RENAME a b c",
            "BF.RESERVE a 0.001 1000 NONSCALING",
            "BF.RESERVE b 0.001 50000 NONSCALING",
            "BF.ADD a of-a",
            "BF.ADD b of-b",
            "EXPIRE b 1000",
            "RENAMENX a b",
            "BF.EXISTS b of-b",
            "RENAME a a",
            "RENAMENX a a",
            "RENAMENX a c",
            "EXISTS a c",
            "BF.EXISTS c of-a",
            "RENAME c b",
            "BF.EXISTS b of-a",
            "BF.EXISTS b of-b",
            "TTL b",
            "DBSIZE",
            "KEYS *",
            "RENAMENX c b",
            "RENAME b a",
            "BF.ADD a more",
            "BF.CARD a",
            "DEL a",
            "DBSIZE",
        ] {
            assert_eq!(front.ask(words), own.ask(words), "{hello}: {words}");
        }
        assert_eq!(redis.cli(&["DBSIZE"]).unwrap(), "0");
    }
    own.shut_down().unwrap();
}

#[test]
fn values_of_others_are_not_replaced_and_names_have_to_be_names() {
    let Some(redis) = redis() else { return };
    let front = Server::start(config(&redis.url())).unwrap();
    let mut client = Client::of(&front);
    assert_eq!(client.ask("BF.RESERVE f 0.01 1000"), "+OK\r\n");
    redis.cli(&["SET", "taken", "a value"]).unwrap();
    redis.cli(&["HSET", "{mine}:config", "size", "1"]).unwrap();
    redis.cli(&["SET", "{odd}:meta", "a value"]).unwrap();
    for words in ["RENAME", "RENAMENX"] {
        for name in ["taken", "mine", "odd", "a{b", "\u{1}"] {
            let refused = client.ask(&format!("{words} f {name}"));
            assert!(refused.starts_with("-ERR "), "{words} {name}: {refused}");
        }
    }
    assert_eq!(redis.cli(&["GET", "taken"]).unwrap(), "a value");
    assert_eq!(client.ask("BF.ADD f a"), ":1\r\n");
}

#[test]
fn both_names_have_to_be_within_the_rights_of_the_user() {
    let Some(redis) = redis() else { return };
    let front = Server::start(Config { users: users(), ..config(&redis.url()) }).unwrap();
    let mut client = Client::of(&front);
    client.ask("AUTH writer long-enough-password");
    assert_eq!(client.ask("BF.RESERVE shop:f 0.01 100"), "+OK\r\n");
    for words in ["RENAME shop:f other", "RENAMENX other shop:f"] {
        assert!(client.ask(words).starts_with("-NOPERM"), "{words}");
    }
    assert_eq!(client.ask("RENAMENX shop:f shop:g"), ":1\r\n");
    client.ask("AUTH reader long-enough-password");
    assert!(client.ask("RENAME shop:g shop:f").starts_with("-NOPERM"));
    assert_eq!(client.ask("EXISTS shop:g"), ":1\r\n");
}

#[test]
fn a_cluster_refuses_with_the_way_out_and_nothing_has_changed() {
    let Some((_cluster, url)) = cluster() else { return };
    let front = Server::start(config(&url)).unwrap();
    let mut client = Client::of(&front);
    assert_eq!(client.ask("RENAME f g"), "-ERR no such key\r\n");
    assert_eq!(client.ask("BF.RESERVE f 0.01 1000"), "+OK\r\n");
    for words in ["RENAME f g", "RENAMENX f g"] {
        let refused = client.ask(words);
        assert!(refused.starts_with("-ERR ") && refused.contains("mayhap move"), "{refused}");
    }
    assert_eq!(client.ask("RENAME f f"), "+OK\r\n");
    assert_eq!(client.ask("EXISTS f g"), ":1\r\n");
}

/// Writers use either name, whichever their server finds; each keeps the keys that were
/// acknowledged. A server that went on with what it knows of a name would add to nothing.
#[test]
fn no_acknowledged_key_is_in_neither_filter_while_they_are_renamed() {
    let Some(redis) = redis() else { return };
    let fronts = [(); 2].map(|()| Server::start(config(&redis.url())).unwrap());
    let mut renames = Client::of(&fronts[0]);
    assert_eq!(renames.ask("BF.RESERVE a 0.000001 1000000"), "+OK\r\n");
    let (stop, added) = (AtomicBool::new(false), AtomicUsize::new(0));
    let keys: Vec<String> = std::thread::scope(|scope| {
        let write = |i: usize| {
            let (mut client, stop, added) = (Client::of(&fronts[i % 2]), &stop, &added);
            scope.spawn(move || {
                let mut keys = Vec::new();
                for turn in 0.. {
                    if stop.load(Ordering::SeqCst) {
                        break;
                    }
                    let name = ["a", "b"][(turn + i) % 2];
                    let key = format!("{i}-{turn}");
                    let words = match turn % 3 {
                        0 => format!("BF.ADD {name} {key}"),
                        1 => format!("BF.MADD {name} {key}"),
                        _ => format!("BF.INSERT {name} ITEMS {key}"),
                    };
                    let answer = client.ask(&words);
                    if answer.ends_with(":1\r\n") {
                        keys.push(key);
                        added.fetch_add(1, Ordering::SeqCst);
                    } else {
                        assert!(answer.starts_with("-ERR not found"), "{answer}");
                    }
                }
                keys
            })
        };
        let writers: Vec<_> = (0..4).map(write).collect();
        for round in 0..20 {
            let before = added.load(Ordering::SeqCst);
            while added.load(Ordering::SeqCst) < before + 50 {
                assert!(!writers.iter().any(ScopedJoinHandle::is_finished), "a writer failed");
                std::thread::yield_now();
            }
            let words = ["RENAME a b", "RENAMENX b a"][round % 2];
            let answer = renames.ask(words);
            assert!(answer == "+OK\r\n" || answer == ":1\r\n", "{words}: {answer}");
            // At once, at either server, also where it knew the other name.
            let (now, gone) = if round % 2 == 0 { ("b", "a") } else { ("a", "b") };
            for front in &fronts {
                let mut client = Client::of(front);
                assert_eq!(client.ask(&format!("BF.EXISTS {now} x")), ":0\r\n");
                let refused = client.ask(&format!("BF.ADD {gone} x"));
                assert!(refused.starts_with("-ERR not found"), "{refused}");
            }
        }
        stop.store(true, Ordering::SeqCst);
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    assert!(keys.len() >= 1_000, "{}", keys.len());
    let mut client = Client::of(&fronts[1]);
    for key in keys {
        assert_eq!(client.ask(&format!("BF.EXISTS a {key}")), ":1\r\n", "{key} is lost");
    }
    assert_eq!(client.ask("DEL a b"), ":1\r\n");
    assert_eq!(redis.cli(&["DBSIZE"]).unwrap(), "0");
}
