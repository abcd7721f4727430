//! Errors of the values of settings and users: each says what is allowed.

use mayhap_units::number::{NumberError, format_bytes, format_count};

/// A text that is no value of a setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// There is no setting of this name.
    #[error("is not a setting")]
    NoSetting,
    /// Not a number, size or rate.
    #[error(transparent)]
    Number(#[from] NumberError),
    /// Not a whole number within bounds.
    #[error("is not a whole number{unit} from {least} to {most}")]
    NotWithin {
        /// The unit, as ` of microseconds`; empty for plain numbers.
        unit: &'static str,
        /// The smallest one.
        least: u64,
        /// The largest one.
        most: u64,
    },
    /// Not a switch.
    #[error("is neither true nor false")]
    NotSwitch,
    /// An empty path.
    #[error("is empty; give a file or folder")]
    NoPath,
    /// Not the URL of a server, with the reason.
    #[error("{0}")]
    NotStore(String),
    /// The URL of a filter instead of its server.
    #[error("names a filter; give its server alone, such as redis://127.0.0.1:6379")]
    NamesFilter,
    /// A size of 0.
    #[error("is 0; allowed: from 1 B on")]
    NoBytes,
    /// A size that is too large.
    #[error("is {}, above the limit of {}", format_bytes(*bytes), format_bytes(*limit))]
    TooLarge {
        /// The size.
        bytes: u64,
        /// The largest one.
        limit: u64,
    },
    /// A count outside of its bounds.
    #[error("is {}; allowed: from 1 to 10M", format_count(*.0))]
    Count(u64),
    /// A number of keys outside of its bounds.
    #[error("is not within 1 to 1,073,741,824")]
    Capacity,
    /// Not a duration.
    #[error("is not a duration; write it like 500ms, 30s, 5min or 1h, and 0s for never")]
    NotDuration,
    /// A time of 0.
    #[error("is 0; allowed: from 1ms on")]
    NoTime,
    /// A name in a list that is not a host's.
    #[error("{0:?} is not a host name; write filters.example.org")]
    NotHost(String),
    /// None of the words of a setting, which are listed here.
    #[error("allowed: {0}")]
    NotOneOf(&'static str),
    /// An entry that is not an address, or no entry.
    #[error(
        "is not an address; allowed: IP addresses such as 127.0.0.1, 0.0.0.0, ::1 or ::, several \
         as a,b, and * for all; one after a - may be absent"
    )]
    NotAddress,
    /// A word that is not a right.
    #[error("{0:?} is not a right; allowed: read, write, admin")]
    NotRight(String),
    /// No right at all.
    #[error("has no right; allowed: read, write, admin")]
    NoRight,
}

/// A password that is in a file or in the environment, and cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PasswordError {
    /// The environment has no variable of this name.
    #[error("names {0}, which the environment does not have")]
    NotInEnvironment(String),
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(Box<mayhap_store::Error>),
    /// An empty file or variable.
    #[error("names {0}, which is empty")]
    Empty(String),
}

/// A user that cannot be added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UserError {
    /// The system has no random bytes for the salt.
    #[error("no random bytes: {0}")]
    NoRandomBytes(getrandom::Error),
    /// An empty password.
    #[error("the password of user {0:?} is empty; write at least 16 bytes")]
    NoPassword(String),
    /// A text that is not the hash of a password. It is not repeated: it is half a secret.
    #[error("is not an Argon2 hash; create one with: mayhap serve --hash-password")]
    NotHash,
    /// A hash that would take too much memory, or too long, to check.
    #[error(
        "has m={memory_kib} and t={rounds}, above the limits of m={max_kib} and t={max_rounds}; \
         create another with: mayhap serve --hash-password"
    )]
    TooCostly {
        /// Its memory in KiB.
        memory_kib: u32,
        /// Its rounds.
        rounds: u32,
        /// The limit of memory.
        max_kib: u32,
        /// The limit of rounds.
        max_rounds: u32,
    },
    /// A name that another user has.
    #[error("there are two users named {0:?}")]
    Taken(String),
    /// A password that cannot be hashed.
    #[error("{0}")]
    NotHashed(argon2::password_hash::Error),
}

/// A `[[user]]` that is incomplete or wrong.
#[derive(Debug, thiserror::Error)]
pub enum DraftError {
    /// It has no name.
    #[error("has no name")]
    NoName,
    /// It has no rights.
    #[error("{0:?} has no rights; write rights = [\"read\", \"write\"]")]
    NoRights(String),
    /// It has no password.
    #[error("{0:?} has no password; create a password_hash with mayhap serve --hash-password")]
    NoPassword(String),
    /// Its password is elsewhere, and cannot be read.
    #[error("{name:?}: {key} {error}")]
    Source {
        /// The user.
        name: String,
        /// The key that says where.
        key: &'static str,
        /// Why.
        error: PasswordError,
    },
    /// Its hash is none, or takes too long to check.
    #[error("{name:?}: password_hash {error}")]
    Hash {
        /// The user.
        name: String,
        /// Why.
        error: UserError,
    },
    /// It cannot be added.
    #[error(transparent)]
    User(#[from] UserError),
}
