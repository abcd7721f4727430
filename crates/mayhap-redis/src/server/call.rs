//! A call in progress: the state of its commands.

use super::backend::{Backend, How, Route};
use super::command::{Command, CommandKind, Reply};
use super::node::{Failure, Sent};
use super::options::WaitReplicas;
use crate::trouble::reason;
use crate::{Error, Trouble};
use redis::{Cmd, ErrorKind, Pipeline, RedisError, ServerError, ServerErrorKind, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The largest number of commands per round and node. More would exceed the reply time-out and take
/// much memory.
const LARGEST_PIPELINE: usize = 16_384;
/// The number of commands written at once, so that the server works on them while the next ones are
/// written.
const PART: usize = 32;
/// The reduced number after a silence, so that something arrives even if the whole takes too long.
const SHRINK: usize = 4;

/// A call in progress.
pub(super) struct Call {
    commands: Vec<Command>,
    outcomes: Vec<Outcome>,
    /// The commands that are not done, in order.
    left: Vec<usize>,
    /// The pipelines that were sent, to be sent again if a node is lost before the call is done;
    /// `None` if it writes nothing that the master of a slot has to have at its end.
    sent: Option<Vec<(Group, Pipeline)>>,
    /// The replicas that a write has to reach.
    wait: Option<WaitReplicas>,
    /// The last failure, and its node.
    trouble: Option<Trouble>,
    node: Option<Arc<str>>,
    /// The number of replicas that confirmed, if too few did and that is the last failure.
    confirmed: Option<u32>,
    /// In this round: something failed, something was done.
    failed: bool,
    advanced: bool,
    /// Something failed earlier: only masters are used.
    masters_only: bool,
    /// The number of commands per pipeline.
    largest: usize,
}

/// The state of a command.
#[derive(Default)]
struct Outcome {
    /// The first reply: a later one reflects bits set by the first attempt.
    value: Option<Result<Value, Error>>,
    /// Nothing remains to be done.
    done: bool,
    repeated: bool,
    /// The number of times it was sent.
    times: u32,
    /// The number of losses ([`Backend::losses`]) before it was sent the last time.
    losses: u64,
    redirected: Option<Route>,
}

impl Outcome {
    /// Whether it is a write that was executed.
    fn is_write_done(&self, command: &Command) -> bool {
        self.done && command.kind == CommandKind::Write && matches!(self.value, Some(Ok(_)))
    }
}

/// Commands that go to one node.
pub(super) struct Group {
    pub(super) place: Route,
    commands: Vec<usize>,
    pub(super) waits: bool,
}

impl Group {
    /// Pipelines of [`PART`] commands, in order; one if it waits for replicas.
    fn parts(self) -> Vec<Self> {
        if self.waits || self.commands.len() <= PART {
            return vec![self];
        }
        let part = |commands: &[usize]| Self {
            place: self.place.clone(),
            commands: commands.to_vec(),
            waits: false,
        };
        self.commands.chunks(PART).map(part).collect()
    }
}

/// An error that ends a call, without the name of the server.
pub(super) enum Fatal {
    Unauthorized(String),
    Other(Error),
}

impl Call {
    /// Without `lasts`, nothing is written that has to last, and no replica is waited for.
    pub(super) fn new(commands: Vec<Command>, wait: Option<WaitReplicas>, lasts: bool) -> Self {
        Self {
            outcomes: commands.iter().map(|_| Outcome::default()).collect(),
            left: (0..commands.len()).collect(),
            commands,
            sent: lasts.then(Vec::new),
            wait: wait.filter(|_| lasts),
            trouble: None,
            node: None,
            confirmed: None,
            failed: false,
            advanced: false,
            masters_only: false,
            largest: LARGEST_PIPELINE,
        }
    }

    /// The commands left to send, by node.
    pub(super) fn next_round(&mut self, backend: &dyn Backend) -> Vec<Group> {
        self.masters_only |= self.failed;
        (self.failed, self.advanced) = (false, false);
        self.left.retain(|&i| !self.outcomes[i].done);
        let losses = backend.losses();
        self.reopen(backend, losses);
        let mut groups: BTreeMap<Route, Group> = BTreeMap::new();
        for &i in &self.left {
            let Command { slot, kind, .. } = self.commands[i];
            let read = kind == CommandKind::Read;
            let redirected = self.outcomes[i].redirected.take();
            let place =
                redirected.unwrap_or_else(|| backend.place(slot, read && !self.masters_only));
            let group = groups.entry(place).or_insert_with_key(|place| Group {
                place: place.clone(),
                commands: Vec::new(),
                waits: false,
            });
            // The rest in the next round.
            if group.commands.len() < self.largest {
                group.commands.push(i);
                self.outcomes[i].times += 1;
                self.outcomes[i].losses = losses;
                group.waits |= !read && self.wait.is_some();
            }
        }
        groups.into_values().flat_map(Group::parts).collect()
    }

    /// Writes that were acknowledged by a master that was lost or replaced since are left to send
    /// again: the master of now may not have them. Their first replies stand.
    fn reopen(&mut self, backend: &dyn Backend, losses: u64) {
        let Some(sent) = &mut self.sent else { return };
        if self.outcomes.iter().all(|outcome| outcome.losses == losses) {
            return;
        }
        for (group, pipeline) in std::mem::take(sent) {
            let (skip, step) = group.place.how.before();
            let mut stays = false;
            for (&i, cmd) in group.commands.iter().zip(pipeline.cmd_iter().skip(skip).step_by(step))
            {
                let (outcome, command) = (&mut self.outcomes[i], &mut self.commands[i]);
                if !outcome.is_write_done(command) {
                    continue;
                }
                if backend.lost_at(command.slot) > outcome.losses {
                    outcome.done = false;
                    command.cmd = cmd.clone();
                    self.left.push(i);
                } else {
                    stays = true;
                }
            }
            if stays {
                sent.push((group, pipeline));
            }
        }
        self.left.sort_unstable();
    }

    /// The commands, with the prefix that the node requires, and `WAIT`. They are moved into it;
    /// [`Call::note`] takes back the ones that must be sent again.
    pub(super) fn pipeline(&mut self, group: &Group) -> Pipeline {
        let mut pipeline = Pipeline::with_capacity(group.commands.len() + 2);
        if group.place.how == How::ReadOnly {
            pipeline.cmd("READONLY");
        }
        for &i in &group.commands {
            if group.place.how == How::Asking {
                pipeline.cmd("ASKING");
            }
            pipeline.add_command(std::mem::replace(&mut self.commands[i].cmd, Cmd::new()));
        }
        if let Some(wait) = self.wait.filter(|_| group.waits) {
            pipeline.cmd("WAIT").arg(wait.replicas).arg(millis(wait.timeout));
        }
        pipeline
    }

    /// Stores the replies for a group.
    pub(super) fn note(
        &mut self,
        backend: &dyn Backend,
        group: Group,
        pipeline: Pipeline,
        sent: Sent,
    ) -> Result<(), Fatal> {
        self.note_replies(backend, &group, sent)?;
        let (skip, step) = group.place.how.before();
        let sent = pipeline.cmd_iter().skip(skip).step_by(step);
        let mut stays = false;
        for (&i, cmd) in group.commands.iter().zip(sent) {
            if !self.outcomes[i].done {
                self.commands[i].cmd = cmd.clone();
            }
            stays |= self.outcomes[i].is_write_done(&self.commands[i]);
        }
        if let Some(sent) = self.sent.as_mut().filter(|_| stays) {
            sent.push((group, pipeline));
        }
        Ok(())
    }

    fn note_replies(
        &mut self,
        backend: &dyn Backend,
        group: &Group,
        sent: Sent,
    ) -> Result<(), Fatal> {
        let mut values = match sent {
            Ok(values) => values,
            Err(failure) => return self.note_failure(group, &failure),
        };
        self.largest = (self.largest * 2).min(LARGEST_PIPELINE);
        let confirmed = !group.waits || self.is_confirmed(values.pop())?;
        let (skip, step) = group.place.how.before();
        let values = values.into_iter().skip(skip).step_by(step);
        for (&i, value) in group.commands.iter().zip(values) {
            self.note_value(backend, group, i, value, confirmed)?;
        }
        Ok(())
    }

    fn note_failure(&mut self, group: &Group, failure: &Failure) -> Result<(), Fatal> {
        let (Failure::Unsent(error) | Failure::Lost(error)) = failure;
        if is_final(error) {
            return Err(match error.kind() {
                ErrorKind::AuthenticationFailed => Fatal::Unauthorized(reason(error)),
                _ => Fatal::Other(refused("a command", reason(error))),
            });
        }
        self.fail(Trouble::of(error));
        self.node = Some(Arc::clone(&group.place.node));
        if let Failure::Lost(_) = failure {
            if error.is_timeout() {
                self.largest = self.largest.min((group.commands.len() / SHRINK).max(1));
            }
            for &i in &group.commands {
                if self.is_lost_for_good(i) {
                    return Err(Fatal::Other(Error::Lost { what: "a command".into() }));
                }
                // Commands with a reply only lack the confirmation.
                self.outcomes[i].repeated |= self.outcomes[i].value.is_none();
            }
        }
        Ok(())
    }

    /// Whether a command that must not be sent again lost its reply.
    fn is_lost_for_good(&self, i: usize) -> bool {
        self.commands[i].kind == CommandKind::Once && self.outcomes[i].value.is_none()
    }

    /// Whether `WAIT` has counted enough replicas. It returns an error if the master was demoted
    /// meanwhile: its writes may be lost.
    fn is_confirmed(&mut self, reply: Option<Value>) -> Result<bool, Fatal> {
        let wanted = self.wait.map_or(0, |wait| wait.replicas);
        match reply {
            Some(Value::Int(count)) => {
                let count = u32::try_from(count).unwrap_or(0);
                if count < wanted {
                    self.fail(format!("{count} of {wanted} replicas confirmed").into());
                    self.confirmed = Some(count);
                }
                Ok(count >= wanted)
            }
            Some(Value::ServerError(error)) if error.kind() == Some(ServerErrorKind::NoPerm) => {
                Err(Fatal::Other(refused("WAIT", text_of(&error))))
            }
            Some(Value::ServerError(error)) => {
                self.fail(text_of(&error).into());
                Ok(false)
            }
            _ => {
                self.fail("WAIT has no number".to_owned().into());
                Ok(false)
            }
        }
    }

    fn fail(&mut self, trouble: Trouble) {
        self.trouble = Some(trouble);
        self.node = None;
        self.failed = true;
        self.confirmed = None;
    }

    fn note_value(
        &mut self,
        backend: &dyn Backend,
        group: &Group,
        i: usize,
        value: Value,
        confirmed: bool,
    ) -> Result<(), Fatal> {
        let outcome = &mut self.outcomes[i];
        match value {
            Value::ServerError(error) if is_redirection(&error) => {
                outcome.redirected = backend.redirected(&group.place, &error);
                if outcome.redirected.is_none() {
                    let reason =
                        format!("{}; a cluster has a redis+cluster:// URL", text_of(&error));
                    return Err(Fatal::Other(refused("a command", reason)));
                }
                self.fail(text_of(&error).into());
            }
            Value::ServerError(error) if is_for_a_moment(&error) => {
                self.fail(text_of(&error).into());
            }
            Value::ServerError(error) if error.code() == "NOAUTH" => {
                return Err(Fatal::Unauthorized(text_of(&error)));
            }
            Value::ServerError(error) => {
                outcome.value = Some(Err(refusal(&error)));
                outcome.done = true;
                self.advanced = true;
            }
            value => {
                outcome.value.get_or_insert(Ok(value));
                outcome.done = confirmed || self.commands[i].kind != CommandKind::Write;
                self.advanced |= outcome.done;
            }
        }
        Ok(())
    }

    /// Whether anything failed in this round.
    pub(super) fn has_failed(&self) -> bool {
        self.failed
    }

    /// Whether anything was done in this round.
    pub(super) fn has_advanced(&self) -> bool {
        self.advanced
    }

    /// The last failure, and its node; silence if nothing failed.
    pub(super) fn trouble(&self) -> (Trouble, Option<Arc<str>>) {
        (self.trouble.clone().unwrap_or(Trouble::Silent), self.node.clone())
    }

    /// The number of replicas that confirmed, if only the confirmation is missing.
    pub(super) fn unconfirmed(&self) -> Option<u32> {
        let mut left = self.outcomes.iter().filter(|outcome| !outcome.done);
        self.confirmed.filter(|_| left.all(|outcome| outcome.value.is_some()))
    }

    pub(super) fn replies(self) -> Vec<Reply> {
        let outcomes = self.outcomes.into_iter();
        outcomes
            .map(|outcome| Reply {
                value: outcome.value.unwrap_or(Ok(Value::Nil)),
                repeated: outcome.repeated,
                again: outcome.times > 1,
            })
            .collect()
    }
}

fn millis(time: Duration) -> u64 {
    // 0 means forever.
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).clamp(1, i64::MAX as u64)
}

fn is_redirection(error: &ServerError) -> bool {
    matches!(error.kind(), Some(ServerErrorKind::Ask | ServerErrorKind::Moved))
}

/// Temporary refusals: the server has done nothing.
fn is_for_a_moment(error: &ServerError) -> bool {
    use ServerErrorKind::{BusyLoading, ClusterDown, MasterDown, ReadOnly, TryAgain};
    match error.kind() {
        Some(kind) => {
            matches!(kind, BusyLoading | ClusterDown | MasterDown | ReadOnly | TryAgain)
        }
        // Too few replicas for min-replicas-to-write; a script that takes long.
        None => matches!(error.code(), "NOREPLICAS" | "BUSY"),
    }
}

/// Connection errors that a retry will not fix.
fn is_final(error: &RedisError) -> bool {
    matches!(
        error.kind(),
        ErrorKind::AuthenticationFailed | ErrorKind::InvalidClientConfig | ErrorKind::Client
    )
}

/// A permanent refusal, without the key, which only the caller knows.
fn refusal(error: &ServerError) -> Error {
    match error.code() {
        "OOM" => Error::ServerFull { reason: text_of(error) },
        // The error of a script, before Redis 7.
        _ if error.details().is_some_and(|details| details.contains("-OOM ")) => {
            Error::ServerFull { reason: text_of(error) }
        }
        "WRONGTYPE" => Error::WrongType { key: String::new() },
        _ => refused("a command", text_of(error)),
    }
}

fn refused(what: &str, reason: String) -> Error {
    Error::Refused { what: what.into(), reason }
}

/// The error as the server wrote it.
pub(crate) fn text_of(error: &ServerError) -> String {
    match error.details() {
        Some(details) => format!("{} {details}", error.code()),
        None => error.code().into(),
    }
}
