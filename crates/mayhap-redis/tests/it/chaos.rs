//! Faults while four tasks insert: the acknowledged keys, and the lost ones among them.
//!
//! The tests of `make check` are short; `make chaos` runs each fault with each option, at length.

use crate::chaos_load::{Load, Tally, calls, told};
use crate::cluster::connect_with;
use crate::native::params;
use mayhap::Layout;
use mayhap_redis::{NativeFilter, NativeOptions, ServerOptions, WaitReplicas};
use std::thread;
use std::time::{Duration, Instant};
use test_servers::{ClusterOptions, RedisCluster, RedisOptions, ready};
use tokio::sync::Mutex;

const NAME: &str = "chaos";

/// One cluster at a time: failures must have no other cause than the injected faults.
static TURN: Mutex<()> = Mutex::const_new(());

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    KillAndFailover,
    RestartAtOnce,
    Freeze,
    Reshard,
    Failover,
    LagAndKill,
}

const FAULTS: [(Fault, &str); 6] = [
    (Fault::KillAndFailover, "master killed, replica promoted"),
    (Fault::RestartAtOnce, "master killed, back at once"),
    (Fault::Freeze, "master frozen for 6 s"),
    (Fault::Reshard, "1,200 slots moved to another master"),
    (Fault::Failover, "`CLUSTER FAILOVER`"),
    (Fault::LagAndKill, "replica cut off, master killed"),
];

#[derive(Debug, Clone, Copy)]
struct Plan {
    fault: Fault,
    appendonly: bool,
    wait: bool,
    /// The least number of keys acknowledged.
    keys: usize,
    /// The number of times that the fault happens.
    rounds: usize,
}

impl Plan {
    /// A plan that loses nothing.
    fn safe(fault: Fault) -> Self {
        Self { fault, appendonly: true, wait: true, keys: 50_000, rounds: 1 }
    }

    /// Runs it, prints a row of a table, and returns the counts; `None` without servers.
    async fn run(self) -> Option<Tally> {
        if !ready(&["redis-server", "redis-cli"]) {
            return None;
        }
        let _turn = TURN.lock().await;
        let redis = RedisOptions { appendonly: self.appendonly, ..RedisOptions::default() };
        let cluster = RedisCluster::start(&ClusterOptions { redis, ..Default::default() }).unwrap();
        let timeout = Duration::from_millis(500);
        let wait_replicas = self.wait.then_some(WaitReplicas { replicas: 1, timeout });
        let options = ServerOptions { wait_replicas, ..ServerOptions::default() };
        let server = connect_with(&cluster, options.clone()).await;
        // The load has to last longer than the fault.
        let limit = (4 * self.keys).max(2_000_000);
        // So that one of a million lost keys is a false positive.
        let options_of = NativeOptions::new(params(Layout::Blocked, limit as u64, 1e-6));
        let filter = NativeFilter::create(&server, NAME, &options_of).await.unwrap();
        cluster.wait_ok().unwrap();

        let load = Load::start(&filter, limit);
        for round in 0..self.rounds {
            load.until(self.keys * (round + 1) / (self.rounds + 2)).await;
            let before = load.acknowledged();
            let fault = self.fault;
            let cluster = &cluster;
            thread::scope(|scope| scope.spawn(|| inject(cluster, fault, round)).join().unwrap());
            assert!(before < limit, "{fault:?} happened after everything was done");
        }
        load.until(self.keys).await;
        let mut tally = load.end().await;
        cluster.wait_ok().unwrap();
        let server = connect_with(&cluster, ServerOptions::default()).await;
        tally.ask(&server, NAME).await;
        self.print(&cluster, &tally);
        Some(tally)
    }

    fn print(&self, cluster: &RedisCluster, tally: &Tally) {
        let name = FAULTS.iter().find(|(fault, _)| *fault == self.fault).map_or("", |row| row.1);
        let yes = |yes| if yes { "yes" } else { "no" };
        let refused: Vec<String> = ["MOVED", "ASK", "TRYAGAIN", "READONLY", "CLUSTERDOWN"]
            .iter()
            .map(|code| (code, told(cluster, code)))
            .filter(|(_, count)| *count > 0)
            .map(|(code, count)| format!("{count} {code}"))
            .collect();
        println!(
            "| {name} | {} | {} | {} | {} | {:.1} s | {} | {} | {} |",
            yes(self.appendonly),
            yes(self.wait),
            tally.acknowledged,
            tally.lost_text(),
            tally.slowest.as_secs_f64(),
            tally.unsure,
            refused.join(", "),
            tally.errors_text(),
        );
    }
}

/// Injects a fault, and fails if it did not happen.
fn inject(cluster: &RedisCluster, fault: Fault, round: usize) {
    let slot = [0, 16_383, 8_000][round % 3];
    let master = cluster.master_of_slot(slot).unwrap();
    match fault {
        Fault::KillAndFailover => {
            cluster.kill(master);
            replaced(cluster, slot, master);
            cluster.restart(master).unwrap();
        }
        Fault::RestartAtOnce => {
            let master = other_than_meta(cluster);
            let pid = cluster.nodes()[master].pid();
            cluster.restart(master).unwrap();
            assert_ne!(cluster.nodes()[master].pid(), pid);
        }
        Fault::Freeze => {
            cluster.pause(master).unwrap();
            // The time in the name of this fault.
            thread::sleep(Duration::from_secs(6));
            replaced(cluster, slot, master);
            cluster.resume(master).unwrap();
        }
        Fault::Reshard => {
            let first = (0..16_384).find(|&slot| cluster.master_of_slot(slot).unwrap() == master);
            let to = other_than(cluster, master);
            let before = told(cluster, "MOVED");
            cluster.reshard(master, to, 1200).unwrap();
            assert_eq!(cluster.master_of_slot(first.unwrap()).unwrap(), to);
            until("a client that has noticed", || told(cluster, "MOVED") > before);
        }
        Fault::Failover => {
            cluster.failover(cluster.replica_of(master).unwrap()).unwrap();
            assert_ne!(cluster.master_of_slot(slot).unwrap(), master);
        }
        Fault::LagAndKill => {
            let replica = cluster.replica_of(master).unwrap();
            // Frozen it cannot reconnect, and it will get nothing that is sent from now on.
            cluster.pause(replica).unwrap();
            let links = cluster.cut_replica_links(master, Duration::from_millis(50)).unwrap();
            assert!(links > 0, "no link was there to cut");
            let written = || calls(&cluster.nodes()[master], "bitfield");
            let before = written();
            until("writes that no replica has", || written() > before + 500);
            cluster.kill(master);
            cluster.resume(replica).unwrap();
            replaced(cluster, slot, master);
            cluster.restart(master).unwrap();
        }
    }
    cluster.wait_ok().unwrap();
}

/// Waits until another node has the slot.
fn replaced(cluster: &RedisCluster, slot: u16, master: usize) {
    until("another master", || cluster.master_of_slot(slot).is_ok_and(|now| now != master));
}

/// Waits until a condition holds. A hang is a failure.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(100);
    while !is_so() {
        assert!(Instant::now() < end, "{what}: never");
        thread::sleep(Duration::from_millis(10));
    }
}

/// A master that has shards but not the hash with the filter's parameters.
fn other_than_meta(cluster: &RedisCluster) -> usize {
    let slot = cluster.nodes()[0].cli(&["CLUSTER", "KEYSLOT", &format!("{{{NAME}}}:meta")]);
    other_than(cluster, cluster.master_of_slot(slot.unwrap().parse().unwrap()).unwrap())
}

fn other_than(cluster: &RedisCluster, master: usize) -> usize {
    let masters = (0..16_384).step_by(64).map(|slot| cluster.master_of_slot(slot).unwrap());
    masters.rev().find(|&other| other != master).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_key_is_lost_when_a_master_is_killed_and_its_replica_promoted() {
    let plan = Plan { keys: 300_000, appendonly: false, ..Plan::safe(Fault::KillAndFailover) };
    let Some(tally) = plan.run().await else { return };
    assert!(tally.acknowledged >= 300_000 && tally.lost == 0, "{tally:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_key_is_lost_when_a_master_with_aof_restarts() {
    let Some(tally) = Plan::safe(Fault::RestartAtOnce).run().await else { return };
    assert!(tally.acknowledged >= 50_000 && tally.lost == 0, "{tally:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_key_is_lost_when_a_master_freezes() {
    let Some(tally) = Plan::safe(Fault::Freeze).run().await else { return };
    assert!(tally.acknowledged >= 50_000 && tally.lost == 0, "{tally:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_key_is_lost_while_slots_move() {
    let Some(tally) = Plan::safe(Fault::Reshard).run().await else { return };
    assert!(tally.acknowledged >= 50_000 && tally.lost == 0, "{tally:?}");
    assert_eq!(tally.unsure, 0, "a slot that moves costs no reply");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_key_is_lost_by_a_failover_on_demand() {
    let Some(tally) = Plan::safe(Fault::Failover).run().await else { return };
    assert!(tally.acknowledged >= 50_000 && tally.lost == 0, "{tally:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_confirmed_key_is_lost_when_a_replica_that_lags_is_promoted() {
    let plan = Plan { keys: 100_000, ..Plan::safe(Fault::LagAndKill) };
    let Some(tally) = plan.run().await else { return };
    assert!(tally.acknowledged >= 100_000 && tally.lost == 0, "{tally:?}");
}

/// The number of lost keys is chance; that the loss is noticed is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_filter_of_which_a_master_came_back_empty_says_that_it_is_gone() {
    let plan = Plan { appendonly: false, ..Plan::safe(Fault::RestartAtOnce) };
    let Some(tally) = plan.run().await else { return };
    assert!(tally.is_gone, "{tally:?}");
}

/// Several times, with each option. Asserts the guarantees; the rest is counted.
async fn at_length(fault: Fault) {
    let number = |name: &str, otherwise| {
        std::env::var(name).map_or(otherwise, |value| value.parse().unwrap())
    };
    let keys = number("MAYHAP_CHAOS_KEYS", 1_000_000);
    let rounds = number("MAYHAP_CHAOS_ROUNDS", 3);
    for (appendonly, wait) in [(false, false), (true, false), (false, true), (true, true)] {
        let plan = Plan { fault, appendonly, wait, keys, rounds };
        let Some(tally) = plan.run().await else { return };
        assert!(!(appendonly && wait) || tally.lost == 0, "{plan:?}: {tally:?}");
    }
}

macro_rules! at_length {
    ($($name:ident: $fault:ident,)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        #[ignore = "make chaos"]
        async fn $name() {
            at_length(Fault::$fault).await;
        }
    )*};
}

at_length! {
    at_length_1_kill_and_failover: KillAndFailover,
    at_length_2_restart_at_once: RestartAtOnce,
    at_length_3_freeze: Freeze,
    at_length_4_reshard: Reshard,
    at_length_5_failover_on_demand: Failover,
    at_length_6_lag_and_kill: LagAndKill,
}
