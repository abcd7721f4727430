//! Access control: host names, origins, users.

use super::admission::Caller;
use super::failure::shown;
use super::head::{MAX_HEAD_BYTES, too_long_head};
use super::{Failure, State};
use crate::command::logged;
use crate::config::{DEFAULT_USER, Rights, is_loopback};
use crate::login_throttle::Try;
use crate::metrics::Counter;
use axum::extract::{Extension, Request, State as From};
use axum::http::uri::Authority;
use axum::http::{HeaderName, HeaderValue, StatusCode, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mayhap_dashboard::caller::{host, is_of_other_site, protect, single};
use mayhap_engine::unix_ms;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Delay of the answer to a wrong password.
const FAILED_LOGIN_DELAY: Duration = Duration::from_secs(1);

/// Paths that reveal nothing about filters: probes, the page, its style, the description.
const OPEN: [&str; 5] = ["/healthz", "/readyz", "/", "/style.css", "/openapi.json"];

/// Paths of the probes.
const PROBES: [&str; 2] = ["/healthz", "/readyz"];

static KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

/// Runs before every request: counts it, refuses it, or passes the user's rights to its handler.
pub(super) async fn guard(
    From(state): From<State>,
    Extension(caller): Extension<Arc<Caller>>,
    mut request: Request,
    next: Next,
) -> Response {
    let began = Instant::now();
    let uri = request.uri();
    // With `?verbose` a probe names filters.
    let is_open = OPEN.contains(&uri.path()) && !is_verbose(uri.query());
    let keep_alive = keep_alive(&state, &request);
    let asking = caller.ask();
    let given = check_request(&state, &request);
    let admitted = async {
        let rights = check_user(&state, &caller, given?, is_open).await?;
        // Only an authorized request takes a place.
        Ok::<_, Failure>((rights, asking.begin(is_open).await?))
    };
    let mut response = match admitted.await {
        Ok((rights, place)) => {
            request.extensions_mut().insert(rights);
            // Released with its last holder: this call, since a handler drops its request once it
            // has read it, or a body in transit.
            let place = Arc::new(place);
            request.extensions_mut().insert(Arc::clone(&place));
            next.run(request).await
        }
        Err(failure) => failure.into_response(),
    };
    if let Some(value) = keep_alive
        && !response.headers().contains_key(header::CONNECTION)
    {
        response.headers_mut().insert(&KEEP_ALIVE, value);
    }
    protect(response.headers_mut());
    let lane = state.shared.metrics.http();
    lane.add(Counter::HttpRequests, 1);
    if response.status().is_client_error() || response.status().is_server_error() {
        lane.add(Counter::HttpErrors, 1);
    }
    lane.took(began.elapsed());
    response
}

/// Whether a probe has to report problems, with names.
pub(super) fn is_verbose(query: Option<&str>) -> bool {
    query.is_some_and(|query| query.split('&').any(|word| word.starts_with("verbose")))
}

/// The credentials of a request: a user and a password.
type Given = Option<(Vec<u8>, Vec<u8>)>;

/// Checks that do not depend on the user; returns the credentials.
///
/// # Errors
///
/// Those of [`check_size`], [`check_framing`] and [`check_caller`].
fn check_request(state: &State, request: &Request) -> Result<Given, Failure> {
    check_size(request)?;
    check_framing(request)?;
    if !is_probe(request) {
        check_caller(state, request)?;
    }
    Ok(single(request.headers(), &header::AUTHORIZATION).and_then(credentials))
}

/// Whether the request only learns that the server lives: a load balancer calls the server by any
/// name, or by none.
fn is_probe(request: &Request) -> bool {
    PROBES.contains(&request.uri().path()) && request.uri().query().is_none()
}

/// Refuses a head that is longer than hyper guarantees to refuse.
fn check_size(request: &Request) -> Result<(), Failure> {
    let line = |(name, value): (&HeaderName, &HeaderValue)| {
        name.as_str().len() + value.len() + ": \r\n".len()
    };
    let path = request.uri().path_and_query().map_or(0, |path| path.as_str().len());
    let bytes = path + request.headers().iter().map(line).sum::<usize>();
    if bytes <= MAX_HEAD_BYTES {
        return Ok(());
    }
    Err(too_long_head().and_close())
}

/// Refuses framing that a proxy in front may read as a different body (RFC 9112, 6.1).
fn check_framing(request: &Request) -> Result<(), Failure> {
    let mut codings = request.headers().get_all(header::TRANSFER_ENCODING).iter();
    let Some(coding) = codings.next() else { return Ok(()) };
    if codings.next().is_none() && coding.as_bytes().eq_ignore_ascii_case(b"chunked") {
        return Ok(());
    }
    let coding = String::from_utf8_lossy(coding.as_bytes());
    let coding = shown(&coding);
    let problem = format!("Transfer-Encoding is {coding:?}; send it as chunked, once, or not");
    Err(Failure::new(StatusCode::NOT_IMPLEMENTED, problem).and_close())
}

/// The header with the idle time of the connection; none if it is closed.
fn keep_alive(state: &State, request: &Request) -> Option<HeaderValue> {
    let millis = state.shared.config().http_keep_alive_ms;
    let options = single(request.headers(), &header::CONNECTION).unwrap_or_default();
    let has = |wanted: &str| options.split(',').any(|one| one.trim().eq_ignore_ascii_case(wanted));
    let stays = match request.version() {
        Version::HTTP_11 => !has("close"),
        _ => has("keep-alive"),
    };
    // The header cannot express less than a second.
    let seconds = millis / 1000;
    if !stays || seconds == 0 {
        return None;
    }
    HeaderValue::from_str(&format!("timeout={seconds}")).ok()
}

/// Refuses host names that are not ours (a page whose name was bound to our address) and pages of
/// other sites.
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

/// Whether this host name is ours: loopback, the address that we listen on, or one of `http_hosts`.
///
/// If we listen on all addresses, any address is ours: a page of another site has a name.
fn is_ours(state: &State, authority: &Authority) -> bool {
    let host = authority.host().to_ascii_lowercase();
    let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let config = &state.shared.config();
    match literal {
        Ok(address) => {
            let is_bound = |bind: IpAddr| address == bind || bind.is_unspecified();
            is_loopback(address) || config.http_bind().iter().any(is_bound)
        }
        Err(_) => host == "localhost" || config.http_hosts.contains(&host),
    }
}

/// The rights of the user; 401 if a password is needed and missing or wrong.
async fn check_user(
    state: &State,
    caller: &Caller,
    given: Given,
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
    let peer = caller.peer;
    match state.shared.logins.next(Some(peer.ip()), unix_ms()) {
        Try::Now => {}
        Try::At(time) => {
            tokio::time::sleep(Duration::from_millis(time.saturating_sub(unix_ms()))).await;
        }
        Try::Refused => {
            let problem = "too many wrong passwords from this address; try again later";
            return Err(Failure::new(StatusCode::TOO_MANY_REQUESTS, problem));
        }
    }
    let shared = state.shared.clone();
    let is_slow = users.is_slow(&name, &password);
    // Counted even if the connection has to make room meanwhile.
    let login = move || {
        let rights = shared.config().users.login(&name, &password);
        if rights.is_none() {
            shared.logins.failed(Some(peer.ip()), unix_ms());
            shared.metrics.http().add(Counter::LoginsFailed, 1);
            log::warn!("HTTP login failed for user \"{}\" from {peer}", logged(&name));
        }
        rights
    };
    // A user whose password is known does not queue behind guessers.
    let rights = if is_slow {
        let _turn = caller.login().await;
        tokio::task::spawn_blocking(login).await.ok().flatten()
    } else {
        login()
    };
    if let Some(rights) = rights {
        return Ok(rights);
    }
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
