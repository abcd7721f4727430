//! The two digest functions, their ids and their golden vectors.

use super::{Digest, Key, sip13, xxh3};
use crate::{Error, simd};

/// A 128-bit secret for the `sip13` digest.
///
/// It is never stored in a filter file; the file holds [`SecretKey::id`], so that a wrong key is
/// detected. `Debug` prints only the id. Fill it from the operating system's random source.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SecretKey([u8; 16]);

impl SecretKey {
    /// Wraps 16 secret random bytes.
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes, for writing the key to a separate file.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// A public name for the key: SipHash-1-3 of the text `mayhap key id` under it.
    ///
    /// It reveals nothing about the key and little about the digests (one key in 2^64).
    pub fn id(self) -> u64 {
        sip13::digest(b"mayhap key id", &self.0)
    }
}

impl core::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "SecretKey(id {:016x})", self.id())
    }
}

/// Which function turns a key into its [`Digest`].
///
/// Both give the same digests on every platform, now and in future versions. Filters can be queried
/// together, united or compared only if their functions are equal, including the parameter.
///
/// | id | name | function | choose it when |
/// |---|---|---|---|
/// | 1 | `xxh3` | XXH3-64 with a 64-bit seed | you choose the keys, or the file goes to others |
/// | 2 | `sip13` | SipHash-1-3 with a secret key | untrusted parties choose the keys |
///
/// # Examples
///
/// ```
/// use mayhap::DigestFunction;
///
/// let one = DigestFunction::xxh3(1);
/// assert_eq!(one.digest("key"), one.digest(b"key"));
/// assert_ne!(one.digest("key"), DigestFunction::xxh3(2).digest("key"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DigestFunction {
    /// XXH3-64 of the key's bytes under this seed.
    Xxh3 {
        /// The 64-bit seed; 0 is plain XXH3-64.
        seed: u64,
    },
    /// SipHash-1-3 of the key's bytes under this key.
    Sip13 {
        /// The 128-bit secret key.
        key: SecretKey,
    },
}

impl Default for DigestFunction {
    /// `xxh3` with seed 0.
    fn default() -> Self {
        Self::xxh3(0)
    }
}

// Apart from their callers: a loop that has no code of them keeps its values in registers, and an
// insertion takes a fifth less. Not in WebAssembly, where the code is sent over networks.
#[cfg_attr(not(target_family = "wasm"), inline(never))]
fn digest_xxh3<K: Key + ?Sized>(key: &K, seed: u64) -> Digest {
    key.with_bytes(|bytes| Digest::new(xxh3::digest(bytes, seed)))
}

#[cfg_attr(not(target_family = "wasm"), inline(never))]
fn digest_sip13<K: Key + ?Sized>(key: &K, secret: &SecretKey) -> Digest {
    key.with_bytes(|bytes| Digest::new(sip13::digest(bytes, &secret.0)))
}

impl DigestFunction {
    /// XXH3-64 with this seed.
    pub const fn xxh3(seed: u64) -> Self {
        Self::Xxh3 { seed }
    }

    /// SipHash-1-3 with this secret key.
    pub const fn sip13(key: SecretKey) -> Self {
        Self::Sip13 { key }
    }

    /// The function that a filter records by its [`id`](Self::id) and its
    /// [`parameter`](Self::parameter), given its secret key if it has one.
    ///
    /// # Errors
    ///
    /// [`Error::WrongKey`] if the filter is keyed and `secret_key` is absent or different;
    /// [`Error::NotKeyed`] if it is not keyed and a key is given, so that an unkeyed filter is
    /// never mistaken for a keyed one.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{DigestFunction, Error, SecretKey};
    ///
    /// let key = SecretKey::new([7; 16]);
    /// assert_eq!(DigestFunction::recorded(1, 5, None)?, DigestFunction::xxh3(5));
    /// assert_eq!(DigestFunction::recorded(2, key.id(), Some(key))?, DigestFunction::sip13(key));
    /// assert_eq!(DigestFunction::recorded(1, 5, Some(key)), Err(Error::NotKeyed));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn recorded(id: u16, parameter: u64, secret_key: Option<SecretKey>) -> Result<Self, Error> {
        match (id, secret_key) {
            (1, None) => Ok(Self::xxh3(parameter)),
            (1, Some(_)) => Err(Error::NotKeyed),
            (_, Some(key)) if key.id() == parameter => Ok(Self::sip13(key)),
            (_, key) => Err(Error::WrongKey { needed: parameter, given: key.map(SecretKey::id) }),
        }
    }

    /// The stable id that file headers carry.
    pub const fn id(self) -> u16 {
        match self {
            Self::Xxh3 { .. } => 1,
            Self::Sip13 { .. } => 2,
        }
    }

    /// The stable name: `xxh3` or `sip13`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Xxh3 { .. } => "xxh3",
            Self::Sip13 { .. } => "sip13",
        }
    }

    /// Whether it has a secret key.
    pub const fn is_keyed(self) -> bool {
        matches!(self, Self::Sip13 { .. })
    }

    /// The number that distinguishes two functions with the same id: the seed, or the key's id.
    pub fn parameter(self) -> u64 {
        match self {
            Self::Xxh3 { seed } => seed,
            Self::Sip13 { key } => key.id(),
        }
    }

    /// Hashes a key: the only place where key bytes are read.
    #[inline(always)]
    pub fn digest<K: Key + ?Sized>(&self, key: &K) -> Digest {
        match self {
            #[cfg(not(target_family = "wasm"))]
            Self::Xxh3 { seed: 0 } => key.with_bytes(|bytes| Digest::new(xxh3::digest(bytes, 0))),
            Self::Xxh3 { seed } => digest_xxh3(key, *seed),
            Self::Sip13 { key: secret } => digest_sip13(key, secret),
        }
    }

    /// Hashes `keys[i]` into `digests[i]`, several at a time if the machine can.
    ///
    /// # Panics
    ///
    /// If the slices differ in length.
    #[inline]
    pub fn digest_batch<K: Key>(&self, keys: &[K], digests: &mut [Digest]) {
        assert_eq!(keys.len(), digests.len(), "one digest per key");
        match self {
            // The match is outside the loop so that the loop can be vectorised.
            Self::Xxh3 { seed } => {
                let each = |keys: &[K], digests: &mut [Digest]| {
                    for (out, key) in digests.iter_mut().zip(keys) {
                        *out = key.with_bytes(|bytes| Digest::new(xxh3::digest(bytes, *seed)));
                    }
                };
                // Not forced to be inlined: for keys of any length it is faster if it is not.
                simd::on_this_cpu(|| each(keys, digests));
            }
            Self::Sip13 { key } => simd::digest_batch(
                keys,
                digests,
                |keys, digests| sip13::digest_batch(keys, digests, &key.0),
                |keys, digests| sip13::digest_each(keys, digests, &key.0),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// `(length, seed, digest)` of the bytes 0, 1, 2, … mod 256.
    ///
    /// Computed by xxHash's own C code: `xxhash.xxh3_64_intdigest(data, seed)` of the Python
    /// package `xxhash` 3, which wraps it.
    const XXH3_GOLDEN: &[(usize, u64, u64)] = &[
        (0, 0, 0x2D06_8005_38D3_94C2),
        (0, 1, 0x4DC5_B0CC_826F_6703),
        (0, 0xDEAD_BEEF_CAFE_BABE, 0x2160_5795_BC1B_C9C4),
        (1, 0, 0xC44B_DFF4_074E_ECDB),
        (1, 1, 0x5EAA_C1F7_B17E_F730),
        (1, 0xDEAD_BEEF_CAFE_BABE, 0x532C_3EDC_BF9F_A806),
        (3, 0, 0x5F42_99FC_161C_9CBB),
        (3, 1, 0x3B3B_85A9_68C7_F81D),
        (3, 0xDEAD_BEEF_CAFE_BABE, 0x18FB_8BD8_E5AD_EDBD),
        (8, 0, 0x3A1C_2D7C_85AF_88F8),
        (8, 1, 0xE724_1AC1_FDCD_24BB),
        (8, 0xDEAD_BEEF_CAFE_BABE, 0xB442_A68D_47A0_AAB0),
        (16, 0, 0x8355_E3A6_F617_70DB),
        (16, 1, 0xE2D1_E405_3A21_9356),
        (16, 0xDEAD_BEEF_CAFE_BABE, 0x0A60_4DEA_700E_87A8),
        (17, 0, 0x9EF3_41A9_9DE3_7328),
        (17, 1, 0xC44E_8660_40ED_1467),
        (17, 0xDEAD_BEEF_CAFE_BABE, 0x613B_141E_32F9_837D),
        (128, 0, 0x85C6_174C_7FF4_C46B),
        (128, 1, 0xC04E_68F8_39DD_D006),
        (128, 0xDEAD_BEEF_CAFE_BABE, 0x906E_6317_617C_48A4),
        (129, 0, 0xEC76_42B4_31BA_3E5A),
        (129, 1, 0x88EE_7269_4368_E67D),
        (129, 0xDEAD_BEEF_CAFE_BABE, 0x6462_8D82_BECD_45AB),
        (240, 0, 0x375A_384D_957F_E865),
        (240, 1, 0x31A1_4C35_8E82_4BE4),
        (240, 0xDEAD_BEEF_CAFE_BABE, 0x342C_F077_23CD_9F80),
        (241, 0, 0x02E8_CD95_421C_6D02),
        (241, 1, 0xDA73_5D4F_5347_6CB5),
        (241, 0xDEAD_BEEF_CAFE_BABE, 0x4C15_C87B_D58B_6739),
        (2000, 0, 0x26AF_7994_E0E2_0830),
        (2000, 1, 0x939B_DE1C_D6F0_EC2A),
        (2000, 0xDEAD_BEEF_CAFE_BABE, 0x3869_F8F3_6C8B_3F7F),
    ];

    const ZERO: [u8; 16] = [0; 16];
    const SEED_42: [u8; 16] =
        [175, 144, 205, 104, 211, 79, 80, 220, 193, 233, 153, 254, 159, 187, 32, 185];

    /// `(key, length, digest)` of the bytes 0, 1, 2, … mod 256.
    ///
    /// Computed by `CPython` 3.11, whose `hash(bytes)` is SipHash-1-3: `PYTHONHASHSEED=0` is the
    /// zero key, `PYTHONHASHSEED=42` the other one (its generator's first 16 bytes).
    const SIP13_GOLDEN: &[([u8; 16], usize, u64)] = &[
        (ZERO, 1, 0x68A9_1412_8E01_E473),
        (ZERO, 7, 0x2F09_8AB0_C751_325A),
        (ZERO, 8, 0xEAD4_11E6_7EBE_2EEA),
        (ZERO, 9, 0x7592_7F9D_9512_4362),
        (ZERO, 15, 0xF30E_B725_BB91_C9EA),
        (ZERO, 16, 0x8972_1884_33A5_C5B7),
        (ZERO, 63, 0x385D_3E39_E5F3_7359),
        (ZERO, 64, 0x75E0_5FD5_BBC8_70C6),
        (ZERO, 255, 0x5DC1_F93E_A135_EB43),
        (SEED_42, 1, 0xCE88_0C36_6BCF_3489),
        (SEED_42, 7, 0xCE28_0FAB_C397_FBDA),
        (SEED_42, 8, 0x6086_6C3C_108C_6AFB),
        (SEED_42, 9, 0x6881_4005_F746_9E03),
        (SEED_42, 15, 0x94AC_E24D_68C1_8CF8),
        (SEED_42, 16, 0x3391_76F3_AC59_CE05),
        (SEED_42, 63, 0x06E2_4D6F_0D01_4C37),
        (SEED_42, 64, 0x9163_9EF7_DE8D_52CB),
        (SEED_42, 255, 0xD020_0847_4FAE_02C8),
    ];

    fn counting_bytes(length: usize) -> Vec<u8> {
        (0..length).map(|i| i as u8).collect()
    }

    #[test]
    fn xxh3_equals_the_reference_implementation() {
        for &(length, seed, expected) in XXH3_GOLDEN {
            let found = DigestFunction::xxh3(seed).digest(&counting_bytes(length));
            assert_eq!(found.get(), expected, "{length} bytes, seed {seed:x}");
        }
    }

    #[test]
    fn sip13_equals_the_reference_implementation() {
        for &(key, length, expected) in SIP13_GOLDEN {
            let found = DigestFunction::sip13(SecretKey::new(key)).digest(&counting_bytes(length));
            assert_eq!(found.get(), expected, "{length} bytes, key {key:?}");
        }
    }

    #[test]
    fn integers_are_eight_little_endian_bytes() {
        let function = DigestFunction::xxh3(7);
        let expected = function.digest(&[0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]);
        assert_eq!(function.digest(&-2i8), expected);
        assert_eq!(function.digest(&-2i64), expected);
        assert_eq!(function.digest(&(u64::MAX - 1)), expected);
        assert_eq!(function.digest(&5u8), function.digest(&5i64));
        assert_ne!(function.digest(&1u64), function.digest("1"));
        assert_eq!(function.digest("1"), function.digest(b"1"));
    }

    #[test]
    fn a_batch_equals_one_at_a_time() {
        let numbers: Vec<u64> =
            (0..if cfg!(miri) { 67 } else { 1003 }).map(|i| i * 0x1234_5678_9ABC).collect();
        let texts: Vec<Vec<u8>> =
            (0..if cfg!(miri) { 20 } else { 300 }).map(counting_bytes).collect();
        for function in [
            DigestFunction::xxh3(0),
            DigestFunction::xxh3(0xDEAD_BEEF),
            DigestFunction::sip13(SecretKey::new(SEED_42)),
        ] {
            let mut digests = alloc::vec![Digest::default(); numbers.len()];
            function.digest_batch(&numbers, &mut digests);
            assert!(numbers.iter().zip(&digests).all(|(n, d)| function.digest(n) == *d));
            let mut digests = alloc::vec![Digest::default(); texts.len()];
            function.digest_batch(&texts, &mut digests);
            assert!(texts.iter().zip(&digests).all(|(t, d)| function.digest(t) == *d));
        }
    }

    #[test]
    fn keys_side_by_side_have_the_digests_of_each_alone() {
        // Neighbouring lengths, including those too long for a lane.
        let key = [9; 16];
        let lengths = (0..if cfg!(miri) { 40 } else { 2000 }).map(|i| i * 37 % 150);
        let texts: Vec<Vec<u8>> = lengths.map(counting_bytes).collect();
        let mut digests = alloc::vec![Digest::default(); texts.len()];
        sip13::digest_batch(&texts, &mut digests, &key);
        for (text, found) in texts.iter().zip(digests) {
            assert_eq!(found.get(), sip13::digest(text, &key), "{} bytes", text.len());
        }
    }

    #[test]
    fn a_secret_key_has_an_id_but_never_shows_itself() {
        let key = SecretKey::new(SEED_42);
        assert_ne!(key.id(), SecretKey::new(ZERO).id());
        assert!(!alloc::format!("{key:?}").contains("175"));
    }
}
