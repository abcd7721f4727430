//! The stream of numbers, as server-sent events.

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream::{StreamExt, unfold};
use serde::Deserialize;
use std::convert::Infallible;
use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;
use tokio::time::MissedTickBehavior;

/// The query of a stream: `?filters=a,b`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventsQuery {
    /// Names in the form used in paths, separated by commas.
    #[serde(default)]
    filters: String,
    /// The number of events until the stream ends; without it, the stream never ends.
    pub events: Option<u64>,
}

impl EventsQuery {
    /// The names, in the form used in paths.
    ///
    /// # Errors
    ///
    /// [`TooManyNames`] if there are more than any screen has rows.
    ///
    /// ```
    /// use mayhap_dashboard::events::EventsQuery;
    ///
    /// let wanted = |names: &str| -> EventsQuery {
    ///     serde_json::from_value(serde_json::json!({ "filters": names })).unwrap()
    /// };
    /// assert_eq!(wanted("a,b%2Fc,").names(), Ok(vec!["a", "b%2Fc"]));
    /// assert!(wanted(&"a,".repeat(101)).names().is_err());
    /// ```
    pub fn names(&self) -> Result<Vec<&str>, TooManyNames> {
        let names = self.filters.split(',').filter(|name| !name.is_empty());
        let names: Vec<&str> = names.collect();
        if names.len() > MAX_FILTERS {
            return Err(TooManyNames { found: names.len() });
        }
        Ok(names)
    }
}

/// More filters than a stream has numbers of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyNames {
    /// How many.
    pub found: usize,
}

impl std::fmt::Display for TooManyNames {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} filters, above the limit of {MAX_FILTERS}", self.found)
    }
}

impl std::error::Error for TooManyNames {}

/// The time from one event to the next.
const INTERVAL: Duration = Duration::from_secs(1);
/// Filters of one stream: more than any screen has rows.
const MAX_FILTERS: usize = 100;

/// The numbers of one event, in JSON; `None` ends the stream, which the browser then opens again.
pub type Numbers<J> = Pin<Box<dyn Future<Output = Option<J>> + Send>>;

/// A stream of events, once a second from now on, for an answer: until `next` has none, after
/// `most` events, or when `end` is done.
pub fn stream<J: Display + Send + 'static>(
    most: Option<u64>,
    next: impl FnMut() -> Numbers<J> + Send + 'static,
    end: impl Future<Output = ()> + Send + 'static,
) -> Response {
    let mut timer = tokio::time::interval(INTERVAL);
    timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let events =
        unfold((timer, next, most.unwrap_or(u64::MAX)), |(mut timer, mut next, left)| async move {
            let left = left.checked_sub(1)?;
            timer.tick().await;
            let event = format!("data: {}\n\n", next().await?);
            Some((Ok::<_, Infallible>(event), (timer, next, left)))
        });
    let body = Body::from_stream(events.take_until(Box::pin(end)));
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::future::{pending, ready};

    fn wanted(names: &str) -> EventsQuery {
        EventsQuery { filters: names.into(), events: None }
    }

    #[test]
    fn a_hundred_filters_are_watched_and_no_more() {
        let names = |count| "a,".repeat(count);
        assert_eq!(wanted(&names(100)).names().unwrap().len(), 100);
        let refused = wanted(&names(101)).names().unwrap_err();
        assert_eq!(refused.to_string(), "101 filters, above the limit of 100");
        assert_eq!(wanted(",,").names(), Ok(Vec::new()));
    }

    #[test]
    fn a_query_of_unknown_names_is_refused() {
        let read = |json| serde_json::from_value::<EventsQuery>(json).is_ok();
        assert!(read(serde_json::json!({})) && read(serde_json::json!({ "events": 1 })));
        assert!(!read(serde_json::json!({ "filter": "a" })));
    }

    /// The text of a stream of numbers that counts, `None` after this many.
    async fn streamed(most: Option<u64>, numbers: u64, ends_at_once: bool) -> String {
        let mut count = 0;
        let next = move || -> Numbers<u64> {
            count += 1;
            let number = (count <= numbers).then_some(count);
            Box::pin(async move { number })
        };
        let end = if ends_at_once { ready(()).boxed() } else { pending().boxed() };
        let answer = stream(most, next, end);
        assert_eq!(answer.headers()[header::CONTENT_TYPE], "text/event-stream");
        let body = axum::body::to_bytes(answer.into_body(), 1 << 20).await.unwrap();
        String::from_utf8(body.to_vec()).unwrap()
    }

    /// Time is the runtime's, and jumps.
    #[tokio::test(start_paused = true)]
    async fn a_stream_ends_after_its_events_with_its_numbers_or_with_the_server() {
        let text = "data: 1\n\ndata: 2\n\ndata: 3\n\n";
        let started = tokio::time::Instant::now();
        assert_eq!(streamed(Some(3), u64::MAX, false).await, text);
        // One at once, and one after each second.
        assert_eq!(started.elapsed(), Duration::from_secs(2));
        assert_eq!(streamed(None, 3, false).await, text);
        assert_eq!(streamed(Some(0), 3, false).await, "");
        assert_eq!(streamed(None, u64::MAX, true).await, "");
    }
}
