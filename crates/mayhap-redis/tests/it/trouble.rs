//! The errors for an unusable server: they report the cause, not just silence.

use mayhap_redis::{
    Address, Error, Inserted, NativeFilter, NativeOptions, RemoteFilter, Server, ServerOptions,
    Trouble,
};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;
use test_servers::{RedisOptions, RedisServer, ready};

/// A listener that is not a Redis server; its threads end with the process.
fn serve(with: impl Fn(TcpStream) + Clone + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (client, with) = (client.unwrap(), with.clone());
            std::thread::spawn(move || with(client));
        }
    });
    port
}

/// Answers the first request with these bytes, and waits for the end.
fn answers(bytes: &'static [u8]) -> u16 {
    serve(move |mut client| {
        let mut heard = [0; 1024];
        let _ = client.read(&mut heard).and_then(|_| client.write_all(bytes));
        while client.read(&mut heard).is_ok_and(|length| length > 0) {}
    })
}

/// A port without a listener.
fn nobody() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

async fn error_of(url: &str) -> Error {
    let options = ServerOptions {
        connect_timeout: Duration::from_secs(2),
        response_timeout: Duration::from_secs(2),
        deadline: Duration::from_secs(4),
        ..ServerOptions::default()
    };
    Server::connect(&Address::parse(url).unwrap(), options).await.unwrap_err()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_cannot_be_used_says_what_happened() {
    let closes = serve(drop);
    let silent = answers(b"");
    for (url, trouble, words) in [
        (format!("redis://127.0.0.1:{}/", nobody()), Trouble::Refused, "refuses connections"),
        (format!("rediss://127.0.0.1:{}/", nobody()), Trouble::Refused, "refuses connections"),
        (
            format!("redis+cluster://127.0.0.1:{}/", nobody()),
            Trouble::Refused,
            "refuses connections",
        ),
        (format!("redis://127.0.0.1:{silent}/"), Trouble::Silent, "gives no answer, tried for 4."),
        (format!("rediss://127.0.0.1:{silent}/"), Trouble::Silent, "gives no answer, tried for 4."),
        (format!("redis://127.0.0.1:{closes}/"), Trouble::Closed, "closed the connection"),
        (
            format!("redis://127.0.0.1:{}/", answers(b"HTTP/1.1 400 Bad Request\r\n\r\n")),
            Trouble::OtherProtocol,
            "does not speak the protocol of Redis",
        ),
        (
            format!(
                "redis://127.0.0.1:{}/",
                serve(|mut client| {
                    let mut heard = [0; 64];
                    let _ = client.write_all(b"SSH-2.0-OpenSSH_9.2\r\n");
                    let _ = client.read(&mut heard);
                })
            ),
            Trouble::OtherProtocol,
            "does not speak the protocol of Redis",
        ),
        // A fatal alert, as from a server that receives no TLS.
        (
            format!("redis://127.0.0.1:{}/", answers(b"\x15\x03\x01\x00\x02\x02\x46")),
            Trouble::NeedsTls,
            "wants TLS",
        ),
    ] {
        let error = error_of(&url).await;
        let Error::Unavailable { trouble: found, after, .. } = &error else {
            panic!("{url}: {error:?}")
        };
        assert_eq!(*found, trouble, "{url}: {error:?}");
        let text = error.to_string();
        assert!(text.contains(words), "{url}: {text}");
        assert!(!text.contains('\n'), "{url}: {text:?}");
        if !matches!(trouble, Trouble::Silent | Trouble::Refused) {
            assert!(*after < Duration::from_secs(2), "{url}: an immediate failure took {after:?}");
        }
        if !matches!(trouble, Trouble::Silent) {
            assert!(!text.contains("no answer"), "{url}: {text}");
        }
    }
    let error =
        error_of(&format!("rediss://127.0.0.1:{}/", answers(b"HTTP/1.1 400 \r\n\r\n"))).await;
    let Error::Unavailable { trouble: Trouble::Tls { .. }, .. } = &error else {
        panic!("{error:?}")
    };
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_server_refuses_is_in_its_own_words() {
    if !ready(&["redis-server"]) {
        return;
    }
    let options = RedisOptions { password: Some("secret".into()), ..RedisOptions::default() };
    let redis = RedisServer::start(&options).unwrap();
    let port = redis.port();
    for (url, words) in [
        (format!("redis://127.0.0.1:{port}/"), "refuses this user or password: NOAUTH"),
        (format!("redis://:wrong@127.0.0.1:{port}/"), "refuses this user or password"),
    ] {
        let error = error_of(&url).await;
        assert!(matches!(error, Error::Unauthorized { .. }), "{error:?}");
        assert!(
            error.to_string().contains(words) && !error.to_string().contains("wrong"),
            "{error}"
        );
    }
    for (url, words) in [
        (format!("redis://:secret@127.0.0.1:{port}/99"), "DB index is out of range"),
        (format!("redis+cluster://:secret@127.0.0.1:{port}/"), "cluster support disabled"),
    ] {
        let error = error_of(&url).await;
        assert!(matches!(error, Error::Refused { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(words) && !text.contains("no answer"), "{text}");
    }
}

/// A proxy in front of a server that closes the connection on commands that it does not know.
fn closes_on(server: u16, unknown: &'static str) -> u16 {
    serve(move |mut client| {
        let mut server = TcpStream::connect(("127.0.0.1", server)).unwrap();
        let (mut replies, mut to_client) =
            (server.try_clone().unwrap(), client.try_clone().unwrap());
        std::thread::spawn(move || std::io::copy(&mut replies, &mut to_client));
        let mut heard = [0; 8_192];
        while let Ok(length @ 1..) = client.read(&mut heard) {
            let text = String::from_utf8_lossy(&heard[..length]);
            if text.contains(unknown) || server.write_all(&heard[..length]).is_err() {
                break;
            }
        }
        let _ = (client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_that_closes_on_what_it_does_not_know_is_worked_with() {
    if !ready(&["redis-server"]) {
        return;
    }
    let redis = RedisServer::start(&RedisOptions::default()).unwrap();
    for unknown in ["SETINFO", "CONFIG"] {
        let url = format!("redis://127.0.0.1:{}", closes_on(redis.port(), unknown));
        let address = Address::parse(&url).unwrap();
        let server = Server::connect(&address, ServerOptions::default()).await.unwrap();
        let options = NativeOptions::for_items(1_000, 0.01).unwrap();
        let filter = NativeFilter::create(&server, "a", &options).await.unwrap();
        assert_eq!(filter.insert(unknown.as_bytes()).await.unwrap(), Inserted::New);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_starts_late_or_holds_its_clients_is_waited_for() {
    if !ready(&["redis-server"]) {
        return;
    }
    let redis = RedisServer::start(&RedisOptions::default()).unwrap();
    let options = || ServerOptions {
        response_timeout: Duration::from_millis(200),
        connect_timeout: Duration::from_millis(200),
        ..ServerOptions::default()
    };
    let (url, starts) = (redis.url(), redis);
    starts.kill();
    let address = Address::parse(&url).unwrap();
    let connecting = tokio::spawn(async move { Server::connect(&address, options()).await });
    // The first attempts are refused.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!connecting.is_finished());
    starts.restart().unwrap();
    connecting.await.unwrap().unwrap();
    // Longer than an attempt, and shorter than the deadline.
    starts.cli(&["CLIENT", "PAUSE", "700"]).unwrap();
    Server::connect(&Address::parse(&url).unwrap(), options()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_names_its_master() {
    if !ready(&["redis-server"]) {
        return;
    }
    let master = RedisServer::start(&RedisOptions::default()).unwrap();
    let config = vec![format!("replicaof 127.0.0.1 {}", master.port())];
    let replica = RedisServer::start(&RedisOptions { config, ..Default::default() }).unwrap();
    let deadline = Duration::from_millis(300);
    let options = ServerOptions { deadline, ..ServerOptions::default() };
    let server = Server::connect(&Address::parse(&replica.url()).unwrap(), options).await.unwrap();
    let options = NativeOptions::for_items(1_000, 0.01).unwrap();
    let error = NativeFilter::create(&server, "a", &options).await.unwrap_err();
    let named = format!("name its master, 127.0.0.1:{}", master.port());
    assert!(error.to_string().contains(&named), "{error}");
}
