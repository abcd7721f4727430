//! `CLIENT`: the client's own properties, and those of others.

use super::bounds::{Answer, ELEMENT_BYTES};
use super::call::{Call, Outcome, SYNTAX};
use super::number;
use super::row::Right::Known;
use super::row::{Command, NONE, row};
use super::sub::{Sub, choose, help, sub};
use super::word::{is, one_of, shown};
use crate::resp::Reply;
use crate::session::ClientInfo;
use std::collections::BTreeSet;
use std::net::SocketAddr;

pub(super) const COMMANDS: &[Command] =
    &[row("client", -2, Known, NONE, "Names and lists clients.", client)
        .answers(Answer::Counted)
        .works(work)];

pub(super) const BAD_NAME: &str =
    "ERR Client names cannot contain spaces, newlines or special characters.";

const SUBCOMMANDS: &[Sub] = &[
    sub("id", 2, id),
    sub("getname", 2, get_name),
    sub("setname", 3, set_name),
    sub("setinfo", 4, set_info),
    sub("info", 2, info),
    sub("list", 0, list).for_admin(),
    sub("kill", 0, kill).for_admin(),
    sub("no-evict", 3, on_or_off),
    sub("no-touch", 3, on_or_off),
    help(2),
];

/// `LIST` visits all clients, and `KILL` looks for addresses among them.
fn work(call: &Call<'_, '_>) -> u64 {
    let goes_over_all = is(call.word(1), "list") || is(call.word(1), "kill");
    if goes_over_all { call.shared.clients.connected() as u64 * CLIENT_NS } else { 0 }
}

/// A line about a client.
const CLIENT_NS: u64 = 1_000;

fn client(call: &mut Call<'_, '_>) -> Outcome {
    choose(call, "CLIENT", SUBCOMMANDS)
}

fn id(call: &mut Call<'_, '_>) -> Outcome {
    let id = call.session.id.cast_signed();
    call.integer(id)
}

fn get_name(call: &mut Call<'_, '_>) -> Outcome {
    let name = &call.session.info.name;
    let mut reply = Reply::new(call.out, call.session.info.resp3);
    reply.bulk_or_null(Some(name.as_slice()).filter(|name| !name.is_empty()));
    Ok(())
}

/// Whether all bytes may appear in a line of `CLIENT LIST`, where spaces separate the fields.
pub(super) fn is_printable(name: &[u8]) -> bool {
    name.iter().all(u8::is_ascii_graphic) && name.len() <= MAX_NAME_BYTES
}

/// The longest name of a client.
const MAX_NAME_BYTES: usize = 1024;

fn set_name(call: &mut Call<'_, '_>) -> Outcome {
    let name = call.word(2);
    if !is_printable(name) {
        return Err(BAD_NAME.into());
    }
    call.session.info.name = name.to_vec();
    call.ok()
}

fn set_info(call: &mut Call<'_, '_>) -> Outcome {
    let (option, value) = (call.word(2), call.word(3));
    let Some(index) = one_of(option, &[("lib-name", 0), ("lib-ver", 1)]) else {
        return Err(format!("ERR Unrecognized option '{}'", shown(option)).into());
    };
    if !is_printable(value) {
        let text = "cannot contain spaces, newlines or special characters.";
        return Err(format!("ERR {} {text}", shown(option).to_lowercase()).into());
    }
    call.session.info.library[index] = value.to_vec();
    call.ok()
}

fn on_or_off(call: &mut Call<'_, '_>) -> Outcome {
    // Nothing is ever evicted here and no time of last use is kept: both hold already.
    let word = call.word(2);
    if is(word, "on") || is(word, "off") { call.ok() } else { Err(SYNTAX.into()) }
}

fn info(call: &mut Call<'_, '_>) -> Outcome {
    // Without the fields that have no meaning for the client itself.
    let line = line_of(call.session.id, call.session.address, &call.session.info, "");
    call.reply().verbatim(&line);
    Ok(())
}

fn line_of(id: u64, address: Option<SocketAddr>, info: &ClientInfo, more: &str) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let address = address.map_or_else(|| "unix".to_owned(), |address| address.to_string());
    format!(
        "id={id} addr={address} name={} db=0 user={} resp={} lib-name={} lib-ver={}{more}\n",
        text(&info.name),
        info.user.as_deref().map_or_else(|| "default".to_owned(), |user| shown(user.as_bytes())),
        if info.resp3 { 3 } else { 2 },
        text(&info.library[0]),
        text(&info.library[1]),
    )
}

fn list(call: &mut Call<'_, '_>) -> Outcome {
    let mut ids: Option<BTreeSet<u64>> = None;
    let mut words = call.words.from(2).iter();
    while let Some(option) = words.next() {
        if is(option, "id") {
            let wanted: Option<BTreeSet<u64>> = words.by_ref().map(number::count).collect();
            ids = Some(wanted.filter(|ids| !ids.is_empty()).ok_or("ERR Invalid client ID")?);
        } else if is(option, "type") {
            let kind = words.next().ok_or(SYNTAX)?;
            if !is(kind, "normal") {
                return Err(format!("ERR Unknown client type '{}'", shown(kind)).into());
            }
        } else {
            return Err(SYNTAX.into());
        }
    }
    let is_wanted = |id: u64| ids.as_ref().is_none_or(|ids| ids.contains(&id));
    let now = call.turn.work.now;
    let mut lines = String::new();
    for client in call.shared.clients.list().iter().filter(|client| is_wanted(client.id)) {
        let seconds = |since: u64| now.saturating_sub(since) / 1000;
        let more = format!(
            " age={} idle={} tot-cmds={} buffered={}",
            seconds(client.since),
            seconds(client.active()),
            client.requests(),
            client.buffered_bytes()
        );
        lines += &line_of(client.id, client.address, &client.info(), &more);
        call.room_for((lines.len() + ELEMENT_BYTES) as u64)?;
    }
    call.reply().verbatim(&lines);
    Ok(())
}

/// `CLIENT KILL address` or `CLIENT KILL ID id …`.
fn kill(call: &mut Call<'_, '_>) -> Outcome {
    let (clients, words) = (&call.shared.clients, call.words.len());
    if words == 3 {
        let address = call.word(2);
        let client = clients
            .list()
            .into_iter()
            .find(|client| client.address.is_some_and(|at| at.to_string().as_bytes() == address));
        client.filter(|client| clients.kill(client.id)).ok_or("ERR No such client")?;
        return call.ok();
    }
    if !is(call.word(2), "id") {
        return Err(SYNTAX.into());
    }
    let mut killed = 0;
    for id in call.words.from(3).iter() {
        let id = number::count(id).ok_or("ERR client-id should be greater than 0")?;
        killed += i64::from(clients.kill(id));
    }
    call.integer(killed)
}
