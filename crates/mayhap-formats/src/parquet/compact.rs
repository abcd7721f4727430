//! Thrift's compact protocol, as far as a Parquet footer needs it.
//!
//! Every element takes at least a byte, so counts need not be trusted.

use crate::{Error, Reader};

/// The limit on nested structures and lists; a footer has six.
const MAX_DEPTH: u32 = 32;

pub(super) const BOOL_TRUE: u8 = 1;
pub(super) const BOOL_FALSE: u8 = 2;
pub(super) const I8: u8 = 3;
pub(super) const I16: u8 = 4;
pub(super) const I32: u8 = 5;
pub(super) const I64: u8 = 6;
const DOUBLE: u8 = 7;
pub(super) const BINARY: u8 = 8;
pub(super) const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
pub(super) const STRUCT: u8 = 12;

/// A position in a footer.
#[derive(Debug, Clone)]
pub(super) struct Compact<'a> {
    reader: Reader<'a>,
}

impl<'a> Compact<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { reader: Reader::new(bytes) }
    }

    /// Bytes not yet read.
    pub(super) fn left(&self) -> &'a [u8] {
        self.reader.left()
    }

    pub(super) fn byte(&mut self) -> Result<u8, Error> {
        self.reader.u8("metadata")
    }

    fn varint(&mut self) -> Result<u64, Error> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Error::bad("number in the metadata", "at most ten bytes", "a longer one"))
    }

    /// Zigzag.
    pub(super) fn int(&mut self) -> Result<i64, Error> {
        let number = self.varint()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    pub(super) fn binary(&mut self) -> Result<&'a [u8], Error> {
        let len = self.varint()?;
        self.reader.take("text in the metadata", len)
    }

    /// The fields of a structure: `each` gets number and type, and reads the value.
    pub(super) fn fields(
        &mut self,
        mut each: impl FnMut(&mut Self, (i64, u8)) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut id = 0i64;
        loop {
            let byte = self.byte()?;
            if byte == 0 {
                return Ok(());
            }
            id = match byte >> 4 {
                0 => self.int()?,
                delta => id.saturating_add(i64::from(delta)),
            };
            each(self, (id, byte & 0xF))?;
        }
    }

    /// The number of elements and their type.
    fn list_header(&mut self) -> Result<(u64, u8), Error> {
        let byte = self.byte()?;
        let len = match byte >> 4 {
            15 => self.varint()?,
            len => u64::from(len),
        };
        Ok((len, byte & 0xF))
    }

    /// The number of elements of a list, which must be of this type.
    fn elements(&mut self, wanted: u8) -> Result<u64, Error> {
        match self.list_header()? {
            (len, kind) if kind == wanted || len == 0 => Ok(len),
            (_, kind) => Err(Error::bad("type of a list", "that of the field", kind)),
        }
    }

    /// The structures of a list; this position stays where it is.
    pub(super) fn structures<T>(
        &self,
        read: fn(&mut Self) -> Result<T, Error>,
    ) -> Result<List<'a, T>, Error> {
        let mut source = self.clone();
        let left = source.elements(STRUCT)?;
        Ok(List { source, left, read })
    }

    /// The texts of a list; this position stays where it is.
    pub(super) fn texts(&self) -> Result<List<'a, &'a [u8]>, Error> {
        let mut source = self.clone();
        let left = source.elements(BINARY)?;
        Ok(List { source, left, read: Self::binary })
    }

    pub(super) fn skip(&mut self, kind: u8) -> Result<(), Error> {
        self.skip_to(kind, MAX_DEPTH)
    }

    fn skip_to(&mut self, kind: u8, depth: u32) -> Result<(), Error> {
        let deeper = depth.checked_sub(1).ok_or_else(|| {
            Error::bad("depth of the metadata", "at most 32", "a deeper structure")
        })?;
        match kind {
            // The value of a field is in its type.
            BOOL_TRUE | BOOL_FALSE => Ok(()),
            I8 => self.byte().map(|_| ()),
            I16 | I32 | I64 => self.varint().map(|_| ()),
            DOUBLE => self.reader.take("metadata", 8).map(|_| ()),
            BINARY => self.binary().map(|_| ()),
            LIST | SET => {
                let (len, kind) = self.list_header()?;
                (0..len).try_for_each(|_| self.skip_element(kind, deeper))
            }
            MAP => {
                let len = self.varint()?;
                let kinds = if len == 0 { 0 } else { self.byte()? };
                (0..len).try_for_each(|_| {
                    self.skip_element(kinds >> 4, deeper)?;
                    self.skip_element(kinds & 0xF, deeper)
                })
            }
            STRUCT => self.fields(|source, (_, kind)| source.skip_to(kind, deeper)),
            other => Err(Error::bad("type in the metadata", "1 to 12", other)),
        }
    }

    /// Within lists and maps a Boolean is a byte.
    fn skip_element(&mut self, kind: u8, depth: u32) -> Result<(), Error> {
        match kind {
            BOOL_TRUE | BOOL_FALSE => self.byte().map(|_| ()),
            kind => self.skip_to(kind, depth),
        }
    }
}

/// The elements of a list, read one by one; ends after an error.
#[derive(Debug, Clone)]
pub(super) struct List<'a, T> {
    source: Compact<'a>,
    left: u64,
    read: fn(&mut Compact<'a>) -> Result<T, Error>,
}

impl<T> Iterator for List<'_, T> {
    type Item = Result<T, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let element = (self.read)(&mut self.source);
        if element.is_err() {
            self.left = 0;
        }
        Some(element)
    }
}
