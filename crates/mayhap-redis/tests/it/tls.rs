//! TLS with an authority of one's own, and servers that require a client's certificate.

use mayhap_redis::{
    Address, Certificates, Error, NativeFilter, NativeOptions, RemoteFilter, Server, ServerOptions,
};
use std::path::{Path, PathBuf};
use std::time::Duration;
use test_servers::{RedisOptions, RedisServer, ready};

fn file(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "mayhap-server", "tests", "data", "tls", name]
        .iter()
        .collect()
}

async fn connect(url: &str, certificates: Certificates) -> Result<Server, Error> {
    let deadline = Duration::from_secs(10);
    let options = ServerOptions { certificates, deadline, ..ServerOptions::default() };
    Server::connect(&Address::parse(url).unwrap(), options).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_requires_a_client_certificate_gets_one() {
    if !ready(&["redis-server"]) {
        return;
    }
    let tls = Some(["server.pem", "server.key", "client.pem"].map(file));
    let redis = RedisServer::start(&RedisOptions { tls, ..RedisOptions::default() }).unwrap();
    let url = format!("rediss://localhost:{}", redis.tls_port().unwrap());
    let ca = file("ca.pem");
    let (certificate, key) = (file("client.pem"), file("client.key"));
    let trouble = |error: Error| match error {
        Error::Unavailable { trouble, .. } => trouble.to_string(),
        other => panic!("{other:?}"),
    };
    let nothing = trouble(connect(&url, Certificates::default()).await.unwrap_err());
    assert!(nothing.contains("UnknownIssuer"), "{nothing}");
    let no_client = Certificates::open(Some(&ca), None).unwrap();
    let no_client = trouble(connect(&url, no_client).await.unwrap_err());
    // The end of the connection may overtake the reason.
    let words = ["CertificateRequired", "closed the connection"];
    assert!(words.iter().any(|words| no_client.contains(words)), "{no_client}");
    let both = Certificates::open(Some(&ca), Some((&certificate, &key))).unwrap();
    let server = connect(&url, both.clone()).await.unwrap();
    let options = NativeOptions::for_items(1_000, 0.01).unwrap();
    let filter = NativeFilter::create(&server, "a", &options).await.unwrap();
    filter.insert(b"key").await.unwrap();
    assert!(filter.contains(b"key").await.unwrap());
    // Not sent in the clear without a word.
    let error = connect(&redis.url(), both).await.unwrap_err();
    assert!(matches!(&error, Error::Certificates { .. }), "{error:?}");
}

#[test]
fn files_that_are_no_certificates_are_refused() {
    let (ca, key) = (file("ca.pem"), file("client.key"));
    for (authority, client, words) in [
        (Some(&key), None, "the authority has no certificate"),
        (None, Some((&key, &key)), "the client has no certificate"),
        (None, Some((&ca, &ca)), "the client has no key"),
        (Some(&file("none.pem")), None, "none.pem: "),
    ] {
        let client = client.map(|(certificate, key)| (certificate.as_path(), key.as_path()));
        let error = Certificates::open(authority.map(PathBuf::as_path), client).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    // Without an end.
    let error = Certificates::open(Some(Path::new("/dev/zero")), None).unwrap_err();
    assert!(error.to_string().contains("has more than 1048576 bytes"), "{error}");
}
