//! The bytes of a key: the same in every language that opens our filters.

use alloc::{borrow::Cow, string::String, vec::Vec};

/// A value that can be a key: it provides the bytes to hash.
///
/// | value | bytes |
/// |---|---|
/// | `[u8]`, `[u8; N]`, `Vec<u8>` | as they are |
/// | `str`, `String` | UTF-8 |
/// | integers up to 64 bits | widened to 64 bits (sign-extended if signed), 8 bytes little-endian |
///
/// So `"1"` and `b"1"` are one key, and `1` is another; `1u8`, `1i32` and `1u64` are one key.
///
/// # Examples
///
/// ```
/// use mayhap::Key;
///
/// assert_eq!((-1i8).with_bytes(<[u8]>::to_vec), [0xFF; 8]);
/// assert_eq!("é".with_bytes(<[u8]>::to_vec), [0xC3, 0xA9]);
/// ```
pub trait Key {
    /// Calls `use_bytes` with the key's bytes and returns its result.
    fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R;
}

macro_rules! key_as_bytes {
    ($([$($generics:tt)*] $type:ty),* $(,)?) => {$(
        impl<$($generics)*> Key for $type {
            #[inline(always)]
            fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
                use_bytes(AsRef::<[u8]>::as_ref(self))
            }
        }
    )*};
}

key_as_bytes!([] [u8], [const N: usize] [u8; N], [] Vec<u8>, [] str, [] String);

macro_rules! key_as_integer {
    ($wide:ty: $($type:ty),*) => {$(
        impl Key for $type {
            #[inline(always)]
            fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
                // Lossless: every type in these lists has at most 64 bits.
                #[allow(clippy::cast_lossless, clippy::cast_possible_wrap)]
                use_bytes(&(*self as $wide).to_le_bytes())
            }
        }
    )*};
}

key_as_integer!(u64: u8, u16, u32, u64, usize);
key_as_integer!(i64: i8, i16, i32, i64, isize);

impl<K: Key + ?Sized> Key for &K {
    #[inline(always)]
    fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
        (**self).with_bytes(use_bytes)
    }
}

impl<K: Key + alloc::borrow::ToOwned + ?Sized> Key for Cow<'_, K> {
    #[inline(always)]
    fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
        (**self).with_bytes(use_bytes)
    }
}
