//! One worker: takes URLs, claims and fetches them, pushes their links.
//!
//! It may be killed between any two commands. The URLs that it has taken are in a list of its own
//! until the links are pushed, and a worker that is started in its place continues with that list.
//! Commands that the killed one had sent may still be executed later, so nothing unseen is deleted.

use super::web::Web;
use mayhap_redis::{Address, Inserted, NativeFilter, RemoteFilter, Server, ServerOptions};
use redis::aio::MultiplexedConnection;
use redis::{AsyncCommands, Client, Direction, Pipeline, pipe};

pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;

/// The name of the filter of all URLs that were claimed.
pub(crate) const SEEN: &str = "seen";
/// URLs to fetch, some of them more than once.
pub(crate) const FRONTIER: &str = "crawl:frontier";
/// URLs that were fetched, in order: a crawler would store them.
pub(crate) const FETCHED: &str = "crawl:fetched";
/// URLs whose worker was killed while it had them.
pub(crate) const INTERRUPTED: &str = "crawl:interrupted";
/// URLs that were fetched though it is not known whether they were new.
pub(crate) const UNSURE: &str = "crawl:unsure";
/// The number of URLs taken at once.
pub(crate) const BATCH: usize = 16;
/// How long to wait for links of others, in seconds, before asking whether all is done.
const PATIENCE: f64 = 0.05;

/// The list of the URLs taken by the worker in a place.
pub(crate) fn taken(place: usize) -> String {
    format!("crawl:taken:{place}")
}

/// The step that a worker has just taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Taken,
    Claimed,
    Fetched,
    Pushed,
}

/// Where a worker works.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) redis: String,
    /// No two workers have the same place at one time.
    pub(crate) place: usize,
    pub(crate) places: usize,
    pub(crate) pages: u64,
}

struct Worker<F> {
    queue: MultiplexedConnection,
    seen: NativeFilter,
    job: Job,
    taken: String,
    after: F,
}

/// Works until no worker has anything left to do. `after` is called after each step.
pub(crate) async fn work(job: Job, after: impl FnMut(Step)) -> Result<(), Error> {
    let address = Address::parse(&job.redis)?;
    let server = Server::connect(&address, ServerOptions::default()).await?;
    let seen = NativeFilter::attach(&server, SEEN, None).await?;
    let queue = Client::open(job.redis.as_str())?.get_multiplexed_async_connection().await?;
    let taken = taken(job.place);
    let mut worker = Worker { queue, seen, job, taken, after };
    loop {
        worker.go_on_for_the_dead().await?;
        // As long as there is work, the own list is not checked again.
        loop {
            let batch = worker.take().await?;
            if batch.is_empty() {
                break;
            }
            worker.crawl(&batch, false).await?;
        }
        if worker.all_is_done().await? {
            return Ok(());
        }
    }
}

impl<F: FnMut(Step)> Worker<F> {
    /// Fetches the URLs that a killed worker in this place had taken, claimed or not: it may have
    /// claimed without fetching.
    async fn go_on_for_the_dead(&mut self) -> Result<(), Error> {
        let batch: Vec<String> = self.queue.lrange(&self.taken, 0, -1).await?;
        if batch.is_empty() {
            return Ok(());
        }
        let _: () = self.queue.rpush(INTERRUPTED, &batch).await?;
        self.crawl(&batch, true).await
    }

    /// Moves URLs from the frontier to the worker's own list.
    async fn take(&mut self) -> Result<Vec<String>, Error> {
        let mut moves = Pipeline::new();
        for _ in 0..BATCH {
            moves.lmove(FRONTIER, &self.taken, Direction::Left, Direction::Right);
        }
        let batch: Vec<Option<String>> = moves.query_async(&mut self.queue).await?;
        let mut batch: Vec<String> = batch.into_iter().flatten().collect();
        if batch.is_empty() {
            let (left, right) = (Direction::Left, Direction::Right);
            let one = self.queue.blmove(FRONTIER, &self.taken, left, right, PATIENCE).await?;
            batch.extend::<Option<String>>(one);
        }
        (self.after)(Step::Taken);
        Ok(batch)
    }

    /// Claims URLs by inserting them: the first to insert fetches. Their links are pushed in the
    /// same transaction that takes them off the own list, so both are done or neither.
    async fn crawl(&mut self, batch: &[String], all: bool) -> Result<(), Error> {
        let claimed = self.seen.insert_batch(&bytes(batch)).await?;
        (self.after)(Step::Claimed);
        let is_ours = |&i: &usize| all || claimed.get(i) != Inserted::Present;
        let mut ours: Vec<&String> = (0..batch.len()).filter(is_ours).map(|i| &batch[i]).collect();
        ours.sort_unstable();
        ours.dedup();
        let web = Web { pages: self.job.pages };
        let mut links: Vec<String> = ours.iter().flat_map(|url| web.fetch(url)).collect();
        if !ours.is_empty() {
            let _: () = self.queue.rpush(FETCHED, &ours).await?;
        }
        (self.after)(Step::Fetched);
        links.sort_unstable();
        links.dedup();
        // Only to keep the frontier short: whether a link is fetched is decided by its claim.
        let known = self.seen.contains_batch(&bytes(&links)).await?;
        let unknown: Vec<&String> =
            links.iter().enumerate().filter(|(i, _)| !known.get(*i)).map(|(_, url)| url).collect();
        let unsure: Vec<&String> = (0..batch.len())
            .filter(|&i| claimed.get(i) == Inserted::Unsure)
            .map(|i| &batch[i])
            .collect();
        let mut end = pipe();
        end.atomic();
        for (list, urls) in [(FRONTIER, &unknown), (UNSURE, &unsure)] {
            if !urls.is_empty() {
                end.rpush(list, urls).ignore();
            }
        }
        for url in batch {
            end.lrem(&self.taken, 1, url).ignore();
        }
        let () = end.query_async(&mut self.queue).await?;
        (self.after)(Step::Pushed);
        Ok(())
    }

    /// Whether, at one moment, nothing is left to fetch and no worker holds anything.
    async fn all_is_done(&mut self) -> Result<bool, Error> {
        let mut look = pipe();
        look.atomic().llen(FRONTIER);
        for place in 0..self.job.places {
            look.llen(taken(place));
        }
        let lengths: Vec<usize> = look.query_async(&mut self.queue).await?;
        Ok(lengths.iter().all(|&length| length == 0))
    }
}

fn bytes(urls: &[String]) -> Vec<&[u8]> {
    urls.iter().map(String::as_bytes).collect()
}
