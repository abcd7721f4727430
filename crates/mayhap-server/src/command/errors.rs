//! Errors of the engine, in the words that clients know: their prefixes are chosen here.

use super::call::Fault;
use mayhap_engine::durable::{LeaseError, Refused};
use mayhap_engine::keyspace::{
    ChangeError, CreateError, DigestError, InsertError, LoadError, UniteError, Unreadable,
    WhichError, WrongKind,
};

/// The words before the text of each error.
macro_rules! prefixes {
    ($($error:ident { $($why:pat => $prefix:literal),+ $(,)? })+) => {$(
        impl From<$error> for Fault {
            fn from(error: $error) -> Self {
                let prefix = match &error {
                    $($why => $prefix,)+
                };
                format!("{prefix} {error}").into()
            }
        }
    )+};
}

prefixes! {
    InsertError { InsertError::Full => "ERR", _ => "ERR problem inserting into filter:" }
    CreateError {
        CreateError::Exists => "ERR",
        CreateError::Log(_) => "MISCONF",
        CreateError::TooLarge(_) | CreateError::OutOfMemory { .. } =>
            "ERR Insufficient memory to create filter:",
        _ => "ERR could not create filter:",
    }
    ChangeError { ChangeError::Log(_) => "MISCONF", _ => "ERR" }
    DigestError { DigestError::Keyed => "NOPERM", _ => "ERR" }
    Refused { _ => "MISCONF" }
    WrongKind { _ => "ERR" }
    WhichError { _ => "ERR" }
    Unreadable { _ => "ERR" }
    LeaseError { _ => "ERR" }
}

impl From<LoadError> for Fault {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Create(error) => error.into(),
            other => format!("ERR {other}").into(),
        }
    }
}

impl From<UniteError> for Fault {
    fn from(error: UniteError) -> Self {
        match error {
            UniteError::Create(error) => error.into(),
            UniteError::Log(error) => error.into(),
            UniteError::Keyed => format!("NOPERM {error}").into(),
            other => format!("ERR {other}").into(),
        }
    }
}
