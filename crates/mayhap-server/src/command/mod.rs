//! The commands: one handler for each.
//!
//! `execute.rs` runs a request: it finds its row in `table.rs` (`row.rs` is the type of a row) and
//! calls the handler with a `call.rs`, after `bounds.rs` has computed its cost. Each family of
//! commands has a file or a folder: `bf/` the filters, `cf/` compact ones, `keys.rs` and
//! `expire.rs` names, `connection.rs` and `client.rs` the client itself, `transaction.rs` with
//! `queue.rs` requests kept for `EXEC`, `server.rs`, `describe.rs`, `config.rs` and `info.rs` the
//! server, `backup.rs` its files, `tools.rs` requests of tools at their start. `front.rs` has the
//! commands on filters in a store, `store_names.rs` those on their names, `store_info.rs` those
//! that describe one, `store_keys.rs` those for single keys, `store_answer.rs` their answers.
//! `number.rs` and `word.rs` read arguments, `sub.rs` has those that are subcommands; `errors.rs`
//! has the errors of the engine as answers.
//! docs/commands.md is the description for users.

#![expect(clippy::unnecessary_wraps, reason = "a row of the table has handlers of one type")]

mod backup;
mod bf;
mod bounds;
mod call;
mod cf;
mod client;
mod config;
mod connection;
mod describe;
mod errors;
mod execute;
mod expire;
mod front;
mod info;
mod keys;
mod number;
mod queue;
mod row;
mod server;
mod store_answer;
mod store_info;
mod store_keys;
mod store_names;
mod sub;
mod table;
mod tools;
mod transaction;
mod word;

pub(crate) use bounds::SHARE_NS;
pub use execute::execute;
pub(crate) use front::{is_on_store, on_store};
pub(crate) use queue::Queue;
pub(crate) use store_keys::{KeyRequest, OfKeys, are_joined, of_keys, on_keys, unanswered};
pub(crate) use word::logged;

/// The fate of the connection after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// It reads the next request.
    Go,
    /// The request takes long, and the turn is hurried: nothing was done and nothing answered. The
    /// same request has to be executed on a worker thread.
    Later,
    /// It is closed once the answers are sent.
    Close,
    /// The server stops, with or without a checkpoint.
    Shutdown {
        /// With a checkpoint.
        save: bool,
    },
}
