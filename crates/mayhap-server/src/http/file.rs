//! Filters as files of the native format: downloads of a snapshot, uploads bounded and checked.

use super::admission::{Place, Sending};
use super::body::{Buffered, Pace, check_type, request_time, sending};
use super::describe::created;
use super::handler::{Answer, blocking};
use super::query::{Query, flag};
use super::target::{Target, reading};
use super::{Failure, State};
use axum::body::{Body, Bytes};
use axum::extract::{Extension, Request};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use mayhap::native::HEADER_BYTES;
use mayhap_engine::keyspace::Outgoing;
use mayhap_engine::unix_ms;
use serde::Deserialize;
use std::convert::Infallible;
use std::sync::Arc;

const KIND: &str = "application/octet-stream";
/// Bytes sent, or passed to the keyspace, at a time.
const PIECE_BYTES: usize = 512 << 10;

/// `GET /v1/filters/{name}/file`
///
/// The copy is charged to `max_memory`, and the request keeps its place, until the last byte is
/// sent or the client has disconnected.
pub(super) async fn download(target: Target, Extension(place): Extension<Arc<Place>>) -> Answer {
    reading(target, |Target { state, name, .. }| {
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
            // Never the filter's name: it may have any bytes.
            (header::CONTENT_DISPOSITION, "attachment; filename=\"filter.mayhap\"".to_owned()),
        ];
        Ok((headers, Body::from_stream(stream::iter(pieces))).into_response())
    })
    .await
}

/// A download, with its place.
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
    /// Replace the filter of this name.
    replace: Option<String>,
}

/// `PUT /v1/filters/{name}/file?replace=true`
///
/// Memory grows with the bytes that arrive; the filter is created once the file is complete and
/// sound. A replacement removes and creates, both of which need the right `write`.
pub(super) async fn upload(target: Target, Query(how): Query<How>, request: Request) -> Answer {
    let replace = flag("replace", how.replace.as_deref())?;
    target.need_write()?;
    target.need_own()?;
    let Target { state, name, .. } = target;
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
                let more = "the filter was created, but more bytes came after its end";
                return match (upload.waiting.is_empty(), pace.next(&mut body).await?) {
                    (true, None) => Ok(done),
                    _ => Err(Failure::bad(more)),
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
    /// Bytes after the header that the keyspace has received.
    given: usize,
    /// Bytes that it has not.
    waiting: Vec<u8>,
    /// The charge for `waiting`.
    charge: Buffered,
    has_header: bool,
}

impl Upload {
    const fn wanted(&self) -> usize {
        if self.has_header { PIECE_BYTES } else { HEADER_BYTES }
    }

    /// Passes `bytes` bytes to the keyspace; returns the answer if they were the last.
    async fn give(&mut self, bytes: usize) -> Result<Option<Response>, Failure> {
        let piece: Vec<u8> = self.waiting.drain(..bytes).collect();
        self.charge.give_back(bytes);
        if self.has_header {
            self.given += bytes;
        }
        self.has_header = true;
        let cursor = (self.given as u64).saturating_add(1).cast_signed();
        let (state, name, replace) = (self.state.clone(), self.name.clone(), self.replace);
        blocking(move || {
            let (keyspace, log) = (&state.shared.keyspace, state.shared.log.as_deref());
            let made = keyspace.load_chunk(&name, cursor, &piece, replace, unix_ms(), log)?;
            made.map(|entry| created(&state, &name, &entry)).transpose()
        })
        .await
    }
}
