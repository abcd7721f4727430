//! Gzip data (RFC 1952) that arrive in pieces, unpacked as they are wanted: the members of a file
//! one after another, and zero bytes after the last one, as by the command.
//!
//! ```text
//! member = 1f 8b 08 flags time(4) 00 00, parts by flags, deflated data, CRC-32(4), length(4)
//! ```

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_HAS_MORE_INPUT;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

/// Unpacked bytes that data may refer to: a power of two, of at least 32 KiB.
const WINDOW: usize = 64 << 10;

/// The longest header, most of which is names.
const MAX_HEADER: usize = 256 << 10;

/// Bits of the flags in a header.
const HEADER_CRC: u8 = 2;
const EXTRA: u8 = 4;
const NAME: u8 = 8;
const COMMENT: u8 = 16;

/// Why data are not unpacked, as code of a fault.
pub(crate) type Code = &'static str;

/// The part of a file that comes next.
enum Next {
    Header,
    Data,
    Sums,
    /// Another member, or after zero bytes (`true`) more of them only.
    Member(bool),
}

/// A decoder in the middle of its data.
pub(crate) struct Gunzip {
    /// Pushed bytes; those from `at` on are not unpacked yet.
    packed: Vec<u8>,
    at: usize,
    is_complete: bool,
    next: Next,
    inflate: DecompressorOxide,
    window: Vec<u8>,
    /// The part of the window that no one has got yet.
    from: usize,
    upto: usize,
    crc: Crc,
    /// Bytes of this member, modulo 2^32.
    length: u32,
}

impl Gunzip {
    pub(crate) fn new() -> Self {
        Self {
            packed: Vec::new(),
            at: 0,
            is_complete: false,
            next: Next::Header,
            inflate: DecompressorOxide::new(),
            window: vec![0; WINDOW],
            from: 0,
            upto: 0,
            crc: Crc::new(),
            length: 0,
        }
    }

    /// Adds a piece; after the last one the data are complete.
    pub(crate) fn push(&mut self, piece: &[u8], is_last: bool) {
        self.packed.drain(..self.at);
        self.at = 0;
        self.packed.extend_from_slice(piece);
        self.is_complete = is_last;
    }

    /// Unpacks some bytes; 0 at the end, and `None` if another piece is needed.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Code> {
        loop {
            let unpacked = &self.window[self.from..self.upto];
            if !unpacked.is_empty() {
                let length = unpacked.len().min(buffer.len());
                buffer[..length].copy_from_slice(&unpacked[..length]);
                self.from += length;
                return Ok(Some(length));
            }
            let packed = &self.packed[self.at..];
            let went_on = match self.next {
                Next::Header => self.header()?,
                Next::Data => self.data()?,
                Next::Sums => self.sums()?,
                Next::Member(_) if packed.is_empty() && self.is_complete => return Ok(Some(0)),
                Next::Member(after_zeros) => match packed.first() {
                    Some(0) => {
                        self.at += packed.iter().take_while(|byte| **byte == 0).count();
                        self.next = Next::Member(true);
                        true
                    }
                    Some(0x1F) if !after_zeros => {
                        self.next = Next::Header;
                        true
                    }
                    Some(_) => return Err("ListIsFollowed"),
                    None => false,
                },
            };
            if !went_on {
                return if self.is_complete { Err("ListIsCut") } else { Ok(None) };
            }
        }
    }

    /// Goes on behind a header, if it is there.
    fn header(&mut self) -> Result<bool, Code> {
        let packed = &self.packed[self.at..];
        let Some(length) = header_length(packed) else {
            let is_header = [0x1F, 0x8B, 8].iter().zip(packed).all(|(left, right)| left == right);
            return if is_header && packed.len() <= MAX_HEADER {
                Ok(false)
            } else {
                Err("ListIsDamaged")
            };
        };
        let header = &packed[..length];
        let is_damaged = || {
            let (rest, sum) = header.split_at(length - 2);
            self.crc.of(0, rest).to_le_bytes()[..2] != *sum
        };
        if header[..3] != [0x1F, 0x8B, 8]
            || header[3] & 0xE0 != 0
            || (header[3] & HEADER_CRC != 0 && is_damaged())
        {
            return Err("ListIsDamaged");
        }
        self.at += length;
        self.inflate.init();
        (self.from, self.upto) = (0, 0);
        (self.crc.sum, self.length) = (0, 0);
        self.next = Next::Data;
        Ok(true)
    }

    /// Unpacks what there is room for in the window.
    fn data(&mut self) -> Result<bool, Code> {
        let start = self.upto % WINDOW;
        let (packed, window) = (&self.packed[self.at..], &mut self.window);
        let (status, taken, written) =
            decompress(&mut self.inflate, packed, window, start, TINFL_FLAG_HAS_MORE_INPUT);
        self.at += taken;
        (self.from, self.upto) = (start, start + written);
        self.crc.sum = self.crc.of(self.crc.sum, &self.window[self.from..self.upto]);
        self.length = self.length.wrapping_add(written as u32);
        match status {
            TINFLStatus::Done => self.next = Next::Sums,
            TINFLStatus::NeedsMoreInput => return Ok(written > 0),
            TINFLStatus::HasMoreOutput => {}
            _ => return Err("ListIsDamaged"),
        }
        Ok(true)
    }

    /// Compares what is unpacked with the end of the member.
    fn sums(&mut self) -> Result<bool, Code> {
        let Some((sums, _)) = self.packed[self.at..].split_first_chunk::<8>() else {
            return Ok(false);
        };
        if sums[..4] != self.crc.sum.to_le_bytes() || sums[4..] != self.length.to_le_bytes() {
            return Err("ListIsDamaged");
        }
        self.at += 8;
        self.next = Next::Member(false);
        Ok(true)
    }
}

/// The length of the header at the beginning, if all of it is there.
fn header_length(bytes: &[u8]) -> Option<usize> {
    let flags = *bytes.get(3)?;
    let mut length = 10;
    if flags & EXTRA != 0 {
        let extra = bytes.get(length..length + 2)?;
        length += 2 + usize::from(u16::from_le_bytes([extra[0], extra[1]]));
    }
    for text in [NAME, COMMENT] {
        if flags & text != 0 {
            length += 1 + bytes.get(length..)?.iter().position(|byte| *byte == 0)?;
        }
    }
    if flags & HEADER_CRC != 0 {
        length += 2;
    }
    (length <= bytes.len()).then_some(length)
}

/// The CRC-32 of ISO 3309, four bytes at a time; its tables are computed, not stored in the module.
struct Crc {
    tables: [[u32; 256]; 4],
    sum: u32,
}

impl Crc {
    fn new() -> Self {
        let mut tables = [[0; 256]; 4];
        for (byte, place) in (0..).zip(&mut tables[0]) {
            let mut sum: u32 = byte;
            for _ in 0..8 {
                sum = (sum >> 1) ^ if sum & 1 == 1 { 0xEDB8_8320 } else { 0 };
            }
            *place = sum;
        }
        for row in 1..4 {
            tables[row] = tables[row - 1].map(|sum| (sum >> 8) ^ tables[0][(sum & 0xFF) as usize]);
        }
        Self { tables, sum: 0 }
    }

    /// The sum of `bytes` behind those of another sum.
    fn of(&self, sum: u32, bytes: &[u8]) -> u32 {
        let (words, rest) = bytes.as_chunks::<4>();
        let mut sum = !sum;
        for word in words {
            let [a, b, c, d] = (sum ^ u32::from_le_bytes(*word)).to_le_bytes().map(usize::from);
            let [first, second, third, fourth] = &self.tables;
            sum = fourth[a] ^ third[b] ^ second[c] ^ first[d];
        }
        for byte in rest {
            sum = (sum >> 8) ^ self.tables[0][(sum as u8 ^ byte) as usize];
        }
        !sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, GzBuilder};
    use std::io::Write;

    /// A member whose header has all optional parts but a sum.
    fn member(text: &[u8]) -> Vec<u8> {
        let header = GzBuilder::new().filename("list").comment("keys").extra(&b"ab\x02\0cd"[..]);
        let mut encoder = header.write(Vec::new(), Compression::best());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn unpack(pieces: &[&[u8]], room: usize) -> Result<Vec<u8>, Code> {
        let (mut list, mut unpacked, mut buffer) = (Gunzip::new(), Vec::new(), vec![0; room]);
        for (i, piece) in pieces.iter().enumerate() {
            list.push(piece, i + 1 == pieces.len());
            while let Some(length) = list.read(&mut buffer)? {
                unpacked.extend_from_slice(&buffer[..length]);
                if length == 0 {
                    return Ok(unpacked);
                }
            }
        }
        panic!("complete data need no other piece");
    }

    /// Lines that repeat, and some that hardly do, so that blocks of each form occur.
    fn text(lines: u32) -> Vec<u8> {
        let line = |i: u32| format!("https://example.org/{}\n", i.wrapping_mul(2_654_435_761) >> 7);
        (0..lines).flat_map(|i| line(i % 1_000_003).into_bytes()).collect()
    }

    #[test]
    fn pieces_of_any_size_are_unpacked_as_the_whole() {
        let text = text(99);
        let packed = [member(&text), member(b""), member(b"two\n"), vec![0; 7]].concat();
        let expected = [&text[..], b"two\n"].concat();
        for room in [1, 100, 1 << 16] {
            for size in 1..=packed.len() {
                let pieces: Vec<&[u8]> = packed.chunks(size).collect();
                assert_eq!(unpack(&pieces, room), Ok(expected.clone()), "{size}, {room}");
            }
        }
        assert_eq!(unpack(&[&packed, b""], 100), Ok(expected));
    }

    #[test]
    fn data_larger_than_the_window_come_out_as_they_went_in() {
        let text = text(200_000);
        for level in [Compression::none(), Compression::fast(), Compression::best()] {
            let mut encoder = GzBuilder::new().write(Vec::new(), level);
            encoder.write_all(&text).unwrap();
            let packed = encoder.finish().unwrap();
            let pieces: Vec<&[u8]> = packed.chunks(4093).collect();
            assert!(unpack(&pieces, 1 << 20).unwrap() == text, "{level:?}");
        }
    }

    #[test]
    fn data_that_are_cut_damaged_or_followed_by_others_are_errors() {
        let packed = member(b"one\n");
        for end in 0..packed.len() {
            let cut = unpack(&[&packed[..end / 2], &packed[end / 2..end]], 100);
            assert_eq!(cut, Err("ListIsCut"), "{end}");
        }
        for damage in (0..3).chain(packed.len() - 8..packed.len()) {
            let mut packed = packed.clone();
            packed[damage] ^= 1;
            assert_eq!(unpack(&[&packed], 100), Err("ListIsDamaged"), "{damage}");
        }
        for more in [&b"garbage"[..], b"\0garbage", &[&[0], &packed[..]].concat()] {
            assert_eq!(unpack(&[&packed, more], 100), Err("ListIsFollowed"));
        }
    }

    #[test]
    fn the_sum_of_a_header_is_checked_and_no_header_is_longer_than_its_bound() {
        let mut header = vec![0x1F, 0x8B, 8, HEADER_CRC, 0, 0, 0, 0, 0, 3];
        let sum = Crc::new().of(0, &header);
        header.extend(&sum.to_le_bytes()[..2]);
        let plain = member(b"one\n");
        let mut packed = [&header[..], &plain[header_length(&plain).unwrap()..]].concat();
        assert_eq!(unpack(&[&packed], 100), Ok(b"one\n".to_vec()));
        packed[header.len() - 1] ^= 1;
        assert_eq!(unpack(&[&packed], 100), Err("ListIsDamaged"));
        let endless =
            [&[0x1F, 0x8B, 8, NAME, 0, 0, 0, 0, 0, 3][..], &vec![b'x'; MAX_HEADER]].concat();
        assert_eq!(unpack(&[&endless, b""], 100), Err("ListIsDamaged"));
    }
}
