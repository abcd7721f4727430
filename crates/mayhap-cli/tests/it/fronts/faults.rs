//! The faults, one to a round.

use super::World;
use super::client::{Answer, request};
use super::front::{connect, until};
use super::load::{FILTER, Load, absent};
use crate::support::succeed;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};
use test_servers::{RedisCluster, RedisServer};

/// After a master is lost on loopback its clients have seen the end of their connections by then.
const SEEN: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    FrontKilled,
    FrontKilledWhileItCreates,
    FrontFrozen,
    ClientsKilled,
    MasterKilled,
    MasterAndFrontKilled,
    MasterRestarted,
    MasterFrozen,
    MasterStalled,
    StoreStalled,
    ReplicaCutOffAndMasterKilled,
    MasterDeposed,
    Failover,
    SlotsMoved,
    SlotsMovedAndFrontKilled,
    StoreFull,
    Cleared,
    MadeAgain,
    LostAndMadeAgain,
    ShardDeleted,
    ParametersDeleted,
    Evicted,
    MasterFlushed,
    StoreFlushed,
}

pub(crate) const ALL: [Fault; 24] = [
    Fault::FrontKilled,
    Fault::FrontKilledWhileItCreates,
    Fault::FrontFrozen,
    Fault::ClientsKilled,
    Fault::MasterKilled,
    Fault::MasterAndFrontKilled,
    Fault::MasterRestarted,
    Fault::MasterFrozen,
    Fault::MasterStalled,
    Fault::StoreStalled,
    Fault::ReplicaCutOffAndMasterKilled,
    Fault::MasterDeposed,
    Fault::Failover,
    Fault::SlotsMoved,
    Fault::SlotsMovedAndFrontKilled,
    Fault::StoreFull,
    Fault::Cleared,
    Fault::MadeAgain,
    Fault::LostAndMadeAgain,
    Fault::ShardDeleted,
    Fault::ParametersDeleted,
    Fault::Evicted,
    Fault::MasterFlushed,
    Fault::StoreFlushed,
];

impl Fault {
    /// Whether parts of the filter are gone after it.
    pub(crate) fn destroys(self) -> bool {
        self >= Self::ShardDeleted
    }

    /// Whether there is another filter of this name after it.
    pub(crate) fn replaces(self) -> bool {
        matches!(self, Self::Cleared | Self::MadeAgain | Self::LostAndMadeAgain)
    }

    /// Whether an error may say that the filter is gone.
    pub(crate) fn is_missed(self) -> bool {
        self >= Self::MadeAgain
    }

    /// Whether a master may be lost with keys that no replica has.
    pub(crate) fn loses_masters(self) -> bool {
        matches!(
            self,
            Self::MasterKilled
                | Self::MasterAndFrontKilled
                | Self::MasterRestarted
                | Self::MasterFrozen
                | Self::ReplicaCutOffAndMasterKilled
                | Self::MasterDeposed
        )
    }
}

/// The keys that the documented rule does not cover after a fault.
#[derive(Debug, Default)]
pub(crate) struct Risk {
    /// Keys acknowledged within this time without waiting for replicas may be lost with a master.
    pub(crate) lost: Option<Range<Instant>>,
    /// Keys that were sent before are in the filter that was replaced.
    pub(crate) since: Option<Instant>,
}

impl World {
    /// Lets it fail, and puts it in order again. The masters' replicas had all keys acknowledged
    /// before `marked`.
    pub(crate) fn inject(&mut self, fault: Fault, load: &Load, marked: Instant) -> Risk {
        let (one, slot) = (self.random(2), self.random(16_384) as u16);
        let master = self.cluster.master_of_slot(slot).unwrap();
        let mut lost_at = None;
        match fault {
            Fault::FrontKilled => self.kill_front(one),
            Fault::FrontKilledWhileItCreates => self.kill_front_while_it_creates(one),
            Fault::FrontFrozen => {
                self.fronts[one].pause();
                sleep(Duration::from_secs(1));
                self.fronts[one].resume();
            }
            Fault::ClientsKilled => self.kill_clients(load),
            Fault::MasterKilled | Fault::MasterAndFrontKilled => {
                self.cluster.kill(master);
                lost_at = Some(Instant::now());
                if fault == Fault::MasterAndFrontKilled {
                    self.kill_front(one);
                }
                replaced(&self.cluster, slot, master);
                self.cluster.restart(master).unwrap();
            }
            Fault::MasterRestarted => {
                self.cluster.restart(master).unwrap();
                let now = Instant::now();
                self.cluster.wait_ok().unwrap();
                // Its log has everything, if it came back before it was replaced.
                let is_replaced = self.cluster.master_of_slot(slot).unwrap() != master;
                lost_at = is_replaced.then_some(now);
            }
            Fault::MasterFrozen => {
                self.cluster.pause(master).unwrap();
                lost_at = Some(Instant::now());
                replaced(&self.cluster, slot, master);
                self.cluster.resume(master).unwrap();
            }
            Fault::MasterStalled => stall(&[&self.cluster.nodes()[master]]),
            Fault::StoreStalled => stall(&self.cluster.nodes().iter().collect::<Vec<_>>()),
            Fault::ReplicaCutOffAndMasterKilled => {
                cut_off_and_kill(&self.cluster, master, slot);
                lost_at = Some(Instant::now());
            }
            Fault::Failover => {
                self.cluster.failover(self.cluster.replica_of(master).unwrap()).unwrap();
                assert_ne!(self.cluster.master_of_slot(slot).unwrap(), master);
            }
            Fault::MasterDeposed => {
                self.depose(master, slot);
                lost_at = Some(Instant::now());
            }
            Fault::SlotsMoved => self.move_slots(5),
            Fault::SlotsMovedAndFrontKilled => {
                self.move_slots(2);
                self.kill_front(one);
                self.move_slots(2);
            }
            Fault::StoreFull => self.fill(master),
            _ if fault.replaces() => self.replace(fault, one),
            _ => self.destroy(fault, master, one),
        }
        let now = Instant::now();
        if fault.replaces() {
            // The servers get no message: they have to notice.
            load.since.set(now).unwrap();
            sleep(Duration::from_millis(300));
        }
        self.cluster.wait_ok().unwrap();
        let lost = lost_at.map(|at| marked..at + SEEN);
        Risk { lost, since: fault.replaces().then_some(now) }
    }

    fn kill_front(&mut self, one: usize) {
        self.fronts[one].kill();
        sleep(Duration::from_millis(20));
        self.fronts[one].restart();
    }

    /// While it creates filters: what it leaves is no obstacle.
    fn kill_front_while_it_creates(&mut self, one: usize) {
        let names: Vec<String> = (0..50).map(|i| format!("new-{}-{i}", self.round)).collect();
        let mut client = self.fronts[one].connect();
        for name in &names {
            let words = ["BF.RESERVE", name, "0.01", "100000"].map(str::as_bytes);
            client.send(&request(&words)).unwrap();
        }
        let created = 1 + self.random(20);
        for _ in 0..created {
            client.answer().unwrap();
        }
        self.kill_front(one);
        let mut client = self.fronts[1 - one].connect();
        for name in &names {
            let answer = format!("{:?}", client.ask(&format!("BF.RESERVE {name} 0.01 100000")));
            assert!(answer.contains("OK") || answer.contains("exists"), "{name}: {answer}");
            for words in ["BF.ADD {} a", "BF.EXISTS {} a", "DEL {}"] {
                let words = words.replace("{}", name);
                assert_eq!(client.ask(&words), Answer::Number(1), "{words}");
            }
        }
    }

    /// Kills clients of the load in the middle of requests, and clients that never read.
    fn kill_clients(&mut self, load: &Load) {
        load.rude.store(true, Ordering::SeqCst);
        for i in 0..300 {
            let socket = &load.sockets[i % 2];
            let mut client = connect(socket).unwrap();
            let key = absent(i as u64);
            let command = ["BF.EXISTS", "BF.MEXISTS"][self.random(2)];
            let words = [command.as_bytes(), FILTER.as_bytes(), &key];
            let bytes = request(&words).repeat(1 + self.random(50));
            let some = self.random(bytes.len() + 1);
            // The server may have closed it.
            let _ = client.send(&bytes[..some]);
            sleep(Duration::from_millis(1));
        }
        load.rude.store(false, Ordering::SeqCst);
    }

    /// Moves slots that are in use to other masters.
    fn move_slots(&mut self, count: usize) {
        let mut keys = Vec::new();
        for master in masters(&self.cluster) {
            let node = &self.cluster.nodes()[master];
            keys.extend(node.cli(&["KEYS", "*"]).unwrap().lines().map(str::to_owned));
        }
        for _ in 0..count {
            let key = &keys[self.random(keys.len())];
            let slot = self.cluster.nodes()[0].cli(&["CLUSTER", "KEYSLOT", key]).unwrap();
            let from = self.cluster.master_of_slot(slot.parse().unwrap()).unwrap();
            let mut others = masters(&self.cluster);
            others.retain(|&master| master != from);
            let to = others[self.random(others.len())];
            move_slot(&self.cluster, &slot, from, to);
            self.cluster.wait_ok().unwrap();
        }
    }

    /// A master is replaced and does not learn of it at once: clients that do not know take it for
    /// one.
    fn depose(&mut self, master: usize, slot: u16) {
        let (nodes, replica) = (self.cluster.nodes(), self.cluster.replica_of(master).unwrap());
        // `PONG`, by which the new one would tell it.
        nodes[master].cli(&["DEBUG", "DROP-CLUSTER-PACKET-FILTER", "1"]).unwrap();
        nodes[replica].cli(&["CLUSTER", "FAILOVER", "FORCE"]).unwrap();
        until("another master", || nodes[replica].cli(&["ROLE"]).unwrap().starts_with("master"));
        sleep(Duration::from_millis(500));
        nodes[master].cli(&["DEBUG", "DROP-CLUSTER-PACKET-FILTER", "-1"]).unwrap();
        replaced(&self.cluster, slot, master);
    }

    /// A master takes no writes, since its memory is full; queries are answered.
    fn fill(&mut self, master: usize) {
        let node = &self.cluster.nodes()[master];
        node.cli(&["CONFIG", "SET", "maxmemory", "1"]).unwrap();
        sleep(Duration::from_millis(500));
        node.cli(&["CONFIG", "SET", "maxmemory", "0"]).unwrap();
    }

    /// Puts another filter in the place of this one.
    fn replace(&mut self, fault: Fault, one: usize) {
        match fault {
            Fault::Cleared => {
                let url = format!("{}/{FILTER}", self.url);
                succeed(&self.folder, &["clear", "-q", "--force", &url], b"");
            }
            Fault::MadeAgain => {
                let deleted = self.fronts[one].connect().ask(&format!("DEL {FILTER}"));
                assert_eq!(deleted, Answer::Number(1));
                self.create();
            }
            _ => {
                self.delete_one_of(Fault::ParametersDeleted);
                // Within two seconds all servers have noticed.
                sleep(Duration::from_millis(2_500));
                self.create();
            }
        }
    }

    /// Deletes a shard of the filter, or its parameters.
    fn delete_one_of(&mut self, fault: Fault) {
        let nodes = self.cluster.nodes();
        let mut keys = Vec::new();
        for master in masters(&self.cluster) {
            let some = nodes[master].cli(&["KEYS", &format!("{{{FILTER}*")]).unwrap();
            keys.extend(some.lines().map(|key| (master, key.to_owned())));
        }
        let meta = format!("{{{FILTER}}}:meta");
        keys.retain(|(master, key)| match fault {
            Fault::ParametersDeleted => *key == meta,
            _ => *key != meta && is_of_many_keys(&nodes[*master], key),
        });
        let (master, key) = keys.remove(self.random(keys.len()));
        let deleted = self.cluster.nodes()[master].cli(&["UNLINK", &key]).unwrap();
        assert_eq!(deleted, "1", "{key}");
    }

    fn destroy(&mut self, fault: Fault, master: usize, one: usize) {
        let nodes = self.cluster.nodes();
        match fault {
            Fault::ShardDeleted | Fault::ParametersDeleted => self.delete_one_of(fault),
            Fault::Evicted => evict(&nodes[master]),
            Fault::MasterFlushed => nodes[master].flush().unwrap(),
            _ => {
                for master in masters(&self.cluster) {
                    nodes[master].flush().unwrap();
                }
            }
        }
        sleep(Duration::from_millis(300));
        if fault == Fault::ParametersDeleted {
            self.kill_front(one);
        }
    }
}

pub(crate) fn masters(cluster: &RedisCluster) -> Vec<usize> {
    let is_master = |&index: &usize| {
        let role = cluster.nodes()[index].cli(&["ROLE"]);
        role.is_ok_and(|role| role.starts_with("master"))
    };
    (0..cluster.nodes().len()).filter(is_master).collect()
}

/// Waits until another node has the slot.
fn replaced(cluster: &RedisCluster, slot: u16, master: usize) {
    until("another master", || cluster.master_of_slot(slot).is_ok_and(|now| now != master));
}

/// Shorter than the time after which a master is replaced.
fn stall(nodes: &[&RedisServer]) {
    for node in nodes {
        node.pause().unwrap();
    }
    sleep(Duration::from_millis(1_200));
    for node in nodes {
        node.resume().unwrap();
    }
}

fn cut_off_and_kill(cluster: &RedisCluster, master: usize, slot: u16) {
    let replica = cluster.replica_of(master).unwrap();
    // Frozen it cannot connect again, and gets nothing from now on.
    cluster.pause(replica).unwrap();
    let links = cluster.cut_replica_links(master, Duration::from_millis(50)).unwrap();
    assert!(links > 0, "no link was there to cut");
    sleep(Duration::from_millis(500));
    cluster.kill(master);
    cluster.resume(replica).unwrap();
    replaced(cluster, slot, master);
    cluster.restart(master).unwrap();
}

fn move_slot(cluster: &RedisCluster, slot: &str, from: usize, to: usize) {
    let id = |node: usize| cluster.nodes()[node].cli(&["CLUSTER", "MYID"]).unwrap();
    let set = |node: usize, what: &str, id: &str| {
        cluster.nodes()[node].cli(&["CLUSTER", "SETSLOT", slot, what, id]).unwrap();
    };
    set(to, "IMPORTING", &id(from));
    set(from, "MIGRATING", &id(to));
    sleep(Duration::from_millis(20));
    let node = &cluster.nodes()[from];
    let port = cluster.nodes()[to].port().to_string();
    for key in node.cli(&["CLUSTER", "GETKEYSINSLOT", slot, "100"]).unwrap().lines() {
        node.cli(&["MIGRATE", "127.0.0.1", &port, key, "0", "30000"]).unwrap();
    }
    sleep(Duration::from_millis(20));
    // The new owner first, so that none of the others sends clients in circles.
    set(to, "NODE", &id(to));
    for other in masters(cluster) {
        if other != to {
            set(other, "NODE", &id(to));
        }
    }
}

/// Whether this is neither the last shard of the filter, which is short, nor one of a filter that
/// was replaced, which expires.
fn is_of_many_keys(node: &RedisServer, key: &str) -> bool {
    let number = |command| node.cli(&[command, key]).unwrap().parse::<i64>().unwrap();
    number("STRLEN") > 100_000 && number("PTTL") == -1
}

/// Lets a master evict some of its keys.
fn evict(node: &RedisServer) {
    let size = || node.cli(&["DBSIZE"]).unwrap().parse::<u64>().unwrap();
    let before = size();
    node.cli(&["CONFIG", "SET", "maxmemory-policy", "allkeys-random"]).unwrap();
    node.cli(&["CONFIG", "SET", "maxmemory", "1"]).unwrap();
    until("an eviction", || size() < before);
    node.cli(&["CONFIG", "SET", "maxmemory", "0"]).unwrap();
    node.cli(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]).unwrap();
}
