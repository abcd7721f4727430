//! The names of the filters, listed in the background.

use super::failure::Failure;
use mayhap_redis::{Listed, Server};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// More filters are not listed.
const MAX_FILTERS: usize = 100_000;
/// The pause between two lists, at least, and as a multiple of the time that a list took. One that
/// failed took the time of its retries, which is no measure of the server's work.
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
                let pause = pause_after(started.elapsed(), list.is_ok());
                let problem = |error| mayhap_sets::server::problem(server.name(), &error);
                if send.send(Some(list.map(Arc::new).map_err(problem))).is_err() {
                    return;
                }
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

/// The pause after a list that took this time.
fn pause_after(took: Duration, is_listed: bool) -> Duration {
    if is_listed { LEAST_PAUSE.max(took * PAUSE_FACTOR) } else { LEAST_PAUSE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_did_not_answer_is_listed_again_soon() {
        let [short, long] = [1, 30].map(Duration::from_secs);
        assert_eq!(pause_after(short / 2, true), LEAST_PAUSE);
        assert_eq!(pause_after(long, true), 10 * long);
        assert_eq!(pause_after(long, false), LEAST_PAUSE);
    }
}
