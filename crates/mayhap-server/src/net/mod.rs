//! Loop threads: sockets, turns, limits.
//!
//! ```text
//!  turn:  wait ─► read each ready socket ─► execute its requests   ─► commit ─► send the answers
//!                 ≤ 64 KiB                   until 256 KiB of answers  one write to the log
//! ```
//!
//! A connection belongs to one loop thread for its life, and has memory only while it has an
//! unfinished request or unsent answers: reading goes into one buffer of the loop, answers of a
//! turn are collected in another. Answers that depend on the log wait for it (`always`) or become
//! errors (a full disk); other connections continue, as they do while a request takes long: it is
//! executed on another thread (`jobs.rs`), or by the store that has the filters (`in_store.rs`;
//! `gathered.rs` has the single keys of many clients).
//!
//! `loops.rs` starts the threads, `event_loop.rs` is the turn, `share.rs` the part of it that one
//! connection may use, `wait.rs` the pause before the next. `pipeline.rs` processes the bytes of
//! one connection, `outcome.rs` is what becomes of its answers once the turn is in the log, and
//! `deferred.rs` has those that wait. `connections.rs` are the connections of a loop,
//! `connection.rs` is one, `socket.rs` its socket with unsent answers, `stream.rs` plain or with
//! TLS, whose certificate is in `tls.rs`. `listen.rs` has the listeners and `accept.rs` accepts
//! from them, `unadmitted.rs` selects the connection that makes room, `clients.rs` has the
//! connected clients. `service.rs` is what a loop needs of the rest of the server, `inbox.rs` has
//! messages from other threads to a loop, `control.rs` stops all of them, `options.rs` are their
//! settings, `files.rs` the number of connections that open files allow.

mod accept;
mod clients;
mod connection;
mod connections;
mod control;
mod deferred;
mod event_loop;
mod files;
mod gathered;
mod in_store;
mod inbox;
mod jobs;
mod listen;
mod loops;
mod options;
mod outcome;
mod pipeline;
mod service;
mod share;
mod socket;
mod stream;
mod tls;
mod unadmitted;
mod wait;

pub use clients::{Client, Clients};
pub use control::Control;
pub use loops::{Ended, Loops};
pub use options::{Error, Listen, Options, TlsError};
pub use service::{Live, Service};
pub use tls::Certificate;

pub(crate) use files::Room;
pub(crate) use listen::{canonical, keep_little_unsent, listen};
pub(crate) use unadmitted::Unadmitted;
