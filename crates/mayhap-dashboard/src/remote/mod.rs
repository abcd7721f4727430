//! The dashboard of any Redis or Valkey server, or a cluster of them.
//!
//! ```text
//! routes.rs ─► filters.rs ─► names.rs, describe.rs, keys.rs ─► the server
//! ```
//!
//! `routes.rs` has the paths and refuses strangers, `filters.rs` the handlers of filters, and
//! `failure.rs` what goes wrong. `names.rs` lists the filters again and again in the background,
//! `describe.rs` puts numbers into the JSON that the page knows from `mayhap serve`, `keys.rs`
//! queries and adds keys as the command line does, `server.rs` has what concerns the server as a
//! whole. The load of the server is bounded: a page shows numbers of the filters on the screen
//! alone, from 16 KiB of their bits.

mod describe;
mod failure;
mod filters;
mod keys;
mod names;
mod routes;
mod server;

use axum::Router;
use mayhap_redis::{NativeFilter, RemoteBf, RemoteRedisson, Server};
use mayhap_remote::Known;
use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpListener;

/// What is known beforehand.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The port on loopback; 0 for any.
    pub port: u16,
    /// Whether keys may be added, or only queried.
    pub may_add: bool,
    /// The secret key of filters that have one, and the type of keys.
    pub known: Known,
    /// The URL of the server with the database, without a password: what a name is appended to.
    pub url: String,
}

/// A page for people on this machine about the filters on a server.
///
/// It has no password: it listens on 127.0.0.1 alone, answers only to the names of that address,
/// and refuses what pages of other sites send. Other users of the machine can read it.
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
        let names = names::Names::watch(server.clone());
        let attached = Mutex::default();
        let state = State(Arc::new(Inner { server, options, names, attached }));
        Ok(Self { listener, address, router: routes::router(state) })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop` is done.
    ///
    /// # Errors
    ///
    /// Those of the listener.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> io::Result<()> {
        tokio::select! {
            served = axum::serve(self.listener, self.router).into_future() => served,
            () = stop => Ok(()),
        }
    }
}

/// What every handler has.
#[derive(Debug, Clone)]
struct State(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    server: Server,
    options: Options,
    names: names::Names,
    /// Filters that were looked up before.
    attached: Mutex<HashMap<String, Attached>>,
}

/// A filter that was looked up.
#[derive(Debug, Clone)]
enum Attached {
    Native(NativeFilter),
    Bf(RemoteBf),
    Redisson(RemoteRedisson),
}

impl State {
    fn attached(&self) -> std::sync::MutexGuard<'_, HashMap<String, Attached>> {
        self.0.attached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
