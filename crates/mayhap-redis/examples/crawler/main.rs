//! A crawler: worker processes that share one filter and one queue in Redis, and are killed and
//! started again while they work.
//!
//!     cargo run --release -p mayhap-redis --example crawler
//!
//! Starts a Redis of its own (Debian's package `redis-server`). Ends with 1 if a page was lost, or
//! fetched twice without need.

mod crawl;
mod web;
mod worker;

use crawl::{Plan, crawl};
use std::process::{Command, ExitCode};
use std::time::Instant;
use test_servers::{RedisOptions, RedisServer, missing};
use web::Web;
use worker::{Error, Job, work};

const PAGES: u64 = 50_000;
const WORKERS: usize = 4;
const KILLS: u64 = 12;
const TARGET_FPP: f64 = 0.001;

#[tokio::main]
async fn main() -> Result<ExitCode, Error> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [word, redis, place, places, pages] = args.as_slice()
        && word == "worker"
    {
        let (redis, place, places) = (redis.clone(), place.parse()?, places.parse()?);
        work(Job { redis, place, places, pages: pages.parse()? }, |_| ()).await?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(what) = missing(&["redis-server"]) {
        eprintln!("{what}");
        return Ok(ExitCode::from(2));
    }
    // The frontier has to survive as well: URLs that it forgets are lost.
    let redis = RedisServer::start(&RedisOptions { appendonly: true, ..RedisOptions::default() })?;
    let (web, kills) = (Web { pages: PAGES }, KILLS);
    let plan = Plan { redis: redis.url(), web, workers: WORKERS, kills, target_fpp: TARGET_FPP };
    let started = Instant::now();
    let own = std::env::current_exe()?;
    let verdict = crawl(&plan, |job, _| {
        let mut command = Command::new(&own);
        let numbers = [job.place.to_string(), job.places.to_string(), job.pages.to_string()];
        command.arg("worker").arg(&job.redis).args(numbers);
        command
    })
    .await?;
    println!(
        "{} of {} pages fetched in {:.1} s by {WORKERS} workers, {} of which were killed",
        verdict.fetched,
        verdict.pages,
        started.elapsed().as_secs_f64(),
        verdict.deaths,
    );
    println!(
        "fetched again: {} (of {} URLs that killed workers had, {} unsure), {} for nothing",
        verdict.again, verdict.interrupted, verdict.unsure, verdict.again_for_nothing,
    );
    println!(
        "not fetched: {} false positives (at most {:.0} at a rate of {:.2e}), {} behind them, {} \
         lost",
        verdict.false_positives,
        verdict.bound(),
        verdict.estimated_fpp,
        verdict.hidden,
        verdict.lost,
    );
    Ok(if verdict.is_right() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
