//! `MULTI`, `EXEC`, `DISCARD`: requests that are queued, then executed one after another.
//!
//! Client libraries wrap pipelines in these. There is no `WATCH`, nothing is undone when one of the
//! requests fails, and requests of other connections may run in between.

use super::bounds::Answer;
use super::call::{Call, Outcome};
use super::row::Right::Known;
use super::row::{Command, NONE, row};
use super::{After, call::Fault};

pub(super) const COMMANDS: &[Command] = &[
    row("multi", 1, Known, NONE, "Queues the requests that follow for EXEC.", multi),
    row("exec", 1, Known, NONE, "Executes the requests queued since MULTI.", exec)
        .answers(Answer::Counted)
        .works(|call| call.session.queue.as_ref().map_or(0, |queue| queue.work)),
    row("discard", 1, Known, NONE, "Drops the requests queued since MULTI.", discard),
];

/// Queues a request if it has to wait for `EXEC`; returns whether it was queued.
pub(super) fn keep(call: &mut Call<'_, '_>, command: &Command) -> Result<bool, Fault> {
    let (limits, work) = (&call.shared.config(), command.work_of(call));
    let Some(queue) = &mut call.session.queue else { return Ok(false) };
    match command.name {
        "multi" | "exec" | "discard" | "quit" | "reset" => return Ok(false),
        // They change the user or the protocol, or leave no connection to answer.
        "auth" | "hello" | "shutdown" => {
            return Err("ERR Command not allowed inside a transaction".into());
        }
        _ => {}
    }
    let bytes: usize = call.words.iter().map(<[u8]>::len).sum();
    let words = queue.words.len() + call.words.len();
    if words > limits.max_words as usize {
        return Err(too_large("words", limits.max_words, "max_words"));
    }
    if queue.words.num_bytes() + bytes > limits.max_request_bytes as usize {
        return Err(too_large("bytes", limits.max_request_bytes, "max_request_bytes"));
    }
    queue.push(call.words);
    queue.work = queue.work.saturating_add(work);
    call.reply().simple("QUEUED");
    Ok(true)
}

#[cold]
fn too_large(what: &str, most: u32, setting: &str) -> Fault {
    format!(
        "ERR a transaction has at most {most} {what} ({setting}); send a pipeline without MULTI, \
         which has no limit"
    )
    .into()
}

fn multi(call: &mut Call<'_, '_>) -> Outcome {
    if call.session.queue.is_some() {
        return Err("ERR MULTI calls can not be nested".into());
    }
    call.session.queue = Some(Box::default());
    call.ok()
}

fn exec(call: &mut Call<'_, '_>) -> Outcome {
    let queue = call.session.queue.take().ok_or("ERR EXEC without MULTI")?;
    if queue.failed {
        return Err("EXECABORT Transaction discarded because of previous errors.".into());
    }
    call.reply().array(queue.ends.len());
    let begin = call.out.len();
    // A request that has become slow since it was queued is executed here nevertheless.
    let hurried = std::mem::replace(&mut call.turn.hurried, false);
    // The row of `EXEC` has counted the work of all requests.
    let work = call.turn.work_ns;
    let (mut wrote_from, mut left) = (None, queue.ends.len() as u32);
    for words in queue.requests() {
        let at = call.out.len();
        call.turn.answered = (at - begin) as u64;
        call.turn.wrote = false;
        let after = (call.execute)(words, call.session, call.shared, call.turn, call.out);
        if after != After::Go {
            call.after = after;
        }
        if call.turn.wrote {
            wrote_from.get_or_insert((at, left));
        }
        left -= 1;
    }
    (call.turn.wrote, call.turn.wrote_from) = (wrote_from.is_some(), wrote_from);
    // Each answer was checked together with those before it, and errors are small.
    call.granted = u64::MAX;
    (call.turn.hurried, call.turn.work_ns, call.turn.answered) = (hurried, work, 0);
    Ok(())
}

fn discard(call: &mut Call<'_, '_>) -> Outcome {
    call.session.queue.take().ok_or("ERR DISCARD without MULTI")?;
    call.ok()
}
