//! What requests bring: JSON and files, within limits of size and time.

use super::create::Create;
use super::door::{Caller, Sending};
use super::failure::shown;
use super::object::Object;
use super::{Failure, State};
use crate::Shared;
use crate::resp::Words;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, StatusCode, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::{Stream, StreamExt};
use mayhap::Digest;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::error::Error as _;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The largest JSON body.
const MAX_JSON_BYTES: usize = 8 << 20;

/// A JSON body that has been read.
pub(super) struct Json<T> {
    pub(super) value: T,
    /// Of what was read; to be kept as long as that is.
    pub(super) charge: Buffered,
}

/// Bytes of requests that are held against the buffers of all clients, until this is dropped.
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

    /// Gives some back.
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
    /// 415 for another content type or a coded body, 413, 408, 400.
    async fn from_request(request: Request, state: &State) -> Result<Self, Failure> {
        check_type(request.headers(), "application/json")?;
        let _sending = sending(&request);
        let pace = Pace::new(request_time(state));
        let mut charge = Buffered::new(state);
        let bytes = read(request.into_body(), MAX_JSON_BYTES, pace, &mut charge).await?;
        // Each element of a list is a text of its own beside its bytes.
        let elements = memchr::memchr_iter(b',', &bytes).count() + 1;
        charge.add(bytes.len() + elements * size_of::<String>())?;
        let parse = move || {
            let value = serde_json::from_slice(&bytes).map(|Object(value)| value);
            value.map_err(|error| Failure::bad(format!("the body: {error}")))
        };
        // A large one would keep all other connections waiting.
        let value = tokio::task::spawn_blocking(parse).await;
        let ended = |_| Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "the request failed");
        Ok(Self { value: value.map_err(ended)??, charge })
    }
}

/// # Errors
///
/// 415: what a form of another site can send is none of it, and nothing is decompressed.
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

/// The time in which a body is there; 0 is for ever.
pub(super) fn request_time(state: &State) -> Duration {
    match state.shared.config().request_timeout_ms {
        0 => Duration::from_secs(u64::from(u32::MAX)),
        millis => Duration::from_millis(millis),
    }
}

/// That the body of this request is arriving, until what comes back is dropped.
pub(super) fn sending(request: &Request) -> Option<Sending> {
    request.extensions().get::<Arc<Caller>>().map(Caller::send)
}

/// Bytes a second that a body has to come with, after [`GRACE`].
const LEAST_RATE: u64 = 4 << 10;
/// Time that any body has.
const GRACE: Duration = Duration::from_secs(5);

/// How fast a body has to arrive.
pub(super) struct Pace {
    began: Instant,
    /// All of a JSON body is there within this time.
    most: Option<Duration>,
    /// The longest time between two pieces.
    pause: Duration,
    received: u64,
}

impl Pace {
    /// Of a body that is there within this time.
    fn new(time: Duration) -> Self {
        Self { began: Instant::now(), most: Some(time), pause: time, received: 0 }
    }

    /// Of a file, whose length is not limited by a time.
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
    /// 408 when it takes too long, 400 if it ends early or its chunks are none.
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

/// What is wrong with a body that does not go on.
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

/// The whole body. Memory grows with what arrives, whatever the length says.
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
    // Not waited for, if it says so itself.
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

/// `{"items": ["a", "b"]}`, or `{"items_base64": ["YQ==", "Yg=="]}` for keys that are no text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Items {
    items: Option<Vec<String>>,
    items_base64: Option<Vec<String>>,
}

/// [`Items`], or `{"digests_base64": "H06WHrYyxuY="}`: 8 bytes each, least significant first.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Batch {
    items: Option<Vec<String>>,
    items_base64: Option<Vec<String>>,
    digests_base64: Option<String>,
}

/// [`Batch`], and what the filter is to be if there is none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Add {
    items: Option<Vec<String>>,
    items_base64: Option<Vec<String>>,
    digests_base64: Option<String>,
    pub(super) create: Option<Object<Create>>,
}

impl Add {
    /// # Errors
    ///
    /// Those of [`Batch::read`].
    pub(super) fn read(self, state: &State) -> Result<Sent, Failure> {
        let Self { items, items_base64, digests_base64, .. } = self;
        Batch { items, items_base64, digests_base64 }.read(state)
    }
}

/// What is added or looked up.
#[derive(Debug)]
pub(super) enum Sent {
    Keys(Keys),
    Digests(Vec<Digest>),
}

impl Sent {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Keys(keys) => keys.words().len(),
            Self::Digests(digests) => digests.len(),
        }
    }
}

impl Batch {
    /// # Errors
    ///
    /// Those of [`Keys::read`], and 400 for too many or bad digests.
    pub(super) fn read(self, state: &State) -> Result<Sent, Failure> {
        let Some(text) = self.digests_base64 else {
            return Keys::read("items", self.items, self.items_base64, state).map(Sent::Keys);
        };
        if self.items.is_some() || self.items_base64.is_some() {
            return Err(Failure::bad("give either items or digests_base64"));
        }
        let bytes = STANDARD.decode(text);
        let bytes = bytes
            .map_err(|error| Failure::bad(format!("digests_base64 is not base64: {error}")))?;
        let (found, limit) = (bytes.len(), state.shared.config().max_word_bytes);
        if found > limit as usize {
            let problem = format!("the digests have {found} bytes, above the limit of {limit}");
            return Err(Failure::bad(problem + " (max_word_bytes)"));
        }
        let (digests, rest) = bytes.as_chunks::<8>();
        if !rest.is_empty() {
            return Err(Failure::bad("digests are 8 bytes each"));
        }
        let digests = digests.iter().map(|&bytes| Digest::new(u64::from_le_bytes(bytes)));
        Ok(Sent::Digests(digests.collect()))
    }
}

/// Keys one after the other, and where each is.
#[derive(Debug, Default)]
pub(super) struct Keys {
    bytes: Vec<u8>,
    places: Vec<(u32, u32)>,
}

impl Keys {
    pub(super) fn words(&self) -> Words<'_> {
        Words::new(&self.bytes, &self.places)
    }

    fn push(&mut self, key: &[u8], limit: u32) -> Result<(), Failure> {
        if key.len() > limit as usize {
            let problem = format!("a text has {} bytes, above the limit of {limit}", key.len());
            return Err(Failure::bad(problem + " (max_word_bytes)"));
        }
        // Bodies are far below 4 GiB.
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(key);
        self.places.push((start, self.bytes.len() as u32));
        Ok(())
    }
}

impl Items {
    /// # Errors
    ///
    /// Those of [`Keys::read`].
    pub(super) fn keys(self, state: &State) -> Result<Keys, Failure> {
        Keys::read("items", self.items, self.items_base64, state)
    }
}

impl Keys {
    /// The keys of one of two lists, `what` and that with `_base64` behind its name.
    ///
    /// # Errors
    ///
    /// 400 without exactly one list, for too many or too long keys, and for bad base64.
    pub(super) fn read(
        what: &str,
        texts: Option<Vec<String>>,
        base64: Option<Vec<String>>,
        state: &State,
    ) -> Result<Self, Failure> {
        let config = &state.shared.config();
        let (texts, is_base64) = match (texts, base64) {
            (Some(texts), None) => (texts, false),
            (None, Some(texts)) => (texts, true),
            _ => return Err(Failure::bad(format!("give either {what} or {what}_base64"))),
        };
        if texts.len() > config.max_words as usize {
            let (found, limit) = (texts.len(), config.max_words);
            return Err(Failure::bad(format!(
                "{found} {what}, above the limit of {limit} (max_words)"
            )));
        }
        let mut keys = Self::default();
        for (i, text) in texts.iter().enumerate() {
            if is_base64 {
                let key = STANDARD.decode(text);
                let key = key.map_err(|error| {
                    Failure::bad(format!("{what}_base64[{i}] is not base64: {error}"))
                })?;
                keys.push(&key, config.max_word_bytes)?;
            } else {
                keys.push(text.as_bytes(), config.max_word_bytes)?;
            }
        }
        Ok(keys)
    }
}
