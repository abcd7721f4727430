//! The paths and their handlers.

use super::ready::ready;
use super::{
    Failure, State, create, expiry, file, filters, guard, handler, in_store, items, rename, shrink,
    ui, which,
};
use crate::config::Rights;
use axum::Router;
use axum::extract::{Extension, State as From};
use axum::http::{StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post, put};

const PAGE: &str = include_str!("page/index.html");
const STYLE: &str = include_str!("page/style.css");
/// The description of all paths.
const OPENAPI: &str = include_str!("openapi.json");

/// All paths, behind the guard.
pub(super) fn router(state: State) -> Router {
    Router::new()
        .route("/", text("text/html; charset=utf-8", PAGE))
        .route("/style.css", text("text/css; charset=utf-8", STYLE))
        .route("/openapi.json", text("application/json", OPENAPI))
        .route("/healthz", text("text/plain; charset=utf-8", "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .route("/v1/filters", get(filters::list))
        .route("/v1/filters/{name}", get(filters::info).put(create::create).delete(filters::delete))
        .route("/v1/filters/{name}/add", post(items::add))
        .route("/v1/filters/{name}/check", post(items::check))
        .route("/v1/filters/{name}/remove", post(items::remove))
        .route("/v1/filters/{name}/age", post(items::age))
        .route("/v1/filters/{name}/merge", post(filters::merge))
        .route("/v1/filters/{name}/file", get(file::download).put(file::upload))
        .route("/v1/filters/{name}/expiry", put(expiry::set).delete(expiry::remove))
        .route("/v1/filters/{name}/rename", post(rename::rename))
        .route("/v1/filters/{name}/shrink", post(shrink::shrink))
        .route("/v1/which", post(which::which))
        .merge(ui::router())
        .fallback(|| async {
            Failure::new(StatusCode::NOT_FOUND, "no such path; see /openapi.json")
        })
        .method_not_allowed_fallback(|| async {
            let problem = "method not allowed; see /openapi.json";
            Failure::new(StatusCode::METHOD_NOT_ALLOWED, problem)
        })
        .layer(from_fn_with_state(state.clone(), guard::guard))
        .with_state(state)
}

/// A constant answer.
fn text(kind: &'static str, text: &'static str) -> MethodRouter<State> {
    get(move || async move { ([(header::CONTENT_TYPE, kind)], text) })
}

async fn metrics(
    From(state): From<State>,
    Extension(rights): Extension<Rights>,
) -> Result<Response, Failure> {
    handler::need(rights.read, "read")?;
    let limit = state.shared.config().metrics_filters;
    let stored = match state.shared.front() {
        Some(front) => in_store::looks(front, &rights, limit).await,
        None => Vec::new(),
    };
    let page = move || {
        let mut page = String::new();
        crate::metrics::page(&state.shared, &rights, &stored, &mut page);
        let kind = "text/plain; version=0.0.4; charset=utf-8";
        Ok(([(header::CONTENT_TYPE, kind)], page).into_response())
    };
    handler::blocking(page).await
}
