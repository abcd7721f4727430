//! `BloomFileter`, a class that was copied from a Chinese blog into many crawlers.
//!
//! The file is a Java object stream, all numbers big-endian:
//!
//! | part | bytes |
//! |---|---|
//! | magic | `AC ED 00 05` |
//! | object | class (any name), serialVersionUID −5221305273707291280, flags 02 |
//! | fields | `I size`, `L autoClearRate` (some copies lack it), `L notebook`, `L rate`, `[ seeds`, `L useCount` (or `userCount`) |
//! | size | i32, 1 and more |
//! | autoClearRate | null, or a `java.lang.Double` |
//! | notebook | a `java.util.BitSet`: i32 number of words, words; bit p is bit `p % 64` of word `p / 64` |
//! | rate | enum constant: `VERY_SMALL`, `SMALL`, `MIDDLE`, `HIGH` |
//! | seeds | i32 k, k × i32: the first 4, 8, 16 or 32 primes |
//! | useCount | an `AtomicInteger`: i32, which wraps after 2^31 − 1 marks |
//!
//! Read from and checked against the published source of the class on Java 17.
//!
//! | file | contents |
//! |---|---|
//! | `filter.rs` | the filter and its state machine |
//! | `options.rs` | the arguments of the constructor |
//! | `scheme.rs` | key bytes → positions |
//! | `serialized.rs` | the object through `ObjectOutputStream` |

mod filter;
mod options;
mod scheme;
mod serialized;

pub use filter::BloomFileter;
pub use options::BloomFileterOptions;
pub use scheme::{BloomFileterRate, BloomFileterScheme};
