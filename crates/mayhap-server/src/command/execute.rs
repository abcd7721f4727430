//! From the words of a request to its handler.

use super::After;
use super::bounds::SHARE_NS;
use super::call::{Call, Fault};
use super::connection;
use super::front;
use super::row::{Command, Right};
use super::table;
use super::transaction;
use super::word::shown;
use crate::metrics::Counter;
use crate::{Session, Shared, Turn};
use mayhap_engine::Words;

/// Executes one request: applies its changes and writes exactly one answer to `out`; no answer to
/// a `SHUTDOWN` that succeeds, which closes the connection instead.
///
/// The answer must not be sent before [`mayhap_engine::durable::Recorder::commit`] has reported
/// that the changes of the turn are as safe as the policy promises. In a hurried [`Turn`] a long
/// request is left alone: [`After::Later`].
pub fn execute(
    words: Words<'_>,
    session: &mut Session,
    shared: &Shared,
    turn: &mut Turn,
    out: &mut Vec<u8>,
) -> After {
    let begin = out.len();
    let mut call =
        Call { words, session, shared, turn, out, after: After::Go, execute, granted: 0 };
    let known = connection::follow_users(&mut call);
    let outcome = known.and_then(|()| choose(&call)).and_then(|command| {
        if call.session.queue.is_some() && transaction::keep(&mut call, command)? {
            return Ok(());
        }
        if call.shared.front().is_some() && front::is_on_filters(command)? {
            call.turn.counts.add(command.right.family(), 1);
            call.after = After::Later;
            return Ok(());
        }
        if command.right == Right::Open && call.turn.hurried && !connection::may_try(&mut call)? {
            call.after = After::Later;
            return Ok(());
        }
        let work = command.work_of(&call);
        if call.turn.hurried && work > SHARE_NS {
            call.after = After::Later;
            return Ok(());
        }
        call.turn.work_ns = call.turn.work_ns.saturating_add(work);
        call.turn.counts.add(command.right.family(), 1);
        call.room_for(command.answer.bytes(&call))?;
        (command.run)(&mut call)?;
        debug_assert!(
            (call.out.len() - begin) as u64 <= call.granted,
            "{} answered more than its row says: {} bytes of {}",
            command.name,
            call.out.len() - begin,
            call.granted
        );
        Ok(())
    });
    if let Err(fault) = outcome {
        call.turn.counts.add(Counter::Errors, 1);
        if let Some(queue) = &mut call.session.queue {
            queue.failed = true;
        }
        // Output of a handler before its failure is not an answer.
        call.out.truncate(begin);
        call.reply().error(&fault.0);
    }
    call.after
}

/// The command of a request, if the number of words is right and the client may run it.
fn choose(call: &Call<'_, '_>) -> Result<&'static Command, Fault> {
    let name = call.word(0);
    let Some(command) = table::find(name) else {
        return Err(unknown(call));
    };
    if !command.takes(call.words.len()) {
        return Err(Call::arity(command.name));
    }
    if !command.right.is_given(&call.session.rights) {
        return Err(refused(call, command));
    }
    if call.session.rights.prefix.is_some() && command.keys.first != 0 {
        for name in command.keys.of(call.words) {
            call.within(name)?;
        }
    }
    Ok(command)
}

#[cold]
fn refused(call: &Call<'_, '_>, command: &Command) -> Fault {
    match &call.session.info.user {
        None => "NOAUTH Authentication required.".into(),
        Some(user) => {
            let name = command.name;
            format!("NOPERM User {user} has no permissions to run the '{name}' command").into()
        }
    }
}

#[cold]
fn unknown(call: &Call<'_, '_>) -> Fault {
    let mut text =
        format!("ERR unknown command '{}', with args beginning with: ", shown(call.word(0)));
    for word in call.words.from(1).iter() {
        if text.len() > 256 {
            break;
        }
        text.push('\'');
        text.push_str(&shown(word));
        text.push_str("' ");
    }
    text.into()
}
