//! What a handler works with.

use super::After;
use crate::durable::Log;
use crate::keyspace::{ChangeError, Entry, Page};
use crate::resp::{Reply, Words};
use crate::{Session, Shared, Turn};
use std::borrow::Cow;
use std::sync::Arc;

/// What a handler hands back: nothing once its answer is written, or the text of an error.
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

/// The options do not follow the grammar.
pub(super) const SYNTAX: &str = "ERR syntax error";
/// There is no filter of this name.
pub(super) const NOT_FOUND: &str = "ERR not found";
/// A word should be a whole number.
pub(super) const NO_INTEGER: &str = "ERR value is not an integer or out of range";

/// A request with all that it may look at and change.
pub(super) struct Call<'a, 'b> {
    /// The words; the first is the command's name.
    pub(super) words: Words<'a>,
    pub(super) session: &'b mut Session,
    pub(super) shared: &'b Shared,
    pub(super) turn: &'b mut Turn,
    pub(super) out: &'b mut Vec<u8>,
    pub(super) after: After,
    /// Bytes of answer that there is room for.
    pub(super) granted: u64,
}

impl<'a> Call<'a, '_> {
    /// The word at this place; empty where there is none, which the table's arity rules out.
    pub(super) fn word(&self, index: usize) -> &'a [u8] {
        self.words.get(index).unwrap_or_default()
    }

    pub(super) const fn reply(&mut self) -> Reply<'_> {
        Reply::new(self.out, self.session.resp3)
    }

    /// The filter of this name.
    pub(super) fn entry(&self, name: &[u8]) -> Option<Arc<Entry>> {
        self.shared.keyspace.get(name, self.turn.now)
    }

    /// Bytes of these filters together; a name that stands twice counts twice.
    pub(super) fn bytes_of<'n>(&self, names: impl Iterator<Item = &'n [u8]>) -> u64 {
        let bytes = names.filter_map(|name| {
            self.shared.keyspace.with(name, self.turn.now, crate::keyspace::Entry::num_bytes)
        });
        bytes.fold(0, u64::saturating_add)
    }

    /// The filter of this name, or the error that there is none.
    pub(super) fn known(&self, name: &[u8]) -> Result<Arc<Entry>, Fault> {
        self.entry(name).ok_or_else(|| NOT_FOUND.into())
    }

    /// What a read of a filter says that there is not: nothing, as `RedisBloom`, or that there is
    /// none, if the setting `strict_names` says so.
    pub(super) fn nothing<T>(&self, nothing: T) -> Result<T, Fault> {
        if self.shared.config().strict_names {
            return Err(NOT_FOUND.into());
        }
        Ok(nothing)
    }

    pub(super) fn log(&self) -> Option<&Log> {
        self.shared.log.as_deref()
    }

    /// That what this request changes can be kept; called before a filter is looked up that it
    /// changes.
    pub(super) fn writable(&mut self) -> Result<(), Fault> {
        if let Some(recorder) = &mut self.turn.recorder {
            recorder.begin();
        }
        self.log().map_or(Ok(()), Log::check_writable)?;
        Ok(())
    }

    /// [`Call::writable`] for an operation, whose record is written before it is carried out: after
    /// what the turn has recorded so far, which may be refused.
    pub(super) fn operable(&mut self) -> Result<(), Fault> {
        self.writable()?;
        self.operate()
    }

    /// The same of a request that takes filters away.
    pub(super) fn deletable(&mut self) -> Result<(), Fault> {
        if let Some(recorder) = &mut self.turn.recorder {
            recorder.begin();
        }
        self.log().map_or(Ok(()), Log::check_deletable)?;
        self.operate()
    }

    fn operate(&mut self) -> Result<(), Fault> {
        if let Some(recorder) = &mut self.turn.recorder {
            recorder.commit_early()?;
        }
        self.turn.operated = true;
        Ok(())
    }

    /// Ends what the turn has done so far, before something that waits for the end of all turns.
    pub(super) fn end_turn(&mut self) -> Result<(), Fault> {
        if let Some(recorder) = &mut self.turn.recorder {
            recorder.end_early()?;
        }
        Ok(())
    }

    /// Takes a filter away; `false` if there is none.
    pub(super) fn remove(&mut self, name: &[u8]) -> Result<bool, Fault> {
        Ok(self.shared.keyspace.remove(name, self.turn.now, self.log())?)
    }

    /// Ends a filter at this time; `false` if there is none.
    pub(super) fn expire(&mut self, name: &[u8], at: u64) -> Result<bool, Fault> {
        Ok(self.shared.keyspace.expire(name, at, self.turn.now, self.log())?)
    }

    pub(super) fn rename(
        &mut self,
        from: &[u8],
        to: &[u8],
        replace: bool,
    ) -> Result<(), ChangeError> {
        self.shared.keyspace.rename(from, to, replace, self.turn.now, self.log())
    }

    /// The next names from `cursor` on that fit the pattern and that the user may see.
    pub(super) fn scan(
        &self,
        cursor: u64,
        count: usize,
        pattern: Option<&[u8]>,
    ) -> Result<Page, Fault> {
        let mut page = self.shared.keyspace.scan(cursor, count, pattern, self.turn.now)?;
        page.names.retain(|name| self.session.rights.covers(name));
        Ok(page)
    }

    /// How many filters the user may see, and how many of them have a time at which they end.
    pub(super) fn count_filters(&self) -> (u64, u64) {
        let keyspace = &self.shared.keyspace;
        match &self.session.rights.prefix {
            None => (keyspace.len() as u64, keyspace.expiring()),
            Some(_) => keyspace.count(|name| self.session.rights.covers(name)),
        }
    }

    /// That the user may touch filters of this name.
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

    /// An integer that counts something.
    pub(super) fn count(&mut self, number: impl TryInto<i64>) -> Outcome {
        self.integer(number.try_into().unwrap_or(i64::MAX))
    }

    /// The wrong number of words for a command, or for `command|subcommand`.
    pub(super) fn arity(name: &str) -> Fault {
        format!("ERR wrong number of arguments for '{name}' command").into()
    }
}
