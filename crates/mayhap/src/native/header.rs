//! The 4 KiB header: the description of the filter, with its own checksum.
//!
//! | offset | bytes | field | allowed |
//! |---|---|---|---|
//! | 0 | 8 | `magic` | `89 6D 61 79 68 61 70 0A` (`\x89mayhap\n`) |
//! | 8 | 2 | `version` | 3; others: see [`NEWEST_VERSION`](super::NEWEST_VERSION) |
//! | 10 | 2 | `kind` | 1: Bloom filter, others: see [`Kind`] |
//! | 12 | 2 | `layout` | 1: standard, 2: blocked, 3: blocked128, 4: blocked64 |
//! | 14 | 2 | `digest` | 1: xxh3, 2: sip13 |
//! | 16 | 8 | `digest_parameter` | the seed, or the id of the secret key |
//! | 24 | 8 | `num_bits` | m: 64 (blocked: whole blocks) to 2^56 |
//! | 32 | 4 | `num_hashes` | k: 1–32 (blocked: 4, 8 or 16; layouts 3 and 4: 8) |
//! | 36 | 2 | `key_options_bytes` | 0–2048 |
//! | 38 | 2 | reserved | 0 |
//! | 40 | 8 | `expected_items` | n ≥ 1 |
//! | 48 | 8 | `target_fpp` | p as an IEEE 754 double, 0 < p < 1 |
//! | 56 | 8 | `inserted_items` | insertions that were new |
//! | 64 | 8 | `table_checksum` | XXH3-64 of the checksum table |
//! | 72 | 56 | `extra` | seven numbers of the kind, 0 where unused |
//! | 128 | 2048 | `key_options` | UTF-8 text, then zeros |
//! | 2176 | 1856 | `layers` | `num_layers` × four numbers, then zeros |
//! | 4032 | 32 | `identity` | see [`Identity`]; before version 3 the last entry of `layers` |
//! | 4064 | 2 | `num_layers` | 0 to 58, before version 3 to 59; 0 for kinds without layers |
//! | 4066 | 22 | reserved | 0 |
//! | 4088 | 8 | `header_checksum` | XXH3-64 of bytes 0–4087, from version 3 on with zeros for `identity` |

use super::checksum::checksum_of;
use super::identity::{IDENTITY_BYTES, IDENTITY_OFFSET, Identity};
use super::kind::{Fields, Kind, MAX_LAYERS, Native, PAGE_BYTES, segment_pages};
use super::place::{
    CHECKSUM, EXTRA, HEADER_BYTES, KEY_OPTIONS, LAYERS, MAGIC, MAX_KEY_OPTIONS_BYTES, NUM_LAYERS,
    TABLE_CHECKSUM, array_at, u16_at, u64_at,
};
use super::short::lengthened;
use super::version::{self, NEWEST_VERSION, VERSION};
use crate::{AnyFilter, Block, DigestFunction, Error, FilterParams, SecretKey, SegmentFields};
use alloc::string::String;
use alloc::vec::Vec;

const IDENTITY_END: usize = IDENTITY_OFFSET + IDENTITY_BYTES;
/// Version 3 has the identity in place of the last layer entry.
pub(super) const MAX_LAYERS_WITH_IDENTITY: usize = MAX_LAYERS - 1;
const _: () = assert!(IDENTITY_END == NUM_LAYERS);
/// Far above any file, and far below the point where its length would wrap.
const MAX_PAGES: u64 = 1 << 46;

/// The description of a filter in a file: everything but the bits.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    version: u16,
    identity: Option<Identity>,
    kind: Kind,
    fields: Fields,
    segment_blocks: Vec<u64>,
    digest_id: u16,
    digest_parameter: u64,
    table_checksum: u64,
    key_options: String,
}

impl Header {
    /// The header of a filter, without an identity and without a table checksum yet.
    ///
    /// # Panics
    ///
    /// If `key_options` is longer than [`MAX_KEY_OPTIONS_BYTES`].
    pub fn of<F: Native>(filter: &F, key_options: &str) -> Self {
        let (fields, function) = (filter.fields(), filter.digest_function());
        Self::of_parts(F::KIND, fields, &filter.segments(), function, key_options)
    }

    pub(crate) fn of_parts(
        kind: Kind,
        fields: Fields,
        segments: &[&[Block]],
        digest_function: &DigestFunction,
        key_options: &str,
    ) -> Self {
        let found = key_options.len();
        assert!(found <= MAX_KEY_OPTIONS_BYTES, "key_options has {found} bytes, at most 2048 fit");
        Self {
            version: version::to_write(kind, &fields),
            identity: None,
            kind,
            fields,
            segment_blocks: segments.iter().map(|blocks| blocks.len() as u64).collect(),
            digest_id: digest_function.id(),
            digest_parameter: digest_function.parameter(),
            table_checksum: 0,
            key_options: key_options.into(),
        }
    }

    /// The same header for a new file: with the version that this crate writes, and without an
    /// identity.
    #[must_use]
    pub fn renewed(self) -> Self {
        Self { version: version::to_write(self.kind, &self.fields), identity: None, ..self }
    }

    /// The same header with another count of insertions, for a file merged from others.
    #[must_use]
    pub fn with_inserted_items(mut self, inserted_items: u64) -> Self {
        self.fields.inserted_items = inserted_items;
        self
    }

    /// The header of a plain filter with other parameters, as after a fold.
    ///
    /// # Errors
    ///
    /// [`Error::WrongKind`] for other kinds.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{AnyFilter, native::Header};
    /// let filter = AnyFilter::builder().num_bytes(64 << 10).target_fpp(0.01).build()?;
    /// let half = filter.fold(2, 0.01)?;
    /// let header = Header::of(&filter, "").with_params(half.params())?;
    /// assert_eq!(header, Header::of(&half, ""));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn with_params(mut self, params: &FilterParams) -> Result<Self, Error> {
        self.check_kind(Kind::Bloom)?;
        let inserted_items = self.fields.inserted_items;
        self.fields = Fields::new(params.layout().id(), params, inserted_items);
        self.segment_blocks = alloc::vec![params.num_blocks()];
        Ok(self)
    }

    /// The same header with another identity, or none.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] for a chain of 59 layers, whose header has no room for one, and
    /// [`Error::BadField`] for a header read from a file of an earlier version.
    pub fn with_identity(mut self, identity: Option<Identity>) -> Result<Self, Error> {
        if identity.is_some() && self.version < VERSION {
            let found = self.fields.layers.len() as u64;
            let limit = MAX_LAYERS_WITH_IDENTITY as u64;
            Error::check_limit("layers", limit, found)?;
            return Error::bad_field("version", self.version.into());
        }
        self.identity = identity;
        Ok(self)
    }

    /// The state that the file is an image of; `None` for a file that is not a state.
    pub const fn identity(&self) -> Option<Identity> {
        self.identity
    }

    /// Whether both are headers of files with the same contents except for the identity.
    ///
    /// The comparison includes the checksums of all pages.
    pub fn is_same_image(&self, other: &Self) -> bool {
        let without = |header: &Self| Self { identity: None, ..header.clone() };
        without(self) == without(other)
    }

    /// The kind of the filter.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The fields of the filter, whose meaning depends on the kind.
    pub const fn fields(&self) -> &Fields {
        &self.fields
    }

    /// The parameters of a plain Bloom filter.
    ///
    /// # Errors
    ///
    /// [`Error::WrongKind`] for other kinds.
    pub fn params(&self) -> Result<FilterParams, Error> {
        self.check_kind(Kind::Bloom)?;
        self.fields.bloom_params()
    }

    /// The segment of a Bloom filter that the file holds.
    ///
    /// # Errors
    ///
    /// [`Error::WrongKind`] for other kinds.
    pub fn segment(&self) -> Result<SegmentFields, Error> {
        self.check_kind(Kind::Segment)?;
        SegmentFields::from_fields(&self.fields)
    }

    /// The header of the filter that this is a segment of, with `ones` set bits in all of it: a new
    /// file, with the count that follows from these ([`FilterParams::inserted_by_ones`]).
    ///
    /// # Errors
    ///
    /// [`Error::WrongKind`] if it is not the header of a segment.
    pub fn whole(&self, ones: u64) -> Result<Self, Error> {
        let params = self.segment()?.params;
        let fields = Fields::new(params.layout().id(), &params, params.inserted_by_ones(ones));
        let segment_blocks = AnyFilter::segment_blocks(&fields)?;
        Ok(Self { kind: Kind::Bloom, fields, segment_blocks, ..self.clone() }.renewed())
    }

    /// Checks that the filter is of this kind.
    ///
    /// # Errors
    ///
    /// [`Error::WrongKind`].
    pub fn check_kind(&self, wanted: Kind) -> Result<(), Error> {
        check_kind(self.kind, wanted)
    }

    /// The blocks of each segment of the body.
    pub fn segment_blocks(&self) -> &[u64] {
        &self.segment_blocks
    }

    /// The version of the format: that of the file from which the header was read, otherwise the
    /// one that is written.
    pub const fn version(&self) -> u16 {
        self.version
    }

    /// The id of the digest function: 1 for `xxh3`, 2 for `sip13`.
    pub const fn digest_id(&self) -> u16 {
        self.digest_id
    }

    /// The seed of `xxh3`, or the id of the secret key of `sip13`.
    pub const fn digest_parameter(&self) -> u64 {
        self.digest_parameter
    }

    /// Insertions that were new.
    pub const fn inserted_items(&self) -> u64 {
        self.fields.inserted_items
    }

    /// The checksum of the checksum table.
    pub const fn table_checksum(&self) -> u64 {
        self.table_checksum
    }

    /// How keys are extracted from input lines: `name=value` lines; empty if the key is the whole
    /// line.
    ///
    /// The core stores the text without interpreting it. A reader that finds an unknown name must
    /// reject the file, since it would query other keys than were inserted.
    pub fn key_options(&self) -> &str {
        &self.key_options
    }

    /// Whether the filter has a secret key.
    pub const fn is_keyed(&self) -> bool {
        self.digest_id != 1
    }

    /// The header with other key options.
    ///
    /// # Panics
    ///
    /// If `key_options` is longer than [`MAX_KEY_OPTIONS_BYTES`].
    #[must_use]
    pub fn with_key_options(self, key_options: &str) -> Self {
        let found = key_options.len();
        assert!(found <= MAX_KEY_OPTIONS_BYTES, "key_options has {found} bytes, at most 2048 fit");
        Self { key_options: key_options.into(), ..self }
    }

    /// The digest function, given the secret key if the filter has one.
    ///
    /// # Errors
    ///
    /// Same as [`DigestFunction::recorded`].
    pub fn digest_function(&self, secret_key: Option<SecretKey>) -> Result<DigestFunction, Error> {
        DigestFunction::recorded(self.digest_id, self.digest_parameter, secret_key)
    }

    /// Pages of the body.
    pub fn num_pages(&self) -> u64 {
        self.segment_blocks.iter().filter_map(|&blocks| segment_pages(blocks)).sum()
    }

    /// Bytes of the body: whole pages.
    pub fn body_bytes(&self) -> u64 {
        self.num_pages() * PAGE_BYTES as u64
    }

    /// Bytes of the whole file: header, body and checksum table.
    pub fn file_bytes(&self) -> u64 {
        HEADER_BYTES as u64 + self.body_bytes() + self.num_pages() * 8
    }

    /// Checks the length of a file before anything is read or allocated.
    ///
    /// # Errors
    ///
    /// [`Error::WrongLength`].
    pub fn check_file_bytes(&self, found: u64) -> Result<(), Error> {
        Error::check_length("file", self.file_bytes(), found)
    }

    /// The header as stored in files.
    pub fn encode(&self, table_checksum: u64) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let mut put = |offset: usize, field: &[u8]| {
            bytes[offset..offset + field.len()].copy_from_slice(field);
        };
        put(0, &MAGIC);
        let fields = &self.fields;
        put(8, &self.version().to_le_bytes());
        put(10, &self.kind.id().to_le_bytes());
        put(12, &fields.layout.to_le_bytes());
        put(14, &self.digest_id.to_le_bytes());
        put(16, &self.digest_parameter.to_le_bytes());
        put(24, &fields.num_bits.to_le_bytes());
        put(32, &fields.num_hashes.to_le_bytes());
        put(36, &(self.key_options.len() as u16).to_le_bytes());
        put(40, &fields.expected_items.to_le_bytes());
        put(48, &fields.target_fpp.to_le_bytes());
        put(56, &fields.inserted_items.to_le_bytes());
        put(TABLE_CHECKSUM, &table_checksum.to_le_bytes());
        for (i, number) in fields.extra.iter().enumerate() {
            put(EXTRA + 8 * i, &number.to_le_bytes());
        }
        put(KEY_OPTIONS, self.key_options.as_bytes());
        for (i, number) in fields.layers.as_flattened().iter().enumerate() {
            put(LAYERS + 8 * i, &number.to_le_bytes());
        }
        put(NUM_LAYERS, &(fields.layers.len() as u16).to_le_bytes());
        // Computed without the identity, so that the identity can be rewritten alone.
        let checksum = checksum_of(&bytes[..CHECKSUM]);
        bytes[CHECKSUM..].copy_from_slice(&checksum.to_le_bytes());
        if let Some(identity) = self.identity {
            let identity = Identity::encode(Some(identity));
            bytes[IDENTITY_OFFSET..IDENTITY_END].copy_from_slice(&identity);
        }
        bytes
    }

    /// Reads the header at the start of `bytes`, which may continue after it. Of a [short
    /// file](super::is_short), which has to be there as a whole, it is the header of the file with
    /// pages that has the same filter ([`lengthen`](super::lengthen)).
    ///
    /// # Errors
    ///
    /// [`Error::NotAFilter`], [`Error::NewerVersion`], [`Error::WrongLength`] if there are fewer
    /// than [`HEADER_BYTES`], [`Error::HeaderDamaged`], [`Error::IdentityDamaged`], and
    /// [`Error::BadField`] or a sizing error for values that no filter can have; the errors of
    /// [`lengthen`](super::lengthen).
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        Self::decode_with(&lengthened(bytes)?, Kind::segment_blocks)
    }

    /// Like [`Header::decode`], for a file that has to be of one kind, without the code of the
    /// others.
    ///
    /// # Errors
    ///
    /// Same as [`Header::decode`], and [`Error::WrongKind`].
    pub(super) fn decode_as<F: Native>(bytes: &[u8]) -> Result<Self, Error> {
        Self::decode_with(bytes, |kind, fields| {
            check_kind(kind, F::KIND)?;
            F::segment_blocks(fields)
        })
    }

    fn decode_with(
        bytes: &[u8],
        segment_blocks: impl FnOnce(Kind, &Fields) -> Result<Vec<u64>, Error>,
    ) -> Result<Self, Error> {
        if !bytes.starts_with(&MAGIC) {
            return Err(Error::NotAFilter);
        }
        let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
            let (expected, found) = (HEADER_BYTES as u64, bytes.len() as u64);
            return Err(Error::WrongLength { field: "header", expected, found });
        };
        let version = u16_at(header, 8);
        if version > NEWEST_VERSION {
            return Err(Error::NewerVersion { found: version, supported: NEWEST_VERSION });
        }
        let (mut header, mut identity) = (*header, [0; IDENTITY_BYTES]);
        if version >= VERSION {
            identity.swap_with_slice(&mut header[IDENTITY_OFFSET..IDENTITY_END]);
        }
        if checksum_of(&header[..CHECKSUM]) != u64_at(&header, CHECKSUM) {
            return Err(Error::HeaderDamaged);
        }
        let header = Self::decode_fields(&header, Identity::decode(&identity)?, segment_blocks)?;
        match (header.kind, header.identity) {
            // A segment is never a state.
            (Kind::Segment, Some(Identity { epoch, .. })) => Error::bad_field("identity", epoch),
            _ => Ok(header),
        }
    }

    /// Reads a header from which the identity has been removed.
    fn decode_fields(
        header: &[u8; HEADER_BYTES],
        identity: Option<Identity>,
        segment_blocks: impl FnOnce(Kind, &Fields) -> Result<Vec<u64>, Error>,
    ) -> Result<Self, Error> {
        let (version, kind_id) = (u16_at(header, 8), u16_at(header, 10));
        let Some(kind) = Kind::from_id(kind_id) else {
            return Error::bad_field("kind", kind_id.into());
        };
        let digest_id = u16_at(header, 14);
        Error::check_field(digest_id == 1 || digest_id == 2, "digest", digest_id.into())?;
        let key_options_bytes = usize::from(u16_at(header, 36));
        let fits = key_options_bytes <= MAX_KEY_OPTIONS_BYTES;
        Error::check_field(fits, "key_options_bytes", key_options_bytes as u64)?;
        let num_layers = usize::from(u16_at(header, NUM_LAYERS));
        let has_identity = version >= VERSION;
        let max_layers = if has_identity { MAX_LAYERS_WITH_IDENTITY } else { MAX_LAYERS };
        Error::check_field(num_layers <= max_layers, "num_layers", num_layers as u64)?;
        let key_options_end = KEY_OPTIONS + key_options_bytes;
        let layers_end = LAYERS + 32 * num_layers;
        for reserved in [
            &header[38..40],
            &header[key_options_end..LAYERS],
            &header[layers_end..NUM_LAYERS],
            &header[NUM_LAYERS + 2..CHECKSUM],
        ] {
            // All of them at once, by vector instructions: headers of small filters are read often.
            if reserved.iter().fold(0, |all, &byte| all | byte) != 0 {
                let byte = reserved.iter().find(|&&byte| byte != 0);
                return Error::bad_field("reserved", byte.map_or(0, |&byte| byte.into()));
            }
        }
        let Ok(key_options) = core::str::from_utf8(&header[KEY_OPTIONS..key_options_end]) else {
            return Error::bad_field("key_options (UTF-8)", 0);
        };
        let layer = |i| core::array::from_fn(|j| u64_at(header, LAYERS + 32 * i + 8 * j));
        let fields = Fields {
            layout: u16_at(header, 12),
            num_bits: u64_at(header, 24),
            num_hashes: u32::from_le_bytes(array_at(header, 32)),
            expected_items: u64_at(header, 40),
            target_fpp: f64::from_le_bytes(array_at(header, 48)),
            inserted_items: u64_at(header, 56),
            extra: core::array::from_fn(|i| u64_at(header, EXTRA + 8 * i)),
            layers: (0..num_layers).map(layer).collect(),
        };
        let segment_blocks = segment_blocks(kind, &fields)?;
        let pages = segment_blocks.iter().try_fold(0u64, |pages, &blocks| {
            segment_pages(blocks).and_then(|more| pages.checked_add(more))
        });
        if pages.is_none_or(|pages| pages > MAX_PAGES) {
            let found = segment_blocks.iter().fold(0u64, |sum, &more| sum.saturating_add(more));
            return Err(Error::TooLarge { field: "blocks", limit: MAX_PAGES * 64, found });
        }
        Error::check_field(version::is_right(version, kind, &fields), "version", version.into())?;
        Ok(Self {
            version,
            identity,
            kind,
            fields,
            segment_blocks,
            digest_id,
            digest_parameter: u64_at(header, 16),
            table_checksum: u64_at(header, TABLE_CHECKSUM),
            key_options: key_options.into(),
        })
    }
}

fn check_kind(found: Kind, wanted: Kind) -> Result<(), Error> {
    if found == wanted {
        return Ok(());
    }
    Err(Error::WrongKind { wanted: wanted.name(), found: found.name() })
}
