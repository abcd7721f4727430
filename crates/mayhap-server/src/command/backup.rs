//! `BF.BACKUP`: the files of the data folder, one after the other, for `mayhap backup URL`.
//!
//! The files do not change until the copy is complete, the connection closes, or a minute passes
//! without a request ([`mayhap_engine::durable::Lease`]).

use super::bounds::{Answer, ELEMENT_BYTES};
use super::call::{Call, NO_INTEGER, Outcome};
use super::number;
use super::row::Right::Admin;
use super::row::{Command, NONE, row};
use super::server::NO_FOLDER;
use super::word::shown;
use mayhap_engine::durable::LeaseError;

const SUMMARY: &str = "Reads the files of the data folder for a backup.";

pub(super) const COMMANDS: &[Command] = &[row("bf.backup", -2, Admin, NONE, SUMMARY, backup)
    .answers(Answer::Counted)
    .works(|_| u64::MAX)];

/// The most bytes of a file in one answer.
const MAX_READ_BYTES: usize = 1 << 20;

const PREFIX: &str = "NOPERM a backup has filters of all names, and this user those of a prefix";

fn backup(call: &mut Call<'_, '_>) -> Outcome {
    if call.session.rights.prefix.is_some() {
        return Err(PREFIX.into());
    }
    match (&*call.word(1).to_ascii_lowercase(), call.words.len()) {
        (b"begin", 2) => begin(call),
        (b"read", 5) => read(call),
        (b"end", 2) => {
            call.session.lease = None;
            call.ok()
        }
        (b"begin" | b"read" | b"end", _) => {
            Err(Call::arity(&format!("bf.backup|{}", shown(call.word(1)))))
        }
        _ => Err(format!(
            "ERR unknown subcommand '{}'. Try BEGIN, READ or END.",
            shown(call.word(1))
        )
        .into()),
    }
}

/// The log: the number of each segment, and how many bytes of it to read.
fn begin(call: &mut Call<'_, '_>) -> Outcome {
    // One lease per connection: a client that starts over keeps only the latest.
    call.session.lease = None;
    let log = call.shared.log.as_ref().ok_or(NO_FOLDER)?;
    call.end_turn()?;
    let lease = log.lease()?;
    // Two numbers of up to 20 digits for each.
    call.room_for((lease.segments().len() as u64 + 1) * 2 * (20 + ELEMENT_BYTES as u64))?;
    let mut reply = call.reply();
    reply.array(2 * lease.segments().len());
    for &(number, bytes) in lease.segments() {
        reply.integer(number.cast_signed());
        reply.integer(bytes.cast_signed());
    }
    call.session.lease = Some(lease);
    Ok(())
}

/// A part of a file: fewer bytes than requested only at its end, null if there is no such file.
fn read(call: &mut Call<'_, '_>) -> Outcome {
    let offset = number::count(call.word(3)).ok_or(NO_INTEGER)?;
    let most = number::count(call.word(4)).and_then(|most| usize::try_from(most).ok());
    let most = most.ok_or(NO_INTEGER)?;
    if most == 0 || most > MAX_READ_BYTES {
        return Err(format!("ERR the count must be from 1 to {MAX_READ_BYTES}").into());
    }
    let path = std::str::from_utf8(call.word(2)).map_err(|_| LeaseError::NotKept)?;
    call.room_for((most + 2 * ELEMENT_BYTES) as u64)?;
    let lease = call.session.lease.as_ref();
    let lease = lease.ok_or("ERR no backup was begun on this connection")?;
    let found = lease.read(path, offset, most)?;
    call.reply().bulk_or_null(found.as_deref());
    Ok(())
}
