//! Why a store cannot be used, or a request to it has no answer.

use crate::config::KeyFileError;
use mayhap_redis::NativeFilter;
use std::io;
use thiserror::Error;

/// What follows the name of something that is refused.
pub(crate) const NOT_SERVED: &str = "is not served for filters in a store; use the command mayhap \
                                     with the URL of the store, or a server with a data folder";
/// The error of a name that is not UTF-8.
const BAD_NAME: &str =
    "the name of a filter in a store is UTF-8 without { and }, of 1 to 512 bytes";

/// The name of a filter in a store, or why these bytes cannot be one. Needs no store.
pub(crate) fn name_of(bytes: &[u8]) -> Result<&str, String> {
    let name = std::str::from_utf8(bytes).map_err(|_| BAD_NAME)?;
    NativeFilter::check_name(name).map_err(|error| error.to_string())?;
    Ok(name)
}

/// Why a store cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// It cannot be reached, or refuses the user.
    #[error(transparent)]
    Store(#[from] mayhap_redis::Error),
    /// The file of the secret key cannot be used.
    #[error(transparent)]
    Key(#[from] KeyFileError),
    /// The system has no thread for it.
    #[error("cannot start the thread of the store: {0}")]
    Thread(#[source] io::Error),
}

/// Why a request to the store has no answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// By the store.
    #[error(transparent)]
    Store(#[from] mayhap_redis::Error),
    /// The request was not sent: the store has not answered those before it.
    #[error(
        "{store} has not answered {unanswered} requests in a row; this one was not sent, but one a \
         second is"
    )]
    NotSent {
        /// The store, without its password.
        store: String,
        /// The number of requests.
        unanswered: u32,
    },
    /// The filter's keys are made of lines, and those of a request are not.
    #[error(
        "the keys of the filter {name} are made of lines ({options}), which only the command does; \
         use the command mayhap, or a filter without these options"
    )]
    KeysOfLines {
        /// The filter.
        name: String,
        /// The options.
        options: String,
    },
}

impl Error {
    /// Whether it was found without the store: it does not tell whether that answers.
    pub(crate) const fn is_of_server(&self) -> bool {
        use mayhap_redis::Error::{BadName, Layout, OneValue};
        matches!(
            self,
            Self::NotSent { .. }
                | Self::KeysOfLines { .. }
                | Self::Store(BadName { .. } | Layout { .. } | OneValue { .. })
        )
    }

    /// Whether the store has not answered at all.
    pub(crate) const fn is_unanswered(&self) -> bool {
        matches!(self, Self::Store(mayhap_redis::Error::Unavailable { .. }))
    }
}
