//! Starts workers, kills some, and counts in the end.

use super::web::Web;
use super::worker::{BATCH, Error, FETCHED, FRONTIER, INTERRUPTED, Job, SEEN, UNSURE};
use mayhap::BlockedBloomFilter;
use mayhap_redis::{Address, NativeFilter, NativeOptions, RemoteFilter, Server, ServerOptions};
use redis::{AsyncCommands, Client};
use std::collections::{HashMap, HashSet};
use std::process::{Child, Command};
use std::time::Duration;

/// The pages to crawl, the number of workers, and the number of kills.
pub(crate) struct Plan {
    pub(crate) redis: String,
    pub(crate) web: Web,
    pub(crate) workers: usize,
    pub(crate) kills: u64,
    pub(crate) target_fpp: f64,
}

/// The outcome of a crawl.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) pages: u64,
    /// Distinct pages that were fetched.
    pub(crate) fetched: u64,
    /// Fetches beyond the first of a page.
    pub(crate) again: u64,
    /// Repeated fetches of pages that no killed worker had, and whose claim was sure.
    pub(crate) again_for_nothing: u64,
    /// Pages linked from a fetched one that were not fetched because the filter takes them for
    /// fetched.
    pub(crate) false_positives: u64,
    /// Such pages that the filter does not take for fetched ones.
    pub(crate) lost: u64,
    /// Pages that only such pages lead to.
    pub(crate) hidden: u64,
    /// URLs that a killed worker held.
    pub(crate) interrupted: u64,
    pub(crate) unsure: u64,
    /// Workers that ended too early, whether we killed them or not.
    pub(crate) deaths: u64,
    /// p of the filter in the end.
    pub(crate) estimated_fpp: f64,
    /// Whether the filter has the bits of the fetched pages, and no others.
    pub(crate) same_bits: bool,
}

impl Verdict {
    /// The limit on false positives: each page is one with at most the probability p of the full
    /// filter, so the mean is at most n p; three standard deviations are added.
    pub(crate) fn bound(&self) -> f64 {
        let (n, p) = (self.pages as f64, self.estimated_fpp);
        n * p + 3.0 * (n * p * (1.0 - p)).sqrt()
    }

    pub(crate) fn is_right(&self) -> bool {
        self.lost == 0
            && self.again_for_nothing == 0
            && self.same_bits
            && self.false_positives as f64 <= self.bound()
            && self.interrupted <= self.deaths * BATCH as u64
    }
}

/// A worker's process, which does not outlive its value.
struct Process(Child);

impl Process {
    fn kill(&mut self) {
        // SIGKILL, and only to this one: it was not waited for, so the pid is still its own.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Crawls it all. `command` makes the process of a worker, given the number of its predecessors.
pub(crate) async fn crawl(
    plan: &Plan,
    command: impl Fn(&Job, u64) -> Command,
) -> Result<Verdict, Error> {
    let server = Server::connect(&Address::parse(&plan.redis)?, ServerOptions::default()).await?;
    let options = NativeOptions::for_items(plan.web.pages, plan.target_fpp)?;
    let seen = NativeFilter::create(&server, SEEN, &options).await?;
    let mut queue = Client::open(plan.redis.as_str())?.get_multiplexed_async_connection().await?;
    let _: () = queue.rpush(FRONTIER, Web::url(0)).await?;

    let start = |place, before| {
        let (redis, places, pages) = (plan.redis.clone(), plan.workers, plan.web.pages);
        let job = Job { redis, place, places, pages };
        command(&job, before).spawn().map(Process)
    };
    let mut workers = Vec::new();
    for place in 0..plan.workers {
        workers.push((start(place, 0)?, 0));
    }
    let (mut kills, mut deaths) = (0, 0);
    loop {
        let fetched: u64 = queue.llen(FETCHED).await?;
        let mut are_done = true;
        for (place, (worker, before)) in workers.iter_mut().enumerate() {
            let is_next = kills % plan.workers as u64 == place as u64;
            let is_time = fetched >= plan.web.pages * (kills + 1) / (plan.kills + 2);
            if kills < plan.kills && is_next && is_time {
                worker.kill();
                kills += 1;
            }
            match worker.0.try_wait()? {
                None => are_done = false,
                Some(status) if status.success() => {}
                Some(_) => {
                    deaths += 1;
                    *before += 1;
                    *worker = start(place, *before)?;
                    are_done = false;
                }
            }
        }
        if are_done {
            break;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let lists = [FETCHED, INTERRUPTED, UNSURE];
    let mut urls: Vec<Vec<String>> = Vec::new();
    for list in lists {
        urls.push(queue.lrange(list, 0, -1).await?);
    }
    judge(plan, &seen, &urls[0], &urls[1], &urls[2], deaths).await
}

async fn judge(
    plan: &Plan,
    seen: &NativeFilter,
    fetches: &[String],
    interrupted: &[String],
    unsure: &[String],
    deaths: u64,
) -> Result<Verdict, Error> {
    let params = seen.params();
    let mut expected: BlockedBloomFilter = BlockedBloomFilter::builder()
        .expected_items(params.expected_items())
        .target_fpp(plan.target_fpp)
        .build()?;
    let mut times: HashMap<&str, u64> = HashMap::new();
    for url in fetches {
        *times.entry(url).or_default() += 1;
        expected.insert(url.as_str());
    }
    let excused: HashSet<&str> = interrupted.iter().chain(unsure).map(String::as_str).collect();
    let again = |url: &str| times[url] - 1;
    // The pages that the fetched pages link to.
    let (mut false_positives, mut lost) = (0, 0);
    let root = std::iter::once(Web::url(0));
    let found: HashSet<String> =
        times.keys().flat_map(|url| plan.web.fetch(url)).chain(root).collect();
    for url in found.iter().filter(|url| !times.contains_key(url.as_str())) {
        if expected.contains(url.as_str()) { false_positives += 1 } else { lost += 1 }
    }
    let info = seen.info().await?;
    Ok(Verdict {
        pages: plan.web.pages,
        fetched: times.len() as u64,
        again: times.keys().map(|url| again(url)).sum(),
        again_for_nothing: times
            .keys()
            .filter(|url| !excused.contains(**url))
            .map(|url| again(url))
            .sum(),
        false_positives,
        lost,
        hidden: plan.web.pages - found.len() as u64,
        interrupted: interrupted.len() as u64,
        unsure: unsure.len() as u64,
        deaths,
        estimated_fpp: info.estimated_fpp,
        same_bits: info.count_ones as f64 / info.num_bits as f64 == expected.fill_ratio(),
    })
}
