//! The names of the filters, listed in the background.

use super::failure::Failure;
use mayhap_redis::{Listed, Server};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// More filters are not listed.
const MAX_FILTERS: usize = 100_000;
/// The pause between two lists, at least, and as a multiple of the time that a list took.
const LEAST_PAUSE: Duration = Duration::from_secs(10);
const PAUSE_FACTOR: u32 = 10;

/// A list, or the reason why there is none.
type Latest = Option<Result<Arc<Listed>, String>>;

#[derive(Debug)]
pub(super) struct Names(watch::Receiver<Latest>);

impl Names {
    /// Lists the filters until the receiver is dropped.
    pub(super) fn watch(server: Server) -> Self {
        let (send, receive) = watch::channel(None);
        tokio::spawn(async move {
            loop {
                let started = Instant::now();
                let list = server.filters(MAX_FILTERS).await;
                let problem = |error| mayhap_sets::server::problem(server.name(), &error);
                if send.send(Some(list.map(Arc::new).map_err(problem))).is_err() {
                    return;
                }
                let pause = LEAST_PAUSE.max(started.elapsed() * PAUSE_FACTOR);
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = send.closed() => return,
                }
            }
        });
        Self(receive)
    }

    /// The newest list; waits for the first one.
    ///
    /// # Errors
    ///
    /// If the server does not report them.
    pub(super) async fn latest(&self) -> Result<Arc<Listed>, Failure> {
        let mut receive = self.0.clone();
        let latest = receive.wait_for(Option::is_some).await.ok();
        match latest.as_deref().and_then(Option::as_ref) {
            Some(Ok(list)) => Ok(list.clone()),
            Some(Err(problem)) => Err(Failure::new(axum::http::StatusCode::BAD_GATEWAY, problem)),
            None => Err(Failure::bad("the filters are not listed any more")),
        }
    }

    /// The number of filters, as far as it is known.
    pub(super) fn count(&self) -> Option<usize> {
        let latest = self.0.borrow();
        latest.as_ref()?.as_ref().ok().map(|list| list.filters.len())
    }
}
