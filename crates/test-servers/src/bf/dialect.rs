//! The server that the stand-in imitates, and the errors that all commands share.

/// The server whose words and shapes a [`crate::BfServer`] answers in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// `RedisBloom` 8.8.
    RedisBloom,
    /// valkey-bloom 1.0.1.
    Valkey,
}

/// Both servers truncate an unknown command in an error at this length.
const MOST_REPEATED: usize = 128;

impl Dialect {
    /// The answer of `TYPE` for a filter.
    pub(super) fn type_name(self) -> &'static str {
        match self {
            Self::RedisBloom => "MBbloom--",
            Self::Valkey => "bloomfltr",
        }
    }

    /// The error of a command with too few words, or too many.
    pub(super) fn wrong_arity(self, command: &str) -> String {
        let name = match self {
            Self::Valkey if command.starts_with("BF.") => command.to_owned(),
            _ => command.to_lowercase(),
        };
        format!("ERR wrong number of arguments for '{name}' command")
    }
}

/// The error of a command that the server does not have.
pub(super) fn unknown(words: &[Vec<u8>]) -> String {
    let cut = |word: &[u8], most: usize| {
        String::from_utf8_lossy(&word[..word.len().min(most)]).into_owned()
    };
    let mut repeated = String::new();
    for word in &words[1..] {
        if repeated.len() >= MOST_REPEATED {
            break;
        }
        let part = cut(word, MOST_REPEATED - repeated.len());
        repeated.extend(["'", &part, "' "]);
    }
    let name = cut(&words[0], MOST_REPEATED);
    format!("ERR unknown command '{name}', with args beginning with: {repeated}")
}

/// The error of a command on a value of another type.
pub(super) fn wrong_type() -> String {
    "WRONGTYPE Operation against a key holding the wrong kind of value".into()
}

/// The error of a command that needs a filter if there is none.
pub(super) fn not_found() -> String {
    "ERR not found".into()
}
