//! Filters as files of the native format: downloads from a snapshot, uploads bounded and checked.

use super::body::{Buffered, Pace, check_type, request_time, sending};
use super::door::{Place, Sending};
use super::filters::{blocking, created, need_on};
use super::name::Name;
use super::query::{Query, flag};
use super::{Failure, State};
use crate::clock::unix_ms;
use crate::config::Rights;
use crate::keyspace::{LoadError, Outgoing};
use axum::body::{Body, Bytes};
use axum::extract::{Extension, Request, State as From};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use mayhap::native::HEADER_BYTES;
use serde::Deserialize;
use std::convert::Infallible;
use std::sync::Arc;

const KIND: &str = "application/octet-stream";
/// Bytes that are sent, or taken by the keyspace, at once.
const PIECE_BYTES: usize = 512 << 10;

type Answer = Result<Response, Failure>;

/// `GET /v1/filters/{name}/file`
///
/// The copy is charged to `max_memory`, and the request keeps its place, until the last byte is
/// sent or the client is gone.
pub(super) async fn download(
    From(state): From<State>,
    Extension(rights): Extension<Rights>,
    Extension(place): Extension<Arc<Place>>,
    Name(name): Name,
) -> Answer {
    need_on(rights.read, "read", &rights, &name)?;
    blocking(move || {
        let entry = state.filter(&name)?;
        entry.check_file()?;
        if entry.digest_function().is_none() {
            let problem = "the filter is of another system and has no file in mayhap's format";
            return Err(Failure::new(StatusCode::CONFLICT, problem));
        }
        let dump = state.shared.keyspace.begin_dump(&entry, unix_ms())?;
        let copy = Copy { dump, _sending: place.send(), _place: place };
        let length = copy.dump.bytes().len();
        let pieces = (0..length).step_by(PIECE_BYTES);
        let pieces = pieces.map(move |start| Ok::<_, Infallible>(copy.piece(start)));
        let headers = [
            (header::CONTENT_TYPE, KIND.to_owned()),
            (header::CONTENT_LENGTH, length.to_string()),
            // Never a name of ours: any bytes are a name.
            (header::CONTENT_DISPOSITION, "attachment; filename=\"filter.mayhap\"".to_owned()),
        ];
        Ok((headers, Body::from_stream(stream::iter(pieces))).into_response())
    })
    .await
}

/// What is downloaded, with its place.
struct Copy {
    dump: Outgoing,
    _sending: Sending,
    _place: Arc<Place>,
}

impl Copy {
    fn piece(&self, start: usize) -> Bytes {
        let bytes = self.dump.bytes();
        Bytes::copy_from_slice(&bytes[start..(start + PIECE_BYTES).min(bytes.len())])
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct How {
    /// In place of the filter of this name.
    replace: Option<String>,
}

/// `PUT /v1/filters/{name}/file?replace=true`
///
/// Memory grows with what has arrived; the filter is there once all of it is, and was found sound.
/// A replacement removes and creates, for both of which `write` is the right.
pub(super) async fn upload(
    From(state): From<State>,
    Extension(rights): Extension<Rights>,
    Name(name): Name,
    Query(how): Query<How>,
    request: Request,
) -> Answer {
    let replace = flag("replace", how.replace.as_deref())?;
    need_on(rights.write, "write", &rights, &name)?;
    check_type(request.headers(), KIND)?;
    state.check_writable()?;
    let _sending = sending(&request);
    let mut pace = Pace::of_file(request_time(&state));
    let mut body = request.into_body().into_data_stream();
    let charge = Buffered::new(&state);
    let waiting = Vec::new();
    let mut upload = Upload { state, name, replace, given: 0, waiting, charge, has_header: false };
    while let Some(piece) = pace.next(&mut body).await? {
        upload.charge.add(piece.len())?;
        upload.waiting.extend_from_slice(&piece);
        while upload.waiting.len() >= upload.wanted() {
            if let Some(done) = upload.give(upload.wanted()).await? {
                return match (upload.waiting.is_empty(), pace.next(&mut body).await?) {
                    (true, None) => Ok(done),
                    _ => Err(Failure::bad(
                        "the filter was created, but more bytes came after its \
                                           end",
                    )),
                };
            }
        }
    }
    let short = || Failure::bad("the file ends before its header says");
    match upload.waiting.len() {
        0 if upload.has_header => Err(short()),
        rest => upload.give(rest).await?.ok_or_else(short),
    }
}

/// A file that is arriving.
struct Upload {
    state: State,
    name: Vec<u8>,
    replace: bool,
    /// Bytes after the header that the keyspace has.
    given: usize,
    /// What it has not.
    waiting: Vec<u8>,
    /// Of that.
    charge: Buffered,
    has_header: bool,
}

impl Upload {
    const fn wanted(&self) -> usize {
        if self.has_header { PIECE_BYTES } else { HEADER_BYTES }
    }

    /// Gives so many bytes to the keyspace; the answer if they were the last.
    async fn give(&mut self, bytes: usize) -> Result<Option<Response>, Failure> {
        let piece: Vec<u8> = self.waiting.drain(..bytes).collect();
        self.charge.give_back(bytes);
        if self.has_header {
            self.given += bytes;
        }
        self.has_header = true;
        let cursor = (self.given as u64).saturating_add(1).cast_signed();
        let (state, name, replace) = (self.state.clone(), self.name.clone(), self.replace);
        let (done, answer) = tokio::sync::oneshot::channel();
        blocking(move || {
            let shared = &state.shared;
            let (keyspace, log, now) = (&shared.keyspace, shared.log.as_deref(), unix_ms());
            let loaded = if replace {
                keyspace.replace_by_chunk(&name, cursor, &piece, now, log)
            } else {
                keyspace.load_chunk(&name, cursor, &piece, now, log)
            };
            let made = loaded.map_err(Failure::from)?.map(|entry| created(&state, &name, &entry));
            // Nobody waits if the client has gone.
            let _ = done.send(made.transpose()?);
            Ok(StatusCode::OK.into_response())
        })
        .await?;
        answer.await.map_err(|_| Failure::bad("the request failed"))
    }
}

impl std::convert::From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Exists => Self::new(StatusCode::CONFLICT, "there is a filter of this name"),
            LoadError::NotFound | LoadError::Offset { .. } => {
                let problem = "another upload of this name came in between; try again";
                Self::new(StatusCode::CONFLICT, problem)
            }
            LoadError::TooBig => Self::bad("the file is longer than its header says"),
            LoadError::Bad(problem) => Self::bad(problem.to_string()),
            LoadError::Create(error) => error.into(),
        }
    }
}
