//! The commands, a row for each.

use super::call::Call;
use super::dialect::{Dialect, unknown};
use super::keyspace::Keyspace;
use super::reply::{Answer, Reply};
use super::{connection, dump, filters, keys};

/// A command.
struct Row {
    name: &'static str,
    /// The number of its words, or the minimum if it is negative, as in `COMMAND INFO`.
    arity: isize,
    does: Does,
    run: fn(&mut Call<'_>) -> Answer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    Read,
    Write,
}

const COMMANDS: &[Row] = &[
    row("BF.RESERVE", -4, Does::Write, filters::reserve),
    row("BF.ADD", 3, Does::Write, filters::add),
    row("BF.MADD", -3, Does::Write, filters::add_many),
    row("BF.INSERT", -2, Does::Write, filters::insert),
    row("BF.EXISTS", 3, Does::Read, filters::exists),
    row("BF.MEXISTS", -3, Does::Read, filters::exist_many),
    row("BF.CARD", 2, Does::Read, filters::card),
    row("BF.INFO", -2, Does::Read, filters::info),
    row("BF.SCANDUMP", 3, Does::Read, dump::scan),
    row("BF.LOADCHUNK", 4, Does::Write, dump::load),
    row("EXISTS", -2, Does::Read, |call| Ok(keys::exists(call))),
    row("DEL", -2, Does::Write, |call| Ok(keys::delete(call))),
    row("UNLINK", -2, Does::Write, |call| Ok(keys::delete(call))),
    row("TYPE", 2, Does::Read, |call| Ok(keys::type_of(call))),
    row("SET", 3, Does::Write, |call| Ok(keys::set(call))),
    row("GET", 2, Does::Read, keys::get),
    row("HGETALL", 2, Does::Read, keys::get_hash),
    row("RENAME", 3, Does::Write, keys::rename),
    row("RENAMENX", 3, Does::Write, keys::rename_if_free),
    row("EXPIRE", 3, Does::Write, keys::expire),
    row("PEXPIRE", 3, Does::Write, keys::expire_millis),
    row("PERSIST", 2, Does::Write, |call| Ok(keys::persist(call))),
    row("TTL", 2, Does::Read, |call| Ok(keys::left(call))),
    row("PTTL", 2, Does::Read, |call| Ok(keys::left_millis(call))),
    row("PING", -1, Does::Read, |call| Ok(connection::ping(call))),
    row("HELLO", -1, Does::Read, connection::hello),
    row("AUTH", -2, Does::Read, connection::auth),
    row("SELECT", 2, Does::Read, connection::select),
    row("CLIENT", -2, Does::Read, |_| Ok(Reply::OK)),
    row("CONFIG", -2, Does::Read, connection::config),
    row("INFO", -1, Does::Read, |call| Ok(connection::info(call))),
];

/// Commands of `RedisBloom` alone.
const DUMPS: [&str; 2] = ["BF.SCANDUMP", "BF.LOADCHUNK"];

const fn row(
    name: &'static str,
    arity: isize,
    does: Does,
    run: fn(&mut Call<'_>) -> Answer,
) -> Row {
    Row { name, arity, does, run }
}

/// The row of a command, by its name in upper case.
fn find(dialect: Dialect, name: &str) -> Option<&'static Row> {
    let is_there = dialect == Dialect::RedisBloom || !DUMPS.contains(&name);
    COMMANDS.iter().find(|row| row.name == name && is_there)
}

/// Whether a command changes something.
pub(super) fn is_write(dialect: Dialect, name: &str) -> bool {
    find(dialect, name).is_some_and(|row| row.does == Does::Write)
}

/// Executes a command; `name` is its first word in upper case.
pub(super) fn execute(
    dialect: Dialect,
    keys: &mut Keyspace,
    (name, words): (&str, &[Vec<u8>]),
) -> Answer {
    let Some(row) = find(dialect, name) else { return Err(unknown(words)) };
    let has = words.len().cast_signed();
    if has < row.arity.abs() || row.arity > 0 && has > row.arity {
        return Err(dialect.wrong_arity(name));
    }
    keys.drop_expired();
    (row.run)(&mut Call { dialect, name, words, keys })
}
