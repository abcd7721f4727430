//! Readiness of the server, for load balancers.

use super::guard::is_verbose;
use super::handler::need;
use super::{Failure, State};
use crate::config::Rights;
use crate::front::Error;
use axum::extract::{Extension, RawQuery, State as From};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use mayhap_engine::keyspace::FileState;
use std::fmt::Write;

/// `GET /readyz?verbose`: whether writes are accepted and, if `require_imports` is set, whether all
/// files of `import/` can be used, or whether the store of the filters answers; otherwise 503 and
/// the reason. `verbose` adds a line for each unusable file, for users with the right read, limited
/// to names that they may see.
pub(super) async fn ready(
    From(state): From<State>,
    Extension(rights): Extension<Rights>,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    if !is_verbose(query.as_deref()) {
        check(&state).await?;
        return Ok("ready\n".into_response());
    }
    need(rights.read, "read")?;
    let (status, mut text) = match check(&state).await {
        Ok(()) => (StatusCode::OK, "ready\n".to_owned()),
        Err(failure) => (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {failure}\n")),
    };
    let troubles = state.shared.keyspace.files().troubles();
    for trouble in troubles.iter().filter(|trouble| rights.covers(&trouble.name)) {
        let what = match trouble.state {
            FileState::Unusable => "does not answer",
            FileState::Stale => "answers from before",
        };
        // Writing to a String does not fail. Names and paths cannot start lines of their own.
        let (name, problem) = (trouble.name.escape_ascii(), trouble.problem.escape_debug());
        let _ = writeln!(text, "{name}: {what}: {problem}");
    }
    Ok((status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response())
}

async fn check(state: &State) -> Result<(), Failure> {
    state.check_writable()?;
    if let Some(front) = state.shared.front() {
        let unavailable =
            |error: Error| Failure::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string());
        return front.check().await.map_err(unavailable);
    }
    let unreadable = state.shared.keyspace.files().count(FileState::Unusable);
    if state.shared.config().require_imports && unreadable > 0 {
        let problem = format!(
            "files in import/ that cannot be used: {unreadable} (require_imports); \
             /readyz?verbose names them"
        );
        return Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, problem));
    }
    Ok(())
}
