//! Encoding the text of a key as the bytes that a system hashes.

use crate::redisson::codec;
use crate::{Error, KeyType};

impl KeyType {
    /// The bytes to hash for a key given as text; in `scratch` unless they equal the text.
    ///
    /// # Errors
    ///
    /// [`Error::BadKey`] for a text that is not a key of this type: not UTF-8 if characters are
    /// hashed, or not a number if a number is.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_formats::KeyType;
    ///
    /// let mut scratch = Vec::new();
    /// assert_eq!(KeyType::Int.encode(b"-2", &mut scratch)?, [0xFE, 0xFF, 0xFF, 0xFF]);
    /// assert_eq!(KeyType::Utf16.encode(b"hi", &mut scratch)?, b"h\0i\0");
    /// # Ok::<(), mayhap_formats::Error>(())
    /// ```
    pub fn encode<'a>(self, text: &'a [u8], scratch: &'a mut Vec<u8>) -> Result<&'a [u8], Error> {
        scratch.clear();
        match self {
            Self::Bytes => return Ok(text),
            Self::Hex => self.hex(text, scratch)?,
            Self::Int => scratch.extend(self.number::<i32>(text)?.to_le_bytes()),
            Self::Long => scratch.extend(self.number::<i64>(text)?.to_le_bytes()),
            Self::Float => {
                let number: f32 = self.number(text)?;
                scratch.extend(self.in_range(number, number.is_infinite(), text)?.to_le_bytes());
            }
            Self::Double => {
                let number: f64 = self.number(text)?;
                scratch.extend(self.in_range(number, number.is_infinite(), text)?.to_le_bytes());
            }
            Self::Column => return Err(self.bad("only the filter of a column knows its type")),
            Self::PickledStr => self.pickle(self.text(text)?, scratch)?,
            Self::KryoInt => codec::kryo_int(self.number(text)?, scratch),
            Self::KryoLong => codec::kryo_long(self.number(text)?, scratch),
            Self::MarshallingInt => codec::marshalling_int(self.number(text)?, scratch),
            Self::MarshallingLong => codec::marshalling_long(self.number(text)?, scratch),
            Self::JacksonLong => codec::jackson_long(self.number(text)?, scratch),
            Self::Utf16
            | Self::Utf16Be
            | Self::Utf16Bom
            | Self::Latin1
            | Self::Ascii
            | Self::KryoString
            | Self::MarshallingString
            | Self::JacksonString => self.units(self.text(text)?.encode_utf16(), scratch),
        }
        Ok(scratch)
    }

    /// The bytes to hash for a Java string, which may have lone surrogates; numbers and digits are
    /// also given as text.
    ///
    /// # Errors
    ///
    /// The errors of [`KeyType::encode`].
    pub fn encode_utf16<'a>(
        self,
        units: &[u16],
        scratch: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], Error> {
        scratch.clear();
        match self {
            // Jackson rejects a lone surrogate.
            Self::JacksonString
                if char::decode_utf16(units.iter().copied()).any(|c| c.is_err()) =>
            {
                Err(self.bad("it has half of a surrogate pair"))
            }
            Self::Utf16
            | Self::Utf16Be
            | Self::Utf16Bom
            | Self::Latin1
            | Self::Ascii
            | Self::KryoString
            | Self::MarshallingString
            | Self::JacksonString => {
                self.units(units.iter().copied(), scratch);
                Ok(scratch)
            }
            // `getBytes` writes a lone surrogate as `?`.
            Self::Bytes => {
                let text = char::decode_utf16(units.iter().copied()).map(|c| c.unwrap_or('?'));
                scratch.extend_from_slice(text.collect::<String>().as_bytes());
                Ok(scratch)
            }
            _ => {
                let text = String::from_utf16(units)
                    .map_err(|_| self.bad("it has half of a surrogate pair"))?;
                let len = self.encode(text.as_bytes(), scratch)?.len();
                Ok(&scratch[..len])
            }
        }
    }

    fn bad(self, reason: &'static str) -> Error {
        Error::BadKey { key_type: self.name(), reason }
    }

    fn text(self, text: &[u8]) -> Result<&str, Error> {
        std::str::from_utf8(text).map_err(|_| self.bad("the text is not valid UTF-8"))
    }

    fn number<N: std::str::FromStr>(self, text: &[u8]) -> Result<N, Error> {
        self.text(text)?.parse().map_err(|_| self.bad("not a decimal number of its range"))
    }

    /// A number that is infinite only if its text is: digits are of a number that is too large.
    fn in_range<N>(self, number: N, is_infinite: bool, text: &[u8]) -> Result<N, Error> {
        if is_infinite && text.iter().any(u8::is_ascii_digit) {
            return Err(self.bad("not a decimal number of its range"));
        }
        Ok(number)
    }

    fn hex(self, text: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        let digit = |byte: u8| (byte as char).to_digit(16);
        let (pairs, rest) = text.as_chunks::<2>();
        for &[high, low] in pairs {
            let (Some(high), Some(low)) = (digit(high), digit(low)) else {
                return Err(self.bad("a character is not a hexadecimal digit"));
            };
            out.push((high << 4 | low) as u8);
        }
        if rest.is_empty() { Ok(()) } else { Err(self.bad("an odd number of digits")) }
    }

    /// Protocol 4: one frame with the string and a memo of it.
    fn pickle(self, text: &str, out: &mut Vec<u8>) -> Result<(), Error> {
        // Longer strings are written outside of frames.
        if text.len() >= 1 << 16 {
            return Err(self.bad("the text is longer than 65,535 bytes"));
        }
        out.extend(b"\x80\x04\x95\0\0\0\0\0\0\0\0");
        let frame = out.len();
        if let Ok(len) = u8::try_from(text.len()) {
            out.extend([b'\x8C', len]);
        } else {
            out.push(b'X');
            out.extend((text.len() as u32).to_le_bytes());
        }
        out.extend(text.as_bytes());
        out.extend(b"\x94.");
        let len = (out.len() - frame) as u64;
        out[frame - 8..frame].copy_from_slice(&len.to_le_bytes());
        Ok(())
    }

    fn units(self, units: impl Iterator<Item = u16> + Clone, out: &mut Vec<u8>) {
        let last = match self {
            Self::Latin1 => 0xFF,
            Self::Ascii => 0x7F,
            Self::KryoString => return codec::kryo_string(units, out),
            Self::MarshallingString => return codec::marshalling_string(units, out),
            Self::JacksonString => return codec::jackson_string(units, out),
            Self::Utf16Bom if units.clone().next().is_none() => return,
            Self::Utf16Be | Self::Utf16Bom => {
                let mark: &[u8] = if self == Self::Utf16Bom { &[0xFE, 0xFF] } else { &[] };
                out.extend(mark);
                return out.extend(units.flat_map(u16::to_be_bytes));
            }
            _ => return out.extend(units.flat_map(u16::to_le_bytes)),
        };
        // A pair is one character, and so one `?`.
        out.extend(char::decode_utf16(units).map(|c| match c {
            Ok(c) if u32::from(c) <= last => u32::from(c) as u8,
            _ => b'?',
        }));
    }
}
