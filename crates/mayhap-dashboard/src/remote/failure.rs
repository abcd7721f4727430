//! Answers: JSON, and errors as `{"error": "…"}`.

use crate::text::{MAX_PROBLEM_BYTES, shorten};
use axum::extract::rejection::QueryRejection;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use mayhap_redis::Error;
use serde_json::Value;

pub(super) type Answer = Result<Response, Failure>;

/// A value as JSON in a line.
pub(super) fn json(value: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], value.to_string() + "\n").into_response()
}

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
        Self::new(status, mayhap_sets::server::problem(name, error))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_has_the_status_that_tells_what_to_do() {
        let status = |error: &Error| Failure::of("a", error).into_response().status();
        let (name, reason) = (|| "a".to_owned(), || "why".to_owned());
        for (error, expected) in [
            (Error::NotFound { name: name() }, StatusCode::NOT_FOUND),
            (Error::Refused { what: name(), reason: reason() }, StatusCode::FORBIDDEN),
            (Error::Unauthorized { server: name(), reason: reason() }, StatusCode::FORBIDDEN),
            (
                Error::Gone { name: name(), loss: mayhap_redis::Loss::Part.into() },
                StatusCode::CONFLICT,
            ),
            (Error::WrongType { key: name() }, StatusCode::CONFLICT),
            (Error::ServerFull { reason: reason() }, StatusCode::BAD_GATEWAY),
        ] {
            assert_eq!(status(&error), expected, "{error}");
            let is_not_found = Failure::of("a", &error).is_not_found();
            assert_eq!(is_not_found, expected == StatusCode::NOT_FOUND, "{error}");
        }
    }

    /// A request may be long, and its error repeats it.
    #[tokio::test]
    async fn the_text_of_an_error_is_json_and_short() {
        let answer = Failure::bad("\"x".repeat(10_000)).into_response();
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
        assert_eq!(answer.headers()[header::CONTENT_TYPE], "application/json");
        let body = axum::body::to_bytes(answer.into_body(), 1 << 20).await.unwrap();
        let json: Value = serde_json::from_slice(&body).unwrap();
        let problem = json["error"].as_str().unwrap();
        assert!(problem.contains("bytes left out"), "{problem}");
        assert!((1_000..1_100).contains(&problem.len()), "{}", problem.len());
    }
}
