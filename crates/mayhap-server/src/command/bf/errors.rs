//! What goes wrong with a filter, in the words that clients know.

use crate::command::call::Fault;
use crate::durable::Refused;
use crate::keyspace::{
    ChangeError, CreateError, DigestError, InsertError, Unreadable, WhichError, WrongKind,
};

pub(super) use crate::command::call::NOT_FOUND;

impl From<InsertError> for Fault {
    fn from(error: InsertError) -> Self {
        match error {
            InsertError::Full => "ERR non scaling filter is full".into(),
            other => format!("ERR problem inserting into filter: {other}").into(),
        }
    }
}

impl From<CreateError> for Fault {
    fn from(error: CreateError) -> Self {
        match error {
            CreateError::Exists => "ERR item exists".into(),
            CreateError::Log(refused) => refused.into(),
            other @ (CreateError::TooLarge(_) | CreateError::OutOfMemory { .. }) => {
                format!("ERR Insufficient memory to create filter: {other}").into()
            }
            other => format!("ERR could not create filter: {other}").into(),
        }
    }
}

impl From<ChangeError> for Fault {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::NotFound => NOT_FOUND.into(),
            ChangeError::Log(refused) => refused.into(),
            other => format!("ERR {other}").into(),
        }
    }
}

impl From<WrongKind> for Fault {
    fn from(why: WrongKind) -> Self {
        format!("ERR {why}").into()
    }
}

impl From<DigestError> for Fault {
    fn from(why: DigestError) -> Self {
        match why {
            DigestError::Keyed => format!("NOPERM {why}").into(),
            _ => format!("ERR {why}").into(),
        }
    }
}

impl From<WhichError> for Fault {
    fn from(why: WhichError) -> Self {
        format!("ERR {why}").into()
    }
}

impl From<Unreadable> for Fault {
    fn from(why: Unreadable) -> Self {
        format!("ERR {why}").into()
    }
}

impl From<Refused> for Fault {
    fn from(refused: Refused) -> Self {
        format!("MISCONF {refused}").into()
    }
}
