//! Java-BloomFilter by `MagnusS` (`com.skjegstad.utils.BloomFilter`), and the same hashes over a
//! Redis string, as used by crawlers.
//!
//! Three forms:
//!
//! | form | bytes |
//! |---|---|
//! | `BitSet.toByteArray()` | bit p is bit `p % 8` from the least significant of byte `p / 8`; zero bytes at the end are dropped |
//! | Redis string | bit p is bit `p % 8` from the most significant of byte `p / 8`; ends at the highest byte ever written |
//! | `ObjectOutputStream` | class `com.skjegstad.utils.BloomFilter`, serialVersionUID −3151614879614363047, fields `I bitSetSize`, `D bitsPerElement`, `I expectedNumberOfFilterElements`, `I k`, `I numberOfAddedElements`, `L bitset` |
//!
//! The first two record neither m nor k nor n.
//!
//! Read from and checked against the original class on Java 17 and `SETBIT` of Redis 7.0.15.
//!
//! | file | contents |
//! |---|---|
//! | `filter.rs` | the filter |
//! | `scheme.rs` | key bytes → positions |
//! | `serialized.rs` | the object through `ObjectOutputStream` |
//! | `sizing.rs` | m and k of a new filter |

mod filter;
mod scheme;
mod serialized;
mod sizing;

pub use filter::{MagnusFilter, MagnusForm};
pub use scheme::{MagnusHash, MagnusScheme};
pub use sizing::MagnusSizing;
