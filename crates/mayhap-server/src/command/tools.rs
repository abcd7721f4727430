//! What the tools that people point at a Redis ask at their start and by the minute, as far as
//! there is an answer here.

use super::bounds::{self, Answer, CREATE_NS};
use super::call::{Call, Fault, NO_INTEGER, Outcome, SYNTAX};
use super::client::{help_text, unknown_subcommand};
use super::number;
use super::row::{Command, Places, Right, row};
use super::word::{is, one_of, shown};
use crate::config::Rights;
use crate::resp::Reply;

pub(super) const COMMANDS: &[Command] = &[
    row("acl", -2, Right::Known, Places::NONE, "Lists users and their rights.", acl)
        .answers(Answer::Counted),
    row("object", -2, Right::Read, Places::SECOND, "Returns the encoding of a filter.", object),
    row("slowlog", -2, Right::Admin, Places::NONE, "Lists slow requests.", slow_log)
        .answers(Answer::Bytes(SLOW_LOG_BYTES)),
    row(
        "latency",
        -2,
        Right::Admin,
        Places::NONE,
        "Lists latency events; there are none.",
        latency,
    ),
    row("module", -2, Right::Known, Places::NONE, "Lists the module bf.", module),
    row("role", 1, Right::Known, Places::NONE, "Returns the role; there are no replicas.", role),
    row("wait", 3, Right::Known, Places::NONE, "Returns 0: no replica has the writes.", wait),
    row("cluster", -2, Right::Known, Places::NONE, "Refuses: there is no cluster.", cluster),
    row("copy", -3, Right::ReadAndWrite, Places::TWO, "Copies a filter.", copy).works(work_of_copy),
];

/// 128 requests of 32 words of 128 bytes, and names.
const SLOW_LOG_BYTES: u64 = 1 << 20;
/// The version of `RedisBloom` whose commands ours are like, as modules number theirs.
pub(super) const MODULE_VERSION: i64 = 80_000;

type Sub = (&'static str, fn(&mut Call<'_, '_>) -> Outcome);

const ACL: [Sub; 6] = [
    ("whoami", who_am_i),
    ("list", acl_list),
    ("users", acl_users),
    ("getuser", get_user),
    ("cat", categories),
    ("help", |call| help(call, "ACL", &ACL)),
];

/// Those that look at others.
const ONLY_ADMIN: [&str; 3] = ["list", "users", "getuser"];

fn acl(call: &mut Call<'_, '_>) -> Outcome {
    let word = call.word(1);
    if ONLY_ADMIN.iter().any(|name| is(word, name)) && !call.session.rights.admin {
        let user = call.session.user.as_deref().unwrap_or("default");
        let name = shown(word).to_lowercase();
        return Err(format!(
            "NOPERM User {user} has no permissions to run the 'acl|{name}' command"
        )
        .into());
    }
    choose(call, "ACL", &ACL)
}

fn choose(call: &mut Call<'_, '_>, command: &str, all: &[Sub]) -> Outcome {
    let word = call.word(1);
    let run = one_of(word, all).ok_or_else(|| unknown_subcommand(command, word))?;
    run(call)
}

fn help(call: &mut Call<'_, '_>, command: &str, all: &[Sub]) -> Outcome {
    let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    help_text(call, command, &names);
    Ok(())
}

fn who_am_i(call: &mut Call<'_, '_>) -> Outcome {
    let user = call.session.user.clone().unwrap_or_else(|| "default".to_owned());
    call.reply().bulk(user.as_bytes());
    Ok(())
}

/// All users with their rights; without any in the configuration the one that everybody is.
fn all_users(call: &Call<'_, '_>) -> Vec<(String, Rights)> {
    let users = &call.shared.config().users;
    if !users.asks_password() {
        return vec![("default".to_owned(), Rights::ALL)];
    }
    users.all().map(|(name, rights)| (name.to_owned(), rights.clone())).collect()
}

/// Rights as Redis writes them.
fn rules(rights: &Rights) -> String {
    let mut rules = String::from("-@all");
    for (given, category) in
        [(rights.read, "read"), (rights.write, "write"), (rights.admin, "admin")]
    {
        if given {
            rules.push_str(" +@");
            rules.push_str(category);
        }
    }
    rules
}

fn pattern(rights: &Rights) -> String {
    let prefix = rights.prefix.as_deref().unwrap_or_default();
    format!("~{}*", prefix.escape_ascii())
}

fn acl_list(call: &mut Call<'_, '_>) -> Outcome {
    let needs_password = call.shared.config().users.asks_password();
    let line = |(name, rights): (String, Rights)| {
        let password = if needs_password { "" } else { " nopass" };
        let (pattern, rules) = (pattern(&rights), rules(&rights));
        format!("user {name} on{password} {pattern} resetchannels {rules}")
    };
    write_list(call, all_users(call).into_iter().map(line).collect())
}

fn acl_users(call: &mut Call<'_, '_>) -> Outcome {
    write_list(call, all_users(call).into_iter().map(|(name, _)| name).collect())
}

fn write_list(call: &mut Call<'_, '_>, lines: Vec<String>) -> Outcome {
    call.room_for_list(lines.iter().map(String::as_bytes))?;
    let mut reply = call.reply();
    reply.array(lines.len());
    for line in lines {
        reply.bulk(line.as_bytes());
    }
    Ok(())
}

fn get_user(call: &mut Call<'_, '_>) -> Outcome {
    if call.words.len() != 3 {
        return Err(Call::arity("acl|getuser"));
    }
    let name = call.word(2);
    let found = all_users(call).into_iter().find(|(user, _)| user.as_bytes() == name);
    let Some((_, rights)) = found else {
        call.reply().null();
        return Ok(());
    };
    let needs_password = call.shared.config().users.asks_password();
    let (pattern, rules) = (pattern(&rights), rules(&rights));
    call.room_for_list([pattern.as_bytes(), rules.as_bytes()].into_iter())?;
    let mut reply = call.reply();
    reply.map(6);
    reply.bulk(b"flags");
    reply.array(1 + usize::from(!needs_password));
    reply.bulk(b"on");
    if !needs_password {
        reply.bulk(b"nopass");
    }
    // A password is shown to nobody, and neither is what is kept of it.
    for (field, value) in [
        ("passwords", None),
        ("commands", Some(rules)),
        ("keys", Some(pattern)),
        ("channels", Some(String::new())),
        ("selectors", None),
    ] {
        reply.bulk(field.as_bytes());
        match value {
            Some(value) => reply.bulk(value.as_bytes()),
            None => reply.array(0),
        }
    }
    Ok(())
}

fn categories(call: &mut Call<'_, '_>) -> Outcome {
    let names = ["read", "write", "admin", "dangerous", "fast", "bloom", "keyspace", "connection"];
    write_list(call, names.map(str::to_owned).to_vec())
}

fn object(call: &mut Call<'_, '_>) -> Outcome {
    let word = call.word(1);
    if is(word, "help") {
        help_text(call, "OBJECT", &["encoding", "refcount", "idletime"]);
        return Ok(());
    }
    let Some(what) = one_of(word, &[("encoding", 0), ("refcount", 1), ("idletime", 2)]) else {
        return Err(unknown_subcommand("OBJECT", word).into());
    };
    if call.words.len() != 3 {
        return Err(Call::arity(&format!("object|{}", shown(word).to_lowercase())));
    }
    if call.entry(call.word(2)).is_none() {
        return Err("ERR no such key".into());
    }
    match what {
        // As Redis has it of values of modules.
        0 => call.reply().bulk(b"raw"),
        1 => call.reply().integer(1),
        _ => return Err("ERR times of last use are not kept".into()),
    }
    Ok(())
}

const SLOW_LOG: [Sub; 4] = [
    ("get", slow_log_get),
    ("len", |call| {
        let len = call.shared.slow_log.len();
        call.count(len)
    }),
    ("reset", |call| {
        call.shared.slow_log.clear();
        call.ok()
    }),
    ("help", |call| help(call, "SLOWLOG", &SLOW_LOG)),
];

fn slow_log(call: &mut Call<'_, '_>) -> Outcome {
    choose(call, "SLOWLOG", &SLOW_LOG)
}

fn slow_log_get(call: &mut Call<'_, '_>) -> Outcome {
    let count = match call.words.len() {
        2 => 10,
        3 => match number::integer(call.word(2)).ok_or(NO_INTEGER)? {
            -1 => usize::MAX,
            count @ 0.. => usize::try_from(count).unwrap_or(usize::MAX),
            _ => return Err("ERR count should be greater than or equal to -1".into()),
        },
        _ => return Err(Call::arity("slowlog|get")),
    };
    let newest = call.shared.slow_log.newest(count);
    let mut reply = call.reply();
    reply.array(newest.len());
    for slow in newest {
        reply.array(6);
        reply.integer(slow.id.cast_signed());
        reply.integer(slow.at.cast_signed());
        reply.integer(i64::try_from(slow.took.as_micros()).unwrap_or(i64::MAX));
        reply.array(slow.words.len());
        for word in &slow.words {
            reply.bulk(word);
        }
        let address = slow.address.map_or_else(|| "unix".to_owned(), |at| at.to_string());
        reply.bulk(address.as_bytes());
        reply.bulk(&slow.client);
    }
    Ok(())
}

/// There is no latency monitor: no event is ever reported, and none can be reset.
fn latency(call: &mut Call<'_, '_>) -> Outcome {
    let word = call.word(1);
    if is(word, "latest") || is(word, "history") && call.words.len() == 3 {
        call.reply().array(0);
        Ok(())
    } else if is(word, "reset") {
        call.integer(0)
    } else {
        Err(unknown_subcommand("LATENCY", word).into())
    }
}

fn module(call: &mut Call<'_, '_>) -> Outcome {
    let word = call.word(1);
    if !is(word, "list") {
        return Err(unknown_subcommand("MODULE", word).into());
    }
    let mut reply = call.reply();
    reply.array(1);
    write_module(&mut reply);
    Ok(())
}

/// As clients look for it before they send `BF.*`.
pub(super) fn write_module(reply: &mut Reply<'_>) {
    reply.map(4);
    reply.bulk(b"name");
    reply.bulk(b"bf");
    reply.bulk(b"ver");
    reply.integer(MODULE_VERSION);
    reply.bulk(b"path");
    reply.bulk(b"");
    reply.bulk(b"args");
    reply.array(0);
}

fn role(call: &mut Call<'_, '_>) -> Outcome {
    let mut reply = call.reply();
    reply.array(3);
    reply.bulk(b"master");
    reply.integer(0);
    reply.array(0);
    Ok(())
}

fn wait(call: &mut Call<'_, '_>) -> Outcome {
    number::count(call.word(1)).ok_or(NO_INTEGER)?;
    number::count(call.word(2)).ok_or("ERR timeout is not an integer or out of range")?;
    call.integer(0)
}

fn cluster(_call: &mut Call<'_, '_>) -> Outcome {
    Err("ERR This instance has cluster support disabled".into())
}

fn work_of_copy(call: &Call<'_, '_>) -> u64 {
    CREATE_NS + bounds::copying(call.bytes_of(std::iter::once(call.word(1))).saturating_mul(2))
}

/// `COPY source target`, with the time at which the source ends.
fn copy(call: &mut Call<'_, '_>) -> Outcome {
    let mut options = call.words.from(3).iter();
    while let Some(option) = options.next() {
        if is(option, "db") {
            if options.next().and_then(number::integer) != Some(0) {
                return Err("ERR DB index is out of range".into());
            }
        } else if is(option, "replace") {
            return Err(
                "ERR COPY does not replace filters; copy to a free name, then RENAME".into()
            );
        } else {
            return Err(SYNTAX.into());
        }
    }
    let Some(source) = call.entry(call.word(1)) else { return call.integer(0) };
    if call.entry(call.word(2)).is_some() {
        return call.integer(0);
    }
    call.operable()?;
    let (shared, now) = (call.shared, call.turn.now);
    match shared.keyspace.copy(call.word(2), &source, now, call.log()) {
        Err(crate::keyspace::CreateError::Exists) => call.integer(0),
        copied => copied.map_err(Fault::from).and_then(|_| call.integer(1)),
    }
}
