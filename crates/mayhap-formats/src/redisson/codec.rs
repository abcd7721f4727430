//! The encodings of strings and numbers by Redisson's codecs.

/// `Kryo5Codec`, the default since 3.19.0, of a string.
///
/// 03; then 2 to 32 ASCII characters with the top bit set on the last, or a length in UTF-16 units
/// plus 1 and each unit as one, two or three bytes.
pub(crate) fn kryo_string(units: impl Iterator<Item = u16> + Clone, out: &mut Vec<u8>) {
    out.push(3);
    let len = units.clone().count();
    if (2..=32).contains(&len) && units.clone().all(|unit| unit < 0x80) {
        out.extend(units.map(|unit| unit as u8));
        if let Some(last) = out.last_mut() {
            *last |= 0x80;
        }
        return;
    }
    // The first byte has a flag and 6 bits, the others 7.
    let mut rest = len as u64 + 1;
    let more = |rest: u64, flag: u8| if rest > 0 { flag } else { 0 };
    let low = (rest & 0x3F) as u8;
    rest >>= 6;
    out.push(0x80 | more(rest, 0x40) | low);
    while rest > 0 {
        let low = (rest & 0x7F) as u8;
        rest >>= 7;
        out.push(more(rest, 0x80) | low);
    }
    units.for_each(|unit| push_unit(unit, out));
}

/// `Kryo5Codec` of an Integer: 02 and a varint.
pub(crate) fn kryo_int(number: i32, out: &mut Vec<u8>) {
    out.push(2);
    let mut rest = ((number << 1) ^ (number >> 31)).cast_unsigned();
    while rest > 0x7F {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// `Kryo5Codec` of a Long: 09 and a varint of at most nine bytes, the ninth a whole one.
pub(crate) fn kryo_long(number: i64, out: &mut Vec<u8>) {
    out.push(9);
    let mut rest = ((number << 1) ^ (number >> 63)).cast_unsigned();
    let mut len = 1;
    while rest > 0x7F && len < 9 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
        len += 1;
    }
    out.push(rest as u8);
}

/// `MarshallingCodec`, the default of 3.13.0 to 3.18.1 (River, protocol 4), of a string: 04, a
/// token by length, the length in UTF-16 units, modified UTF-8.
pub(crate) fn marshalling_string(units: impl Iterator<Item = u16> + Clone, out: &mut Vec<u8>) {
    out.push(4);
    let len = units.clone().count();
    match len {
        0 => out.push(0x3D),
        // 256 is written as 0, and 65536 as well.
        1..=0x100 => out.extend([0x3E, len as u8]),
        0x101..=0x1_0000 => {
            out.push(0x3F);
            out.extend((len as u16).to_be_bytes());
        }
        _ => {
            out.push(0x40);
            out.extend((len as u32).to_be_bytes());
        }
    }
    units.for_each(|unit| match unit {
        0 => out.extend([0xC0, 0x80]),
        unit => push_unit(unit, out),
    });
}

/// `MarshallingCodec` of an Integer.
pub(crate) fn marshalling_int(number: i32, out: &mut Vec<u8>) {
    out.extend([4, 0x4B]);
    out.extend(number.to_be_bytes());
}

/// `MarshallingCodec` of a Long.
pub(crate) fn marshalling_long(number: i64, out: &mut Vec<u8>) {
    out.extend([4, 0x4C]);
    out.extend(number.to_be_bytes());
}

/// `JsonJacksonCodec`, the default up to 3.9, of a string: JSON in UTF-8, except that characters of
/// two units are two escapes.
pub(crate) fn jackson_string(units: impl Iterator<Item = u16>, out: &mut Vec<u8>) {
    out.push(b'"');
    units.for_each(|unit| match unit {
        0x08 => out.extend(b"\\b"),
        0x09 => out.extend(b"\\t"),
        0x0A => out.extend(b"\\n"),
        0x0C => out.extend(b"\\f"),
        0x0D => out.extend(b"\\r"),
        0x22 => out.extend(b"\\\""),
        0x5C => out.extend(b"\\\\"),
        0..0x20 | 0xD800..0xE000 => out.extend(format!("\\u{unit:04X}").as_bytes()),
        unit => push_unit(unit, out),
    });
    out.push(b'"');
}

/// `JsonJacksonCodec` of a Long; an Integer is its decimal digits.
pub(crate) fn jackson_long(number: i64, out: &mut Vec<u8>) {
    out.extend(format!("[\"java.lang.Long\",{number}]").as_bytes());
}

/// One UTF-16 unit by the rules of UTF-8, surrogates too.
fn push_unit(unit: u16, out: &mut Vec<u8>) {
    let tail = |shift: u16| 0x80 | (unit >> shift & 0x3F) as u8;
    match unit {
        0..0x80 => out.push(unit as u8),
        0x80..0x800 => out.extend([0xC0 | (unit >> 6) as u8, tail(0)]),
        _ => out.extend([0xE0 | (unit >> 12) as u8, tail(6), tail(0)]),
    }
}
