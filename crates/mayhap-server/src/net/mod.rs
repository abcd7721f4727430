//! Loop threads: sockets, turns, limits.
//!
//! ```text
//!  turn:  wait ─► read each ready socket ─► carry out its requests ─► commit ─► send the answers
//!                 ≤ 64 KiB                   until 256 KiB of answers  one write to the log
//! ```
//!
//! A connection belongs to one loop thread for its life, and has memory only while a request of it
//! is unfinished or answers of it are unsent: reading goes into one buffer of the loop, answers of
//! a turn stand in another. Answers that depend on the log wait for it (`always`) or become errors
//! (a full disk); other connections go on. So they do while a request takes long: it is carried out
//! on another thread (`jobs.rs`).
//!
//! `loops.rs` starts the threads, `event_loop.rs` is the turn, `share.rs` how much of it one
//! connection may take, `wait.rs` the pause before the next, `pipeline.rs` what happens to the
//! bytes of one connection, `connection.rs` and `stream.rs` the connection and its socket,
//! `listen.rs` where clients arrive and `accept.rs` how they are taken, `strangers.rs` who makes
//! room there, `clients.rs` who is there, `engine.rs` what a loop needs of the rest of the server,
//! `send.rs` how answers go out, `tls.rs` encryption, `control.rs` how other threads reach a loop,
//! `options.rs` its settings, `files.rs` how many connections there are open files for.

mod accept;
mod clients;
mod connection;
mod control;
mod engine;
mod event_loop;
mod files;
mod jobs;
mod listen;
mod loops;
mod options;
mod pipeline;
mod send;
mod share;
mod strangers;
mod stream;
mod tls;
mod wait;

pub use clients::{Client, ClientInfo, Clients};
pub use control::Control;
pub use engine::{Engine, Live};
pub use loops::{Ended, Loops};
pub use options::{Error, Listen, Options};
pub use tls::Certificate;

pub(crate) use files::Room;
pub(crate) use listen::{canonical, keep_little_unsent, listen};
pub(crate) use strangers::Strangers;

use control::Inbox;
use event_loop::{Loop, WAKE};
use jobs::Jobs;
use listen::Listener;
