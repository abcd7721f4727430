//! The server of the page: where it listens, until it ends.

use super::options::Options;
use super::routes;
use super::state::Shared;
use axum::Router;
use mayhap_redis::Server;
use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use tokio::net::TcpListener;

/// A page for people on this machine about the filters on a server.
///
/// It has no password: it listens on 127.0.0.1 alone, answers only to the names of that address,
/// and refuses requests from pages of other sites. Other users of the machine can read it.
#[derive(Debug)]
pub struct Dashboard {
    listener: TcpListener,
    address: SocketAddr,
    router: Router,
}

impl Dashboard {
    /// Listens on loopback, and begins to list the filters of the server.
    ///
    /// # Errors
    ///
    /// If the port is taken.
    pub async fn bind(server: Server, options: Options) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).await?;
        let address = listener.local_addr()?;
        let router = routes::router(Shared::new(server, options));
        Ok(Self { listener, address, router })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop` is done.
    ///
    /// # Errors
    ///
    /// The errors of the listener.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> io::Result<()> {
        tokio::select! {
            served = axum::serve(self.listener, self.router).into_future() => served,
            () = stop => Ok(()),
        }
    }
}
