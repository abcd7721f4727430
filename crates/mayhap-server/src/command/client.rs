//! `CLIENT`: what a client says of itself and asks about others.

use super::call::{Call, Outcome, SYNTAX};
use super::number;
use super::table::{Command, Places, Right, row};
use super::word::{is, one_of, shown};
use crate::Session;

pub(super) const COMMANDS: &[Command] =
    &[row("client", -2, Right::Known, Places::NONE, "Names and lists clients.", client)];

pub(super) const BAD_NAME: &str =
    "ERR Client names cannot contain spaces, newlines or special characters.";

type Sub = (&'static str, (usize, fn(&mut Call<'_, '_>) -> Outcome));

/// The subcommands, each with its number of words; 0 for any.
const SUBCOMMANDS: [Sub; 9] = [
    ("id", (2, id)),
    ("getname", (2, get_name)),
    ("setname", (3, set_name)),
    ("setinfo", (4, set_info)),
    ("info", (2, info)),
    ("list", (0, list)),
    ("no-evict", (3, on_or_off)),
    ("no-touch", (3, on_or_off)),
    ("help", (2, help)),
];

fn client(call: &mut Call<'_, '_>) -> Outcome {
    let word = call.word(1);
    let Some((words, run)) = one_of(word, &SUBCOMMANDS) else {
        return Err(unknown_subcommand("CLIENT", word).into());
    };
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
    let id = call.session.id as i64;
    call.integer(id)
}

fn get_name(call: &mut Call<'_, '_>) -> Outcome {
    let name = &call.session.name;
    let mut reply = crate::resp::Reply::new(call.out, call.session.resp3);
    if name.is_empty() { reply.null() } else { reply.bulk(name) }
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

/// A client as `CLIENT LIST` shows it; what has no meaning here is left out.
pub(super) fn line(session: &Session) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let address = session.address.map(|address| address.to_string()).unwrap_or_default();
    format!(
        "id={} addr={address} name={} db=0 user={} resp={} lib-name={} lib-ver={}\n",
        session.id,
        text(&session.name),
        session.user.as_deref().unwrap_or("default"),
        if session.resp3 { 3 } else { 2 },
        text(&session.library[0]),
        text(&session.library[1]),
    )
}

fn list(call: &mut Call<'_, '_>) -> Outcome {
    let mut ids: Option<Vec<u64>> = None;
    let mut words = call.words.from(2).iter();
    while let Some(option) = words.next() {
        if is(option, "id") {
            let wanted: Option<Vec<u64>> = words.by_ref().map(number::count).collect();
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
    let own = line(call.session);
    let lines = call.shared.clients.lines(call.session.id, &own, ids.as_deref());
    call.reply().verbatim(&lines);
    Ok(())
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
