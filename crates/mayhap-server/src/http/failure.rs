//! Errors as HTTP answers: `{"error": "…"}`; those of the engine get their status here.

use crate::answer::NoRoom;
use crate::front::{Error as StoreError, NOT_SERVED, Unfit};
use crate::reservation::Contradiction;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use mayhap_dashboard::caller::HEADERS;
use mayhap_dashboard::text::{MAX_PROBLEM_BYTES, shorten};
use mayhap_engine::durable::Refused;
use mayhap_engine::keyspace::{
    ChangeError, CreateError, DigestError, InsertError, LoadError, Unreadable, WhichError,
    WrongKind,
};
use mayhap_redis::Error as Store;
use std::borrow::Cow;
use std::fmt::Write as _;
use thiserror::Error;

/// An error as an HTTP answer.
#[derive(Debug, Error)]
#[error("{problem}")]
pub(super) struct Failure {
    status: StatusCode,
    problem: String,
    /// Whether the rest of the connection cannot be read.
    closes: bool,
}

/// Of a name that has none in the store, which may have lost it.
const NOT_IN_STORE: &str = "there is no filter of this name in the store, so nothing can be said \
                            of its keys; create it with PUT /v1/filters/{name}";
const NO_FILTER: &str = "there is no filter of this name; create it with PUT /v1/filters/{name}";
/// Bytes of a request's text that an answer repeats.
const SHOWN_BYTES: usize = 256;

/// A text of a request, as errors repeat it: its beginning and its end.
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
        Self::new(StatusCode::NOT_FOUND, NO_FILTER)
    }

    /// Whether there is no such thing.
    pub(super) fn is_not_found(&self) -> bool {
        self.status == StatusCode::NOT_FOUND
    }

    /// What is refused for filters in a store, by its name.
    pub(super) fn not_served(what: &str) -> Self {
        Self::new(StatusCode::NOT_IMPLEMENTED, format!("{what} {NOT_SERVED}"))
    }

    /// The same with another text.
    fn saying(self, problem: &str) -> Self {
        Self { problem: problem.into(), ..self }
    }

    /// The same, after `done` items were processed.
    pub(super) fn after(mut self, done: usize) -> Self {
        let added = match done {
            0 => "no item was added".to_owned(),
            1 => "the item before it was added, or was there".to_owned(),
            _ => format!("the {done} items before it were added, or were there"),
        };
        self.problem = format!("{}; {added}", self.problem);
        self
    }

    fn body(&self) -> String {
        let problem = shorten(&self.problem, MAX_PROBLEM_BYTES);
        serde_json::json!({ "error": problem }).to_string() + "\n"
    }

    /// The last answer of a connection, as bytes.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let (status, body) = (self.status, self.body());
        let mut text = format!("HTTP/1.1 {status}\r\n");
        for (name, value) in HEADERS {
            // Writing to a string does not fail.
            let _ = write!(text, "{name}: {value}\r\n");
        }
        let length = body.len();
        text += "content-type: application/json\r\nconnection: close\r\n";
        let _ = write!(text, "content-length: {length}\r\n\r\n{body}");
        text.into_bytes()
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

/// The status of each error, and a text for HTTP where its own is for other clients.
macro_rules! statuses {
    ($($error:ident { $($why:pat => $status:ident $($text:expr)?),+ $(,)? })+) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                let text = error.to_string();
                match &error {
                    $($why => Self::new(StatusCode::$status, text)$(.saying($text))?,)+
                }
            }
        }
    )+};
}

statuses! {
    Refused { _ => SERVICE_UNAVAILABLE }
    StoreError {
        StoreError::Store(Store::NotFound { .. }) => NOT_FOUND NOT_IN_STORE,
        StoreError::NotSent { .. }
        | StoreError::Store(
            Store::Unavailable { .. }
            | Store::Busy { .. }
            | Store::Broken { .. }
            | Store::Lost { .. }
            | Store::NotReplicated { .. },
        ) => SERVICE_UNAVAILABLE,
        StoreError::Store(
            Store::BadName { .. } | Store::Layout { .. } | Store::OneValue { .. },
        ) => BAD_REQUEST,
        StoreError::KeysOfLines { .. }
        | StoreError::Store(
            Store::Exists { .. }
            | Store::NameTaken { .. }
            | Store::Unsupported { .. }
            | Store::Gone { .. }
            | Store::Switched { .. }
            | Store::WrongType { .. }
            | Store::Damaged { .. }
            | Store::Filter(_),
        ) => CONFLICT,
        StoreError::Store(Store::ServerFull { .. }) => INSUFFICIENT_STORAGE,
        // Not the fault of this client.
        StoreError::Store(_) => BAD_GATEWAY,
    }
    Unfit {
        Unfit::Size(CreateError::TooLarge(_)) => INSUFFICIENT_STORAGE,
        Unfit::Size(_) => BAD_REQUEST,
        Unfit::Option(_) => NOT_IMPLEMENTED,
    }
    WrongKind { _ => CONFLICT }
    DigestError { DigestError::Keyed => FORBIDDEN, _ => CONFLICT }
    WhichError {
        WhichError::Unreadable { why: Unreadable::NotAKey(_), .. } => BAD_REQUEST,
        WhichError::Unreadable { .. } => SERVICE_UNAVAILABLE,
        _ => BAD_REQUEST,
    }
    NoRoom { NoRoom::TooLarge { .. } => BAD_REQUEST, NoRoom::Buffers { .. } => SERVICE_UNAVAILABLE }
    Unreadable { Unreadable::NotAKey(_) => BAD_REQUEST, _ => SERVICE_UNAVAILABLE }
    CreateError {
        CreateError::Exists | CreateError::ReadOnly | CreateError::Overfull { .. } => CONFLICT,
        CreateError::TooLarge(_) | CreateError::OutOfMemory { .. } => INSUFFICIENT_STORAGE,
        CreateError::Log(_) => SERVICE_UNAVAILABLE,
        _ => BAD_REQUEST,
    }
    InsertError {
        InsertError::Full | InsertError::ReadOnly | InsertError::Frozen(_) => CONFLICT,
        _ => INSUFFICIENT_STORAGE,
    }
    Contradiction { Contradiction::ScaleTo => INSUFFICIENT_STORAGE, _ => BAD_REQUEST }
    ChangeError {
        ChangeError::NotFound => NOT_FOUND NO_FILTER,
        ChangeError::Name(_) => BAD_REQUEST,
        ChangeError::TooLarge(_) | ChangeError::OutOfMemory { .. } => INSUFFICIENT_STORAGE,
        ChangeError::Log(_) => SERVICE_UNAVAILABLE,
        _ => CONFLICT,
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Exists => Self::new(StatusCode::CONFLICT, "there is a filter of this name"),
            LoadError::NotFound | LoadError::Offset { .. } => {
                let problem = "another upload of this name came in between; try again";
                Self::new(StatusCode::CONFLICT, problem)
            }
            LoadError::TooBig => Self::bad("the file is longer than its header says"),
            LoadError::Bad(problem) => Self::bad(problem.to_string()),
            LoadError::Create(error) => error.into(),
        }
    }
}
