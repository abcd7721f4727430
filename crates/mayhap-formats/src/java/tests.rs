//! Streams that no JVM writes, and the values that the reader gets back from the writer.

use super::{ClassSpec, LONGS, Stream, Value, Writer};
use crate::Error;

const EMPTY: &[(&str, &str)] = &[];

fn class<'a>(name: &'a str, fields: &'a [(&'a str, &'a str)]) -> ClassSpec<'a> {
    ClassSpec { fields, ..ClassSpec::plain(name, 1) }
}

fn error(bytes: &[u8]) -> Error {
    Stream::read(bytes, |_| false).expect_err("refused")
}

/// Magic, then an object of class `A` (handle 0) with these fields.
fn object(fields: &[(&str, &str)]) -> Writer {
    let mut writer = Writer::new();
    writer.object(&class("A", fields));
    writer
}

#[test]
fn what_was_written_is_read() {
    let fields = [("I", "a"), ("D", "b"), ("[J", "c"), ("Ljava/lang/String;", "d"), ("LB;", "e")];
    let mut writer = object(&fields);
    writer.raw(&(-5i32).to_be_bytes());
    writer.raw(&0.5f64.to_be_bytes());
    writer.array(&LONGS, 2);
    writer.raw(&[0; 16]);
    writer.text("text");
    writer.constant("B", "ONE");
    let bytes = writer.finish();
    let (stream, root) = Stream::read(&bytes, |_| false).unwrap();
    assert_eq!(stream.class(root.class).unwrap().name, "A");
    assert_eq!(stream.int(&root, "a").unwrap().0, -5);
    assert_eq!(stream.double(&root, "b").unwrap(), 0.5);
    let longs = Stream::field(&root, b'[', "c").unwrap();
    assert_eq!(stream.array("c", longs, b'J').unwrap().len(), 16);
    assert!(stream.array("c", longs, b'I').is_err());
    assert_eq!(Stream::field(&root, b'L', "d").unwrap(), Value::Text("text"));
    let constant = Stream::field(&root, b'L', "e").unwrap();
    assert_eq!(stream.constant(constant), Some(("B", "ONE")));
    assert!(stream.int(&root, "b").is_err() && stream.int(&root, "missing").is_err());
    for len in 0..bytes.len() {
        assert!(Stream::read(&bytes[..len], |_| false).is_err(), "{len} bytes");
    }
}

#[test]
fn a_class_that_is_used_twice_is_written_once() {
    let mut writer = object(&[("LB;", "x"), ("LB;", "y")]);
    writer.object(&class("B", EMPTY));
    let first = writer.position();
    writer.object(&class("B", EMPTY));
    // An object, a reference, a handle: A, its one signature, A's object, then B.
    let bytes = writer.finish();
    assert_eq!(bytes[first..], [0x73, 0x71, 0, 0x7E, 0, 3]);
    let (stream, root) = Stream::read(&bytes, |_| false).unwrap();
    let classes: Vec<_> =
        root.fields.iter().map(|field| stream.object("x", field.2).unwrap().class).collect();
    assert_eq!(classes[0], classes[1]);
}

#[test]
fn tokens_of_classes_resets_exceptions_and_proxies_are_refused() {
    for token in [0x72, 0x76, 0x77, 0x78, 0x79, 0x7A, 0x7B, 0x7C, 0x7D, 0x7F, 0] {
        let mut writer = object(&[("LB;", "x")]);
        writer.raw(&[token, 0, 0, 0, 0]);
        let error = error(&writer.finish());
        assert!(
            matches!(error, Error::BadField { field: "Java token", .. }),
            "{token:#x}: {error}"
        );
    }
}

#[test]
fn an_array_longer_than_the_stream_is_refused() {
    for len in [1, 2, 0x7FFF_FFFF] {
        let mut writer = object(&[("[J", "x")]);
        writer.array(&LONGS, len);
        writer.raw(&[0; 7]);
        let error = error(&writer.finish());
        assert!(matches!(error, Error::Truncated { left: 7, .. }), "{error}");
    }
    let mut writer = object(&[("[J", "x")]);
    writer.array(&LONGS, u32::MAX);
    assert!(matches!(error(&writer.finish()), Error::BadField { .. }));
}

#[test]
fn objects_in_objects_have_a_limit() {
    let nested = |depth: usize| {
        let mut writer = object(&[("LA;", "next")]);
        for _ in 0..depth {
            writer.object(&class("A", &[("LA;", "next")]));
        }
        writer.null();
        writer.finish()
    };
    assert!(Stream::read(&nested(15), |_| false).is_ok());
    assert!(matches!(error(&nested(17)), Error::TooLarge { limit: 16, .. }));
    assert!(matches!(error(&nested(100_000)), Error::TooLarge { limit: 16, .. }));
}

#[test]
fn classes_above_classes_have_a_limit() {
    let names: Vec<String> = (0..40).map(|i| format!("C{i}")).collect();
    let mut bytes = super::MAGIC.to_vec();
    bytes.push(0x73);
    for name in &names {
        bytes.extend([0x72, 0, name.len() as u8]);
        bytes.extend(name.as_bytes());
        bytes.extend([0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0x78]);
    }
    bytes.push(0x70);
    assert!(matches!(error(&bytes), Error::TooLarge { limit: 16, .. }));
}

#[test]
fn handles_and_fields_have_a_limit() {
    let names: Vec<String> = (0..33).map(|i| format!("f{i:02}")).collect();
    let fields: Vec<_> = names.iter().map(|name| ("LA;", &**name)).collect();
    let mut writer = object(&fields[..32]);
    (0..32).for_each(|_| writer.text("a"));
    assert!(Stream::read(&writer.finish(), |_| false).is_ok());
    let mut writer = object(&fields[..32]);
    // In the last field an object with as many texts: more than 64 in all.
    (0..31).for_each(|_| writer.text("a"));
    writer.object(&class("B", &fields[..32]));
    (0..32).for_each(|_| writer.text("a"));
    assert!(matches!(error(&writer.finish()), Error::TooLarge { limit: 64, .. }));
    assert!(matches!(error(&object(&fields).finish()), Error::TooLarge { limit: 32, .. }));
}

#[test]
fn references_to_what_is_not_there_or_not_finished_are_refused() {
    // 0 is a class, 1 a signature, 2 the object itself, 3 not assigned.
    for (handle, accepted) in [(0u32, false), (1, true), (2, false), (3, false), (0x7FFF, false)] {
        let mut writer = object(&[("LA;", "x")]);
        writer.raw(&[0x71]);
        writer.raw(&(0x7E_0000 + handle).to_be_bytes());
        assert_eq!(Stream::read(&writer.finish(), |_| false).is_ok(), accepted, "{handle}");
    }
    // A class that is its own ancestor.
    let mut bytes = super::MAGIC.to_vec();
    bytes.extend([0x73, 0x72, 0, 1, b'A', 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0x78]);
    bytes.extend([0x71, 0, 0x7E, 0, 0]);
    assert!(matches!(error(&bytes), Error::BadField { .. }));
}

#[test]
fn a_field_name_that_comes_twice_is_refused() {
    let mut writer = object(&[("I", "x"), ("I", "x")]);
    writer.raw(&[0; 8]);
    assert!(matches!(error(&writer.finish()), Error::BadField { field: "field name", .. }));
}

#[test]
fn an_empty_block_is_refused() {
    let mut bytes = super::MAGIC.to_vec();
    bytes.extend([0x73, 0x72, 0, 1, b'A', 0, 0, 0, 0, 0, 0, 0, 1, 3, 0, 0, 0x78, 0x70]);
    let with = |blocks: &[u8]| [&bytes, blocks].concat();
    let two = with(&[0x77, 1, 9, 0x7A, 0, 0, 0, 1, 8, 0x78]);
    let (_, root) = Stream::read(&two, |_| false).unwrap();
    assert_eq!(root.blocks.len(), 2);
    assert_eq!(error(&with(&[0x77, 0, 0x78])), Error::Zero { field: "length of a block" });
    assert!(matches!(error(&with(&[0x7A, 0xFF, 0xFF, 0xFF, 0xFF])), Error::BadField { .. }));
    assert!(matches!(error(&with(&[0x77, 5, 1])), Error::Truncated { .. }));
}
