//! The stream of numbers, as server-sent events.

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream::{StreamExt, unfold};
use std::convert::Infallible;
use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;
use tokio::time::MissedTickBehavior;

/// From one event to the next.
const INTERVAL: Duration = Duration::from_secs(1);
/// Filters of one stream: more than any screen has rows.
pub const MAX_FILTERS: usize = 100;

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
