//! The manifest: which lists of filters exist, and where the log begins.
//!
//! | offset | bytes | field | allowed |
//! |---|---|---|---|
//! | 0 | 8 | `magic` | `\x89mhpman\n` |
//! | 8 | 2 | `version` | 3; 1 and 2 are read too |
//! | 10 | 2 | `digest` | as in filter files |
//! | 12 | 4 | reserved | 0 |
//! | 16 | 8 | `digest_parameter` | as in filter files: of `sip13`, the id of the key |
//! | 24 | 8 | `log_id` | random |
//! | 32 | 8 | `made_at` | milliseconds since 1970 |
//! | 40 | 8 | `first_segment` | replay begins there |
//! | 48 | 8 | `first_sequence` | of its first frame |
//! | 56 | 8 | `first_previous` | of its first frame |
//! | 64 | 8 | `next_id` | of the next filter, or higher |
//! | 72 | 8 | `next_image` | higher than all images and lists |
//! | 80 | 8 | `lists` | how many follow |
//! | 88 | … | lists | |
//! | end − 8 | 8 | `checksum` | XXH3-64 of all before it |
//!
//! A list:
//!
//! | bytes | field | allowed |
//! |---|---|---|
//! | 8 | `number` | in the name of its file; higher than that of the list before |
//! | 8 | `bytes` | of the file |
//! | 8 | `checksum` | XXH3-64 of the file |
//! | 8 | `records` | in it |
//!
//! Versions 1 and 2 have the filters themselves in place of the lists. A filter:
//!
//! | bytes | field | allowed |
//! |---|---|---|
//! | 8 | `id` | |
//! | 8 | `expires_at` | milliseconds since 1970; 0 for never |
//! | 8 | `image` | the number in the name of its image; 0 if it was never inserted into |
//! | 8 | `image_offset` | where in a pack, or 0; not in version 1 |
//! | 8 | `image_bytes` | of the file, or of the record in the pack |
//! | 8 | `image_checksum` | XXH3-64 of these bytes |
//! | 8 | `mark` | how much of its history is in the image; 0 where that does not matter |
//! | 4 | bytes of the name | |
//! | 4 | bytes of the spec | |
//! | … | name, spec | |

use super::frame::Link;
use super::image::ImageOf;
use super::input::Input;
use super::list::Record;
use super::lists::{self, ListOf};
use super::segment::Identity;
use super::store::{FILTERS, MANIFEST};
use super::{Error, ReplayError, Saved, Store};
use std::path::PathBuf;
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: &[u8; 8] = b"\x89mhpman\n";
const VERSION: u16 = 3;
/// The last version that contains filters.
const WITH_FILTERS: u16 = 2;
const LIST_BYTES: usize = 4 * 8;
/// The minimum of a filter, in version 1: without name and spec.
const FILTER_BYTES: usize = 6 * 8 + 2 * 4;

/// The manifest: which lists of filters exist, and where the log begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Manifest {
    pub(super) identity: Identity,
    pub(super) made_at: u64,
    pub(super) first_segment: u64,
    /// The place of its first frame.
    pub(super) first: Link,
    pub(super) next_id: u64,
    pub(super) next_image: u64,
    pub(super) lists: Vec<ListOf>,
    /// The contents of the lists, once they were read.
    pub(super) filters: Vec<(Saved, ImageOf)>,
}

impl Manifest {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&self.identity.digest_id.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        for number in [
            self.identity.digest_parameter,
            self.identity.log_id,
            self.made_at,
            self.first_segment,
            self.first.sequence,
            self.first.previous,
            self.next_id,
            self.next_image,
            self.lists.len() as u64,
        ] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for ListOf { number, bytes, checksum, records, .. } in &self.lists {
            let numbers = [number, bytes, checksum, records];
            out.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        }
        let checksum = xxh3_64(&out);
        out.extend_from_slice(&checksum.to_le_bytes());
        out
    }

    /// Reads the manifest and its lists, or `None` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`], [`Error::Missing`], [`Error::Newer`], [`Error::Io`].
    pub(super) fn read(store: &Store) -> Result<Option<Self>, Error> {
        let Some(bytes) = store.read(MANIFEST)? else { return Ok(None) };
        let mut manifest = Self::of_bytes(&bytes, store.path(MANIFEST))?;
        manifest.read_lists(store)?;
        Ok(Some(manifest))
    }

    /// Reads the contents of the lists.
    ///
    /// # Errors
    ///
    /// As [`lists::read`].
    pub(super) fn read_lists(&mut self, store: &Store) -> Result<(), Error> {
        if !self.lists.is_empty() {
            self.filters = lists::read(store, &mut self.lists)?;
        }
        Ok(())
    }

    /// Writes a single list of these filters, replacing all previous lists.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub(super) fn list_anew(&mut self, store: &Store) -> Result<(), Error> {
        let records = self.filters.iter().map(|(saved, of)| Record::Filter(saved, *of));
        let list = lists::write(store, self.next_image, records)?;
        store.sync_dir(FILTERS)?;
        self.next_image += 1;
        self.lists = list.into_iter().collect();
        Ok(())
    }

    /// Decodes the manifest in these bytes, without the contents of its lists.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`], [`Error::Newer`].
    pub(super) fn of_bytes(bytes: &[u8], path: PathBuf) -> Result<Self, Error> {
        let damaged = |what: String| Error::Damaged { path: path.clone(), offset: 0, what };
        let Some((contents, checksum)) = bytes.split_last_chunk::<8>() else {
            return Err(damaged(format!("{} bytes are not a manifest", bytes.len())));
        };
        if xxh3_64(contents).to_le_bytes() != *checksum {
            return Err(damaged("the checksum of the whole file does not match".to_owned()));
        }
        let short = |error: ReplayError| damaged(error.to_string());
        let mut input = Input(contents);
        let magic = input.bytes(MAGIC.len()).map_err(short)?;
        if magic != MAGIC {
            return Err(damaged("this is not a manifest".to_owned()));
        }
        let found = input.u16().map_err(short)?;
        if found > VERSION {
            return Err(Error::Newer { path, found, supported: VERSION });
        }
        let manifest = Self::decode(&mut input, found).map_err(short)?;
        let mut above = 0;
        for &ListOf { number, .. } in &manifest.lists {
            if number <= above || number >= manifest.next_image {
                let end = manifest.next_image;
                return Err(damaged(format!("list {number} is not between {above} and {end}")));
            }
            above = number;
        }
        Ok(manifest)
    }

    fn decode(input: &mut Input<'_>, version: u16) -> Result<Self, ReplayError> {
        let digest_id = input.u16()?;
        input.bytes(4)?;
        let [digest_parameter, log_id] = [input.u64()?, input.u64()?];
        let mut manifest = Self {
            identity: Identity { log_id, digest_id, digest_parameter },
            made_at: input.u64()?,
            first_segment: input.u64()?,
            first: Link { sequence: input.u64()?, previous: input.u64()? },
            next_id: input.u64()?,
            next_image: input.u64()?,
            lists: Vec::new(),
            filters: Vec::new(),
        };
        let count = input.u64()?;
        if version > WITH_FILTERS {
            manifest.decode_lists(count, input)?;
        } else {
            manifest.decode_filters(count, input, version)?;
        }
        if !input.0.is_empty() {
            return Err(ReplayError::Long { left: input.0.len() });
        }
        Ok(manifest)
    }

    fn decode_lists(&mut self, count: u64, input: &mut Input<'_>) -> Result<(), ReplayError> {
        let most = input.0.len() / LIST_BYTES;
        self.lists.reserve(usize::try_from(count).unwrap_or(most).min(most));
        for _ in 0..count {
            let [number, bytes] = [input.u64()?, input.u64()?];
            let [checksum, records] = [input.u64()?, input.u64()?];
            self.lists.push(ListOf { number, bytes, checksum, records, touched: Vec::new() });
        }
        Ok(())
    }

    fn decode_filters(
        &mut self,
        count: u64,
        input: &mut Input<'_>,
        version: u16,
    ) -> Result<(), ReplayError> {
        // Reserved at once, as a million of them take hundreds of MiB; no more than the bytes
        // allow.
        let most = input.0.len() / FILTER_BYTES;
        self.filters.reserve(usize::try_from(count).unwrap_or(most).min(most));
        for _ in 0..count {
            let [id, expires_at] = [input.u64()?, input.u64()?];
            let number = input.u64()?;
            let offset = if version < 2 { 0 } else { input.u64()? };
            let (bytes, checksum, mark) = (input.u64()?, input.u64()?, input.u64()?);
            let image = ImageOf { number, offset, bytes, checksum, mark };
            let (name_bytes, spec_bytes) = (input.u32()? as usize, input.u32()? as usize);
            let (name, spec) = (input.bytes(name_bytes)?, input.bytes(spec_bytes)?);
            let saved = Saved { id, name: name.into(), spec: spec.into(), expires_at };
            self.filters.push((saved, image));
        }
        Ok(())
    }
}
