//! The identity of a client and the protocol version it speaks.

use super::After;
use super::bounds::Answer;
use super::call::{Call, Fault, NO_INTEGER, Outcome, SYNTAX};
use super::client::is_printable;
use super::number;
use super::row::Right::{Known, Open};
use super::row::{Command, NONE, Right, row};
use super::tools::module_value;
use super::word::{is, logged, shown};
use crate::config::DEFAULT_USER;
use crate::login_throttle::Try;
use crate::metrics::Counter;
use crate::resp::Value;
use mayhap_engine::Words;

pub(super) const COMMANDS: &[Command] = &[
    row("ping", -1, Known, NONE, "Returns PONG, or the given word.", ping).answers(Answer::Echo),
    row("echo", 2, Known, NONE, "Returns the given word.", echo).answers(Answer::Echo),
    row("auth", -2, Open, NONE, "Logs in.", auth).works(work_of_auth),
    row("hello", -1, Open, NONE, "Selects the protocol version and logs in.", hello)
        .works(work_of_hello),
    row("select", 2, Known, NONE, "Selects database 0, the only one.", select),
    row("quit", -1, Open, NONE, "Closes the connection.", quit),
    row("reset", 1, Open, NONE, "Resets the connection.", reset),
];

const WRONG_PASS: &str = "WRONGPASS invalid username-password pair or user is disabled.";
const NO_PASSWORD: &str = "ERR AUTH <password> called without any password configured for the \
    default user. Are you sure your configuration is correct?";

fn ping(call: &mut Call<'_, '_>) -> Outcome {
    match call.words.len() {
        1 => call.reply().simple("PONG"),
        2 => return echo(call),
        _ => return Err(Call::arity("ping")),
    }
    Ok(())
}

fn echo(call: &mut Call<'_, '_>) -> Outcome {
    let word = call.word(1);
    call.reply().bulk(word);
    Ok(())
}

/// Wrong passwords after which a connection is closed.
const MAX_FAILED_LOGINS: u32 = 10;

fn auth(call: &mut Call<'_, '_>) -> Outcome {
    match call.words.len() {
        2 if !call.shared.config().users.asks_password() => return Err(NO_PASSWORD.into()),
        2 => login(call, DEFAULT_USER.as_bytes(), call.word(1))?,
        3 => login(call, call.word(1), call.word(2))?,
        _ => return Err(SYNTAX.into()),
    }
    call.ok()
}

/// Checking a password that is stored as a hash.
const HASH_NS: u64 = 20_000_000;

fn work_of_auth(call: &Call<'_, '_>) -> u64 {
    let users = &call.shared.config().users;
    let is_slow = match call.words.len() {
        2 => users.asks_password() && users.is_slow(DEFAULT_USER.as_bytes(), call.word(1)),
        3 => users.is_slow(call.word(1), call.word(2)),
        _ => false,
    };
    if is_slow { HASH_NS } else { 0 }
}

fn work_of_hello(call: &Call<'_, '_>) -> u64 {
    let login = Hello::parse(call.words).ok().and_then(|hello| hello.login);
    let users = &call.shared.config().users;
    let is_slow = login.is_some_and(|(name, password)| users.is_slow(name, password));
    if is_slow { HASH_NS } else { 0 }
}

/// Whether a password of this request may be tried now. Otherwise it waits until
/// [`crate::Turn::not_before`], or is refused if too many tries of the address are waiting.
pub(super) fn may_try(call: &mut Call<'_, '_>) -> Result<bool, Fault> {
    let has_password = is(call.word(0), "auth") || call.words.len() > 2;
    if !has_password || !call.shared.config().users.asks_password() {
        return Ok(true);
    }
    let address = call.session.address.map(|at| at.ip());
    match call.shared.logins.next(address, call.turn.work.now) {
        Try::Now => Ok(true),
        Try::At(time) => {
            call.turn.not_before = time;
            Ok(false)
        }
        Try::Refused => {
            Err("ERR too many wrong passwords from this address; try again later".into())
        }
    }
}

/// Logs out a client whose user has other rights or another password since a reload, or is gone.
#[inline]
pub(super) fn follow_users(call: &mut Call<'_, '_>) -> Result<(), Fault> {
    // Read before the users: if they are newer than this, the next request looks again.
    let version = call.shared.users_version();
    if call.session.users_version == version { Ok(()) } else { follow_to(call, version) }
}

#[cold]
fn follow_to(call: &mut Call<'_, '_>, version: u64) -> Result<(), Fault> {
    let (config, session) = (call.shared.config(), &mut *call.session);
    let known_since = std::mem::replace(&mut session.users_version, version);
    match &session.info.user {
        Some(name) if call.shared.is_same_user(name, known_since) => Ok(()),
        None => {
            session.rights = config.users.anonymous();
            Ok(())
        }
        Some(_) => {
            (session.info.user, session.rights, session.queue) =
                (None, config.users.anonymous(), None);
            call.after = After::Close;
            Err("NOAUTH the user was changed or removed; log in again".into())
        }
    }
}

fn login(call: &mut Call<'_, '_>, name: &[u8], password: &[u8]) -> Result<(), Fault> {
    let version = call.shared.users_version();
    let Some(rights) = call.shared.config().users.login(name, password) else {
        call.turn.counts.add(Counter::LoginsFailed, 1);
        return Err(wrong_password(call, name));
    };
    call.session.failed_logins = 0;
    call.session.info.user = Some(String::from_utf8_lossy(name).into_owned());
    call.session.rights = rights;
    call.session.users_version = version;
    Ok(())
}

/// Logs only the first wrong password of a connection, so that guessing cannot fill the log, and
/// makes a guesser reconnect now and then.
#[cold]
fn wrong_password(call: &mut Call<'_, '_>, name: &[u8]) -> Fault {
    call.session.failed_logins += 1;
    call.shared.logins.failed(call.session.address.map(|at| at.ip()), call.turn.work.now);
    if call.session.failed_logins == 1 {
        let from = call.session.address.map_or_else(|| "a socket".into(), |at| at.to_string());
        log::warn!("login failed for user \"{}\" from {from}", logged(name));
    }
    if call.session.failed_logins >= MAX_FAILED_LOGINS {
        call.after = After::Close;
    }
    WRONG_PASS.into()
}

/// The arguments of `HELLO`; nothing is changed before all of them are known to be valid.
#[derive(Default)]
struct Hello<'a> {
    resp3: Option<bool>,
    login: Option<(&'a [u8], &'a [u8])>,
    name: Option<&'a [u8]>,
}

impl<'a> Hello<'a> {
    fn parse(words: Words<'a>) -> Result<Self, Fault> {
        let mut hello = Self::default();
        let mut words = words.from(1).iter();
        let Some(version) = words.next() else {
            return Ok(hello);
        };
        let version = number::integer(version)
            .ok_or("ERR Protocol version is not an integer or out of range")?;
        hello.resp3 = match version {
            2 => Some(false),
            3 => Some(true),
            _ => return Err("NOPROTO unsupported protocol version".into()),
        };
        while let Some(option) = words.next() {
            let wrong = || format!("ERR Syntax error in HELLO option '{}'", shown(option));
            if is(option, "auth") {
                let user = words.next().ok_or_else(wrong)?;
                hello.login = Some((user, words.next().ok_or_else(wrong)?));
            } else if is(option, "setname") {
                hello.name = Some(words.next().ok_or_else(wrong)?);
            } else {
                return Err(wrong().into());
            }
        }
        if hello.name.is_some_and(|name| !is_printable(name)) {
            return Err(super::client::BAD_NAME.into());
        }
        Ok(hello)
    }
}

fn hello(call: &mut Call<'_, '_>) -> Outcome {
    let hello = Hello::parse(call.words)?;
    if let Some((user, password)) = hello.login {
        login(call, user, password)?;
    }
    if !Right::Known.is_given(&call.session.rights) {
        return Err(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise \
             the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client \
             and select the RESP protocol version at the same time"
                .into(),
        );
    }
    if let Some(name) = hello.name {
        call.session.info.name = name.to_vec();
    }
    if let Some(resp3) = hello.resp3 {
        call.session.info.resp3 = resp3;
    }
    let id = call.session.id.cast_signed();
    let proto = if call.session.info.resp3 { 3 } else { 2 };
    call.reply().value(&Value::Map(vec![
        ("server", Value::text("mayhap")),
        ("version", Value::text(env!("CARGO_PKG_VERSION"))),
        ("proto", Value::Integer(proto)),
        ("id", Value::Integer(id)),
        ("mode", Value::text("standalone")),
        ("role", Value::text("master")),
        ("modules", Value::List(vec![module_value()])),
    ]));
    Ok(())
}

fn select(call: &mut Call<'_, '_>) -> Outcome {
    match number::integer(call.word(1)) {
        Some(0) => call.ok(),
        Some(_) => Err("ERR DB index is out of range".into()),
        None => Err(NO_INTEGER.into()),
    }
}

fn quit(call: &mut Call<'_, '_>) -> Outcome {
    call.after = After::Close;
    call.ok()
}

fn reset(call: &mut Call<'_, '_>) -> Outcome {
    let session = &mut *call.session;
    session.info.resp3 = false;
    session.info.name.clear();
    session.queue = None;
    session.lease = None;
    session.info.user = None;
    session.rights = call.shared.config().users.anonymous();
    call.reply().simple("RESET");
    Ok(())
}
