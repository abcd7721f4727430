//! What a server has, for those who watch it: the names of its filters (`list.rs`), its own numbers
//! (`status.rs`), its clients and slow requests (`people.rs`), and filters at a glance
//! (`sample.rs`), all without holding it up.

mod list;
mod people;
mod sample;
mod status;

pub use list::{FilterScheme, Listed, NamedFilter};
pub use people::{Client, SlowRequest};
pub(crate) use sample::{scaled, windows};
pub use status::Status;

use crate::replies::text;
use crate::server::Command;
use crate::{Error, Server};
use redis::{Cmd, Value};

impl Server {
    /// The replies of all masters to one command that writes nothing.
    ///
    /// # Errors
    ///
    /// Those of a call, and the first refusal.
    async fn of_masters(&self, cmd: &Cmd, what: &str) -> Result<Vec<Value>, Error> {
        let masters = self.masters();
        let commands = masters.iter().map(|&slot| Command::write_to(slot, cmd.clone()));
        let replies = self.run_unconfirmed(commands.collect()).await?;
        replies.into_iter().map(|reply| reply.of(what, what)).collect()
    }
}

/// Text, whatever its bytes: names of clients and words of requests come from strangers.
fn lossy(value: &Value) -> String {
    match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::VerbatimString { text, .. } => text.clone(),
        Value::Int(number) => number.to_string(),
        value => text(value).unwrap_or_default().to_owned(),
    }
}
