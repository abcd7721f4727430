//! `COMMAND`: the table of commands, for clients.

use super::bounds::{Answer, ELEMENT_BYTES};
use super::call::{Call, Fault, Outcome, SYNTAX};
use super::row::Right::Known;
use super::row::{Command, NONE, Right, row};
use super::sub::{Sub, choose, help, sub};
use super::table;
use super::word::is;
use crate::resp::{Reply, Value};

pub(super) const COMMANDS: &[Command] =
    &[row("command", -1, Known, NONE, "Describes the commands.", command)
        .answers(Answer::Counted)
        .works(|call| (call.words.len().max(table::len()) as u64) * DESCRIBE_NS)];

/// Finding a command in the table and describing it.
const DESCRIBE_NS: u64 = 500;
/// The longest description of a command, as `COMMAND INFO` or `COMMAND DOCS` has it.
const DESCRIPTION_BYTES: u64 = 512;

const SUBCOMMANDS: &[Sub] = &[
    sub("count", 2, count),
    sub("info", 0, info),
    sub("docs", 0, docs),
    sub("list", 0, list),
    sub("getkeys", -3, get_keys),
    help(0),
];

fn command(call: &mut Call<'_, '_>) -> Outcome {
    if call.words.len() == 1 { info(call) } else { choose(call, "COMMAND", SUBCOMMANDS) }
}

fn count(call: &mut Call<'_, '_>) -> Outcome {
    call.count(table::len())
}

/// The commands named from the third word on, or all; `None` for an unknown one.
fn named(call: &Call<'_, '_>) -> Vec<Option<(&'static str, &'static Command)>> {
    if call.words.len() <= 2 {
        return table::all().map(Some).collect();
    }
    let find = |word: &[u8]| {
        let found = table::find(word)?;
        table::all().find(|(_, command)| command.name == found.name)
    };
    call.words.from(2).iter().map(find).collect()
}

fn info(call: &mut Call<'_, '_>) -> Outcome {
    let commands = named(call);
    call.room_for(ELEMENT_BYTES as u64 + commands.len() as u64 * DESCRIPTION_BYTES)?;
    let mut reply = call.reply();
    reply.array(commands.len());
    for command in commands {
        match command {
            Some((group, command)) => write_info(&mut reply, group, command),
            None => reply.null(),
        }
    }
    Ok(())
}

fn write_info(reply: &mut Reply<'_>, group: &str, command: &Command) {
    reply.array(10);
    reply.bulk(command.name.as_bytes());
    reply.integer(command.arity);
    write_words(reply, &flags(command));
    reply.integer(command.keys.first);
    reply.integer(command.keys.last);
    reply.integer(command.keys.step);
    write_words(reply, &categories(group, command));
    // Tips, key specifications, subcommands.
    reply.array(0);
    reply.array(0);
    reply.array(0);
}

fn write_words(reply: &mut Reply<'_>, words: &[&str]) {
    reply.array(words.len());
    for word in words {
        reply.simple(word);
    }
}

fn flags(command: &Command) -> Vec<&'static str> {
    match command.right {
        Right::Open => vec!["noscript", "loading", "stale", "fast", "no_auth"],
        Right::Known => vec!["loading", "stale", "fast"],
        Right::Read => vec!["readonly"],
        Right::Write if command.name == "del" || command.name == "unlink" => vec!["write"],
        Right::Write | Right::ReadAndWrite => vec!["write", "denyoom"],
        Right::Admin => vec!["admin", "noscript"],
    }
}

/// The ACL categories of a command.
fn categories(group: &str, command: &Command) -> Vec<&'static str> {
    let mut categories = match command.right {
        Right::Open | Right::Known => vec!["@fast"],
        Right::Read => vec!["@read"],
        Right::Write => vec!["@write"],
        Right::ReadAndWrite => vec!["@read", "@write"],
        Right::Admin => vec!["@admin", "@dangerous"],
    };
    match group {
        "bf" => categories.push("@bloom"),
        "cf" => categories.push("@cuckoo"),
        "generic" => categories.push("@keyspace"),
        "connection" => categories.push("@connection"),
        _ => {}
    }
    categories
}

fn docs(call: &mut Call<'_, '_>) -> Outcome {
    let commands: Vec<_> = named(call).into_iter().flatten().collect();
    call.room_for(ELEMENT_BYTES as u64 + commands.len() as u64 * DESCRIPTION_BYTES)?;
    let mut reply = call.reply();
    reply.map(commands.len());
    for (group, command) in commands {
        reply.bulk(command.name.as_bytes());
        reply.value(&Value::Map(vec![
            ("summary", Value::text(command.summary)),
            ("since", Value::text("0.1.0")),
            ("group", Value::text(group)),
        ]));
    }
    Ok(())
}

fn list(call: &mut Call<'_, '_>) -> Outcome {
    let names: Vec<&str> = match call.words.len() {
        2 => table::all().map(|(_, command)| command.name).collect(),
        5 if is(call.word(2), "filterby") => filtered(call)?,
        _ => return Err(SYNTAX.into()),
    };
    call.reply().list(names.iter().map(|name| name.as_bytes()));
    Ok(())
}

fn filtered(call: &Call<'_, '_>) -> Result<Vec<&'static str>, Fault> {
    type Kept<'a> = Box<dyn Fn(&str, &Command) -> bool + 'a>;
    let (by, value) = (call.word(3), call.word(4));
    let kept: Kept<'_> = if is(by, "aclcat") {
        Box::new(|group, command| {
            categories(group, command).iter().any(|category| is(value, &category[1..]))
        })
    } else if is(by, "pattern") {
        let pattern = value.to_ascii_lowercase();
        Box::new(move |_, command| {
            mayhap_engine::keyspace::matches(&pattern, command.name.as_bytes())
        })
    } else if is(by, "module") {
        Box::new(|group, _| ["bf", "cf"].contains(&group) && is(value, "bf"))
    } else {
        return Err(SYNTAX.into());
    };
    let commands = table::all().filter(|(group, command)| kept(group, command));
    Ok(commands.map(|(_, command)| command.name).collect())
}

fn get_keys(call: &mut Call<'_, '_>) -> Outcome {
    let words = call.words.from(2);
    let found = words.get(0).and_then(table::find).ok_or("ERR Invalid command specified")?;
    if !found.takes(words.len()) {
        return Err("ERR Invalid number of arguments specified for command".into());
    }
    if found.keys.first == 0 {
        return Err("ERR The command has no key arguments".into());
    }
    let keys: Vec<&[u8]> = found.keys.of(words).collect();
    call.room_for_list(keys.iter().copied())?;
    call.reply().list(keys.into_iter());
    Ok(())
}
