//! The crawler of the examples loses nothing when its workers are killed at any point.

#[path = "../../../examples/crawler/crawl.rs"]
mod crawl;
#[path = "../../../examples/crawler/web.rs"]
mod web;
#[path = "../../../examples/crawler/worker.rs"]
mod worker;

use crawl::{Plan, crawl};
use std::process::{Command, Stdio};
use test_servers::{RedisOptions, RedisServer, ready};
use web::Web;
use worker::{Error, Job, Step, work};

const JOB: &str = "MAYHAP_TEST_CRAWLER";

/// The workers of the test below are this test in processes of their own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_of_the_crawler_ends_well() -> Result<(), Error> {
    let Ok(job) = std::env::var(JOB) else { return Ok(()) };
    let words: Vec<&str> = job.split(' ').collect();
    let [redis, place, places, pages, death] = words[..] else { return Err(job.into()) };
    let (place, places) = (place.parse()?, places.parse()?);
    let (mut batches, death) = (0, death.parse::<usize>()?);
    let steps = [Step::Taken, Step::Claimed, Step::Fetched, Step::Pushed];
    let job = Job { redis: redis.to_owned(), place, places, pages: pages.parse()? };
    work(job, |step| {
        batches += usize::from(step == Step::Taken);
        if batches == 3 && steps.get(death) == Some(&step) {
            // As sudden as SIGKILL: nothing is dropped, nothing sent.
            std::process::abort();
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawler_whose_workers_are_killed_fetches_every_page_and_none_twice_for_nothing()
-> Result<(), Error> {
    if !ready(&["redis-server"]) {
        return Ok(());
    }
    let redis = RedisServer::start(&RedisOptions::default())?;
    let web = Web { pages: 4_000 };
    let plan = Plan { redis: redis.url(), web, workers: 3, kills: 4, target_fpp: 0.001 };
    let verdict = crawl(&plan, |job, before| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "guard::crawler::a_worker_of_the_crawler_ends_well"]);
        let Job { redis, place, places, pages } = job;
        // Each dies in its third batch, and its successor one step later.
        command.env(JOB, format!("{redis} {place} {places} {pages} {before}"));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    })
    .await?;
    println!("{verdict:?}");
    assert_eq!(verdict.lost, 0, "{verdict:?}");
    assert_eq!(verdict.again_for_nothing, 0, "{verdict:?}");
    assert!(verdict.same_bits && verdict.is_right(), "{verdict:?}");
    assert_eq!(verdict.unsure, 0, "{verdict:?}");
    // Four deaths in each of three places; some may be kills by the test.
    assert!(verdict.deaths >= 12 && verdict.interrupted > 0 && verdict.again > 0, "{verdict:?}");
    assert_eq!(verdict.fetched + verdict.false_positives + verdict.hidden, 4_000);
    Ok(())
}
