//! Untrusted bytes, read one field at a time.

use crate::Error;

/// A position in bytes; every read is checked against the remaining ones.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
    total: usize,
}

macro_rules! numbers {
    ($($name:ident: $type:ty = $from:ident, $order:literal;)*) => {$(
        #[doc = concat!("Reads a `", stringify!($type), "`, ", $order, "-endian.")]
        ///
        /// # Errors
        ///
        /// [`Error::Truncated`].
        pub fn $name(&mut self, field: &'static str) -> Result<$type, Error> {
            self.array(field).map(<$type>::$from)
        }
    )*};
}

impl<'a> Reader<'a> {
    /// At the beginning.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, total: bytes.len() }
    }

    /// Bytes not yet read.
    pub fn left(&self) -> &'a [u8] {
        self.rest
    }

    /// Bytes read so far.
    pub fn position(&self) -> usize {
        self.total - self.rest.len()
    }

    /// Takes `len` bytes. The length is checked before anything is allocated, so `len` may be any
    /// number.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`].
    pub fn take(&mut self, field: &'static str, len: u64) -> Result<&'a [u8], Error> {
        let left = self.rest.len() as u64;
        let truncated = Error::Truncated { field, needed: len, left };
        let len = usize::try_from(len).map_err(|_| truncated.clone())?;
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    /// Takes an array.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`].
    pub fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], Error> {
        let taken = self.take(field, N as u64)?;
        let mut array = [0; N];
        array.copy_from_slice(taken);
        Ok(array)
    }

    numbers! {
        u8: u8 = from_be_bytes, "big";
        u16_be: u16 = from_be_bytes, "big";
        i32_be: i32 = from_be_bytes, "big";
        i64_be: i64 = from_be_bytes, "big";
        u64_be: u64 = from_be_bytes, "big";
        f64_be: f64 = from_be_bytes, "big";
        i32_le: i32 = from_le_bytes, "little";
        u32_le: u32 = from_le_bytes, "little";
        i64_le: i64 = from_le_bytes, "little";
        u64_le: u64 = from_le_bytes, "little";
        f64_le: f64 = from_le_bytes, "little";
    }

    /// Checks that nothing follows.
    ///
    /// # Errors
    ///
    /// [`Error::TrailingBytes`].
    pub fn finish(self) -> Result<(), Error> {
        match self.rest.len() {
            0 => Ok(()),
            found => Err(Error::TrailingBytes { found: found as u64 }),
        }
    }
}
