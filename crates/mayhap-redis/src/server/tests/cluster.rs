//! Six nodes.

use super::*;
use crate::Error;
use crate::server::slot_of;
use test_servers::RedisCluster;

/// Keys all over the slots.
fn keys(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("k{i}")).collect()
}

fn total(cluster: &RedisCluster, count: impl Fn(&RedisServer) -> u64) -> u64 {
    cluster.nodes().iter().map(count).sum()
}

/// A key of a slot.
fn key_of(slot: u16) -> String {
    (0..10_000_000).map(|i| format!("x{i}")).find(|key| slot_of(key) == slot).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_is_one_pipeline_for_each_master_and_its_replies_keep_their_order() {
    let Some(cluster) = start_cluster(&RedisOptions::default()) else { return };
    let timeout = Duration::from_secs(20);
    let wait_replicas = Some(WaitReplicas { replicas: 1, timeout });
    let options = ServerOptions { wait_replicas, ..ServerOptions::default() };
    let server = connect(&cluster_url(&cluster), options).await;
    let keys = keys(3000);
    let reads = |node: &RedisServer| info(node, "stats", "total_reads_processed");
    let before = total(&cluster, reads);
    // Bit i % 7 and then the same again: the old bits show any loss of order.
    let commands = |i: usize| set(&keys[i / 2], (i / 2 % 7) as u32);
    let replies = server.run((0..6000).map(commands).collect()).await.unwrap();
    let expected: Vec<i64> = (0..6000).map(|i| i % 2).collect();
    assert_eq!(ints(&replies), expected);
    assert_eq!(repeated(&replies), 0);
    // Masters execute all commands, replicas only the changes.
    assert_eq!(total(&cluster, |node| calls(node, "bitfield")), 6000 + 3000);
    assert_eq!(total(&cluster, |node| calls(node, "wait")), 3);
    assert!(total(&cluster, reads) - before < 1500);
    let gets = (0..3000).map(|i| get(&keys[i], if i % 5 == 0 { 8 } else { (i % 7) as u32 }));
    let replies = server.run(gets.collect()).await.unwrap();
    let expected: Vec<i64> = (0..3000).map(|i| i64::from(i % 5 != 0)).collect();
    assert_eq!(ints(&replies), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slots_that_moved_cost_no_reply() {
    let Some(cluster) = start_cluster(&RedisOptions::default()) else { return };
    let server = connect(&cluster_url(&cluster), quick(60_000)).await;
    let keys = keys(3000);
    let sets = |bit| keys.iter().map(|key| set(key, bit)).collect();
    server.run(sets(0)).await.unwrap();
    let (from, to) = (cluster.master_of_slot(0).unwrap(), cluster.master_of_slot(16_383).unwrap());
    cluster.reshard(from, to, 500).unwrap();
    let replies = server.run(sets(1)).await.unwrap();
    assert!(ints(&replies).iter().all(|&bit| bit == 0));
    assert_eq!(repeated(&replies), 0, "the server has reported that it did nothing");
    let again = replies.iter().filter(|reply| reply.again).count();
    assert!((1..1000).contains(&again), "{again} were sent again");
    let moved = |node: &RedisServer| {
        let text = node.cli(&["INFO", "errorstats"]).unwrap();
        u64::from(text.contains("errorstat_MOVED"))
    };
    assert_eq!(total(&cluster, moved), 1, "nothing had moved");
    // And a single command, for another slot that has moved.
    let slot = 500;
    cluster.reshard(from, to, 100).unwrap();
    let reply = server.one(set(&key_of(slot), 0)).await.unwrap();
    assert_eq!((int(&reply), reply.repeated), (0, false));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moving_keys_are_queried_where_they_are() {
    let Some(cluster) = start_cluster(&RedisOptions::default()) else { return };
    let server = connect(&cluster_url(&cluster), waiting(60_000)).await;
    let slot = 7;
    let tag = key_of(slot);
    let keys: Vec<String> = (0..20).map(|i| format!("{{{tag}}}{i}")).collect();
    let replies = server.run(keys.iter().map(|key| set(key, 0)).collect()).await.unwrap();
    assert_eq!(repeated(&replies), 0);
    let halfway = Halfway::start(&cluster, slot);
    for key in &keys[..10] {
        halfway.migrate(key);
    }
    // Keys of moved slots, keys of the others, and keys on all nodes, in one call.
    let others = self::keys(100);
    let all: Vec<&String> = keys.iter().chain(&others).collect();
    let replies = server.run(all.iter().map(|key| set(key, 1)).collect()).await.unwrap();
    assert!(ints(&replies).iter().all(|&bit| bit == 0));
    assert_eq!(repeated(&replies), 0);
    let errors = halfway.from.cli(&["INFO", "errorstats"]).unwrap();
    assert!(errors.contains("errorstat_ASK:"), "{errors}");

    // A command about a key of the moved slot and one of a slot that stays.
    let mut both = cmd("BITOP");
    both.arg("OR").arg(&keys[0]).arg(&keys[0]).arg(&keys[19]);
    let call = {
        let (server, both) = (server.clone(), Command::write(&keys[0], both));
        tokio::spawn(async move { server.one(both).await })
    };
    let again = || {
        [halfway.from, halfway.to]
            .iter()
            .any(|node| node.cli(&["INFO", "errorstats"]).unwrap().contains("errorstat_TRYAGAIN"))
    };
    until("TRYAGAIN", again).await;
    assert!(!call.is_finished());
    for key in &keys[10..] {
        halfway.migrate(key);
    }
    halfway.end(&cluster);
    let reply = call.await.unwrap().unwrap();
    assert_eq!((int(&reply), reply.repeated), (1, false));
    let replies = server.run(keys.iter().map(|key| get(key, 1)).collect()).await.unwrap();
    assert!(ints(&replies).iter().all(|&bit| bit == 1));
}

/// A slot in migration, for as long as a test needs.
struct Halfway<'a> {
    slot: String,
    from: &'a RedisServer,
    to: &'a RedisServer,
    to_id: String,
}

impl<'a> Halfway<'a> {
    fn start(cluster: &'a RedisCluster, slot: u16) -> Self {
        let from = &cluster.nodes()[cluster.master_of_slot(slot).unwrap()];
        let to = &cluster.nodes()[cluster.master_of_slot(16_383 - slot).unwrap()];
        let id = |node: &RedisServer| node.cli(&["CLUSTER", "MYID"]).unwrap();
        let slot = slot.to_string();
        to.cli(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &id(from)]).unwrap();
        from.cli(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &id(to)]).unwrap();
        Self { slot, from, to, to_id: id(to) }
    }

    fn migrate(&self, key: &str) {
        let port = self.to.port().to_string();
        let answer = self.from.cli(&["MIGRATE", "127.0.0.1", &port, key, "0", "5000"]).unwrap();
        assert_eq!(answer, "OK", "{key}");
    }

    fn end(&self, cluster: &RedisCluster) {
        for node in [self.to, self.from] {
            node.cli(&["CLUSTER", "SETSLOT", &self.slot, "NODE", &self.to_id]).unwrap();
        }
        cluster.wait_ok().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_hangs_for_ever_holds_up_no_other_and_is_replaced() {
    let Some(cluster) = start_cluster(&RedisOptions::default()) else { return };
    let server = connect(&cluster_url(&cluster), quick(90_000)).await;
    let hung = cluster.master_of_slot(0).unwrap();
    let of_others: Vec<String> = keys(400)
        .into_iter()
        .filter(|key| cluster.master_of_slot(slot_of(key)).unwrap() != hung)
        .take(100)
        .collect();
    server.run(of_others.iter().map(|key| set(key, 0)).collect()).await.unwrap();
    cluster.pause(hung).unwrap();
    let calls: Vec<_> = (0..4)
        .map(|bit| {
            let server = server.clone();
            tokio::spawn(async move { server.one(set(&key_of(0), bit)).await })
        })
        .collect();
    // As long as any call waits for it, the others get their replies the first time.
    let mut slowest = Duration::ZERO;
    for key in of_others.iter().cycle() {
        let begun = Instant::now();
        let reply = server.one(set(key, 1)).await.unwrap();
        slowest = slowest.max(begun.elapsed());
        assert!(!reply.repeated, "a call to another node was held up");
        if calls.iter().all(tokio::task::JoinHandle::is_finished) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    println!("slowest call to another node: {slowest:?}");
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_ne!(cluster.master_of_slot(0).unwrap(), hung);
    // Back again, it is a replica, and commands sent to it late do no harm.
    cluster.resume(hung).unwrap();
    cluster.wait_ok().unwrap();
    let replies = server.run(of_others.iter().map(|key| get(key, 1)).collect()).await.unwrap();
    assert!(replies.iter().all(|reply| !reply.repeated));
    assert_eq!(int(&server.one(get(&key_of(0), 3)).await.unwrap()), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_master_is_replaced_and_a_write_waits_for_it() {
    let Some(cluster) = start_cluster(&RedisOptions::default()) else { return };
    let server = connect(&cluster_url(&cluster), waiting(90_000)).await;
    let keys = keys(300);
    let sets = |bit: u32| -> Vec<Command> { keys.iter().map(|key| set(key, bit)).collect() };
    server.run(sets(0)).await.unwrap();
    let killed = cluster.master_of_slot(0).unwrap();
    cluster.kill(killed);
    let call = {
        let (server, sets) = (server.clone(), sets(1));
        tokio::spawn(async move { server.run(sets).await })
    };
    cluster.wait_ok().unwrap();
    // Its replica is alone now: nothing can be confirmed until the killed node is back.
    cluster.restart(killed).unwrap();
    let replies = call.await.unwrap().unwrap();
    // The others confirmed the first attempt.
    let of_killed = |key: &&String| {
        let slot = slot_of(key);
        cluster.master_of_slot(slot).unwrap() == cluster.master_of_slot(0).unwrap()
    };
    assert!(repeated(&replies) <= keys.iter().filter(of_killed).count());
    assert!(ints(&replies).iter().all(|&bit| bit == 0), "none had set it before");
    cluster.wait_ok().unwrap();
    let replies = server.run(keys.iter().map(|key| get(key, 1)).collect()).await.unwrap();
    assert!(ints(&replies).iter().all(|&bit| bit == 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_on_demand_costs_no_reply() {
    let Some(cluster) = start_cluster(&RedisOptions::default()) else { return };
    let server = connect(&cluster_url(&cluster), quick(60_000)).await;
    let keys = keys(300);
    server.run(keys.iter().map(|key| set(key, 0)).collect()).await.unwrap();
    let master = cluster.master_of_slot(0).unwrap();
    cluster.failover(cluster.replica_of(master).unwrap()).unwrap();
    let replies = server.run(keys.iter().map(|key| set(key, 1)).collect()).await.unwrap();
    assert!(ints(&replies).iter().all(|&bit| bit == 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_answer_queries_if_they_may_and_masters_when_those_are_gone() {
    let Some(cluster) = start_cluster(&RedisOptions::default()) else { return };
    let options = ServerOptions { read_replicas: true, ..waiting(60_000) };
    let url = cluster_url(&cluster);
    let keys = keys(300);
    let writer = connect(&url, waiting(60_000)).await;
    writer.run(keys.iter().map(|key| set(key, 0)).collect()).await.unwrap();
    // The cluster names a replica only when it has got something.
    let ports: Vec<String> = cluster.nodes().iter().map(|node| node.port().to_string()).collect();
    let all_named = || {
        let named = |node: &RedisServer| {
            let slots = node.cli(&["CLUSTER", "SLOTS"]).unwrap();
            ports.iter().all(|port| slots.lines().any(|line| line == port))
        };
        cluster.nodes().iter().all(named)
    };
    until("replicas", all_named).await;
    let server = connect(&url, options).await;
    let gets = || keys.iter().map(|key| get(key, 0)).collect::<Vec<_>>();
    let replies = server.run(gets()).await.unwrap();
    assert!(ints(&replies).iter().all(|&bit| bit == 1));
    let master = cluster.master_of_slot(0).unwrap();
    let replica = cluster.replica_of(master).unwrap();
    let getbits = || cluster.nodes().iter().map(|node| calls(node, "getbit")).collect::<Vec<_>>();
    assert!(calls(&cluster.nodes()[replica], "getbit") > 50, "{:?}", getbits());
    assert_eq!(calls(&cluster.nodes()[master], "getbit"), 0);
    cluster.kill(replica);
    let replies = server.run(gets()).await.unwrap();
    assert!(ints(&replies).iter().all(|&bit| bit == 1));
    assert!(calls(&cluster.nodes()[master], "getbit") > 50);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_whose_nodes_are_all_gone_is_unavailable_and_found_again() {
    let Some(cluster) = start_cluster(&RedisOptions { appendonly: true, ..Default::default() })
    else {
        return;
    };
    let url = cluster_url(&cluster);
    let server = connect(&url, quick(1000)).await;
    let patient = connect(&url, quick(90_000)).await;
    server.one(set("k", 0)).await.unwrap();
    for node in 0..6 {
        cluster.kill(node);
    }
    let error = server.one(set("k", 1)).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable { .. }), "{error:?}");
    let error = Server::connect(&Address::parse(&url).unwrap(), quick(1000)).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable { .. }), "{error:?}");
    let call = tokio::spawn(async move { patient.one(get("k", 0)).await });
    for node in 0..6 {
        cluster.restart(node).unwrap();
    }
    assert_eq!(int(&call.await.unwrap().unwrap()), 1);
    cluster.wait_ok().unwrap();
    server.one(set("k", 1)).await.unwrap();
}
