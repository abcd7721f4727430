//! Error messages of the modules and of `mayhap serve`.

use crate::Error;

/// The errors of a full filter: one that does not grow, or to which no layer can be added.
const FULL: [&str; 5] = [
    "non scaling filter is full",
    "problem inserting into filter",
    "operation exceeds bloom object memory limit",
    "false positive degrades to 0 on scale out",
    "bloom object reached max number of filters",
];

/// The server's error for a command on the filter `name`.
pub(super) fn refused(error: Error, name: &str, command: &str) -> Error {
    let reason = match error.about(name, command) {
        Error::Refused { reason, .. } => reason,
        other => return other,
    };
    let words = reason.strip_prefix("ERR ").unwrap_or(&reason);
    let name = name.to_owned();
    if words.starts_with("unknown command") {
        let what = command.into();
        let reason = match command {
            // valkey-bloom has all the others.
            "BF.MERGECHUNK" => {
                "it has no such command: a later mayhap serve has it for filters of its own; copy \
                 the filter as a whole"
            }
            "BF.SCANDUMP" | "BF.LOADCHUNK" => {
                "it has no such command: RedisBloom and mayhap serve copy whole filters, \
                 valkey-bloom does not; fill another filter with the same keys"
            }
            _ => {
                "this server has no BF.* commands; load RedisBloom or valkey-bloom into it, or \
                 keep the filter in a layout that needs neither"
            }
        };
        return Error::Refused { what, reason: reason.into() };
    }
    // A server in front of a store says why it creates none.
    if words == "not found" || words.starts_with("not found; ") {
        return Error::NotFound { name };
    }
    // A reservation that is too large has the message of growth that is.
    let begins = |full: &&str| {
        words.strip_prefix(full).is_some_and(|rest| {
            // mayhap adds the cause after a colon.
            rest.is_empty() || rest.starts_with(": ")
        })
    };
    if command != "BF.RESERVE" && FULL.iter().any(begins) {
        return Error::Full { name, reason };
    }
    Error::Refused { what: command.into(), reason }
}

/// The error for a filter that only `mayhap serve` can have.
pub(super) fn only_serve() -> Error {
    Error::Refused {
        what: "a filter that counts, forgets or takes digests".into(),
        reason: "RedisBloom and valkey-bloom have plain filters only; create it on mayhap serve"
            .into(),
    }
}

/// Whether valkey-bloom rejects a reservation for a word that it does not know, or for the number
/// of words.
pub(super) fn is_word_unknown(reason: &str) -> bool {
    reason == "ERROR" || reason.starts_with("ERR wrong number of arguments")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_is_not_there_is_that_whatever_else_the_server_says_of_it() {
        let refuse = |reason: &str| {
            let error = Error::Refused { what: "it".into(), reason: reason.into() };
            refused(error, "f", "BF.INFO")
        };
        for reason in ["ERR not found", "not found", "ERR not found; filters in a store do not"] {
            assert!(matches!(refuse(reason), Error::NotFound { .. }), "{reason}");
        }
        for reason in ["ERR not found at all", "ERR received bad data: not found"] {
            assert!(matches!(refuse(reason), Error::Refused { .. }), "{reason}");
        }
    }
}
