//! The server as a whole: saving, stopping, the time.

use super::After;
use super::call::{Call, Outcome, SYNTAX};
use super::row::Right::{Admin, Known};
use super::row::{Command, NONE, row};
use super::word::{is, one_of};

pub(super) const COMMANDS: &[Command] = &[
    row("save", 1, Admin, NONE, "Writes images of changed filters synchronously.", save)
        .works(|_| u64::MAX),
    row("bgsave", -1, Admin, NONE, "Writes images of changed filters in the background.", bgsave),
    row("lastsave", 1, Known, NONE, "Returns the time of the last checkpoint.", last_save),
    row("shutdown", -1, Admin, NONE, "Ends the server.", shutdown),
    row("time", 1, Known, NONE, "Returns the time of the server.", time),
];

pub(super) const NO_FOLDER: &str =
    "ERR there is no data folder; start the server with --data FOLDER";

fn save(call: &mut Call<'_, '_>) -> Outcome {
    let log = call.shared.log.as_ref().ok_or(NO_FOLDER)?;
    call.end_turn()?;
    log.checkpoint(&*call.shared.keyspace).map_err(|error| format!("ERR {error}"))?;
    call.ok()
}

fn bgsave(call: &mut Call<'_, '_>) -> Outcome {
    match call.words.len() {
        1 => {}
        2 if is(call.word(1), "schedule") => {}
        _ => return Err(SYNTAX.into()),
    }
    let log = call.shared.log.as_ref().ok_or(NO_FOLDER)?;
    log.request_checkpoint();
    call.reply().simple("Background saving started");
    Ok(())
}

fn last_save(call: &mut Call<'_, '_>) -> Outcome {
    let log = call.shared.log.as_ref();
    let seconds = log.map_or(0, |log| log.stats().checkpoint_at / 1000);
    call.count(seconds)
}

fn shutdown(call: &mut Call<'_, '_>) -> Outcome {
    let mut save = true;
    for option in call.words.from(1).iter() {
        // `NOW` and `FORCE` are about replicas and failed saves, which do not exist here: every
        // acknowledged change is in the log.
        match one_of(option, &[("save", 0), ("nosave", 1), ("now", 2), ("force", 2)]) {
            Some(0) => save = true,
            Some(1) => save = false,
            Some(_) => {}
            None => return Err(SYNTAX.into()),
        }
    }
    // As in Redis the connection is closed instead of an answer, and clients wait for that.
    call.after = After::Shutdown { save };
    Ok(())
}

fn time(call: &mut Call<'_, '_>) -> Outcome {
    let now = call.turn.work.now;
    let mut reply = call.reply();
    reply.array(2);
    reply.bulk((now / 1000).to_string().as_bytes());
    reply.bulk((now % 1000 * 1000).to_string().as_bytes());
    Ok(())
}
