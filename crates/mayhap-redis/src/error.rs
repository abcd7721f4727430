//! The errors of filters on a server.

use crate::{Damage, Loss, Misfit, Trouble};
use std::time::Duration;

/// An error of a filter on a server.
#[derive(Debug, thiserror::Error, Clone)]
#[non_exhaustive]
pub enum Error {
    /// The address is not a URL of [`crate::Address`].
    #[error(
        "{url} is not the address of a server: {reason}; for example \
         redis://127.0.0.1:6379/0/name"
    )]
    BadUrl {
        /// The URL, without its password.
        url: String,
        /// The problem.
        reason: String,
    },
    /// Certificates that cannot be used.
    #[error("the certificates cannot be used: {reason}")]
    Certificates {
        /// The problem.
        reason: String,
    },
    /// An invalid filter name.
    #[error("{name:?} cannot be the name of a filter: {reason}")]
    BadName {
        /// The name.
        name: String,
        /// The problem.
        reason: &'static str,
    },
    /// The bits do not fit into values on a server.
    #[error("the filter does not fit: {misfit}")]
    Layout {
        /// The part that does not fit, and the way out.
        misfit: Misfit,
    },
    /// The bits of a filter of the layout standard do not fit into one value, as they must.
    #[error(
        "the filter does not fit: the layout standard has to be in one value, and {bytes} bytes \
         are more than {max_bytes}: take the layout blocked, or allow a larger shard, up to \
         {most_bytes}"
    )]
    OneValue {
        /// The bytes of the value.
        bytes: u64,
        /// The limit.
        max_bytes: u64,
        /// The highest limit that can be set.
        most_bytes: u64,
    },
    /// The server cannot be reached, or did not reply before the deadline.
    #[error("{server} {trouble}{}{}", last_tried(.node.as_deref()), tried_for(*.after))]
    Unavailable {
        /// The server, without its password.
        server: String,
        /// The last node tried, if it is a cluster.
        node: Option<String>,
        /// The time spent trying.
        after: Duration,
        /// The last failure.
        trouble: Trouble,
    },
    /// The server requires a different password or user.
    #[error("{server} refuses this user or password: {reason}")]
    Unauthorized {
        /// The server.
        server: String,
        /// The server's message.
        reason: String,
    },
    /// The server's memory is full: nothing was written.
    #[error(
        "the server is full, nothing was written: {reason}; raise its maxmemory, or create a \
         smaller filter"
    )]
    ServerFull {
        /// The server's message.
        reason: String,
    },
    /// The server refused a command.
    #[error("the server refused {what}: {reason}")]
    Refused {
        /// The requested operation or value.
        what: String,
        /// The server's message.
        reason: String,
    },
    /// A key holds something that is not part of a filter.
    #[error("the key {key} holds something other than a filter; use another name")]
    WrongType {
        /// The key.
        key: String,
    },
    /// There is no filter of this name.
    #[error("there is no filter {name}; create it first")]
    NotFound {
        /// The name.
        name: String,
    },
    /// There is a different filter of this name.
    #[error(
        "the filter {name} exists with {parameter} {has}, not {wanted}; attach to it with its \
         own parameters, or use another name"
    )]
    Exists {
        /// The name.
        name: String,
        /// The parameter that differs.
        parameter: &'static str,
        /// Its value.
        has: String,
        /// The requested operation or value.
        wanted: String,
    },
    /// A filter, or another value, has the name that a filter was to get.
    #[error("the name {name} is taken; use another one, or delete what has it")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// Part of the filter is gone: it expired, was evicted, or was deleted by another program.
    #[error("the filter {name} is gone: {loss}")]
    Gone {
        /// The name.
        name: String,
        /// How.
        loss: Box<Loss>,
    },
    /// The filter was switched to another one during a call that reads or writes all of it: start
    /// over.
    #[error("the filter {name} was switched to another one meanwhile; start again")]
    Switched {
        /// The name.
        name: String,
    },
    /// The filter accepts no more new keys: it is full and does not grow.
    #[error(
        "the filter {name} accepts no more keys: {reason}; create a larger one, or one that \
         grows"
    )]
    Full {
        /// The name.
        name: String,
        /// The server's message.
        reason: String,
    },
    /// A reply was lost, and the command must not be sent again: it may have been executed.
    #[error(
        "the reply to {what} was lost, and sending it again may do harm: it may or may not have \
         been executed"
    )]
    Lost {
        /// The command.
        what: String,
    },
    /// The connection broke in the middle of what has to be done over one.
    #[error("the connection to {server} broke, and {what} with it; run it again")]
    Broken {
        /// The server, without its password.
        server: String,
        /// The operation.
        what: &'static str,
    },
    /// The scheme of the filter, or its server, has no such operation.
    #[error("{name} is a filter of {scheme} and cannot be {what}: {reason}")]
    Unsupported {
        /// The name.
        name: String,
        /// The scheme.
        scheme: &'static str,
        /// The operation, as in "it cannot be …".
        what: &'static str,
        /// Why not, and what works instead.
        reason: &'static str,
    },
    /// Another client is creating or switching this filter, and did not finish in time.
    #[error("another client {what} the filter {name}; try again")]
    Busy {
        /// The name.
        name: String,
        /// Its activity.
        what: &'static str,
    },
    /// Fewer replicas than requested confirmed a write, which is on the master.
    #[error(
        "{confirmed} of {wanted} replicas confirmed the write; it is on the master, and writing \
         it again does no harm"
    )]
    NotReplicated {
        /// The number requested.
        wanted: u32,
        /// The number that confirmed.
        confirmed: u32,
    },
    /// The keys do not hold a filter that this version supports.
    #[error("the key {key} is damaged: {damage}")]
    Damaged {
        /// The key.
        key: String,
        /// The problem.
        damage: Box<Damage>,
    },
    /// An error of the filter: its parameters, its secret key.
    #[error("{0}")]
    Filter(#[from] mayhap::Error),
    /// An error of another system's scheme.
    #[error("{0}")]
    Format(#[from] mayhap_formats::Error),
}

fn last_tried(node: Option<&str>) -> String {
    node.map(|node| format!(" (last tried: {node})")).unwrap_or_default()
}

fn tried_for(after: Duration) -> String {
    match after.as_secs_f64() {
        seconds if seconds >= 0.1 => format!(", tried for {seconds:.1} s"),
        // An immediate failure needs no time.
        _ => String::new(),
    }
}
