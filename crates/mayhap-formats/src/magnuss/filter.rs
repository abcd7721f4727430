//! The filter.

use super::scheme::{MagnusHash, MagnusScheme};
use super::serialized::Serialized;
use super::sizing::MagnusSizing;
use crate::error::same;
use crate::filter::{answered_by, parts};
use crate::java::{MAGIC, approximate_count, expected_fpp};
use crate::{Bits, Error, Fact, ForeignFilter, Format, Limits, Scheme, SchemeFilter};

/// The forms in which a filter is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MagnusForm {
    /// `BitSet.toByteArray()`.
    BitSet,
    /// A Redis string.
    Redis,
    /// The object, serialized by Java.
    Serialized,
}

/// The form in which the filter is written back.
#[derive(Debug, Clone)]
enum Form {
    /// A bitmap that was this many bytes long.
    Bitmap {
        is_redis: bool,
        kept: usize,
    },
    Serialized(Serialized),
}

/// A Bloom filter of Java-BloomFilter, or of its variant with the bits in Redis.
///
/// m is at most 2^31 − 1 in the class and 2^31 in Redis. Text is hashed as UTF-8. A query computes
/// up to k / 4 MD5 digests.
///
/// # Examples
///
/// ```
/// use mayhap_formats::{ForeignFilter, Limits, MagnusFilter, MagnusForm, MagnusSizing};
///
/// let sizing = MagnusSizing::RedisRate { fpp: 0.0001, expected_items: 1_000 };
/// let mut filter = MagnusFilter::create(&sizing, MagnusForm::Redis, &Limits::default())?;
/// assert!(filter.insert(b"/book/1.html"));
/// assert!(filter.contains(b"/book/1.html") && !filter.contains(b"/book/2.html"));
/// let value = filter.encode();
/// // m and k are not in the value.
/// let again = MagnusFilter::decode_redis(&value, 20_198, 14, &Limits::default())?;
/// assert!(again.contains(b"/book/1.html"));
/// # Ok::<(), mayhap_formats::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct MagnusFilter {
    inner: SchemeFilter<MagnusScheme>,
    form: Form,
}

impl MagnusFilter {
    /// An empty filter, hashed with MD5.
    ///
    /// # Errors
    ///
    /// The errors of [`MagnusSizing::num_bits_and_hashes`]; [`Error::BadField`] for an m below 0,
    /// unless the bits are in Redis; [`Error::TooLarge`] by the limits; [`Error::OutOfMemory`].
    pub fn create(sizing: &MagnusSizing, form: MagnusForm, limits: &Limits) -> Result<Self, Error> {
        let numbers = sizing.numbers()?;
        limits.check_hashes("number of hash functions", u64::from(numbers.num_hashes))?;
        // `new BitSet(m)` throws.
        let is_right = numbers.num_bits >= 0 || form == MagnusForm::Redis;
        Error::check(is_right, "number of bits", "1 and more", numbers.num_bits)?;
        let scheme = MagnusScheme::new(MagnusHash::Md5, numbers.num_hashes, numbers.num_bits)?;
        let bits = Bits::new(u64::from(numbers.num_bits.unsigned_abs()), limits)?;
        let form = match form {
            MagnusForm::Serialized => Form::Serialized(Serialized::of_new(&numbers)),
            bitmap => Form::Bitmap { is_redis: bitmap == MagnusForm::Redis, kept: 0 },
        };
        Ok(Self { inner: SchemeFilter { scheme, bits }, form })
    }

    /// Reads the object as an `ObjectOutputStream` wrote it.
    ///
    /// # Errors
    ///
    /// [`Error::NotThisFormat`] for other bytes; the errors of a malformed stream.
    pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Self, Error> {
        let reason = "it is no Java object; a bare bitmap needs m and k";
        Error::check_format(bytes.starts_with(&MAGIC), "magnuss", reason)?;
        let (inner, serialized) = Serialized::read(bytes, limits)?;
        Ok(Self { inner, form: Form::Serialized(serialized) })
    }

    /// Reads `BitSet.toByteArray()` of a filter of this m and k.
    ///
    /// # Errors
    ///
    /// [`Error::Zero`], [`Error::TooLarge`]; [`Error::TrailingBytes`] and [`Error::BadField`] if
    /// bits past m are set.
    pub fn decode_bitset(
        bytes: &[u8],
        num_bits: i32,
        num_hashes: u32,
        limits: &Limits,
    ) -> Result<Self, Error> {
        Self::decode_bare(bytes, num_bits, num_hashes, false, limits)
    }

    /// Reads the Redis string of a filter of this m, which may be negative, and k.
    ///
    /// # Errors
    ///
    /// The errors of [`MagnusFilter::decode_bitset`].
    pub fn decode_redis(
        bytes: &[u8],
        num_bits: i32,
        num_hashes: u32,
        limits: &Limits,
    ) -> Result<Self, Error> {
        Self::decode_bare(bytes, num_bits, num_hashes, true, limits)
    }

    fn decode_bare(
        bytes: &[u8],
        num_bits: i32,
        num_hashes: u32,
        is_redis: bool,
        limits: &Limits,
    ) -> Result<Self, Error> {
        limits.check_hashes("number of hash functions", u64::from(num_hashes))?;
        let scheme = MagnusScheme::new(MagnusHash::Md5, num_hashes, num_bits)?;
        let read = if is_redis { Bits::from_msb_bytes } else { Bits::from_lsb_bytes };
        let bits = read(bytes, u64::from(num_bits.unsigned_abs()), limits)?;
        let form = Form::Bitmap { is_redis, kept: bytes.len() };
        Ok(Self { inner: SchemeFilter { scheme, bits }, form })
    }

    /// The same bits queried with another digest: no file records which one the class was compiled
    /// with.
    ///
    /// # Errors
    ///
    /// Only the errors that [`MagnusScheme::new`] has returned before.
    pub fn hashed_with(mut self, hash: MagnusHash) -> Result<Self, Error> {
        let (num_hashes, num_bits) =
            (self.inner.scheme.num_hashes(), self.inner.scheme.signed_num_bits());
        self.inner.scheme = MagnusScheme::new(hash, num_hashes, num_bits)?;
        Ok(self)
    }

    parts!(MagnusScheme, "digest, k and m");

    /// Whether the key may be in it.
    #[inline]
    pub fn contains(&self, key: &[u8]) -> bool {
        self.inner.contains(key)
    }

    /// `add`: whether a bit changed, which the class itself does not report. Counts every call.
    #[inline]
    pub fn insert(&mut self, key: &[u8]) -> bool {
        if let Form::Serialized(serialized) = &mut self.form {
            serialized.count_adds(1);
        }
        self.inner.insert(key)
    }

    /// `count()`: calls of `add`; only the Java object records them.
    pub fn added(&self) -> Option<i32> {
        match &self.form {
            Form::Serialized(serialized) => Some(serialized.added()),
            Form::Bitmap { .. } => None,
        }
    }

    /// `getFalsePositiveProbability(items)`: `(1 − e^(−k items / m))^k`.
    pub fn expected_fpp(&self, items: f64) -> f64 {
        let k = f64::from(self.num_hashes());
        let fill = 1.0 - libm::exp(-k * items / self.num_bits() as f64);
        fill.powf(k)
    }

    /// Adds all bits of `other`, and its count of additions if both have one.
    ///
    /// # Errors
    ///
    /// [`Error::Incompatible`] unless digest, m and k are equal.
    pub fn union_with(&mut self, other: &Self) -> Result<(), Error> {
        same("number of hash functions", &self.num_hashes(), &other.num_hashes())?;
        same("number of bits", &self.num_bits(), &other.num_bits())?;
        let digest = |filter: &Self| digest_name(filter.inner.scheme.hash());
        same("digest", digest(self), digest(other))?;
        if let (Form::Serialized(serialized), Some(added)) = (&mut self.form, other.added()) {
            serialized.count_adds(added);
        }
        self.inner.bits.union_with(&other.inner.bits)
    }
}

fn digest_name(hash: MagnusHash) -> &'static str {
    match hash {
        MagnusHash::Md5 => "MD5",
        MagnusHash::Sha1 => "SHA-1",
    }
}

impl ForeignFilter for MagnusFilter {
    answered_by!(inner: key_types, union_with);

    fn format(&self) -> Format {
        match self.form {
            Form::Bitmap { is_redis: true, .. } => Format::MagnusRedis,
            _ => Format::MagnusS,
        }
    }

    fn insert(&mut self, key: &[u8]) -> Result<bool, Error> {
        Ok(self.insert(key))
    }

    /// `getFalsePositiveProbability()` of the class, which trusts its count of additions; from the
    /// set bits if there is none.
    fn estimated_fpp(&self) -> f64 {
        match self.added() {
            Some(added) => self.expected_fpp(f64::from(added)),
            None => expected_fpp(self.inner.bits.fill_ratio(), self.num_hashes()),
        }
    }

    /// The count of additions; from the set bits, as in Guava, if there is none.
    fn estimated_items(&self) -> Option<u64> {
        match self.added() {
            Some(added) => u64::try_from(added).ok(),
            None => approximate_count(
                self.inner.bits.fill_ratio(),
                self.inner.bits.num_bits(),
                self.num_hashes(),
            ),
        }
    }

    fn facts(&self) -> Vec<Fact> {
        let scheme = &self.inner.scheme;
        let mut facts = vec![Fact::new("digest", digest_name(scheme.hash()))];
        if scheme.signed_num_bits() < 0 {
            facts.push(Fact::new("overflowed_num_bits", scheme.signed_num_bits()));
        }
        if let Form::Serialized(serialized) = &self.form {
            facts.push(Fact::new("expected_items", serialized.expected_items()));
            facts.push(Fact::new("added", serialized.added()));
        }
        facts
    }

    fn encode(&self) -> Vec<u8> {
        match &self.form {
            Form::Bitmap { is_redis: false, kept } => self.inner.bits.to_short_lsb_bytes(*kept),
            Form::Bitmap { kept, .. } => self.inner.bits.to_short_msb_bytes(*kept),
            Form::Serialized(serialized) => serialized.encode(&self.inner.bits),
        }
    }
}
