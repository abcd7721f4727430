//! `github.com/bits-and-blooms/bloom` for Go.
//!
//! Binary (`WriteTo`, `MarshalBinary`), all numbers big-endian:
//!
//! | offset | bytes | type | field | allowed |
//! |---|---|---|---|---|
//! | 0 | 8 | u64 | m | 1 to the limit |
//! | 8 | 8 | u64 | k | 1 to the limit |
//! | 16 | 8 | u64 | length of the bit set | m |
//! | 24 | 8 ceil(m / 64) | u64 words | bit i is bit `i % 64` of word `i / 64` | zeros from m on |
//!
//! JSON: `{"m":…,"k":…,"b":"…"}`, where `b` is the part from offset 16 on in base64 (URL-safe
//! alphabet with padding; the standard one is read too). gob: a stream of one value of a type with
//! `GobEncode`, whose bytes are the binary form.
//!
//! Read from and checked against 3.7.1 with bitset 1.24; positions are the same in 2.0.3.
//!
//! | file | contents |
//! |---|---|
//! | `codec.rs` | binary and JSON |
//! | `filter.rs` | the filter and its positions |
//! | `gob.rs` | the two messages of a gob stream with one value of a type that encodes itself |

mod codec;
mod filter;
mod gob;

pub use codec::BitsAndBloomsForm;
pub(crate) use codec::is_json;
pub use filter::{BitsAndBloomsFilter, BitsAndBloomsScheme};
pub(crate) use gob::is_gob;
