use std::collections::BTreeSet;
use std::time::Duration;
use test_servers::{ClusterOptions, Error, RedisCluster, RedisOptions, ready};

fn start(options: &ClusterOptions) -> Option<RedisCluster> {
    ready(&["redis-server", "redis-cli"]).then(|| RedisCluster::start(options).unwrap())
}

fn masters(cluster: &RedisCluster) -> BTreeSet<usize> {
    (0..16_384).step_by(512).map(|slot| cluster.master_of_slot(slot).unwrap()).collect()
}

#[test]
fn a_killed_master_is_replaced_and_returns_as_a_replica() {
    let Some(cluster) = start(&ClusterOptions::default()) else { return };
    assert_eq!(masters(&cluster).len(), 3);
    assert_eq!(cluster.urls().len(), 6);
    let master = cluster.master_of_slot(100).unwrap();
    let replica = cluster.replica_of(master).unwrap();
    assert_ne!(master, replica);
    let role = |node: usize| cluster.nodes()[node].cli(&["ROLE"]).unwrap();
    assert!(role(replica).starts_with("slave"));
    cluster.kill(master);
    cluster.wait_ok().unwrap();
    assert_eq!(cluster.master_of_slot(100).unwrap(), replica);
    assert!(matches!(cluster.replica_of(replica), Err(Error::NoSuchNode { .. })));
    cluster.restart(master).unwrap();
    cluster.wait_ok().unwrap();
    assert_eq!(cluster.master_of_slot(100).unwrap(), replica);
    assert_eq!(cluster.replica_of(replica).unwrap(), master);
    assert!(role(master).starts_with("slave"));
}

#[test]
fn slots_move_and_masters_change_on_demand() {
    let password = Some("secret".to_owned());
    let redis = RedisOptions { appendonly: true, password, ..Default::default() };
    let Some(cluster) = start(&ClusterOptions { redis, ..Default::default() }) else { return };
    // Slot 0 is the first to move.
    let (from, to) = (cluster.master_of_slot(0).unwrap(), cluster.master_of_slot(16_383).unwrap());
    cluster.reshard(from, to, 50).unwrap();
    assert_eq!(cluster.master_of_slot(49).unwrap(), to);
    assert_eq!(cluster.master_of_slot(50).unwrap(), from);

    let replica = cluster.replica_of(from).unwrap();
    cluster.failover(replica).unwrap();
    assert_eq!(cluster.master_of_slot(50).unwrap(), replica);
    assert_eq!(cluster.replica_of(replica).unwrap(), from);
    assert!(matches!(cluster.failover(replica), Err(Error::Refused { .. })));

    let links = cluster.cut_replica_links(replica, Duration::from_millis(300)).unwrap();
    assert!(links > 0);
    cluster.wait_ok().unwrap();
}

#[test]
fn a_cluster_that_cannot_be_created_reports_why() {
    if !ready(&["redis-server", "redis-cli"]) {
        return;
    }
    let options = ClusterOptions { masters: 2, replicas: 0, ..Default::default() };
    let error = RedisCluster::start(&options).unwrap_err().to_string();
    assert!(error.contains("at least 3 master nodes"), "{error}");
}
