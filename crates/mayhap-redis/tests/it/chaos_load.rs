//! Four tasks that insert, and the fate of their keys.

use crate::native::digests;
use mayhap::Digest;
use mayhap_redis::{Error, NativeFilter, Server};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use test_servers::{RedisCluster, RedisServer};
use tokio::task::JoinHandle;

const TASKS: usize = 4;
const BATCH: usize = 1_000;
/// The number of keys that are queried one by one if the filter is gone.
const SAMPLE: usize = 2_000;
/// A longer time is a hang.
const NEVER: Duration = Duration::from_secs(300);

/// The fate of the keys.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) acknowledged: usize,
    pub(crate) lost: usize,
    /// The filter reports that part of it is gone; `lost` is estimated then.
    pub(crate) is_gone: bool,
    /// The number of insertions of unknown novelty.
    pub(crate) unsure: usize,
    pub(crate) slowest: Duration,
    /// Calls that ended with an error, and were repeated.
    pub(crate) errors: BTreeMap<&'static str, usize>,
    batches: Vec<Range<u64>>,
}

/// Four tasks that insert until they are stopped.
pub(crate) struct Load {
    acknowledged: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    tally: Arc<Mutex<Tally>>,
    tasks: Vec<JoinHandle<()>>,
}

impl Load {
    /// Begins to insert keys from 0 to `limit`.
    pub(crate) fn start(filter: &NativeFilter, limit: usize) -> Self {
        let mut load = Self {
            acknowledged: Arc::default(),
            stop: Arc::default(),
            tally: Arc::default(),
            tasks: Vec::new(),
        };
        for task in 0..TASKS {
            let batches = (task * BATCH..limit).step_by(TASKS * BATCH);
            let (filter, stop) = (filter.clone(), load.stop.clone());
            let (acknowledged, tally) = (load.acknowledged.clone(), load.tally.clone());
            load.tasks.push(tokio::spawn(async move {
                for first in batches {
                    let batch = first as u64..(first + BATCH) as u64;
                    if stop.load(Ordering::SeqCst) || !insert(&filter, batch, &tally).await {
                        break;
                    }
                    acknowledged.fetch_add(BATCH, Ordering::SeqCst);
                }
            }));
        }
        load
    }

    pub(crate) fn acknowledged(&self) -> usize {
        self.acknowledged.load(Ordering::SeqCst)
    }

    /// Waits until this number of keys is acknowledged, or none will be any more.
    pub(crate) async fn until(&self, keys: usize) {
        let begun = Instant::now();
        while self.acknowledged() < keys && !self.tasks.iter().all(JoinHandle::is_finished) {
            let tally = || self.tally.lock().unwrap();
            assert!(begun.elapsed() < NEVER, "{} of {keys}: {:?}", self.acknowledged(), tally());
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    pub(crate) async fn end(self) -> Tally {
        self.stop.store(true, Ordering::SeqCst);
        for task in self.tasks {
            task.await.unwrap();
        }
        std::mem::take(&mut *self.tally.lock().unwrap())
    }
}

/// Inserts until it is acknowledged; gives up if the filter is gone.
async fn insert(filter: &NativeFilter, batch: Range<u64>, tally: &Mutex<Tally>) -> bool {
    let keys: Vec<Digest> = digests(batch.clone());
    let mut unsure = 0;
    loop {
        let begun = Instant::now();
        let inserted = filter.insert_digests(&keys).await;
        let mut tally = tally.lock().unwrap();
        tally.slowest = tally.slowest.max(begun.elapsed());
        match inserted {
            Ok(inserted) => {
                unsure += inserted.unsure.count_ones();
                tally.unsure += unsure;
                tally.acknowledged += BATCH;
                tally.batches.push(batch);
                return true;
            }
            Err(Error::Gone { .. }) => {
                tally.is_gone = true;
                return false;
            }
            Err(error) => *tally.errors.entry(kind(&error)).or_default() += 1,
        }
    }
}

fn kind(error: &Error) -> &'static str {
    match error {
        Error::Unavailable { .. } => "unavailable",
        Error::NotReplicated { .. } => "not replicated",
        Error::Busy { .. } => "busy",
        _ => panic!("{error:?}"),
    }
}

impl Tally {
    /// Queries all acknowledged keys.
    pub(crate) async fn ask(&mut self, server: &Server, name: &str) {
        assert!(self.acknowledged > 0 && self.acknowledged == self.batches.len() * BATCH);
        let filter = NativeFilter::attach(server, name, None).await.unwrap();
        for batch in &self.batches {
            match filter.contains_digests(&digests(batch.clone())).await {
                Ok(found) => self.lost += BATCH - found.count_ones(),
                Err(Error::Gone { .. }) => {
                    self.is_gone = true;
                    break;
                }
                Err(error) => panic!("{error}"),
            }
        }
        if self.is_gone {
            let keys: Vec<u64> = self.batches.iter().cloned().flatten().collect();
            let mut lost = 0;
            for &key in keys.iter().step_by((keys.len() / SAMPLE).max(1)).take(SAMPLE) {
                match filter.contains_digests(&digests(key..key + 1)).await {
                    Ok(found) => lost += 1 - found.count_ones(),
                    Err(Error::Gone { .. }) => lost += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            self.lost = lost * self.acknowledged / SAMPLE.min(keys.len());
        }
    }

    pub(crate) fn lost_text(&self) -> String {
        if self.is_gone {
            format!("about {}, and says so", self.lost)
        } else {
            self.lost.to_string()
        }
    }

    pub(crate) fn errors_text(&self) -> String {
        let errors = self.errors.iter().map(|(kind, count)| format!("{count} {kind}"));
        errors.collect::<Vec<_>>().join(", ")
    }
}

/// The number of times that the running nodes have replied with an error.
pub(crate) fn told(cluster: &RedisCluster, code: &str) -> u64 {
    let nodes = cluster.nodes().iter();
    nodes.map(|node| count(node, "errorstats", &format!("errorstat_{code}:count="))).sum()
}

/// The number of times that a server has run a command.
pub(crate) fn calls(server: &RedisServer, command: &str) -> u64 {
    count(server, "commandstats", &format!("cmdstat_{command}:calls="))
}

/// The number after a prefix in `INFO`; 0 if there is none or the server does not answer.
fn count(server: &RedisServer, section: &str, prefix: &str) -> u64 {
    let text = server.cli(&["INFO", section]).unwrap_or_default();
    let count = text.lines().find_map(|line| line.strip_prefix(prefix)?.split(',').next());
    count.map_or(0, |count| count.trim().parse().unwrap())
}
