//! Lists in every form, cut at every byte: no cut changes a key.
//!
//! A pipe delivers a list in pieces, whose sizes depend on timing. `BORDERS=1` cuts into three
//! pieces at every pair of places; otherwise into two, and into single bytes.

use crate::input::{Error, Input, Reading};
use crate::lines::LineCutter;
use crate::lines::chunk::Chunk;
use mayhap_keys::{Fields, JsonPointer, KeyOptions, LineEnd};
use std::io::{self, Read, Write};

/// Bytes that arrive in these pieces.
struct Pieces {
    pieces: Vec<Vec<u8>>,
}

impl Pieces {
    fn of(bytes: &[u8], cuts: &[usize]) -> Self {
        let starts = std::iter::once(0).chain(cuts.iter().copied());
        let ends = cuts.iter().copied().chain([bytes.len()]);
        let pieces = starts.zip(ends).map(|(start, end)| bytes[start..end].to_vec());
        let mut pieces: Vec<_> = pieces.filter(|piece| !piece.is_empty()).collect();
        pieces.reverse();
        Self { pieces }
    }
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(piece) = self.pieces.last_mut() else { return Ok(0) };
        let length = piece.len().min(buffer.len());
        buffer[..length].copy_from_slice(&piece[..length]);
        piece.drain(..length);
        if piece.is_empty() {
            self.pieces.pop();
        }
        Ok(length)
    }
}

/// The result of reading a list: its keys (`None` for a line without one), its lines with CR LF,
/// the notes; or the error.
type Read1 = Result<(Vec<Option<Vec<u8>>>, u64, String), String>;

fn read(bytes: &[u8], cuts: &[usize], options: &KeyOptions, reading: Reading) -> Read1 {
    let pieces = Pieces::of(bytes, cuts);
    let read = || {
        let input = Input::of_reader(pieces, (true, None), options.separator(), &reading)?;
        let mut cutter = LineCutter::new(Vec::new(), options, reading, None);
        cutter.begin(input);
        let cuts_keys = mayhap_keys::Cutter::new(options).is_some();
        let (mut keys, mut cr_lines, mut said) = (Vec::new(), 0, String::new());
        let mut chunk = Chunk::default();
        while cutter.next(&mut chunk)? {
            for i in 0..chunk.len() {
                let key = match cuts_keys {
                    true if chunk.table.run_from(i..i + 1).1.is_some() => None,
                    true => Some(chunk.table.key(i).to_vec()),
                    false => Some(chunk.key_line(i).to_vec()),
                };
                keys.push(key);
            }
            cr_lines += chunk.cr_lines;
            said.extend(chunk.notes.drain(..).map(|note| note.to_string()));
        }
        said.extend(cutter.take_notes().iter().map(ToString::to_string));
        Ok((keys, cr_lines, said))
    };
    read().map_err(|error: Error| error.to_string())
}

fn options() -> KeyOptions {
    KeyOptions::default().for_new()
}

fn wide(text: &str, low_first: bool) -> Vec<u8> {
    let bytes = |unit: u16| if low_first { unit.to_le_bytes() } else { unit.to_be_bytes() };
    text.encode_utf16().flat_map(bytes).collect()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn bzip2(text: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// A list with mixed line ends, compressed by xz 5.4: the decoder's crate has no encoder here.
const XZ: &[u8] = b"\
    \xFD7zXZ\x00\x00\x01i\x22\xDE6\x02\x00!\x01\x0C\x00\x00\x00\x8F\x98A\x9C\x01\x00\x10a\
    \x0D\x0Ab\x0Ac\x0D\x0D\x0Ad\x0De\x0A\x0D\x0A\x0A\x0D\x00\x00\x00\x009\x0D\xD1\xAC\x00\
    \x01%\x11>E\xC5\xA2\x90B\x99\x0D\x01\x00\x00\x00\x00\x01YZ";

/// A list that begins with a mark, in two files of xz one after another.
const XZ_MEMBERS: &[u8] = b"\
    \xFD7zXZ\x00\x00\x01i\x22\xDE6\x02\x00!\x01\x0C\x00\x00\x00\x8F\x98A\x9C\x01\x00\x04\xEF\
    \xBB\xBFa\x0D\x00\x00\x00\x00\xFE\xF1\x80j\x00\x01\x19\x05\xBC\xE8\xEC\xCB\x90B\x99\x0D\
    \x01\x00\x00\x00\x00\x01YZ\xFD7zXZ\x00\x00\x01i\x22\xDE6\x02\x00!\x01\x0C\x00\x00\x00\
    \x8F\x98A\x9C\x01\x00\x04\x0Ab\x0D\x0Ac\x00\x00\x00\x00\x0F\x9B1;\x00\x01\x19\x05\xBC\
    \xE8\xEC\xCB\x90B\x99\x0D\x01\x00\x00\x00\x00\x01YZ";

fn lz4(text: &[u8]) -> Vec<u8> {
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 1).unwrap()
}

type Compress = fn(&[u8]) -> Vec<u8>;

/// Each form of input with its options.
fn forms() -> Vec<(&'static str, Vec<u8>, KeyOptions)> {
    let mixed = b"a\r\nb\nc\r\r\nd\re\n\r\n\n\r";
    let csv = KeyOptions { csv: true, field: Fields::parse("2").ok(), ..options() };
    let json = KeyOptions { json_pointer: JsonPointer::parse("/a").ok(), ..options() };
    let nul = KeyOptions { nul: true, ..KeyOptions::default() };
    let plain = |name, bytes: &[u8]| (name, bytes.to_vec(), options());
    let keep = KeyOptions { line_end: LineEnd::Lf, ..options() };
    let mut forms = vec![
        plain("lf", b"one\ntwo\n\nthree"),
        plain("crlf", b"one\r\ntwo\r\n\r\nthree\r\n"),
        plain("crlf, cut short", b"one\r\ntwo\r"),
        plain("mixed", mixed),
        plain("lone cr", b"one\rtwo\rthree\r"),
        plain("mark", b"\xEF\xBB\xBFone\r\ntwo\n"),
        plain("mark alone", b"\xEF\xBB\xBF"),
        plain("mark and line feed", b"\xEF\xBB\xBF\n"),
        plain("half a mark", b"\xEF\xBB"),
        plain("wide marks alone", b"\xFF\xFE"),
        plain("wide marks alone, high first", b"\xFE\xFF"),
        plain("UTF-16LE", &wide("key-1\nkey-2\n", true)),
        plain("UTF-16BE", &wide("key-1\r\nkey-2\r\n", false)),
        plain("UTF-16LE with its mark", &wide("\u{FEFF}key-1\nkey-2\n", true)),
        plain("UTF-16BE with its mark", &wide("\u{FEFF}\u{9375}\n\u{9375}\n", false)),
        plain("UTF-32", b"\xFF\xFE\0\0k\0\0\0\n\0\0\0"),
        plain("controls", b"\x1F\x01x\n\x1F\x8B\n"),
        plain("a word like a magic", b"BZh9\nBZ\nPK\n"),
        plain("a zip", b"PK\x03\x04\x14\0\0\0\n\0\n"),
        plain("a log", b"\x89mhplog\n\x01\0\0\n"),
        plain("a filter", b"\x89mayhap\n\x03\0\0\0\n\0\0"),
        plain("a dump", b"RedisBloom dump\n\x01\0\0\n"),
        plain("words like a dump", b"RedisBloom dump\r\nb\n"),
        plain("JSON", b"{\"m\":64,\"key\":\"one of many\"}\n{}\n"),
        ("records of NUL", b"a\r\0b\n\0\r\n\0c".to_vec(), nul),
        ("csv", b"1,\"x\r\ny\"\r\n2,z\n3\n\"4,q\r\n".to_vec(), csv),
        ("json", b"{\"a\":\"x\"}\r\n{\"a\":1}\n{}\n".to_vec(), json),
        ("mixed, kept", mixed.to_vec(), keep),
        ("mixed, not recorded", mixed.to_vec(), KeyOptions::default()),
    ];
    let ways: [(&str, Compress); 4] =
        [("gzip", gzip), ("bzip2", bzip2), ("lz4", lz4), ("zstd", zstd)];
    for (name, compress) in ways {
        forms.push((name, compress(mixed), options()));
        let members = [compress(b"\xEF\xBB\xBFa\r"), compress(b"\nb\r\nc")].concat();
        forms.push((name, members, options()));
        forms.push((name, compress(&wide("key-1\nkey-2\n", true)), options()));
    }
    forms.push(("xz", XZ.to_vec(), options()));
    forms.push(("two files of xz", XZ_MEMBERS.to_vec(), options()));
    forms.push(("gzip and zeros", [gzip(mixed), vec![0; 9]].concat(), options()));
    forms.push(("gzip and garbage", [gzip(mixed), b"\0x".to_vec()].concat(), options()));
    forms
}

#[test]
fn no_cut_changes_a_key() {
    let is_whole = std::env::var_os("BORDERS").is_some();
    for (name, bytes, options) in forms() {
        for raw in [false, true] {
            let reading = Reading { raw, ..Reading::default() };
            let expected = read(&bytes, &[], &options, reading);
            let same = |cuts: &[usize]| {
                let found = read(&bytes, cuts, &options, reading);
                assert_eq!(found, expected, "{name}, raw {raw}, cut at {cuts:?}");
            };
            same(&(1..bytes.len()).collect::<Vec<_>>());
            for first in 0..=bytes.len() {
                same(&[first]);
                let seconds = if is_whole { first..bytes.len() } else { 0..0 };
                seconds.for_each(|second| same(&[first, second]));
            }
        }
    }
}

#[test]
fn data_on_a_pipe_is_refused_also_where_its_first_line_is_text() {
    for (name, bytes, options) in forms() {
        let read = read(&bytes, &[], &options, Reading::default());
        if ["gzip", "bzip2", "lz4", "zstd"].contains(&name) {
            continue;
        }
        let is_data =
            name.starts_with("UTF-") || ["a log", "a filter", "a dump", "a zip"].contains(&name);
        assert_eq!(read.is_err_and(|why| why.contains("not a list of keys")), is_data, "{name}");
    }
}

#[test]
fn one_carriage_return_before_a_line_feed_or_the_end_is_no_part_of_a_key() {
    let keys = |bytes: &[u8], options: &KeyOptions| -> Vec<Vec<u8>> {
        let (keys, ..) = read(bytes, &[], options, Reading::default()).unwrap();
        keys.into_iter().flatten().collect()
    };
    let mixed = b"a\r\nb\nc\r\r\nd\re\n\r\n\n\rf\r";
    let stripped: &[&[u8]] = &[b"a", b"b", b"c\r", b"d\re", b"", b"", b"\rf"];
    for line_end in [LineEnd::CrLf, LineEnd::Unrecorded] {
        let options = KeyOptions { line_end, ..KeyOptions::default() };
        assert_eq!(keys(mixed, &options), stripped);
    }
    let kept: &[&[u8]] = &[b"a\r", b"b", b"c\r\r", b"d\re", b"\r", b"", b"\rf\r"];
    assert_eq!(keys(mixed, &KeyOptions { line_end: LineEnd::Lf, ..options() }), kept);
    let nul = KeyOptions { nul: true, ..KeyOptions::default() };
    assert_eq!(keys(b"a\r\0b", &nul), [&b"a\r"[..], b"b"]);
    let (_, cr_lines, _) = read(mixed, &[], &options(), Reading::default()).unwrap();
    assert_eq!(cr_lines, 4, "a, c, the empty one and f");
}

#[test]
fn a_mark_alone_is_no_line_and_spoils_no_other_input() {
    for mark in [&b"\xEF\xBB\xBF"[..], b"\xFF\xFE", b"\xFE\xFF"] {
        for csv in [false, true] {
            let field = Fields::parse("1").ok().filter(|_| csv);
            let options = KeyOptions { csv, field, ..options() };
            let name = mark.escape_ascii();
            let (keys, ..) = read(mark, &[], &options, Reading::default()).unwrap();
            assert!(keys.is_empty(), "{name}");
            let raw = Reading { raw: true, ..Reading::default() };
            assert_eq!(read(mark, &[], &options, raw).unwrap().0.len(), 1, "{name}");
        }
    }
}

#[test]
fn zeros_behind_gzip_are_said_and_no_list_is_shorter_without_a_word() {
    let padded = [gzip(b"a\nb\n"), vec![0; 512]].concat();
    let (keys, _, said) = read(&padded, &[], &options(), Reading::default()).unwrap();
    assert_eq!(keys.len(), 2);
    assert!(said.ends_with("has 512 zero bytes after its compressed data, which are ignored"));
}

/// Compressed in two parts one after another, a list is as long as it was.
#[test]
fn what_is_compressed_is_the_list_that_it_was_to_its_last_part() {
    let keys = |bytes: &[u8]| {
        let (keys, cr_lines, _) = read(bytes, &[], &options(), Reading::default()).unwrap();
        (keys.into_iter().flatten().collect::<Vec<_>>(), cr_lines)
    };
    let expected = (vec![b"a".to_vec(), b"b".to_vec(), b"c".to_vec()], 2);
    assert_eq!(keys(b"\xEF\xBB\xBFa\r\nb\r\nc"), expected);
    assert_eq!(keys(XZ_MEMBERS), expected);
    let ways: [Compress; 4] = [gzip, bzip2, lz4, zstd];
    for compress in ways {
        assert_eq!(keys(&[compress(b"\xEF\xBB\xBFa\r"), compress(b"\nb\r\nc")].concat()), expected);
    }
    let (mixed, _) = keys(XZ);
    assert_eq!(mixed, [&b"a"[..], b"b", b"c\r", b"d\re", b"", b"", b""]);
}
