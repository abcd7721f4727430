//! Who may ask at all: names by which we are called, origins, users.

use super::door::Caller;
use super::{Failure, State};
use crate::clock::unix_ms;
use crate::command::logged;
use crate::config::{DEFAULT_USER, Rights, is_loopback};
use crate::guesses::Try;
use crate::metrics::Counter;
use axum::extract::{Extension, Request, State as From};
use axum::http::uri::Authority;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mayhap_dashboard::caller::{HEADERS, host, is_of_other_site, single};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A wrong password is answered so much later.
const FAILED_LOGIN_DELAY: Duration = Duration::from_secs(1);

/// Paths that reveal nothing about filters: probes, the page, its style, the description.
const OPEN: [&str; 5] = ["/healthz", "/readyz", "/", "/style.css", "/openapi.json"];

/// Stands before every request: counts it, refuses it, or hands the user's rights to its handler.
pub(super) async fn guard(
    From(state): From<State>,
    Extension(caller): Extension<Arc<Caller>>,
    mut request: Request,
    next: Next,
) -> Response {
    let began = Instant::now();
    // What `?verbose` adds to a probe names filters.
    let uri = request.uri();
    let is_open = OPEN.contains(&uri.path()) && !is_verbose(uri.query());
    let is_file = request.method() == Method::GET && request.uri().path().ends_with("/file");
    let (place, checked) = match caller.begin(is_open).await {
        Err(failure) => (None, Err(failure)),
        Ok(place) => {
            let checked = match check_caller(&state, &request) {
                Ok(()) => {
                    let given = single(request.headers(), &header::AUTHORIZATION);
                    let given = given.and_then(credentials);
                    check_user(&state, caller.peer, given, is_open).await
                }
                Err(failure) => Err(failure),
            };
            (place, checked)
        }
    };
    let mut response = match checked {
        Ok(rights) => {
            request.extensions_mut().insert(rights);
            next.run(request).await
        }
        Err(failure) => failure.into_response(),
    };
    drop(place);
    // The rest of a file is on its way: the connection makes room for nobody.
    if !is_file {
        caller.end();
    }
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    let lane = state.shared.metrics.http();
    lane.add(Counter::HttpRequests, 1);
    if response.status().is_client_error() || response.status().is_server_error() {
        lane.add(Counter::HttpErrors, 1);
    }
    lane.took(began.elapsed());
    response
}

/// Whether a probe is to say what is wrong, in names.
pub(super) fn is_verbose(query: Option<&str>) -> bool {
    query.is_some_and(|query| query.split('&').any(|word| word.starts_with("verbose")))
}

/// Refuses names that are not ours (a page whose name was bound to our address) and other
/// sites' pages.
fn check_caller(state: &State, request: &Request) -> Result<(), Failure> {
    let host = host(request.headers()).filter(|host| is_ours(state, host)).ok_or_else(|| {
        let problem = "the Host header is not a name of this server; allow names with the setting \
                       http_hosts";
        Failure::new(StatusCode::MISDIRECTED_REQUEST, problem)
    })?;
    let scheme = if state.is_tls { "https" } else { "http" };
    if is_of_other_site(request.method(), request.headers(), scheme, host.as_str()) {
        let problem = "the request is from a page of another site";
        return Err(Failure::new(StatusCode::FORBIDDEN, problem));
    }
    Ok(())
}

/// Whether this is a name of ours: loopback, the address that we listen on, or one of `http_hosts`.
///
/// Where we listen on all addresses any address is ours: a page of a stranger has a name.
fn is_ours(state: &State, authority: &Authority) -> bool {
    let host = authority.host().to_ascii_lowercase();
    let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let config = &state.shared.config();
    match literal {
        Ok(address) => {
            let bind = config.http_bind();
            is_loopback(address) || address == bind || bind.is_unspecified()
        }
        Err(_) => host == "localhost" || config.http_hosts.contains(&host),
    }
}

/// What the user may do; 401 if a password is needed and not given or wrong.
async fn check_user(
    state: &State,
    peer: SocketAddr,
    given: Option<(Vec<u8>, Vec<u8>)>,
    is_open: bool,
) -> Result<Rights, Failure> {
    let users = &state.shared.config().users;
    if !users.asks_password() || is_open {
        return Ok(users.anonymous());
    }
    let Some((name, password)) = given else {
        return Err(Failure::new(
            StatusCode::UNAUTHORIZED,
            "a password is needed: Basic or Bearer",
        ));
    };
    match state.shared.guesses.next(Some(peer.ip()), unix_ms()) {
        Try::Now => {}
        Try::At(time) => {
            tokio::time::sleep(Duration::from_millis(time.saturating_sub(unix_ms()))).await;
        }
        Try::Refused => {
            let problem = "too many wrong passwords from this address; try again later";
            return Err(Failure::new(StatusCode::TOO_MANY_REQUESTS, problem));
        }
    }
    let (shared, user) = (state.shared.clone(), name.clone());
    let login = move || shared.config().users.login(&user, &password);
    let rights = tokio::task::spawn_blocking(login).await.ok().flatten();
    if let Some(rights) = rights {
        return Ok(rights);
    }
    state.shared.guesses.failed(Some(peer.ip()), unix_ms());
    state.shared.metrics.http().add(Counter::LoginsFailed, 1);
    log::warn!("HTTP login failed for user \"{}\" from {peer}", logged(&name));
    tokio::time::sleep(FAILED_LOGIN_DELAY).await;
    Err(Failure::new(StatusCode::UNAUTHORIZED, "the user or the password is wrong"))
}

/// `Basic base64(user:password)`, or `Bearer password` of the user `default`.
fn credentials(header: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let (scheme, rest) = header.split_once(' ')?;
    let rest = rest.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some((DEFAULT_USER.into(), rest.into()));
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = STANDARD.decode(rest).ok()?;
    let at = pair.iter().position(|&byte| byte == b':')?;
    let name = if at == 0 { DEFAULT_USER.as_bytes() } else { &pair[..at] };
    Some((name.to_vec(), pair[at + 1..].to_vec()))
}
