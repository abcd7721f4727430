//! Commands that have subcommands: `CLIENT`, `CONFIG`, `ACL` and others.

use super::call::{Call, Outcome};
use super::row::takes;
use super::word::{is, shown};

/// A subcommand.
pub(super) struct Sub {
    /// In lower case.
    name: &'static str,
    /// The number of words, including the command and the subcommand; negative for a minimum, 0 for
    /// any.
    arity: i64,
    only_admin: bool,
    /// `None` for the one that lists all.
    run: Option<fn(&mut Call<'_, '_>) -> Outcome>,
}

pub(super) const fn sub(
    name: &'static str,
    arity: i64,
    run: fn(&mut Call<'_, '_>) -> Outcome,
) -> Sub {
    Sub { name, arity, only_admin: false, run: Some(run) }
}

/// The subcommand that lists all.
pub(super) const fn help(arity: i64) -> Sub {
    Sub { name: "help", arity, only_admin: false, run: None }
}

impl Sub {
    /// One that looks at others than the client itself.
    pub(super) const fn for_admin(mut self) -> Self {
        self.only_admin = true;
        self
    }
}

/// Runs the subcommand of this request, one of `all`.
pub(super) fn choose(call: &mut Call<'_, '_>, command: &str, all: &[Sub]) -> Outcome {
    let word = call.word(1);
    let Some(found) = all.iter().find(|sub| is(word, sub.name)) else {
        return Err(unknown(command, word).into());
    };
    let full_name = || format!("{}|{}", command.to_lowercase(), found.name);
    if found.only_admin && !call.session.rights.admin {
        let (user, name) = (call.session.user(), full_name());
        let text = "has no permissions to run the";
        return Err(format!("NOPERM User {user} {text} '{name}' command").into());
    }
    if found.arity != 0 && !takes(found.arity, call.words.len()) {
        return Err(Call::arity(&full_name()));
    }
    match found.run {
        Some(run) => run(call),
        None => write_help(call, command, all.iter().map(|sub| sub.name)),
    }
}

/// The error for an unknown subcommand.
pub(super) fn unknown(command: &str, word: &[u8]) -> String {
    format!("ERR unknown subcommand '{}'. Try {command} HELP.", shown(word))
}

/// The answer to `… HELP`: the subcommands.
pub(super) fn write_help<'n>(
    call: &mut Call<'_, '_>,
    command: &str,
    names: impl ExactSizeIterator<Item = &'n str>,
) -> Outcome {
    let mut reply = call.reply();
    reply.array(names.len() + 1);
    reply.simple(&format!("{command} <subcommand> [<arg> ...]. Subcommands are:"));
    for name in names {
        reply.simple(&name.to_uppercase());
    }
    Ok(())
}
