//! A connection that can lose a reply, or end in the middle of a request.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Passes everything on, both ways; its threads end with the process.
pub(crate) struct Proxy {
    port: u16,
    lose: Arc<AtomicBool>,
    left: Arc<AtomicUsize>,
}

impl Proxy {
    /// `to` is a URL with host and port only.
    pub(crate) fn start(to: &str) -> Self {
        let to = to.trim_start_matches("redis://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let lose = Arc::new(AtomicBool::new(false));
        let left = Arc::new(AtomicUsize::new(usize::MAX));
        let proxy = Self { port, lose: lose.clone(), left: left.clone() };
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect(&to).unwrap());
                let (a, b) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let left = left.clone();
                thread::spawn(move || pass(a, b, &AtomicBool::new(false), &left));
                let lose = lose.clone();
                thread::spawn(move || pass(server, client, &lose, &AtomicUsize::new(usize::MAX)));
            }
        });
        proxy
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// The next reply of the server is lost, and the connection ends.
    pub(crate) fn lose_next_reply(&self) {
        self.lose.store(true, Ordering::SeqCst);
    }

    /// Passes this number of bytes on to the server, and no more: connections end then.
    pub(crate) fn cut_after(&self, bytes: usize) {
        self.left.store(bytes, Ordering::SeqCst);
    }

    /// Whether nothing is passed on any more.
    pub(crate) fn is_cut(&self) -> bool {
        self.left.load(Ordering::SeqCst) == 0
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, lose: &AtomicBool, left: &AtomicUsize) {
    let mut bytes = [0; 4_096];
    while let Ok(len @ 1..) = from.read(&mut bytes) {
        let take =
            |left: usize| Some(if left == usize::MAX { left } else { left.saturating_sub(len) });
        let before = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).unwrap();
        let passed = len.min(before);
        if lose.swap(false, Ordering::SeqCst)
            || to.write_all(&bytes[..passed]).is_err()
            || passed < len
        {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
