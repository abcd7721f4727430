//! The errors of this crate: each reports the field, the bound and the value found.

use core::fmt;
use core::ops::RangeInclusive;

/// The reason why a filter could not be sized, built, united or decoded.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// `expected_items` is zero, for which no size is defined.
    ZeroItems,
    /// `target_fpp` is not strictly between 0 and 1 (NaN included).
    FppOutOfRange {
        /// The value given.
        found: f64,
    },
    /// A fill ratio is not above 0 and at most 1 (NaN included).
    FillRatioOutOfRange {
        /// The value given.
        found: f64,
    },
    /// No filter of the given size, or of any size on 64-bit digests, reaches `target_fpp` with
    /// this many items.
    FppUnreachable {
        /// The target.
        target_fpp: f64,
        /// The lowest rate that can be reached here.
        lowest_fpp: f64,
    },
    /// A parameter is outside its range.
    OutOfRange {
        /// The name of the parameter.
        parameter: &'static str,
        /// The smallest allowed value.
        min: u64,
        /// The largest allowed value.
        max: u64,
        /// The value given.
        found: u64,
    },
    /// A fractional parameter is outside its range (NaN included).
    NumberOutOfRange {
        /// The name of the parameter.
        parameter: &'static str,
        /// The smallest allowed value.
        min: f64,
        /// The largest allowed value.
        max: f64,
        /// The value given.
        found: f64,
    },
    /// A parameter that is needed to size the filter was not given.
    Missing {
        /// The missing parameter.
        parameter: &'static str,
    },
    /// The allocator refused this many bytes.
    OutOfMemory {
        /// Bytes requested.
        bytes: u64,
    },
    /// The filter would exceed the limit set by the caller.
    TooLarge {
        /// The quantity that is too large.
        field: &'static str,
        /// The limit.
        limit: u64,
        /// The value found.
        found: u64,
    },
    /// A filter that does not grow has no room for another key.
    Full {
        /// The keys that it is made for.
        expected_items: u64,
        /// The keys that it holds.
        inserted_items: u64,
    },
    /// No seed gave a static filter for these digests: they are not hashes, or were chosen to
    /// prevent it.
    NoSeedFound {
        /// The number of seeds tried.
        seeds_tried: u32,
    },
    /// A filter of this layout cannot be cut into segments: the bits of a key are all over it.
    NoSegments {
        /// The name of the layout.
        layout: &'static str,
    },
    /// A filter does not fold by this factor, which does not divide its size.
    NoFold {
        /// The unit of the size: `blocks`, or `bits` of layout `standard`.
        unit: &'static str,
        /// The size.
        from: u64,
        /// The factor given.
        factor: u64,
    },
    /// A filter does not shrink: at its size the rate is above the one that it has to keep.
    NoShrink {
        /// The keys.
        items: u64,
        /// The rate for them at the size that the filter has.
        expected_fpp: f64,
        /// The rate to keep.
        target_fpp: f64,
    },
    /// After a fold by this factor, a filter would have more keys than it is for.
    FoldOverfull {
        /// The factor given.
        factor: u64,
        /// The keys.
        items: u64,
        /// The keys that the smaller filter would be for.
        expected_items: u64,
    },
    /// A growing filter does not fold to one layer: one of its layers differs from the first.
    UnlikeLayers {
        /// The layer, from 2 on.
        layer: u64,
        /// The number in which they differ.
        parameter: &'static str,
        /// That of the first layer.
        left: u32,
        /// That of this one.
        right: u32,
    },
    /// A growing filter does not fold to one layer that keeps the rate.
    NoCollapse {
        /// Its layers.
        num_layers: u32,
        /// The blocks of the largest size to which all of them fold.
        num_blocks: u64,
        /// The keys.
        items: u64,
        /// The rate for them at that size.
        expected_fpp: f64,
        /// The rate that its layers may have together.
        target_fpp: f64,
    },
    /// A digest belongs to another segment.
    OutsideSegment {
        /// The digest.
        digest: u64,
        /// The first digest of the segment.
        first: u64,
        /// The last digest of the segment.
        last: u64,
    },
    /// Two filters that differ in a parameter cannot be united.
    Incompatible {
        /// The parameter that differs.
        parameter: &'static str,
        /// Its value in the filter that was to receive the union.
        left: u64,
        /// Its value in the other filter.
        right: u64,
    },
    /// Bytes that are no whole blocks of a filter.
    NoPiece {
        /// Where they begin in its bits, in bytes.
        offset: u64,
        /// How many they are.
        bytes: u64,
        /// The bytes of the filter.
        num_bytes: u64,
    },
    /// The bytes do not begin with the magic of a mayhap filter.
    NotAFilter,
    /// The file was written by a newer version of the format.
    NewerVersion {
        /// The version of the file.
        found: u16,
        /// The newest version that this crate reads.
        supported: u16,
    },
    /// The bytes end before the filter does, or continue after it.
    WrongLength {
        /// The part that was being read.
        field: &'static str,
        /// The length that the header declares.
        expected: u64,
        /// The length found.
        found: u64,
    },
    /// The header's checksum does not match its bytes.
    HeaderDamaged,
    /// A packed file is not in the form that `pack` writes.
    PackedDamaged,
    /// A short file does not have its checksum, its length or its kind.
    ShortDamaged,
    /// The checksum of the header's identity does not match its bytes.
    IdentityDamaged,
    /// A header field holds a value that no filter can have.
    BadField {
        /// The name of the field in `crates/mayhap/NATIVE-FORMAT.md`.
        field: &'static str,
        /// The value found.
        found: u64,
    },
    /// The checksum of a body page does not match its bytes.
    PageDamaged {
        /// The first damaged page, counted from 0.
        page: u64,
        /// The number of damaged pages that were found.
        damaged_pages: u64,
        /// The number of pages in the body.
        num_pages: u64,
    },
    /// The file holds a filter of another kind.
    WrongKind {
        /// The expected kind.
        wanted: &'static str,
        /// The kind of the file.
        found: &'static str,
    },
    /// A kind of filter does not have an operation.
    NotOfKind {
        /// The operation.
        operation: &'static str,
        /// The kind.
        kind: &'static str,
    },
    /// A secret key is given for a filter that has none: its keys are hashed by a public function.
    NotKeyed,
    /// The filter was created with a different secret key, or the key is missing.
    WrongKey {
        /// The id of the key that the filter needs.
        needed: u64,
        /// The id of the key that was given, if one was.
        given: Option<u64>,
    },
}

impl Error {
    /// [`Error::Incompatible`] with the first parameter (name, ours, theirs) that differs.
    pub(crate) fn check_equal<const N: usize>(
        parameters: [(&'static str, u64, u64); N],
    ) -> Result<(), Self> {
        match parameters.into_iter().find(|(_, left, right)| left != right) {
            Some((parameter, left, right)) => Err(Self::Incompatible { parameter, left, right }),
            None => Ok(()),
        }
    }

    /// [`Error::OutOfRange`] unless the number is one of these.
    #[inline(always)]
    pub(crate) fn check_range(
        parameter: &'static str,
        allowed: RangeInclusive<u64>,
        found: u64,
    ) -> Result<(), Self> {
        if allowed.contains(&found) {
            return Ok(());
        }
        let (min, max) = allowed.into_inner();
        Err(Self::OutOfRange { parameter, min, max, found })
    }

    /// [`Error::TooLarge`] above the limit.
    #[inline(always)]
    pub(crate) fn check_limit(field: &'static str, limit: u64, found: u64) -> Result<(), Self> {
        if found <= limit { Ok(()) } else { Err(Self::TooLarge { field, limit, found }) }
    }

    /// [`Error::WrongLength`] for any other length.
    #[inline(always)]
    pub(crate) fn check_length(field: &'static str, expected: u64, found: u64) -> Result<(), Self> {
        if found == expected { Ok(()) } else { Err(Self::WrongLength { field, expected, found }) }
    }

    /// [`Error::BadField`] where a field breaks its rule.
    #[inline(always)]
    pub(crate) fn check_field(
        keeps_rule: bool,
        field: &'static str,
        found: u64,
    ) -> Result<(), Self> {
        if keeps_rule { Ok(()) } else { Self::bad_field(field, found) }
    }

    pub(crate) fn bad_field<T>(field: &'static str, found: u64) -> Result<T, Self> {
        Err(Self::BadField { field, found })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ZeroItems => f.write_str("expected_items is 0, must be at least 1"),
            Self::FppOutOfRange { found } => {
                write!(f, "target_fpp is {found}, must be above 0 and below 1")
            }
            Self::FillRatioOutOfRange { found } => {
                write!(f, "fill ratio is {found}, must be above 0 and at most 1")
            }
            Self::FppUnreachable { target_fpp, lowest_fpp: 1.0.. } => write!(
                f,
                "target_fpp is {target_fpp:e}, but no filter of as many items has a rate below 1"
            ),
            Self::FppUnreachable { target_fpp, lowest_fpp } => write!(
                f,
                "target_fpp is {target_fpp:e}, below the lowest rate possible here, \
                 {lowest_fpp:.3e}; use more bits or fewer items"
            ),
            Self::OutOfRange { parameter, min, max, found } => {
                write!(f, "{parameter} is {found}, must be from {min} to {max}")
            }
            Self::NumberOutOfRange { parameter, min, max: f64::MAX, found } => {
                write!(f, "{parameter} is {found}, must be finite and at least {min}")
            }
            Self::NumberOutOfRange { parameter, min, max, found } => {
                write!(f, "{parameter} is {found}, must be from {min} to {max}")
            }
            Self::Missing { parameter } => write!(f, "{parameter} is needed to size the filter"),
            Self::OutOfMemory { bytes } => {
                write!(f, "cannot allocate {bytes} bytes for the filter")
            }
            Self::TooLarge { field, limit, found } => {
                write!(f, "{field} is {found}, above the limit of {limit}")
            }
            Self::Full { expected_items, inserted_items } => write!(
                f,
                "no room for another key: the filter holds {inserted_items} and is made for \
                 {expected_items}"
            ),
            Self::NoSeedFound { seeds_tried } => {
                write!(f, "none of {seeds_tried} seeds gives a filter for these digests")
            }
            Self::NoSegments { layout } => {
                write!(f, "a filter of layout {layout} has no segments; use layout blocked")
            }
            Self::OutsideSegment { digest, first, last } => write!(
                f,
                "digest {digest:016x} belongs to another segment: this one has the digests from \
                 {first:016x} to {last:016x}"
            ),
            Self::Incompatible { parameter, left, right } => {
                write!(f, "the filters differ in {parameter}: {left} against {right}")
            }
            Self::NotOfKind { operation, kind } => {
                write!(f, "a {kind} filter has no operation \"{operation}\"")
            }
            _ => self.fmt_of_folds(f),
        }
    }
}

impl Error {
    /// The texts of folds that are refused.
    fn fmt_of_folds(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoFold { unit, from, factor } => {
                write!(f, "{from} {unit} do not fold by {factor}")
            }
            Self::NoShrink { items, expected_fpp, target_fpp } => write!(
                f,
                "cannot shrink: at its size the rate for {items} keys is {expected_fpp:.3e}, above \
                 {target_fpp:e}; choose a higher target_fpp"
            ),
            Self::FoldOverfull { factor, items, expected_items } => write!(
                f,
                "the filter has {items} keys, and after a fold by {factor} it would be for \
                 {expected_items}; choose a smaller factor or a higher target_fpp"
            ),
            Self::UnlikeLayers { layer, parameter, left, right } => write!(
                f,
                "layer {layer} does not fold into the first: they differ in {parameter}, {left} \
                 against {right}"
            ),
            Self::NoCollapse { num_layers, num_blocks, items, expected_fpp, target_fpp } => write!(
                f,
                "the largest size to which all {num_layers} layers fold has {num_blocks} blocks, \
                 where the rate for {items} keys is {expected_fpp:.3e}, above their share of \
                 {target_fpp:.3e}"
            ),
            _ => self.fmt_of_bytes(f),
        }
    }

    /// The texts of errors in files and other bytes.
    fn fmt_of_bytes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NotAFilter => f.write_str("not a mayhap filter (wrong magic bytes)"),
            Self::NewerVersion { found, supported } => write!(
                f,
                "format version is {found}, this program reads up to {supported}; use a newer one"
            ),
            Self::WrongLength { field, expected, found } => {
                let verb = if found < expected { "truncated" } else { "too long" };
                write!(f, "{field} is {verb}: {found} bytes where the header says {expected}")
            }
            Self::HeaderDamaged => f.write_str("the header is damaged (checksum mismatch)"),
            Self::PackedDamaged => f.write_str("the packed filter is damaged or cut short"),
            Self::ShortDamaged => f.write_str("the short file is damaged, cut off or too long"),
            Self::IdentityDamaged => {
                f.write_str("the identity in the header is damaged (checksum mismatch)")
            }
            Self::NoPiece { offset, bytes, num_bytes } => write!(
                f,
                "{bytes} bytes at {offset} are not blocks of 64 bytes of a filter that has \
                 {num_bytes}"
            ),
            Self::BadField { field, found } => {
                write!(f, "header field {field} is {found}, which no filter can have")
            }
            Self::PageDamaged { page, damaged_pages: 1, num_pages } => {
                write!(f, "page {page} of {num_pages} is damaged (checksum mismatch)")
            }
            Self::PageDamaged { page, damaged_pages, num_pages } => write!(
                f,
                "{damaged_pages} of {num_pages} pages are damaged (checksum mismatch), \
                 the first is page {page}"
            ),
            Self::WrongKind { wanted, found: "segment" } => {
                write!(f, "this is one segment of a filter, not a {wanted} filter")
            }
            Self::WrongKind { wanted: "segment", found } => {
                write!(f, "this is a {found} filter, not a segment of one")
            }
            Self::WrongKind { wanted, found } => {
                write!(f, "this is a {found} filter, not a {wanted} filter")
            }
            Self::NotKeyed => f.write_str(
                "a secret key is given, but the filter has none: its digests are public",
            ),
            Self::WrongKey { needed, given: None } => {
                write!(f, "the filter is keyed: it needs the secret key with id {needed:016x}")
            }
            Self::WrongKey { needed, given: Some(given) } => write!(
                f,
                "wrong secret key: the filter needs the one with id {needed:016x}, \
                 this one has id {given:016x}"
            ),
            _ => Ok(()),
        }
    }
}

impl core::error::Error for Error {}
