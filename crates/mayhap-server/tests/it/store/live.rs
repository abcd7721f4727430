//! Stores that are more than one server without a password: sentinels, a cluster that loses a
//! master, TLS with an authority of one's own.

use super::{Client, config, get};
use mayhap_server::front::ConnectError;
use mayhap_server::{Config, Running, Server, StartError};
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;
use test_servers::{
    ClusterOptions, RedisCluster, RedisOptions, RedisSentinels, RedisServer, ready,
};

const BATCH: usize = 100;

/// Adds keys, each until its addition is acknowledged, and returns the number of errors.
fn add(client: &mut Client, keys: Range<usize>) -> usize {
    let mut errors = 0;
    for key in keys {
        let words = format!("BF.ADD f key-{key}");
        loop {
            let answer = client.ask(&words);
            match &*answer {
                ":1\r\n" => break,
                // It is there: an addition whose reply was lost.
                ":0\r\n" if errors > 0 => break,
                _ => assert!(answer.starts_with("-ERR "), "{words}: {answer}"),
            }
            errors += 1;
            assert!(errors < 2_000, "{words}: {answer}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    errors
}

fn has_all(client: &mut Client, keys: Range<usize>) {
    for key in keys {
        assert_eq!(client.ask(&format!("BF.EXISTS f key-{key}")), ":1\r\n", "key-{key}");
    }
}

/// Whether the server is ready, at last.
fn is_ready(front: &Running) -> bool {
    (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        get(front.http_addresses()[0], "/readyz").0 == 200
    })
}

#[test]
fn additions_go_on_through_a_failover_by_sentinels() {
    if !ready(&["redis-server"]) {
        return;
    }
    let master = RedisServer::start(&RedisOptions::default()).unwrap();
    let replicaof = vec![format!("replicaof 127.0.0.1 {}", master.port())];
    let options = RedisOptions { config: replicaof, ..RedisOptions::default() };
    let replica = RedisServer::start(&options).unwrap();
    let sentinels = RedisSentinels::start(&master, "main").unwrap();
    let url = |name| format!("redis+sentinel://{}/{name}", sentinels.addresses().join(","));
    let safe = Config { store_wait_replicas: Some(1), ..config(&url("main")) };
    let safe = Server::start(safe).unwrap();
    let front = Server::start(config(&url("main"))).unwrap();
    let mut client = Client::of(&front);
    assert_eq!(client.ask("BF.RESERVE f 1e-9 100000"), "+OK\r\n");
    // Confirmed by the replica, unlike what the other server acknowledges: none may be lost.
    add(&mut Client::of(&safe), 0..BATCH);
    drop(safe);
    has_all(&mut client, 0..BATCH);

    master.kill();
    let errors = add(&mut client, BATCH..2 * BATCH);
    println!("{errors} errors until the replica was the master");
    let role = replica.cli(&["ROLE"]).unwrap();
    assert!(role.starts_with("master"), "{role}");
    has_all(&mut client, 0..2 * BATCH);
    assert!(is_ready(&front));
    // The old master is back, with nothing: it is not used.
    master.restart().unwrap();
    add(&mut client, 2 * BATCH..3 * BATCH);
    has_all(&mut client, 0..3 * BATCH);
    has_all(&mut Client::of(&Server::start(config(&url("main"))).unwrap()), 0..3 * BATCH);

    let other = Server::start(config(&url("other"))).map(drop).unwrap_err();
    assert!(other.to_string().contains("know no master \"other\""), "{other}");
}

#[test]
fn additions_go_on_when_a_cluster_has_lost_a_master() {
    if !ready(&["redis-server", "redis-cli"]) {
        return;
    }
    let cluster = RedisCluster::start(&ClusterOptions::default()).unwrap();
    let url = format!("redis+cluster://127.0.0.1:{}", cluster.nodes()[0].port());
    let safe = Config { store_wait_replicas: Some(1), ..config(&url) };
    let (safe, front) = (Server::start(safe).unwrap(), Server::start(config(&url)).unwrap());
    let mut client = Client::of(&front);
    // Shards on all masters, the first of them included.
    assert_eq!(client.ask("BF.RESERVE f 1e-9 5000000"), "+OK\r\n");
    add(&mut Client::of(&safe), 0..BATCH);
    drop(safe);
    cluster.kill(cluster.master_of_slot(0).unwrap());
    let errors = add(&mut client, BATCH..2 * BATCH);
    println!("{errors} errors until the replica was a master");
    has_all(&mut client, 0..2 * BATCH);
    assert!(is_ready(&front));
}

fn file(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "data", "tls", name].iter().collect()
}

#[test]
fn a_store_with_tls_gets_the_certificate_of_the_server() {
    if !ready(&["redis-server"]) {
        return;
    }
    let tls = Some(["server.pem", "server.key", "client.pem"].map(file));
    let redis = RedisServer::start(&RedisOptions { tls, ..RedisOptions::default() }).unwrap();
    let plain = config(&format!("rediss://localhost:{}", redis.tls_port().unwrap()));
    let known = Config { store_tls_ca: Some(file("ca.pem")), ..plain.clone() };
    let both = Config {
        store_tls_cert: Some(file("client.pem")),
        store_tls_key: Some(file("client.key")),
        ..known.clone()
    };
    let error = Server::start(plain).map(drop).unwrap_err();
    assert!(error.to_string().contains("UnknownIssuer"), "{error}");
    assert!(matches!(error, StartError::Store(ConnectError::Store(_))), "{error:?}");
    let clear = Config { store: config(&redis.url()).store, ..both.clone() };
    let error = Server::start(clear).map(drop).unwrap_err();
    assert!(error.to_string().contains("without TLS"), "{error}");

    let front = Server::start(both).unwrap();
    let mut client = Client::of(&front);
    assert_eq!(client.ask("BF.RESERVE f 1e-9 1000"), "+OK\r\n");
    assert_eq!(add(&mut client, 0..BATCH), 0);
    has_all(&mut client, 0..BATCH);
    assert!(is_ready(&front));
    // A connection of its own again, with the certificate.
    redis.restart().unwrap();
    let back = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        client.ask("BF.EXISTS f key-1").starts_with("-ERR not found")
    });
    assert!(back, "the store keeps nothing");
    assert_eq!(client.ask("BF.RESERVE f 1e-9 1000"), "+OK\r\n");
    assert_eq!(add(&mut client, 0..BATCH), 0);
}
