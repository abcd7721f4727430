//! What goes wrong, as an HTTP answer: `{"error": "…"}`.

use crate::answer::NoRoom;
use crate::durable::Refused;
use crate::keyspace::{
    ChangeError, CreateError, DigestError, InsertError, Unreadable, WhichError, WrongKind,
};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::fmt;

/// What goes wrong, as an HTTP answer.
#[derive(Debug)]
pub(super) struct Failure {
    status: StatusCode,
    problem: String,
}

impl Failure {
    pub(super) fn new(status: StatusCode, problem: impl Into<String>) -> Self {
        Self { status, problem: problem.into() }
    }

    pub(super) fn bad(problem: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, problem)
    }

    pub(super) fn not_found() -> Self {
        let problem = "there is no filter of this name; create it with PUT /v1/filters/{name}";
        Self::new(StatusCode::NOT_FOUND, problem)
    }

    /// The same, when so many items were done before.
    pub(super) fn after(mut self, done: usize) -> Self {
        self.problem = format!("{}; the {done} items before it were added", self.problem);
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let body = serde_json::json!({ "error": self.problem }).to_string() + "\n";
        let json = [(header::CONTENT_TYPE, "application/json")];
        let mut response = (self.status, json, body).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Basic realm=\"mayhap\", charset=\"UTF-8\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}

impl From<Refused> for Failure {
    fn from(Refused(why): Refused) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, why)
    }
}

impl From<WrongKind> for Failure {
    fn from(why: WrongKind) -> Self {
        Self::new(StatusCode::CONFLICT, why.to_string())
    }
}

impl From<DigestError> for Failure {
    fn from(why: DigestError) -> Self {
        let status = match why {
            DigestError::Keyed => StatusCode::FORBIDDEN,
            _ => StatusCode::CONFLICT,
        };
        Self::new(status, why.to_string())
    }
}

impl From<WhichError> for Failure {
    fn from(why: WhichError) -> Self {
        let status = match why {
            WhichError::Unreadable { why: Unreadable::NotAKey(_), .. } => StatusCode::BAD_REQUEST,
            WhichError::Unreadable { .. } => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::BAD_REQUEST,
        };
        Self::new(status, why.to_string())
    }
}

impl From<NoRoom> for Failure {
    fn from(why: NoRoom) -> Self {
        let status = match why {
            NoRoom::TooLarge { .. } => StatusCode::BAD_REQUEST,
            NoRoom::Buffers { .. } => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, why.to_string())
    }
}

impl From<Unreadable> for Failure {
    fn from(why: Unreadable) -> Self {
        let status = match why {
            Unreadable::NotAKey(_) => StatusCode::BAD_REQUEST,
            _ => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, why.to_string())
    }
}

impl From<CreateError> for Failure {
    fn from(error: CreateError) -> Self {
        let status = match error {
            CreateError::Exists | CreateError::ReadOnly | CreateError::Overfull { .. } => {
                StatusCode::CONFLICT
            }
            CreateError::TooLarge(_) | CreateError::OutOfMemory { .. } => {
                StatusCode::INSUFFICIENT_STORAGE
            }
            CreateError::Log(refused) => return refused.into(),
            _ => StatusCode::BAD_REQUEST,
        };
        Self::new(status, error.to_string())
    }
}

impl From<InsertError> for Failure {
    fn from(error: InsertError) -> Self {
        let status = match error {
            InsertError::Full | InsertError::ReadOnly => StatusCode::CONFLICT,
            _ => StatusCode::INSUFFICIENT_STORAGE,
        };
        Self::new(status, error.to_string())
    }
}

impl From<ChangeError> for Failure {
    fn from(error: ChangeError) -> Self {
        let status = match error {
            ChangeError::NotFound => return Self::not_found(),
            ChangeError::Name(_) => StatusCode::BAD_REQUEST,
            ChangeError::TooLarge(_) | ChangeError::OutOfMemory { .. } => {
                StatusCode::INSUFFICIENT_STORAGE
            }
            ChangeError::Log(refused) => return refused.into(),
            _ => StatusCode::CONFLICT,
        };
        Self::new(status, error.to_string())
    }
}
