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
pub struct Wanted {
    /// Names as they stand in a path, separated by commas.
    #[serde(default)]
    filters: String,
    /// Events until the stream ends; without it, it goes on.
    pub events: Option<u64>,
}

impl Wanted {
    /// The names, as they stand in a path.
    ///
    /// # Errors
    ///
    /// In words, if there are more than any screen has rows.
    ///
    /// ```
    /// use mayhap_dashboard::events::Wanted;
    ///
    /// let wanted = |names: &str| -> Wanted {
    ///     serde_json::from_value(serde_json::json!({ "filters": names })).unwrap()
    /// };
    /// assert_eq!(wanted("a,b%2Fc,").names(), Ok(vec!["a", "b%2Fc"]));
    /// assert!(wanted(&"a,".repeat(101)).names().is_err());
    /// ```
    pub fn names(&self) -> Result<Vec<&str>, String> {
        let names = self.filters.split(',').filter(|name| !name.is_empty());
        let names: Vec<&str> = names.collect();
        if names.len() > MAX_FILTERS {
            return Err(format!("{} filters, above the limit of {MAX_FILTERS}", names.len()));
        }
        Ok(names)
    }
}

/// From one event to the next.
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
