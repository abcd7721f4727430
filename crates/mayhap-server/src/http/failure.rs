//! What goes wrong, as an HTTP answer: `{"error": "…"}`.

use crate::answer::NoRoom;
use crate::durable::Refused;
use crate::keyspace::{
    ChangeError, CreateError, DigestError, InsertError, Unreadable, WhichError, WrongKind,
};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use mayhap_dashboard::caller::HEADERS;
use mayhap_dashboard::text::{MAX_PROBLEM_BYTES, shorten};
use std::borrow::Cow;
use std::fmt::{self, Write as _};

/// What goes wrong, as an HTTP answer.
#[derive(Debug)]
pub(super) struct Failure {
    status: StatusCode,
    problem: String,
    /// What follows on the connection cannot be read.
    closes: bool,
}

/// Bytes of a text that an answer repeats.
const SHOWN_BYTES: usize = 256;

/// A text of a request, as errors repeat it: its begin and its end.
pub(super) fn shown(text: &str) -> Cow<'_, str> {
    shorten(text, SHOWN_BYTES)
}

impl Failure {
    pub(super) fn new(status: StatusCode, problem: impl Into<String>) -> Self {
        Self { status, problem: problem.into(), closes: false }
    }

    /// The same, and the connection is closed.
    pub(super) const fn and_close(mut self) -> Self {
        self.closes = true;
        self
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

impl Failure {
    fn body(&self) -> String {
        let problem = shorten(&self.problem, MAX_PROBLEM_BYTES);
        serde_json::json!({ "error": problem }).to_string() + "\n"
    }

    /// The last answer of a connection, as it is sent.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let (status, body) = (self.status, self.body());
        let mut text = format!("HTTP/1.1 {status}\r\n");
        for (name, value) in HEADERS {
            // Writing to a text does not fail.
            let _ = write!(text, "{name}: {value}\r\n");
        }
        let length = body.len();
        text += "content-type: application/json\r\nconnection: close\r\n";
        let _ = write!(text, "content-length: {length}\r\n\r\n{body}");
        text.into_bytes()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let body = self.body();
        let json = [(header::CONTENT_TYPE, "application/json")];
        let mut response = (self.status, json, body).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Basic realm=\"mayhap\", charset=\"UTF-8\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        if self.closes {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
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
