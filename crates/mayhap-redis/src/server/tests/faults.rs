//! Replicas that do not confirm.

use super::proxy::Proxy;
use super::*;
use crate::Error;

fn with_replica(config: &str) -> Option<(RedisServer, RedisServer)> {
    let config = vec!["repl-diskless-sync-delay 0".to_owned(), config.to_owned()];
    let master = start(&RedisOptions { config, ..Default::default() })?;
    let config = vec![format!("replicaof 127.0.0.1 {}", master.port())];
    let replica = RedisServer::start(&RedisOptions { config, ..Default::default() }).unwrap();
    Some((master, replica))
}

async fn until_linked(replica: &RedisServer) {
    let linked = || {
        let info = replica.cli(&["INFO", "replication"]).unwrap();
        info.contains("master_link_status:up")
    };
    until("a link", linked).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_without_a_replica_is_on_the_master_and_says_so() {
    let Some(redis) = start(&RedisOptions::default()) else { return };
    let server = connect(&redis.url(), waiting(1500)).await;
    let error = server.one(set("k", 7)).await.unwrap_err();
    let Error::NotReplicated { wanted: 1, confirmed: 0 } = error else { panic!("{error:?}") };
    assert_eq!(redis.cli(&["GETBIT", "k", "7"]).unwrap(), "1");
    // Reads wait for nothing.
    assert_eq!(int(&server.one(get("k", 7)).await.unwrap()), 1);
    assert!(calls(&redis, "wait") > 1, "it is tried again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_that_wait_are_one_pipeline_and_keep_their_first_reply() {
    let Some((master, replica)) = with_replica("") else { return };
    until_linked(&replica).await;
    let timeout = Duration::from_secs(20);
    let wait_replicas = Some(WaitReplicas { replicas: 1, timeout });
    let options = ServerOptions { wait_replicas, ..ServerOptions::default() };
    let server = connect(&master.url(), options).await;
    let replies = server.run((0..1000).map(|bit| set("k", bit)).collect()).await.unwrap();
    assert!(ints(&replies).iter().all(|&bit| bit == 0));
    assert_eq!((calls(&master, "wait"), repeated(&replies)), (1, 0));
    assert_eq!(replica.cli(&["BITCOUNT", "k"]).unwrap(), "1000");
    // Written at once, confirmed later: still new.
    let server = connect(&master.url(), waiting(60_000)).await;
    replica.pause().unwrap();
    let call = tokio::spawn(async move { server.one(set("k", 1000)).await });
    until("a second WAIT", || calls(&master, "wait") >= 3).await;
    assert!(!call.is_finished());
    replica.resume().unwrap();
    let reply = call.await.unwrap().unwrap();
    assert_eq!((int(&reply), reply.repeated), (0, false));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_confirmation_does_not_make_the_reply_unsure() {
    let Some((master, replica)) = with_replica("") else { return };
    until_linked(&replica).await;
    let proxy = Proxy::start(master.port()).await;
    let url = format!("redis://127.0.0.1:{}", proxy.port);
    let server = connect(&url, waiting(60_000)).await;
    replica.pause().unwrap();
    let call = tokio::spawn(async move { server.one(set("k", 1)).await });
    // The second is sent when the reply to the first has arrived.
    until("a second WAIT", || calls(&master, "bitfield") >= 2).await;
    proxy.lose(1);
    until("a reply that is lost", || proxy.left_to_lose() == 0).await;
    replica.resume().unwrap();
    let reply = call.await.unwrap().unwrap();
    assert_eq!((int(&reply), reply.repeated), (0, false));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_of_wait_confirms_nothing() {
    let Some((master, replica)) = with_replica("") else { return };
    until_linked(&replica).await;
    let wait = Some(WaitReplicas { replicas: 1, timeout: Duration::from_secs(50) });
    let options = ServerOptions { wait_replicas: wait, ..quick(6_000) };
    let server = connect(&master.url(), options).await;
    replica.pause().unwrap();
    let call = tokio::spawn(async move { server.one(set("k", 1)).await });
    until("a write", || master.cli(&["GETBIT", "k", "1"]).unwrap() == "1").await;
    until("a client that waits", || info(&master, "clients", "blocked_clients") == 1).await;
    // It is demoted to a replica while a client waits: the client gets UNBLOCKED.
    let port = replica.port().to_string();
    master.cli(&["REPLICAOF", "127.0.0.1", &port]).unwrap();
    let result = call.await.unwrap();
    assert!(matches!(result, Err(Error::Unavailable { .. })), "{result:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_writers_without_a_replica_stop_neither_readers_nor_one_another() {
    let Some((master, replica)) = with_replica("") else { return };
    until_linked(&replica).await;
    let server = connect(&master.url(), waiting(60_000)).await;
    replica.pause().unwrap();
    let writers: Vec<_> = (0..16)
        .map(|bit| {
            let server = server.clone();
            tokio::spawn(async move { server.one(set("k", bit)).await })
        })
        .collect();
    until("writes", || calls(&master, "bitfield") >= 3).await;
    for bit in 0..50 {
        let reply = server.one(get("k", bit)).await.unwrap();
        assert!(!reply.repeated, "a reader stood behind WAIT");
    }
    assert!(writers.iter().all(|writer| !writer.is_finished()));
    replica.resume().unwrap();
    for writer in writers {
        let reply = writer.await.unwrap().unwrap();
        assert_eq!((int(&reply), reply.repeated), (0, false), "no reply was lost");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_master_that_refuses_without_replicas_is_tried_again() {
    let lines = "min-replicas-to-write 1\nmin-replicas-max-lag 10";
    let Some((master, replica)) = with_replica(lines) else { return };
    until_linked(&replica).await;
    let server = connect(&master.url(), quick(60_000)).await;
    replica.kill();
    let gone = || info(&master, "replication", "connected_slaves") == 0;
    until("a replica that is gone", gone).await;
    let call = tokio::spawn(async move { server.one(set("k", 1)).await });
    until("a refusal", || calls(&master, "bitfield") >= 1 || refused(&master) > 0).await;
    assert!(!call.is_finished());
    replica.restart().unwrap();
    let reply = call.await.unwrap().unwrap();
    assert_eq!((int(&reply), reply.repeated), (0, false));
}

/// Errors that begin with NOREPLICAS.
fn refused(server: &RedisServer) -> u64 {
    let text = server.cli(&["INFO", "errorstats"]).unwrap();
    u64::from(text.contains("errorstat_NOREPLICAS"))
}
