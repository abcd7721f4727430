//! Which path does what, and who may ask.

use super::failure::Failure;
use super::{State, filters, server};
use crate::caller::{HEADERS, host, is_of_other_site};
use crate::files::{FILES, File};
use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{MethodRouter, get, post};
use std::net::IpAddr;

/// All paths, behind the guard.
pub(super) fn router(state: State) -> Router {
    let files = FILES.into_iter();
    files
        .fold(Router::new(), |router, file| router.route(file.path, handler(file)))
        .route("/", get(|| async { Redirect::temporary("/ui") }))
        .route("/ui/events", get(filters::events))
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

fn handler(file: File) -> MethodRouter<State> {
    get(move || async move { ([(header::CONTENT_TYPE, file.kind)], file.text) })
}

/// Answers only who called us by a name of loopback, so that no page whose name was bound to our
/// address reads anything, and refuses what pages of other sites send.
async fn guard(request: Request, next: Next) -> Response {
    let mut response = match check(&request) {
        Ok(()) => next.run(request).await,
        Err(failure) => failure.into_response(),
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
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
