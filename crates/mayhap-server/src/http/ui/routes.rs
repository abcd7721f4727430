//! The paths of the dashboard.

use super::super::handler::need;
use super::super::{Failure, State};
use super::{events, history, people};
use crate::config::Rights;
use axum::Router;
use axum::extract::Extension;
use axum::routing::{MethodRouter, get};
use mayhap_dashboard::files::{FILES, File};

/// All paths below `/ui`, and the explorer.
pub(in crate::http) fn router() -> Router<State> {
    let files = FILES.iter();
    files
        .fold(Router::new(), |router, file| router.route(file.path, handler(*file)))
        .route("/ui/events", get(events::events))
        .route("/ui/history", get(history::history))
        .route("/ui/clients", get(people::clients))
        .route("/ui/slow", get(people::slow))
}

/// A file for users with the right read: for others the page would only be empty.
fn handler(file: File) -> MethodRouter<State> {
    get(move |Extension(rights): Extension<Rights>| async move {
        need(rights.read, "read")?;
        Ok::<File, Failure>(file)
    })
}
