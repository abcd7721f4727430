//! The errors for an unusable server: they report the cause, not just silence.

use mayhap_redis::{Address, Error, Server, ServerOptions, Trouble};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
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
        (format!("redis://127.0.0.1:{silent}/"), Trouble::Silent, "gives no answer, tried for 2."),
        (format!("rediss://127.0.0.1:{silent}/"), Trouble::Silent, "gives no answer, tried for 2."),
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
        if !matches!(trouble, Trouble::Silent) {
            assert!(*after < Duration::from_secs(2), "{url}: an immediate failure took {after:?}");
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
