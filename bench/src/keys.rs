//! The keys: the same for every contestant, a pure function of a number, so that no array of 100 M
//! of them is needed.

use mayhap::Key;
use std::hash::{Hash, Hasher};

/// A key type of the benchmark.
pub trait BenchKey: Key + Hash + Eq + Copy + Send + Sync + 'static {
    /// Its name in the table.
    const NAME: &'static str;

    /// Key number `id`; different ids are different keys.
    fn nth(id: u64) -> Self;
}

impl BenchKey for u64 {
    const NAME: &'static str = "u64";

    #[inline]
    fn nth(id: u64) -> Self {
        mix(id)
    }
}

/// A URL of 35 to 47 bytes, 40 on average, stored in place: no pointer to chase, for anybody.
#[derive(Clone, Copy)]
pub struct Url {
    bytes: [u8; 47],
    len: u8,
}

const PREFIXES: [&str; 8] = [
    "http://localhost/i/",
    "https://a.example/p/",
    "https://example.org/a/",
    "https://docs.example/x/",
    "https://shop.example/sku/",
    "https://www.example.net/p/",
    "https://cdn.img.example/pic/",
    "https://news.example.com/story/",
];

impl Url {
    #[inline]
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl BenchKey for Url {
    const NAME: &'static str = "URL";

    #[inline]
    fn nth(id: u64) -> Self {
        let number = mix(id);
        let prefix = PREFIXES[(number % 8) as usize].as_bytes();
        let mut url = Self { bytes: [0; 47], len: prefix.len() as u8 + 16 };
        url.bytes[..prefix.len()].copy_from_slice(prefix);
        for (i, byte) in url.bytes[prefix.len()..prefix.len() + 16].iter_mut().enumerate() {
            *byte = b"0123456789abcdef"[(number >> (60 - 4 * i) & 15) as usize];
        }
        url
    }
}

impl Key for Url {
    #[inline]
    fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
        use_bytes(self.as_bytes())
    }
}

impl Hash for Url {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl PartialEq for Url {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Url {}

/// The finalizer of `splitmix64` (Steele, Lea & Flood 2014): a permutation of the 64-bit numbers.
#[inline]
pub const fn mix(number: u64) -> u64 {
    let z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The keys that a measurement queries, by their ids.
#[derive(Clone, Copy)]
pub enum Stream {
    /// Ids from `start` on, each once.
    Sequence {
        /// The first of them.
        start: u64,
    },
    /// Random members.
    Hit {
        /// The first member.
        first: u64,
        /// The number of members.
        n: u64,
        /// Another seed, another order.
        seed: u64,
    },
    /// Random absent keys.
    Miss {
        /// Another seed, other keys.
        seed: u64,
    },
    /// Half of each, in random order.
    Mix {
        /// The first member.
        first: u64,
        /// The number of members.
        n: u64,
        /// Another seed, other keys.
        seed: u64,
    },
}

/// Ids from here on are never members.
pub const FIRST_ABSENT: u64 = 1 << 40;

impl Stream {
    fn id(self, i: u64) -> u64 {
        let below = |random: u64, n: u64| ((u128::from(random) * u128::from(n)) >> 64) as u64;
        let absent = |random: u64| FIRST_ABSENT | (random >> 24);
        match self {
            Self::Sequence { start } => start + i,
            Self::Hit { first, n, seed } => first + below(mix(seed ^ i), n),
            Self::Miss { seed } => absent(mix(seed ^ i)),
            Self::Mix { first, n, seed } => match mix(seed ^ i) {
                random if random & 1 == 0 => first + below(random, n),
                random => absent(random),
            },
        }
    }

    /// Replaces `keys` by keys `from..to` of the stream.
    pub fn fill<K: BenchKey>(self, from: u64, to: u64, keys: &mut Vec<K>) {
        keys.clear();
        keys.extend((from..to).map(|i| K::nth(self.id(i))));
    }
}
