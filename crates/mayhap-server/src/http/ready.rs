//! Whether the server is ready: what a load balancer asks.

use super::guard::is_verbose;
use super::{Failure, State, filters};
use crate::config::Rights;
use crate::keyspace::FileState;
use axum::extract::{Extension, RawQuery, State as From};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::fmt::Write;

/// `GET /readyz?verbose`: whether writes are taken and, if `require_imports` is set, whether all
/// files of `import/` can be used; 503 and why, if not. `verbose` adds a line for each file that
/// is not as it should be, for users with the right read, of names that they may see.
pub(super) async fn ready(
    From(state): From<State>,
    Extension(rights): Extension<Rights>,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    if !is_verbose(query.as_deref()) {
        check(&state)?;
        return Ok("ready\n".into_response());
    }
    filters::need(rights.read, "read")?;
    let (status, mut text) = match check(&state) {
        Ok(()) => (StatusCode::OK, "ready\n".to_owned()),
        Err(failure) => (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {failure}\n")),
    };
    let troubles = state.shared.keyspace.file_troubles();
    for trouble in troubles.iter().filter(|trouble| rights.covers(&trouble.name)) {
        let what = match trouble.state {
            FileState::Unusable => "does not answer",
            FileState::Stale => "answers from before",
        };
        // Writing to a String does not fail. Names and paths cannot begin lines of their own.
        let (name, problem) = (trouble.name.escape_ascii(), trouble.problem.escape_debug());
        let _ = writeln!(text, "{name}: {what}: {problem}");
    }
    Ok((status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response())
}

fn check(state: &State) -> Result<(), Failure> {
    if let Some(log) = &state.shared.log {
        log.check_writable()?;
    }
    let unreadable = state.shared.keyspace.unreadable_files();
    if state.shared.config().require_imports && unreadable > 0 {
        let problem = format!(
            "files in import/ that cannot be used: {unreadable} (require_imports); \
             /readyz?verbose names them"
        );
        return Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, problem));
    }
    Ok(())
}
