//! Commands of a connection, and descriptions of the server.

use super::call::Call;
use super::dialect::Dialect;
use super::reply::{Answer, Reply};
use super::reservation::is;

/// `PING [message]`
pub(super) fn ping(call: &mut Call<'_>) -> Reply {
    call.words.get(1).map_or(Reply::Status("PONG"), |message| Reply::Bulk(message.clone()))
}

/// `HELLO [2]`
pub(super) fn hello(call: &mut Call<'_>) -> Answer {
    if call.words.get(1).is_some_and(|version| version != b"2") {
        return Err("NOPROTO unsupported protocol version".into());
    }
    let (server, version) = name_and_version(call.dialect);
    let rows = [("server", server), ("version", version), ("mode", "standalone")];
    let mut parts: Vec<Reply> =
        rows.into_iter().flat_map(|(a, b)| [a, b]).map(Reply::text).collect();
    parts.extend([Reply::text("proto"), Reply::Int(2)]);
    Ok(Reply::Array(parts))
}

/// `AUTH [user] password`: there is none.
pub(super) fn auth(_call: &mut Call<'_>) -> Answer {
    Err("ERR AUTH <password> called without any password configured for the default user. Are you \
         sure your configuration is correct?"
        .into())
}

/// `SELECT database`: there is one.
pub(super) fn select(call: &mut Call<'_>) -> Answer {
    if call.key() == b"0" { Ok(Reply::OK) } else { Err("ERR DB index is out of range".into()) }
}

/// `CONFIG GET name`: for the two settings that clients read.
pub(super) fn config(call: &mut Call<'_>) -> Answer {
    if !is(call.key(), "GET") {
        let command = String::from_utf8_lossy(call.key()).into_owned();
        return Err(format!("ERR unknown subcommand '{command}'. Try CONFIG HELP."));
    }
    let known = [("appendonly", "yes"), ("save", "3600 1 300 100 60 10000")];
    let wanted = call.rest().first().map_or(&[][..], Vec::as_slice);
    let found = known.into_iter().filter(|(name, _)| is(wanted, name));
    Ok(Reply::Array(found.flat_map(|(name, value)| [name, value]).map(Reply::text).collect()))
}

/// `INFO [section]`
pub(super) fn info(call: &mut Call<'_>) -> Reply {
    let (server, version) = name_and_version(call.dialect);
    Reply::text(&format!("# Server\r\nserver_name:{server}\r\n{server}_version:{version}\r\n"))
}

fn name_and_version(dialect: Dialect) -> (&'static str, &'static str) {
    match dialect {
        Dialect::RedisBloom => ("redis", "8.8.0"),
        Dialect::Valkey => ("valkey", "8.1.1"),
    }
}
