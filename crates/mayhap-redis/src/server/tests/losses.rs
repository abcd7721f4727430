//! A master that acknowledges writes and is lost with them, in the middle of a call.

use super::fake::{End, Fake};
use super::*;

/// 64 writes in two pipelines: the master acknowledges `acknowledged` of them and is lost.
async fn run(end: End, acknowledged: usize) {
    let fake = Fake::start(end, acknowledged, |_, _| None).await;
    let server = connect(&fake.url(), quick(60_000)).await;
    let keys: Vec<String> = (0..64).map(|i| format!("k{i}")).collect();
    let replies = server.run(keys.iter().map(|key| set(key, 7)).collect()).await.unwrap();
    assert!(fake.is_lost(), "{end:?}");
    let there = |key: &&String| fake.strings(|[_, now]| now.0.contains_key(*key));
    let missing: Vec<&String> = keys.iter().filter(|key| !there(key)).collect();
    assert_eq!(missing, Vec::<&String>::new(), "{end:?} after {acknowledged}");
    // The first replies stand.
    assert!(ints(&replies).iter().all(|&bit| bit == 0));
    assert!(replies[..32].iter().all(|reply| !reply.repeated));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_that_a_lost_master_took_with_it_are_on_its_successor() {
    for end in [End::Dies, End::IsDemoted, End::IsReplaced] {
        for acknowledged in [32, 40] {
            run(end, acknowledged).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_is_not_sent_again_for_a_master_that_is_lost() {
    let fake = Fake::start(End::Dies, 0, |_, _| None).await;
    let server = connect(&fake.url(), quick(60_000)).await;
    let gets: Vec<Command> = (0..40)
        .map(|i| {
            let mut get = cmd("BITCOUNT");
            get.arg(format!("k{i}")).arg(0).arg(0);
            Command::write(&format!("k{i}"), get)
        })
        .collect();
    let losing = [gets, vec![set("k", 1)]].concat();
    let replies = server.run_unconfirmed(losing).await.unwrap();
    assert!(fake.is_lost());
    assert!(replies[..32].iter().all(|reply| !reply.again));
}
