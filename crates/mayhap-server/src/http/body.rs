//! Request bodies: JSON and files, within limits of size and time.

use super::admission::{Caller, Sending};
use super::failure::shown;
use super::handler::blocking;
use super::object::Object;
use super::{Failure, State};
use crate::Shared;
use crate::resp::WordList;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, StatusCode, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::{Stream, StreamExt};
use serde::de::DeserializeOwned;
use std::error::Error as _;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The largest JSON body.
const MAX_JSON_BYTES: usize = 8 << 20;

/// A parsed JSON body.
pub(super) struct Json<T> {
    pub(super) value: T,
    /// The charge for its memory; to be kept for as long as the value.
    pub(super) charge: Buffered,
}

/// Bytes of requests counted against the buffers of all clients, until this is dropped.
pub(super) struct Buffered {
    shared: Arc<Shared>,
    bytes: usize,
}

impl Buffered {
    pub(super) fn new(state: &State) -> Self {
        Self { shared: state.shared.clone(), bytes: 0 }
    }

    /// # Errors
    ///
    /// 503 if the buffers of all clients are full.
    pub(super) fn add(&mut self, bytes: usize) -> Result<(), Failure> {
        let most = self.shared.config().buffer_bytes();
        if self.shared.clients.hold(bytes as u64, most) {
            self.bytes += bytes;
            return Ok(());
        }
        let problem = format!("no more memory for requests: {most} bytes (max_buffer_bytes)");
        Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, problem))
    }

    /// Returns some of them.
    pub(super) fn give_back(&mut self, bytes: usize) {
        self.bytes -= bytes;
        self.shared.clients.release(bytes as u64);
    }
}

impl Drop for Buffered {
    fn drop(&mut self) {
        self.shared.clients.release(self.bytes as u64);
    }
}

impl<T: DeserializeOwned + Send + 'static> FromRequest<State> for Json<T> {
    type Rejection = Failure;

    /// # Errors
    ///
    /// 415 for another content type or an encoded body, 413, 408, 400.
    async fn from_request(request: Request, state: &State) -> Result<Self, Failure> {
        check_type(request.headers(), "application/json")?;
        let _sending = sending(&request);
        let pace = Pace::new(request_time(state));
        let mut charge = Buffered::new(state);
        let bytes = read(request.into_body(), MAX_JSON_BYTES, pace, &mut charge).await?;
        // Each element of a list is a separate string in addition to its bytes.
        let elements = memchr::memchr_iter(b',', &bytes).count() + 1;
        charge.add(bytes.len() + elements * size_of::<String>())?;
        let parse = move || {
            let value = serde_json::from_slice(&bytes).map(|Object(value)| value);
            value.map_err(|error| Failure::bad(format!("the body: {error}")))
        };
        // A large one would block all other connections.
        Ok(Self { value: blocking(parse).await?, charge })
    }
}

/// # Errors
///
/// 415: a form of another site cannot send this type, and nothing is decompressed.
pub(super) fn check_type(headers: &HeaderMap, expected: &str) -> Result<(), Failure> {
    let found = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let found = found.and_then(|text| text.split(';').next()).unwrap_or_default().trim();
    if !found.eq_ignore_ascii_case(expected) {
        let found = shown(found);
        let problem = format!("the content type is {found:?}; send Content-Type: {expected}");
        return Err(Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, problem));
    }
    let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
    let Some(coding) = codings.find(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"))
    else {
        return Ok(());
    };
    let coding = String::from_utf8_lossy(coding.as_bytes());
    let problem =
        format!("the content encoding is {:?}; send the body as it is, without", shown(&coding));
    Err(Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, problem))
}

/// The time within which a body has to arrive; 0 means no limit.
pub(super) fn request_time(state: &State) -> Duration {
    match state.shared.config().request_timeout_ms {
        0 => Duration::from_secs(u64::from(u32::MAX)),
        millis => Duration::from_millis(millis),
    }
}

/// Marks the body of this request as arriving, until the result is dropped.
pub(super) fn sending(request: &Request) -> Option<Sending> {
    request.extensions().get::<Arc<Caller>>().map(Caller::send)
}

/// The least rate of a body in bytes per second, after [`GRACE`].
const LEAST_RATE: u64 = 4 << 10;
/// Time that any body may take.
const GRACE: Duration = Duration::from_secs(5);

/// How fast a body has to arrive.
pub(super) struct Pace {
    began: Instant,
    /// The time within which a JSON body has to be complete.
    most: Option<Duration>,
    /// The longest time between two pieces.
    pause: Duration,
    received: u64,
}

impl Pace {
    /// For a body that has to be complete within this time.
    fn new(time: Duration) -> Self {
        Self { began: Instant::now(), most: Some(time), pause: time, received: 0 }
    }

    /// For a file, whose transfer has no time limit.
    pub(super) fn of_file(pause: Duration) -> Self {
        Self { began: Instant::now(), most: None, pause, received: 0 }
    }

    /// How long the next piece may take.
    fn left(&self) -> Duration {
        let by_rate = GRACE + Duration::from_secs(self.received / LEAST_RATE);
        let all = self.most.map_or(by_rate, |most| most.min(by_rate));
        all.saturating_sub(self.began.elapsed()).min(self.pause)
    }

    /// The next piece of a body.
    ///
    /// # Errors
    ///
    /// 408 when it takes too long, 400 if it ends early or its chunks are invalid.
    pub(super) async fn next(
        &mut self,
        body: &mut (impl Stream<Item = Result<Bytes, axum::Error>> + Unpin),
    ) -> Result<Option<Bytes>, Failure> {
        let late = |_| {
            let problem = "the body took too long to arrive";
            Failure::new(StatusCode::REQUEST_TIMEOUT, problem).and_close()
        };
        let piece = tokio::time::timeout(self.left(), body.next()).await.map_err(late)?;
        let piece = piece.transpose().map_err(|error| broken(&error))?;
        self.received += piece.as_ref().map_or(0, |piece| piece.len() as u64);
        Ok(piece)
    }
}

/// The error of a body that breaks off.
fn broken(error: &axum::Error) -> Failure {
    let mut causes = std::iter::successors(error.source(), |&error| error.source());
    let cause = causes.find_map(|error| error.downcast_ref::<io::Error>());
    let is_malformed = |error: &io::Error| {
        matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::InvalidInput)
    };
    match cause.filter(|error| is_malformed(error)) {
        Some(why) => Failure::bad(format!("malformed chunk: {why}")).and_close(),
        None => Failure::bad("the body ended early").and_close(),
    }
}

/// The whole body. Memory grows with the bytes that arrive, whatever the announced length.
///
/// # Errors
///
/// 413 above the limit, 408 when it takes too long, 400 if it ends early, 503 if the buffers of all
/// clients are full.
async fn read(
    body: Body,
    limit: usize,
    mut pace: Pace,
    charge: &mut Buffered,
) -> Result<Vec<u8>, Failure> {
    let too_large = || {
        let problem = format!("the body is above the limit of {limit} bytes");
        Failure::new(StatusCode::PAYLOAD_TOO_LARGE, problem).and_close()
    };
    // Refused at once if the announced length is too large.
    if HttpBody::size_hint(&body).lower() > limit as u64 {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    let mut body = body.into_data_stream();
    while let Some(piece) = pace.next(&mut body).await? {
        if piece.len() > limit - bytes.len() {
            return Err(too_large());
        }
        charge.add(piece.len())?;
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

/// The keys of one of two lists, named `what` and `what` with the suffix `_base64`.
///
/// # Errors
///
/// 400 without exactly one list, for too many or too long keys, and for bad base64.
pub(super) fn keys(
    what: &str,
    texts: Option<Vec<String>>,
    base64: Option<Vec<String>>,
    state: &State,
) -> Result<WordList, Failure> {
    let config = &state.shared.config();
    let (texts, is_base64) = match (texts, base64) {
        (Some(texts), None) => (texts, false),
        (None, Some(texts)) => (texts, true),
        _ => return Err(Failure::bad(format!("give either {what} or {what}_base64"))),
    };
    let (found, limit) = (texts.len(), config.max_words);
    if found > limit as usize {
        return Err(Failure::bad(format!(
            "{found} {what}, above the limit of {limit} (max_words)"
        )));
    }
    let mut keys = WordList::default();
    for (i, text) in texts.into_iter().enumerate() {
        let key = if is_base64 { STANDARD.decode(text) } else { Ok(text.into_bytes()) };
        let key = key
            .map_err(|error| Failure::bad(format!("{what}_base64[{i}] is not base64: {error}")))?;
        let (found, limit) = (key.len(), config.max_word_bytes);
        if found > limit as usize {
            let problem = format!("a text has {found} bytes, above the limit of {limit}");
            return Err(Failure::bad(problem + " (max_word_bytes)"));
        }
        keys.push(&key);
    }
    Ok(keys)
}
