//! A proxy between client and server that loses replies.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Forwards to a server on loopback, and cuts connections on request.
pub(super) struct Proxy {
    pub(super) port: u16,
    /// The number of replies to lose from now on; each loss cuts its connection.
    pub(super) to_lose: Arc<AtomicUsize>,
}

impl Proxy {
    pub(super) async fn start(server: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let to_lose = Arc::new(AtomicUsize::new(0));
        let losing = to_lose.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(("127.0.0.1", server)).await;
                if let Ok(server) = server {
                    tokio::spawn(forward(client, server, losing.clone()));
                }
            }
        });
        Self { port, to_lose }
    }

    pub(super) fn lose(&self, replies: usize) {
        self.to_lose.store(replies, Ordering::SeqCst);
    }

    pub(super) fn left_to_lose(&self) -> usize {
        self.to_lose.load(Ordering::SeqCst)
    }
}

/// Ends, and closes both connections, with the first reply to be lost: the server has executed the
/// request by then.
async fn forward(client: TcpStream, server: TcpStream, to_lose: Arc<AtomicUsize>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let requests = tokio::spawn(async move {
        let _ = tokio::io::copy(&mut from_client, &mut to_server).await;
    });
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from_server.read(&mut buffer).await {
        let one_less = |left: usize| left.checked_sub(1);
        let lose = to_lose.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_ok();
        if lose || to_client.write_all(&buffer[..length]).await.is_err() {
            break;
        }
    }
    requests.abort();
}
