//! The paths with their handlers, and the access check.

use super::failure::Failure;
use super::state::State;
use super::{filters, server};
use crate::caller::{host, is_of_other_site, protect};
use crate::files::FILES;
use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use std::net::IpAddr;

/// All paths, behind the guard.
pub(super) fn router(state: State) -> Router {
    let files = FILES.iter();
    files
        .fold(Router::new(), |router, file| router.route(file.path, get(*file)))
        .route("/", get(|| async { Redirect::temporary("/ui") }))
        .route("/ui/events", get(filters::events))
        .route("/ui/history", get(filters::history))
        .route("/ui/clients", get(server::clients))
        .route("/ui/slow", get(server::slow))
        .route("/v1/filters", get(filters::list))
        .route("/v1/filters/{name}", get(filters::info))
        .route("/v1/filters/{name}/check", post(filters::check))
        .route("/v1/filters/{name}/add", post(filters::add))
        .fallback(|| async { Failure::new(StatusCode::NOT_FOUND, "no such path") })
        .layer(from_fn(guard))
        .with_state(state)
}

/// Answers only requests that call us by a name of loopback, so that no page whose name was bound
/// to our address reads anything, and refuses requests from pages of other sites.
async fn guard(request: Request, next: Next) -> Response {
    let mut response = match check(&request) {
        Ok(()) => next.run(request).await,
        Err(failure) => failure.into_response(),
    };
    protect(response.headers_mut());
    response
}

fn check(request: &Request) -> Result<(), Failure> {
    let is_loopback = |host: &str| {
        let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        literal.map_or(host.eq_ignore_ascii_case("localhost"), |address| address.is_loopback())
    };
    let host = host(request.headers()).filter(|host| is_loopback(host.host()));
    let host = host.ok_or_else(|| {
        let problem = "the Host header is no name of this machine: 127.0.0.1 or localhost";
        Failure::new(StatusCode::MISDIRECTED_REQUEST, problem)
    })?;
    if is_of_other_site(request.method(), request.headers(), "http", host.as_str()) {
        let problem = "the request is from a page of another site";
        return Err(Failure::new(StatusCode::FORBIDDEN, problem));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn status(host: Option<&str>, more: &[(&str, &str)]) -> Option<StatusCode> {
        let mut request = Request::post("/v1/filters/a/add");
        for (name, value) in host.map(|host| ("host", host)).iter().chain(more) {
            request = request.header(*name, *value);
        }
        check(&request.body(Body::empty()).unwrap()).err().map(|f| f.into_response().status())
    }

    #[test]
    fn only_names_of_this_machine_are_answered_to() {
        for host in
            ["127.0.0.1", "127.0.0.1:8080", "127.1.2.3", "localhost", "LOCALHOST:1", "[::1]:8080"]
        {
            assert_eq!(status(Some(host), &[]), None, "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "evil-localhost",
            "0.0.0.0",
            "10.0.0.1:8080",
            "[::]",
            "[::2]:8080",
            "2130706433",
            "user@localhost",
        ] {
            assert_eq!(status(Some(host), &[]), Some(StatusCode::MISDIRECTED_REQUEST), "{host}");
        }
        assert_eq!(status(None, &[]), Some(StatusCode::MISDIRECTED_REQUEST));
        let twice = status(Some("localhost"), &[("host", "localhost")]);
        assert_eq!(twice, Some(StatusCode::MISDIRECTED_REQUEST));
    }

    #[test]
    fn pages_of_other_sites_and_other_ports_of_this_machine_are_refused() {
        let of = |origin| status(Some("localhost:8080"), &[("origin", origin)]);
        assert_eq!(of("http://localhost:8080"), None);
        for origin in ["http://localhost:80", "https://localhost:8080", "http://127.0.0.1:8080"] {
            assert_eq!(of(origin), Some(StatusCode::FORBIDDEN), "{origin}");
        }
    }
}
