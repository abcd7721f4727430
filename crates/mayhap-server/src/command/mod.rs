//! What each request does.
//!
//! `row.rs` is a command with its handler, `table.rs` all of them and the look-up by name,
//! `call.rs` what a handler works with. A family has a file or a folder: `bf` the filters, `keys`
//! and `expire` what is done to names, `connection` and `client` what a client says of itself,
//! `transaction` what it has kept for later, `server`, `describe`, `config` and `info` what it asks
//! about the server. docs/commands.md is the description for users.

#![expect(clippy::unnecessary_wraps, reason = "a row of the table has handlers of one type")]

mod bf;
mod call;
mod client;
mod config;
mod connection;
mod describe;
mod execute;
mod expire;
mod info;
mod keys;
mod number;
mod queue;
mod row;
mod server;
mod table;
mod transaction;
mod word;

pub use execute::execute;
pub(crate) use queue::Queue;
pub(crate) use word::logged;

/// What becomes of the connection after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// The next request.
    Go,
    /// It takes long, and the turn is hurried: nothing was done and nothing answered. The same
    /// request is to be carried out on a thread that may take its time.
    Later,
    /// It is closed once the answers are sent.
    Close,
    /// The server ends, with a checkpoint or without.
    Shutdown {
        /// With a checkpoint.
        save: bool,
    },
}
