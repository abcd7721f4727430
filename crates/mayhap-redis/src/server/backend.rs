//! What a connection has to do, so that another client crate, or a faulty one, can take its place.

use super::command::Command;
use futures_util::future::BoxFuture;
use redis::{Pipeline, RedisResult, Value};
use std::fmt;

/// The replies of a pipeline, errors of single commands among them.
pub(crate) type Values = RedisResult<Vec<Value>>;

pub(crate) trait Backend: fmt::Debug + Send + Sync {
    /// Which commands go to one node, as far as is known.
    fn groups(&self, commands: &[Command]) -> Vec<Vec<usize>>;

    /// How to send those again that are left: in each group those that fail together.
    fn groups_again(&self, commands: &[Command], left: &[usize]) -> Vec<Vec<usize>>;

    /// Whether [`Backend::follow`] may do what [`Backend::send`] does not.
    fn follows(&self) -> bool;

    /// One slot of each master.
    fn masters(&self) -> Vec<u16>;

    /// Sends once, to the master of a slot or, for what only reads, to one of its replicas. Is
    /// never repeated unseen.
    fn send(&self, pipeline: Pipeline, slot: u16, read: bool) -> BoxFuture<'_, Values>;

    /// Sends a pipeline whose first command alone has a key, which may be on the move: redirections
    /// are followed and failures repeated.
    fn follow(&self, pipeline: Pipeline, slot: u16, read: bool) -> BoxFuture<'_, Values>;

    /// Looks again which node has which slots.
    fn refresh(&self) -> BoxFuture<'_, RedisResult<()>>;
}
