//! `CLIENT`: what a client says of itself and asks about others.

use super::bounds::{Answer, ELEMENT_BYTES};
use super::call::{Call, Outcome, SYNTAX};
use super::number;
use super::row::{Command, Places, Right, row};
use super::word::{is, one_of, shown};
use crate::Session;
use crate::net::ClientInfo;
use std::collections::BTreeSet;
use std::net::SocketAddr;

pub(super) const COMMANDS: &[Command] =
    &[row("client", -2, Right::Known, Places::NONE, "Names and lists clients.", client)
        .answers(Answer::Counted)
        .works(work)];

pub(super) const BAD_NAME: &str =
    "ERR Client names cannot contain spaces, newlines or special characters.";

type Sub = (&'static str, (usize, fn(&mut Call<'_, '_>) -> Outcome));

/// The subcommands, each with its number of words; 0 for any.
const SUBCOMMANDS: [Sub; 10] = [
    ("id", (2, id)),
    ("getname", (2, get_name)),
    ("setname", (3, set_name)),
    ("setinfo", (4, set_info)),
    ("info", (2, info)),
    ("list", (0, list)),
    ("kill", (0, kill)),
    ("no-evict", (3, on_or_off)),
    ("no-touch", (3, on_or_off)),
    ("help", (2, help)),
];

/// Those that look at others.
const ONLY_ADMIN: [&str; 2] = ["list", "kill"];

/// `LIST` goes over all clients, and `KILL` looks for addresses among them.
fn work(call: &Call<'_, '_>) -> u64 {
    let goes_over_all = ONLY_ADMIN.iter().any(|name| is(call.word(1), name));
    if goes_over_all { call.shared.clients.connected() as u64 * CLIENT_NS } else { 0 }
}

/// A line about a client.
const CLIENT_NS: u64 = 1_000;

fn client(call: &mut Call<'_, '_>) -> Outcome {
    let word = call.word(1);
    let Some((words, run)) = one_of(word, &SUBCOMMANDS) else {
        return Err(unknown_subcommand("CLIENT", word).into());
    };
    if ONLY_ADMIN.iter().any(|name| is(word, name)) && !call.session.rights.admin {
        let (user, name) = (call.session.user.as_deref().unwrap_or("default"), shown(word));
        let name = name.to_lowercase();
        let text = "has no permissions to run the";
        return Err(format!("NOPERM User {user} {text} 'client|{name}' command").into());
    }
    if words != 0 && words != call.words.len() {
        let name = String::from_utf8_lossy(word).to_lowercase();
        return Err(Call::arity(&format!("client|{name}")));
    }
    run(call)
}

/// The error for a subcommand that there is not.
pub(super) fn unknown_subcommand(command: &str, word: &[u8]) -> String {
    format!("ERR unknown subcommand '{}'. Try {command} HELP.", shown(word))
}

fn id(call: &mut Call<'_, '_>) -> Outcome {
    let id = call.session.id.cast_signed();
    call.integer(id)
}

fn get_name(call: &mut Call<'_, '_>) -> Outcome {
    let name = &call.session.name;
    let mut reply = crate::resp::Reply::new(call.out, call.session.resp3);
    if name.is_empty() {
        reply.null();
    } else {
        reply.bulk(name);
    }
    Ok(())
}

/// Whether all bytes can stand in a line of `CLIENT LIST`, which has spaces between its fields.
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
    call.session.name = name.to_vec();
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
    call.session.library[index] = value.to_vec();
    call.ok()
}

fn on_or_off(call: &mut Call<'_, '_>) -> Outcome {
    // Nothing is ever evicted here and no time of last use is kept: both are so already.
    let word = call.word(2);
    if is(word, "on") || is(word, "off") { call.ok() } else { Err(SYNTAX.into()) }
}

fn info(call: &mut Call<'_, '_>) -> Outcome {
    let line = line(call.session);
    call.reply().verbatim(&line);
    Ok(())
}

/// This client as `CLIENT LIST` shows it; what has no meaning here is left out.
fn line(session: &Session) -> String {
    let info = ClientInfo {
        name: session.name.clone(),
        library: session.library.clone(),
        user: session.user.clone(),
        resp3: session.resp3,
    };
    line_of(session.id, session.address, &info, "")
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
    let now = call.turn.now;
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

fn help(call: &mut Call<'_, '_>) -> Outcome {
    help_text(call, "CLIENT", &SUBCOMMANDS.map(|(name, _)| name));
    Ok(())
}

/// The answer to `… HELP`: the subcommands.
pub(super) fn help_text(call: &mut Call<'_, '_>, command: &str, names: &[&str]) {
    let mut reply = call.reply();
    reply.array(names.len() + 1);
    reply.simple(&format!("{command} <subcommand> [<arg> ...]. Subcommands are:"));
    for name in names {
        reply.simple(&name.to_uppercase());
    }
}
