//! The paths of the dashboard, and its files.

use super::super::{Failure, State, filters};
use super::{events, people};
use crate::config::Rights;
use axum::Router;
use axum::extract::Extension;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};

/// All paths below `/ui`.
pub(in crate::http) fn router() -> Router<State> {
    Router::new()
        .route("/ui", file("text/html; charset=utf-8", include_str!("page.html")))
        .route("/ui/icon.svg", file("image/svg+xml", include_str!("icon.svg")))
        .route("/ui/style.css", file("text/css; charset=utf-8", include_str!("style.css")))
        .route("/ui/main.js", script(include_str!("main.js")))
        .route("/ui/table.js", script(include_str!("table.js")))
        .route("/ui/views.js", script(include_str!("views.js")))
        .route("/ui/text.js", script(include_str!("text.js")))
        .route("/ui/events", get(events::events))
        .route("/ui/clients", get(people::clients))
        .route("/ui/slow", get(people::slow))
}

fn script(text: &'static str) -> MethodRouter<State> {
    file("text/javascript; charset=utf-8", text)
}

/// A file for whoever may read: for others the page would only be empty.
fn file(kind: &'static str, text: &'static str) -> MethodRouter<State> {
    get(move |Extension(rights): Extension<Rights>| async move {
        filters::need(rights.read, "read")?;
        Ok::<Response, Failure>(([(header::CONTENT_TYPE, kind)], text).into_response())
    })
}
