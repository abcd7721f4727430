//! Commands that monitoring and administration tools for Redis send at their start and every
//! minute, as far as there is an answer here.

use super::bounds::{self, Answer, CREATE_NS};
use super::call::{Call, Fault, NO_INTEGER, Outcome, SYNTAX};
use super::number;
use super::row::Right::{Admin, Known, Read, ReadAndWrite};
use super::row::{Command, NONE, SECOND, TWO, row};
use super::sub::{Sub, choose, help, sub, unknown, write_help};
use super::word::{is, one_of, shown};
use crate::config::Rights;
use crate::resp::{Reply, Value};

pub(super) const COMMANDS: &[Command] = &[
    row("acl", -2, Known, NONE, "Lists users and their rights.", acl).answers(Answer::Counted),
    row("object", -2, Read, SECOND, "Returns the encoding of a filter.", object),
    row("slowlog", -2, Admin, NONE, "Lists slow requests.", slow_log)
        .answers(Answer::Bytes(SLOW_LOG_BYTES)),
    row("latency", -2, Admin, NONE, "Lists latency events; there are none.", latency),
    row("module", -2, Known, NONE, "Lists the module bf.", module),
    row("role", 1, Known, NONE, "Returns the role; there are no replicas.", role),
    row("wait", 3, Known, NONE, "Returns 0: no replica has the writes.", wait),
    row("cluster", -2, Known, NONE, "Refuses: there is no cluster.", cluster),
    row("copy", -3, ReadAndWrite, TWO, "Copies a filter.", copy).works(work_of_copy),
];

/// 128 requests of 32 words of 128 bytes, and names.
const SLOW_LOG_BYTES: u64 = 1 << 20;
/// The version of `RedisBloom` whose commands ours follow, in the numbering of modules.
pub(super) const MODULE_VERSION: i64 = 80_000;

const ACL: &[Sub] = &[
    sub("whoami", 0, who_am_i),
    sub("list", 0, acl_list).for_admin(),
    sub("users", 0, acl_users).for_admin(),
    sub("getuser", 3, get_user).for_admin(),
    sub("cat", 0, categories),
    help(0),
];

fn acl(call: &mut Call<'_, '_>) -> Outcome {
    choose(call, "ACL", ACL)
}

fn who_am_i(call: &mut Call<'_, '_>) -> Outcome {
    Reply::new(call.out, call.session.info.resp3).bulk(call.session.user().as_bytes());
    Ok(())
}

/// All users with their rights; `default` with all rights if none is configured.
fn all_users(call: &Call<'_, '_>) -> Vec<(String, Rights)> {
    let users = &call.shared.config().users;
    if !users.asks_password() {
        return vec![("default".to_owned(), Rights::ALL)];
    }
    users.all().map(|(name, rights)| (name.to_owned(), rights.clone())).collect()
}

/// Rights in the syntax of Redis.
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
    write_list(call, &all_users(call).into_iter().map(line).collect::<Vec<_>>())
}

fn acl_users(call: &mut Call<'_, '_>) -> Outcome {
    write_list(call, &all_users(call).into_iter().map(|(name, _)| name).collect::<Vec<_>>())
}

fn write_list(call: &mut Call<'_, '_>, lines: &[String]) -> Outcome {
    call.room_for_list(lines.iter().map(String::as_bytes))?;
    call.reply().list(lines.iter().map(String::as_bytes));
    Ok(())
}

fn get_user(call: &mut Call<'_, '_>) -> Outcome {
    let name = call.word(2);
    let found = all_users(call).into_iter().find(|(user, _)| user.as_bytes() == name);
    let Some((_, rights)) = found else {
        call.reply().null();
        return Ok(());
    };
    let needs_password = call.shared.config().users.asks_password();
    let (pattern, rules) = (pattern(&rights), rules(&rights));
    call.room_for_list([pattern.as_bytes(), rules.as_bytes()].into_iter())?;
    let flags = if needs_password { vec!["on"] } else { vec!["on", "nopass"] };
    // Neither a password nor its hash is shown.
    call.reply().value(&Value::Map(vec![
        ("flags", Value::List(flags.into_iter().map(Value::text).collect())),
        ("passwords", Value::List(Vec::new())),
        ("commands", Value::text(rules)),
        ("keys", Value::text(pattern)),
        ("channels", Value::text("")),
        ("selectors", Value::List(Vec::new())),
    ]));
    Ok(())
}

fn categories(call: &mut Call<'_, '_>) -> Outcome {
    let names = [
        "read",
        "write",
        "admin",
        "dangerous",
        "fast",
        "bloom",
        "cuckoo",
        "keyspace",
        "connection",
    ];
    write_list(call, &names.map(str::to_owned))
}

fn object(call: &mut Call<'_, '_>) -> Outcome {
    let word = call.word(1);
    if is(word, "help") {
        return write_help(call, "OBJECT", ["encoding", "refcount", "idletime"].into_iter());
    }
    let Some(what) = one_of(word, &[("encoding", 0), ("refcount", 1), ("idletime", 2)]) else {
        return Err(unknown("OBJECT", word).into());
    };
    if call.words.len() != 3 {
        return Err(Call::arity(&format!("object|{}", shown(word).to_lowercase())));
    }
    if call.entry(call.word(2)).is_none() {
        return Err("ERR no such key".into());
    }
    match what {
        // As Redis does for values of modules.
        0 => call.reply().bulk(b"raw"),
        1 => call.reply().integer(1),
        _ => return Err("ERR times of last use are not kept".into()),
    }
    Ok(())
}

const SLOW_LOG: &[Sub] = &[
    sub("get", 0, slow_log_get),
    sub("len", 0, |call| call.count(call.shared.slow_log.len())),
    sub("reset", 0, |call| {
        call.shared.slow_log.clear();
        call.ok()
    }),
    help(0),
];

fn slow_log(call: &mut Call<'_, '_>) -> Outcome {
    choose(call, "SLOWLOG", SLOW_LOG)
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
        reply.list(slow.words.iter().map(Vec::as_slice));
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
        Err(unknown("LATENCY", word).into())
    }
}

fn module(call: &mut Call<'_, '_>) -> Outcome {
    let word = call.word(1);
    if !is(word, "list") {
        return Err(unknown("MODULE", word).into());
    }
    call.reply().value(&Value::List(vec![module_value()]));
    Ok(())
}

/// In the form that clients look for before they send `BF.*`.
pub(super) fn module_value() -> Value {
    Value::Map(vec![
        ("name", Value::text("bf")),
        ("ver", Value::Integer(MODULE_VERSION)),
        ("path", Value::text("")),
        ("args", Value::List(Vec::new())),
    ])
}

fn role(call: &mut Call<'_, '_>) -> Outcome {
    let none = Value::List(Vec::new());
    call.reply().value(&Value::List(vec![Value::text("master"), Value::Integer(0), none]));
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

/// `COPY source target`, including the expiry of the source.
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
    let (shared, now) = (call.shared, call.turn.work.now);
    let (from, expires_at) = (std::slice::from_ref(&source), source.expires_at());
    match shared.keyspace.merge(call.word(2), from, expires_at, now, call.log()) {
        Err(mayhap_engine::keyspace::CreateError::Exists) => call.integer(0),
        copied => copied.map_err(Fault::from).and_then(|_| call.integer(1)),
    }
}
