//! The context of a handler.

use super::After;
use crate::resp::Reply;
use crate::{Session, Shared, Turn};
use mayhap_engine::Words;
use mayhap_engine::durable::Log;
use mayhap_engine::keyspace::{Entry, Page};
use std::borrow::Cow;
use std::sync::Arc;

/// The result of a handler: nothing once its answer is written, or the text of an error.
pub(super) type Outcome = Result<(), Fault>;

/// The text of an error, as clients see it after the `-`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault(pub(super) Cow<'static, str>);

impl From<&'static str> for Fault {
    fn from(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl From<String> for Fault {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}

/// How a request is executed.
pub(super) type Execute = fn(Words<'_>, &mut Session, &Shared, &mut Turn, &mut Vec<u8>) -> After;

/// The options do not follow the grammar.
pub(super) const SYNTAX: &str = "ERR syntax error";
/// There is no filter of this name.
pub(super) const NOT_FOUND: &str = "ERR not found";
/// A word should be a whole number.
pub(super) const NO_INTEGER: &str = "ERR value is not an integer or out of range";

/// A request with everything that it may read and change.
pub(super) struct Call<'a, 'b> {
    /// The words; the first is the command's name.
    pub(super) words: Words<'a>,
    pub(super) session: &'b mut Session,
    pub(super) shared: &'b Shared,
    pub(super) turn: &'b mut Turn,
    pub(super) out: &'b mut Vec<u8>,
    pub(super) after: After,
    /// Executes another request of the same connection, for `EXEC`.
    pub(super) execute: Execute,
    /// Bytes of answer that are still allowed.
    pub(super) granted: u64,
}

impl<'a> Call<'a, '_> {
    /// The word at this place; empty where there is none, which the table's arity rules out.
    pub(super) fn word(&self, index: usize) -> &'a [u8] {
        self.words.get(index).unwrap_or_default()
    }

    pub(super) fn reply(&mut self) -> Reply<'_> {
        Reply::new(self.out, self.session.info.resp3)
    }

    /// The filter of this name.
    pub(super) fn entry(&self, name: &[u8]) -> Option<Arc<Entry>> {
        self.shared.keyspace.get(name, self.turn.work.now)
    }

    /// Bytes of these filters together; a repeated name counts each time.
    pub(super) fn bytes_of<'n>(&self, names: impl Iterator<Item = &'n [u8]>) -> u64 {
        let (keyspace, now) = (&self.shared.keyspace, self.turn.work.now);
        let bytes = names.filter_map(|name| keyspace.with(name, now, Entry::num_bytes));
        bytes.fold(0, u64::saturating_add)
    }

    /// The filter of this name, or the error for a missing one.
    pub(super) fn known(&self, name: &[u8]) -> Result<Arc<Entry>, Fault> {
        self.entry(name).ok_or_else(|| NOT_FOUND.into())
    }

    /// The result of reading a filter that does not exist: `nothing`, as in `RedisBloom`, or an
    /// error if `strict_names` is set.
    pub(super) fn nothing<T>(&self, nothing: T) -> Result<T, Fault> {
        if self.shared.config().strict_names {
            return Err(NOT_FOUND.into());
        }
        Ok(nothing)
    }

    pub(super) fn log(&self) -> Option<&Log> {
        self.shared.log.as_deref()
    }

    /// Checks that a change by this request can be kept; called before the filter that it changes
    /// is looked up.
    pub(super) fn writable(&mut self) -> Result<(), Fault> {
        self.turn.work.begin();
        self.log().map_or(Ok(()), Log::check_writable)?;
        Ok(())
    }

    /// [`Call::writable`] for an operation, whose record is written before it is applied: after the
    /// records of the turn so far, which may be refused.
    pub(super) fn operable(&mut self) -> Result<(), Fault> {
        self.writable()?;
        self.operate()
    }

    /// The same for a request that removes filters.
    pub(super) fn deletable(&mut self) -> Result<(), Fault> {
        self.turn.work.begin();
        self.log().map_or(Ok(()), Log::check_deletable)?;
        self.operate()
    }

    fn operate(&mut self) -> Result<(), Fault> {
        if let Some(recorder) = &mut self.turn.work.recorder {
            recorder.commit_early()?;
        }
        self.turn.operated = true;
        Ok(())
    }

    /// Ends the turn so far, before a step that waits for the end of all turns.
    pub(super) fn end_turn(&mut self) -> Result<(), Fault> {
        if let Some(recorder) = &mut self.turn.work.recorder {
            recorder.end_early()?;
        }
        Ok(())
    }

    /// Removes a filter; `false` if there is none.
    pub(super) fn remove(&mut self, name: &[u8]) -> Result<bool, Fault> {
        Ok(self.shared.keyspace.remove(name, self.turn.work.now, self.log())?)
    }

    /// Expires a filter at this time; `false` if there is none.
    pub(super) fn expire(&mut self, name: &[u8], at: u64) -> Result<bool, Fault> {
        Ok(self.shared.keyspace.expire(name, at, self.turn.work.now, self.log())?)
    }

    /// The next names from `cursor` on that match the pattern and that the user may see.
    pub(super) fn scan(
        &self,
        cursor: u64,
        count: usize,
        pattern: Option<&[u8]>,
    ) -> Result<Page, Fault> {
        let mut page = self.shared.keyspace.scan(cursor, count, pattern, self.turn.work.now)?;
        page.names.retain(|name| self.session.rights.covers(name));
        Ok(page)
    }

    /// How many filters the user may see, and how many of them expire.
    pub(super) fn count_filters(&self) -> (u64, u64) {
        let keyspace = &self.shared.keyspace;
        match &self.session.rights.prefix {
            None => (keyspace.len() as u64, keyspace.expiring()),
            Some(_) => keyspace.count(|name| self.session.rights.covers(name)),
        }
    }

    /// Checks that the user may touch filters of this name.
    pub(super) fn within(&self, name: &[u8]) -> Result<(), Fault> {
        if self.session.rights.covers(name) {
            Ok(())
        } else {
            Err("NOPERM No permissions to access a key".into())
        }
    }

    pub(super) fn ok(&mut self) -> Outcome {
        self.reply().simple("OK");
        Ok(())
    }

    pub(super) fn integer(&mut self, number: i64) -> Outcome {
        self.reply().integer(number);
        Ok(())
    }

    /// The answer to a count.
    pub(super) fn count(&mut self, number: impl TryInto<i64>) -> Outcome {
        self.integer(number.try_into().unwrap_or(i64::MAX))
    }

    /// The wrong number of words for a command, or for `command|subcommand`.
    pub(super) fn arity(name: &str) -> Fault {
        format!("ERR wrong number of arguments for '{name}' command").into()
    }
}
