//! One server.

use super::proxy::Proxy;
use super::*;
use crate::Error;
use std::sync::Arc;
use std::thread;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replies_stand_in_the_order_of_the_commands_of_one_pipeline() {
    let Some(redis) = start(&RedisOptions::default()) else { return };
    let server = connect(&redis.url(), ServerOptions::default()).await;
    let reads = info(&redis, "stats", "total_reads_processed");
    // Every third bit twice: the second time it is set.
    let bits: Vec<u32> = (0..1000).map(|i| if i % 3 == 2 { i - 1 } else { i }).collect();
    let replies = server.run(bits.iter().map(|&bit| set("k", bit)).collect()).await.unwrap();
    let expected: Vec<i64> = (0..1000).map(|i| i64::from(i % 3 == 2)).collect();
    assert_eq!(ints(&replies), expected);
    assert_eq!(repeated(&replies), 0);
    assert_eq!(calls(&redis, "bitfield"), 1000);
    // 50 KB in pieces of 16 KB; a round trip per command would take a thousand reads.
    assert!(info(&redis, "stats", "total_reads_processed") - reads < 50);
    // Larger than a pipeline: still all, still in order.
    let replies = server.run((0..40_000).map(|bit| get("k", bit)).collect()).await.unwrap();
    let expected: Vec<i64> = (0..40_000).map(|i| i64::from(i < 1000 && i % 3 != 2)).collect();
    assert_eq!(ints(&replies), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_whose_reply_was_lost_says_so_and_no_other_does() {
    let Some(redis) = start(&RedisOptions::default()) else { return };
    let proxy = Proxy::start(redis.port()).await;
    let url = format!("redis://127.0.0.1:{}", proxy.port);
    let server = connect(&url, quick(20_000)).await;
    let first = server.one(set("k", 1)).await.unwrap();
    assert_eq!((int(&first), first.repeated), (0, false));
    proxy.lose(1);
    let lost = server.one(set("k", 2)).await.unwrap();
    assert_eq!(proxy.left_to_lose(), 0);
    // It was executed twice, and the reply is the second one.
    assert_eq!((int(&lost), lost.repeated), (1, true));
    assert_eq!(calls(&redis, "bitfield"), 3);
    let next = server.one(set("k", 3)).await.unwrap();
    assert_eq!((int(&next), next.repeated), (0, false));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_must_not_be_repeated_is_never_sent_twice() {
    let Some(redis) = start(&RedisOptions::default()) else { return };
    let proxy = Proxy::start(redis.port()).await;
    let url = format!("redis://127.0.0.1:{}", proxy.port);
    let server = connect(&url, quick(20_000)).await;
    let count = || {
        let mut incr = cmd("INCR");
        incr.arg("n");
        Command::once("n", incr)
    };
    assert_eq!(int(&server.one(count()).await.unwrap()), 1);
    proxy.lose(1);
    let lost = server.one(count()).await.map(|reply| int(&reply));
    assert!(matches!(lost, Err(Error::Lost { .. })), "{lost:?}");
    // It was carried out, once.
    assert_eq!((redis.cli(&["GET", "n"]).unwrap().trim(), calls(&redis, "incr")), ("2", 2));
    assert_eq!(int(&server.one(count()).await.unwrap()), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_loads_is_waited_for_and_no_reply_is_taken_for_lost() {
    let config = ["key-load-delay 1000", "loading-process-events-interval-bytes 1024"];
    let config = config.map(str::to_owned).to_vec();
    let Some(redis) = start(&RedisOptions { appendonly: true, config, ..Default::default() })
    else {
        return;
    };
    let server = connect(&redis.url(), ServerOptions::default()).await;
    let keys: Vec<String> = (0..1000).map(|i| format!("k{i}")).collect();
    server.run(keys.iter().map(|key| set(key, 0)).collect()).await.unwrap();
    // `key-load-delay` only applies to snapshots, so the log becomes one.
    redis.cli(&["BGREWRITEAOF"]).unwrap();
    let rewritten = || {
        let number = |name| info(&redis, "persistence", name);
        number("aof_rewrites") == 1 && number("aof_rewrite_in_progress") == 0
    };
    until("a rewritten log", rewritten).await;
    redis.kill();
    let redis = Arc::new(redis);
    let restart = thread::spawn({
        let redis = redis.clone();
        move || redis.restart().unwrap()
    });
    let loading = || {
        let pong = redis.cli(&["PING"]);
        pong.is_err_and(|error| error.to_string().contains("LOADING"))
    };
    until("LOADING", loading).await;
    let fresh = connect(&redis.url(), ServerOptions::default()).await;
    let replies = fresh.run(keys.iter().map(|key| set(key, 1)).collect()).await.unwrap();
    assert_eq!(repeated(&replies), 0, "the server has reported that it did nothing");
    assert!(ints(&replies).iter().all(|&bit| bit == 0));
    assert!(redis.cli(&["INFO", "errorstats"]).unwrap().contains("errorstat_LOADING"));
    restart.join().unwrap();
    // The loss of the old connection is noticed by losing a command.
    let replies = server.run(keys.iter().map(|key| get(key, 0)).collect()).await.unwrap();
    assert!(ints(&replies).iter().all(|&bit| bit == 1), "with AOF nothing is lost");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restarted_server_is_found_again() {
    let Some(redis) = start(&RedisOptions { appendonly: true, ..Default::default() }) else {
        return;
    };
    let server = connect(&redis.url(), quick(60_000)).await;
    for round in 0..3 {
        server.one(set("k", round)).await.unwrap();
        redis.kill();
        let calls = (0..8).map(|i| {
            let server = server.clone();
            tokio::spawn(async move { server.one(set("k", 100 + 10 * round + i)).await })
        });
        let calls: Vec<_> = calls.collect();
        redis.restart().unwrap();
        for call in calls {
            call.await.unwrap().unwrap();
        }
        let replies = server.run((0..=round).map(|bit| get("k", bit)).collect()).await.unwrap();
        assert!(ints(&replies).iter().all(|&bit| bit == 1));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_never_sent_is_not_taken_for_repeated() {
    let Some(redis) = start(&RedisOptions::default()) else { return };
    let address = Address::parse(&redis.url()).unwrap();
    let server = Server::connect(&address, quick(400)).await.unwrap();
    redis.kill();
    // Finds the connection lost, and then that none can be made.
    server.one(set("k", 1)).await.unwrap_err();
    let call = tokio::spawn(async move {
        loop {
            if let Ok(reply) = server.one(set("k", 1)).await {
                return reply;
            }
        }
    });
    redis.restart().unwrap();
    let reply = call.await.unwrap();
    assert_eq!((int(&reply), reply.repeated), (0, false));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_password_is_reported_at_once_and_never_repeated() {
    let password = Some("secret".to_owned());
    let Some(redis) = start(&RedisOptions { password, ..Default::default() }) else { return };
    let port = redis.port();
    for url in [format!("redis://127.0.0.1:{port}"), format!("redis://:wrong@127.0.0.1:{port}")] {
        let error = Server::connect(&Address::parse(&url).unwrap(), ServerOptions::default()).await;
        let Err(Error::Unauthorized { reason, .. }) = &error else { panic!("{url}: {error:?}") };
        assert!(!reason.contains("wrong@"), "{reason}");
    }
    // Changed while a connection is open, which is then closed.
    let server = connect(&redis.url(), ServerOptions::default()).await;
    redis.cli(&["CONFIG", "SET", "requirepass", "other"]).unwrap();
    assert_eq!(int(&server.one(set("k", 1)).await.unwrap()), 0);
    let proxy = Proxy::start(port).await;
    let through = Address::parse(&format!("redis://:other@127.0.0.1:{}", proxy.port)).unwrap();
    let server = Server::connect(&through, ServerOptions::default()).await.unwrap();
    // The open connection stays authenticated by the old password.
    let admin = Server::connect(&through, ServerOptions::default()).await.unwrap();
    let mut change = cmd("CONFIG");
    change.arg("SET").arg("requirepass").arg("third");
    admin.one(Command::write("", change)).await.unwrap();
    proxy.lose(1);
    let error = server.one(set("k", 1)).await.unwrap_err();
    assert!(matches!(error, Error::Unauthorized { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_server_ends_a_call_at_its_deadline_or_with_its_resumption() {
    let Some(redis) = start(&RedisOptions::default()) else { return };
    let short = connect(&redis.url(), quick(700)).await;
    let long = connect(&redis.url(), quick(60_000)).await;
    redis.pause().unwrap();
    let call = tokio::spawn(async move { long.one(set("k", 1)).await });
    let error = short.one(set("k", 2)).await.unwrap_err();
    let Error::Unavailable { after, .. } = &error else { panic!("{error:?}") };
    assert!(*after >= Duration::from_millis(700), "{after:?}");
    assert!(!call.is_finished());
    redis.resume().unwrap();
    call.await.unwrap().unwrap();
    // Abandoned commands may have been executed or not; the connection continues with the right
    // replies.
    let replies = short.run((10..200).map(|bit| set("k", bit)).collect()).await.unwrap();
    assert!(ints(&replies).iter().all(|&bit| bit == 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_dropped_takes_no_reply_of_another() {
    let Some(redis) = start(&RedisOptions::default()) else { return };
    let server = connect(&redis.url(), ServerOptions::default()).await;
    for bit in 0..20 {
        server.one(set("odd", 2 * bit + 1)).await.unwrap();
    }
    for round in 0..100_u64 {
        let dropped = server.run((0..500).map(|bit| get("none", bit)).collect());
        let _ = tokio::time::timeout(Duration::from_micros(20 * round), dropped).await;
        let replies = server.run((0..40).map(|bit| get("odd", bit)).collect()).await.unwrap();
        let expected: Vec<i64> = (0..40).map(|bit| i64::from(bit % 2 == 1)).collect();
        assert_eq!(ints(&replies), expected, "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_is_the_reply_of_its_command_alone() {
    let Some(redis) = start(&RedisOptions::default()) else { return };
    redis.cli(&["LPUSH", "list", "1"]).unwrap();
    let server = connect(&redis.url(), ServerOptions::default()).await;
    let replies = server.run(vec![set("k", 1), set("list", 1), set("k", 1)]).await.unwrap();
    assert!(matches!(replies[1].value, Err(Error::WrongType { .. })), "{replies:?}");
    assert_eq!((int(&replies[0]), int(&replies[2])), (0, 1));
    redis.cli(&["CONFIG", "SET", "maxmemory", "1"]).unwrap();
    let replies = server.run(vec![get("k", 1), set("k", 2)]).await.unwrap();
    assert_eq!(int(&replies[0]), 1);
    assert!(matches!(replies[1].value, Err(Error::ServerFull { .. })), "{replies:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_takes_longer_than_a_reply_may_is_sent_in_parts() {
    let Some(redis) = start(&RedisOptions::default()) else { return };
    let response_timeout = Duration::from_millis(100);
    let options = ServerOptions { response_timeout, ..quick(60_000) };
    let server = connect(&redis.url(), options).await;
    // One takes milliseconds, also on a busy machine, and all of them more than the time.
    redis.cli(&["SETBIT", "k", "60000000", "1"]).unwrap();
    let count = || {
        let mut count = cmd("BITCOUNT");
        count.arg("k");
        Command::read("k", count)
    };
    let replies = server.run((0..100).map(|_| count()).collect()).await.unwrap();
    assert!(ints(&replies).iter().all(|&ones| ones == 1));
    assert!(repeated(&replies) > 0, "it was done in time");
}
