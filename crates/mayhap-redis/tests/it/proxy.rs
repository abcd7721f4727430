//! A connection that can lose a reply.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Passes everything on, both ways; its threads end with the process.
pub(crate) struct Proxy {
    port: u16,
    lose: Arc<AtomicBool>,
}

impl Proxy {
    /// `to` is a URL with host and port only.
    pub(crate) fn start(to: &str) -> Self {
        let to = to.trim_start_matches("redis://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let lose = Arc::new(AtomicBool::new(false));
        let proxy = Self { port, lose: lose.clone() };
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect(&to).unwrap());
                let (a, b) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                thread::spawn(move || pass(a, b, &AtomicBool::new(false)));
                let lose = lose.clone();
                thread::spawn(move || pass(server, client, &lose));
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
}

fn pass(mut from: TcpStream, mut to: TcpStream, lose: &AtomicBool) {
    let mut bytes = [0; 4_096];
    while let Ok(len @ 1..) = from.read(&mut bytes) {
        if lose.swap(false, Ordering::SeqCst) || to.write_all(&bytes[..len]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
