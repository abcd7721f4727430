//! What goes wrong, as an answer: `{"error": "…"}`.

use crate::text::{MAX_PROBLEM_BYTES, shorten};
use axum::extract::rejection::QueryRejection;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use mayhap_redis::Error;

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

    /// The error of a filter, or of the server as a whole.
    pub(super) fn of(name: &str, error: &Error) -> Self {
        let status = match error {
            Error::NotFound { .. } => StatusCode::NOT_FOUND,
            Error::Refused { .. } | Error::Unauthorized { .. } => StatusCode::FORBIDDEN,
            Error::Gone { .. } | Error::WrongType { .. } => StatusCode::CONFLICT,
            _ => StatusCode::BAD_GATEWAY,
        };
        Self::new(status, mayhap_remote::problem(name, error).0)
    }

    pub(super) fn is_not_found(&self) -> bool {
        self.status == StatusCode::NOT_FOUND
    }

    pub(super) fn problem(&self) -> &str {
        &self.problem
    }
}

impl From<QueryRejection> for Failure {
    fn from(why: QueryRejection) -> Self {
        Self::bad(why.body_text())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let problem = shorten(&self.problem, MAX_PROBLEM_BYTES);
        let body = serde_json::json!({ "error": problem }).to_string() + "\n";
        (self.status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
    }
}
