//! A Redis Cluster on loopback.

use crate::process::poll;
use crate::programs::need;
use crate::view::View;
use crate::{Error, RedisOptions, RedisServer};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// How long a loaded machine may need until a cluster agrees, in seconds.
const AGREE_SECONDS: u64 = 120;
const SLOTS: u16 = 16_384;

/// How a cluster is made: three masters with a replica each, by default.
#[derive(Clone, Debug)]
pub struct ClusterOptions {
    /// Masters, at least three.
    pub masters: usize,
    /// Replicas of each master.
    pub replicas: usize,
    /// The common options of all nodes; a password is also used among the nodes.
    pub redis: RedisOptions,
}

impl Default for ClusterOptions {
    fn default() -> Self {
        Self { masters: 3, replicas: 1, redis: RedisOptions::default() }
    }
}

/// A running cluster. Nodes are known by their index, which stays with the folder and the port: the
/// cluster decides which of them are masters.
///
/// `cluster-node-timeout` is 2 s, so a killed master is replaced after 3 to 5 s.
#[derive(Debug)]
pub struct RedisCluster {
    nodes: Vec<RedisServer>,
}

impl RedisCluster {
    /// Starts the servers, joins them with `redis-cli --cluster create` and waits until
    /// [`RedisCluster::wait_ok`] returns.
    ///
    /// # Errors
    ///
    /// As [`RedisServer::start`]; [`Error::Died`] if `redis-cli` refuses, as it does fewer than
    /// three masters; [`Error::Slow`].
    pub fn start(options: &ClusterOptions) -> Result<Self, Error> {
        let mut redis = options.redis.clone();
        let lines =
            ["cluster-enabled yes", "cluster-node-timeout 2000", "repl-diskless-sync-delay 0"];
        redis.config.splice(0..0, lines.map(str::to_owned));
        let count = options.masters * (1 + options.replicas);
        let nodes = (0..count).map(|_| RedisServer::start(&redis)).collect::<Result<_, _>>()?;
        let cluster = Self { nodes };
        let addresses = cluster.nodes.iter().map(address);
        let replicas = options.replicas.to_string();
        let mut words = vec!["create".to_owned()];
        words.extend(addresses);
        words.extend(["--cluster-replicas".to_owned(), replicas]);
        cluster.manage(&words)?;
        cluster.wait_ok()?;
        Ok(cluster)
    }

    /// Returns the addresses for a client, in the order of the indices.
    pub fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(RedisServer::url).collect()
    }

    /// Returns the nodes. An action on one of them affects the cluster.
    pub fn nodes(&self) -> &[RedisServer] {
        &self.nodes
    }

    /// Returns the index of the node that serves `slot` (0 to 16383), as a living node sees it.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchNode`] if none does; the errors of [`RedisServer::cli`].
    pub fn master_of_slot(&self, slot: u16) -> Result<usize, Error> {
        let view = self.view()?;
        let port = view.owner_of(slot).map(|line| line.port);
        self.index(port, &view, || format!("master of slot {slot}"))
    }

    /// Returns the index of a living replica of the node `master`.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchNode`] if there is none; as [`RedisServer::cli`].
    ///
    /// # Panics
    ///
    /// If there is no node of this index.
    pub fn replica_of(&self, master: usize) -> Result<usize, Error> {
        let view = self.view()?;
        let id = view.of_port(self.nodes[master].port()).map(|line| &line.id);
        let replica = view.lines.iter().find(|line| {
            line.master.is_some() && line.master.as_ref() == id && self.is_awake(line.port)
        });
        let port = replica.map(|line| line.port);
        self.index(port, &view, || format!("living replica of node {master}"))
    }

    fn index(
        &self,
        port: Option<u16>,
        view: &View,
        what: impl Fn() -> String,
    ) -> Result<usize, Error> {
        self.nodes
            .iter()
            .position(|node| Some(node.port()) == port)
            .ok_or_else(|| Error::NoSuchNode { what: what(), nodes: view.text.clone() })
    }

    /// Kills a node with SIGKILL; see [`RedisServer::kill`].
    ///
    /// # Panics
    ///
    /// If there is no node of this index.
    pub fn kill(&self, node: usize) {
        self.nodes[node].kill();
    }

    /// Starts a node again; see [`RedisServer::restart`]. A master that comes back before it was
    /// replaced is empty without `appendonly`, and its replicas follow it.
    ///
    /// # Errors
    ///
    /// As [`RedisServer::restart`].
    ///
    /// # Panics
    ///
    /// If there is no node of this index.
    pub fn restart(&self, node: usize) -> Result<(), Error> {
        self.nodes[node].restart()
    }

    /// Freezes a node; see [`RedisServer::pause`].
    ///
    /// # Errors
    ///
    /// As [`RedisServer::pause`].
    ///
    /// # Panics
    ///
    /// If there is no node of this index.
    pub fn pause(&self, node: usize) -> Result<(), Error> {
        self.nodes[node].pause()
    }

    /// Resumes a frozen node; see [`RedisServer::resume`].
    ///
    /// # Errors
    ///
    /// As [`RedisServer::resume`].
    ///
    /// # Panics
    ///
    /// If there is no node of this index.
    pub fn resume(&self, node: usize) -> Result<(), Error> {
        self.nodes[node].resume()
    }

    /// Makes a replica the master of its shard (`CLUSTER FAILOVER`), without a loss, and waits
    /// until all nodes know.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if the node is a master already or its master is gone; [`Error::Slow`].
    ///
    /// # Panics
    ///
    /// If there is no node of this index.
    pub fn failover(&self, replica: usize) -> Result<(), Error> {
        let node = &self.nodes[replica];
        node.cli(&["CLUSTER", "FAILOVER"])?;
        poll("CLUSTER FAILOVER", AGREE_SECONDS, || {
            let role = node.cli(&["ROLE"])?;
            Ok(if role.starts_with("master") { Ok(()) } else { Err(role) })
        })?;
        self.wait_ok()
    }

    /// Moves `slots` slots, with their keys, from one master to another (`redis-cli --cluster
    /// reshard`) and waits until all nodes know.
    ///
    /// # Errors
    ///
    /// [`Error::Died`] with the output of `redis-cli`; [`Error::Slow`].
    ///
    /// # Panics
    ///
    /// If there are no nodes of these indices.
    pub fn reshard(&self, from: usize, to: usize, slots: u16) -> Result<(), Error> {
        let view = self.view()?;
        let id = |node: usize| {
            let line = view.of_port(self.nodes[node].port());
            let nodes = || view.text.clone();
            line.map(|line| line.id.clone())
                .ok_or_else(|| Error::NoSuchNode { what: format!("node {node}"), nodes: nodes() })
        };
        let words = [
            "reshard".to_owned(),
            address(&self.nodes[to]),
            "--cluster-from".to_owned(),
            id(from)?,
            "--cluster-to".to_owned(),
            id(to)?,
            "--cluster-slots".to_owned(),
            slots.to_string(),
        ];
        self.manage(&words)?;
        self.wait_ok()
    }

    /// Cuts the links from a master to its replicas every 2 ms for `duration`, so that they lag
    /// behind it, and returns how many links were cut. Kill the master afterwards: a replica that
    /// lacks acknowledged writes takes its place.
    ///
    /// # Errors
    ///
    /// As [`RedisServer::cli`].
    ///
    /// # Panics
    ///
    /// If there is no node of this index.
    pub fn cut_replica_links(&self, master: usize, duration: Duration) -> Result<u64, Error> {
        let mut connection = self.nodes[master].connect()?;
        let end = Instant::now() + duration;
        let mut links = 0;
        while Instant::now() < end {
            let cut = connection.ask(&["CLIENT", "KILL", "TYPE", "replica"])?;
            links += cut.parse::<u64>().unwrap_or(0);
            thread::sleep(Duration::from_millis(2));
        }
        Ok(links)
    }

    /// Waits until the cluster is whole again: every running node reports `cluster_state:ok`, all
    /// agree on slots and roles, all slots are with running masters, none is being moved, and every
    /// running replica is in sync with its master.
    ///
    /// # Errors
    ///
    /// [`Error::Slow`] with the missing condition after 120 s.
    pub fn wait_ok(&self) -> Result<(), Error> {
        poll("a cluster that is whole", AGREE_SECONDS, || Ok(self.flaw().map_or(Ok(()), Err)))
    }

    /// Returns the first condition of [`RedisCluster::wait_ok`] that does not hold.
    fn flaw(&self) -> Option<String> {
        let mut first: Option<View> = None;
        for node in self.nodes.iter().filter(|node| node.is_awake()) {
            match self.flaw_of(node, first.as_ref()) {
                Ok(view) => first = first.or(Some(view)),
                Err(flaw) => return Some(format!("port {}: {flaw}", node.port())),
            }
        }
        first.is_none().then(|| "no node runs".to_owned())
    }

    fn flaw_of(&self, node: &RedisServer, first: Option<&View>) -> Result<View, String> {
        let ask = |command: &[&str]| node.cli(command).map_err(|error| error.to_string());
        let info = ask(&["CLUSTER", "INFO"])?;
        for want in ["cluster_state:ok".to_owned(), format!("cluster_slots_ok:{SLOTS}")] {
            if !info.lines().any(|line| line == want) {
                return Err(format!("not {want} in\n{info}"));
            }
        }
        let view = View::ask(node).map_err(|error| error.to_string())?;
        for line in &view.lines {
            let awake = self.is_awake(line.port);
            if line.is("handshake") || (awake && (line.is("fail") || line.is("fail?"))) {
                return Err(format!("port {} is {}", line.port, line.flags.join(",")));
            }
            if line.moving {
                return Err(format!("port {} moves slots:\n{}", line.port, view.text));
            }
            if !awake && !line.slots.is_empty() {
                let text = &view.text;
                return Err(format!("port {} does not run and has slots:\n{text}", line.port));
            }
        }
        if view.lines.len() != self.nodes.len() {
            return Err(format!("{} nodes known", view.lines.len()));
        }
        if first.is_some_and(|first| !first.agrees_with(&view)) {
            return Err(format!("sees it differently:\n{}", view.text));
        }
        if view.of_port(node.port()).is_some_and(|line| line.master.is_some()) {
            let info = ask(&["INFO", "replication"])?;
            for want in ["role:slave", "master_link_status:up", "master_sync_in_progress:0"] {
                if !info.lines().any(|line| line == want) {
                    return Err(format!("not {want} in\n{info}"));
                }
            }
        }
        Ok(view)
    }

    /// The view of the first living node.
    fn view(&self) -> Result<View, Error> {
        let node = self.nodes.iter().find(|node| node.is_awake());
        View::ask(node.unwrap_or(&self.nodes[0]))
    }

    fn is_awake(&self, port: u16) -> bool {
        self.nodes.iter().any(|node| node.port() == port && node.is_awake())
    }

    /// Runs `redis-cli --cluster …`, confirming prompts.
    fn manage(&self, words: &[String]) -> Result<(), Error> {
        let mut command = Command::new(need("redis-cli")?);
        command.arg("--cluster").args(words).arg("--cluster-yes");
        if let Some(password) = self.nodes.first().and_then(RedisServer::password) {
            // Not among the arguments, which every user of the machine can see.
            command.env("REDISCLI_AUTH", password);
        }
        let output = command.output().map_err(Error::io("run redis-cli"))?;
        if output.status.success() {
            return Ok(());
        }
        Err(Error::Died {
            program: format!("redis-cli --cluster {}", words.join(" ")),
            status: output.status,
            log: String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned(),
        })
    }
}

fn address(node: &RedisServer) -> String {
    format!("127.0.0.1:{}", node.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_not_whole_the_moment_a_master_is_killed() {
        if !crate::ready(&["redis-server", "redis-cli"]) {
            return;
        }
        let options = ClusterOptions { replicas: 0, ..Default::default() };
        let cluster = RedisCluster::start(&options).unwrap();
        assert_eq!(cluster.flaw(), None);
        // The others take 2 s to notice and report `cluster_state:ok` until then.
        cluster.kill(1);
        let flaw = cluster.flaw().unwrap();
        assert!(flaw.contains("does not run and has slots"), "{flaw}");
    }
}
