//! Columns of Parquet files, by type.

use crate::foreign::bytes;
use crate::support::{fail, file, folder, run, succeed};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// The values of each column of a golden file, in every form in which its writer prints them.
fn texts(name: &str) -> BTreeMap<String, Vec<String>> {
    serde_json::from_slice(&bytes(&format!("parquet/{name}.json"))).unwrap()
}

/// The golden files of every type.
fn files(folder: &Path) {
    for name in ["duckdb-types.parquet", "pyarrow-types.parquet"] {
        file(folder, name, &bytes(&format!("parquet/{name}")));
    }
}

fn lines(texts: &[String]) -> Vec<u8> {
    texts.iter().flat_map(|text| [text.as_bytes(), b"\n"].concat()).collect()
}

#[test]
fn every_value_of_every_column_is_found_as_its_writer_prints_it() {
    let folder = folder();
    let folder = folder.path();
    files(folder);
    for name in ["duckdb-types", "pyarrow-types"] {
        let columns = texts(name);
        let all = columns.iter().filter(|(path, _)| !["interval", "bool"].contains(&path.as_str()));
        for (path, texts) in all.step_by(if super::is_whole() { 1 } else { 5 }) {
            let (file, all) = (format!("{name}.parquet#{path}"), lines(texts));
            let ran = run(folder, &["check", &file], &all);
            assert!(ran.status.success() && ran.stdout == all, "{file}: {ran:?}");
            let by_option = ["check", "-q", &format!("{name}.parquet"), "--column", path];
            succeed(folder, &by_option, &all);
            let talk = String::from_utf8(ran.stderr).unwrap();
            assert!(!talk.contains("no key"), "{file}: {talk}");
        }
    }
}

#[test]
fn a_column_whose_name_has_the_mark_is_named_by_the_option() {
    let folder = folder();
    let folder = folder.path();
    files(folder);
    // Another file whose name is the name of the file and the first part of the column.
    file(folder, "pyarrow-types.parquet#a", &bytes("parquet/duckdb-types.parquet"));
    for verb in ["check", "filter"] {
        let found = succeed(folder, &[verb, "pyarrow-types.parquet", "--column", "a#b"], b"7\n");
        assert_eq!(found, b"7\n", "{verb}");
    }
    let named =
        succeed(folder, &["info", "--json", "--column", "a#b", "pyarrow-types.parquet"], b"");
    let info: Value = serde_json::from_slice(&named).unwrap();
    assert_eq!(info["facts"]["column"], "a#b");
    std::fs::remove_file(folder.join("pyarrow-types.parquet#a")).unwrap();
    assert_eq!(succeed(folder, &["check", "pyarrow-types.parquet#a#b"], b"7\n"), b"7\n");
    let talk = fail(folder, &["check", "--column", "a", "pyarrow-types.parquet"], b"7\n");
    assert!(talk.contains("no column a"), "{talk}");
}

/// `bool` has no filter in the file of `DuckDB`.
#[test]
fn a_file_without_a_filter_may_contain_any_line_beside_others() {
    let folder = folder();
    let folder = folder.path();
    files(folder);
    let (without, with) = ("duckdb-types.parquet#bool", "duckdb-types.parquet#u32");
    let both = ["-f", with, "-f", without];
    let ran = run(folder, &[&["check", "-l"], &both[..]].concat(), b"1\n");
    assert_eq!((ran.status.code(), &*ran.stdout), (Some(0), &b"duckdb-types.parquet#bool\n"[..]));
    let talk = String::from_utf8(ran.stderr).unwrap();
    assert!(talk.contains(without) && talk.contains("any key may be in it"), "{talk}");
    let found = succeed(folder, &[&["which"], &both[..]].concat(), b"70000000\n1\n");
    let found = String::from_utf8(found).unwrap();
    assert_eq!(found, format!("{with},{without}\t70000000\n{without}\t1\n"));
    let surely_not = run(folder, &[&["check", "-l", "-v"], &both[..]].concat(), b"1\n");
    assert_eq!(surely_not.stdout, b"duckdb-types.parquet#u32\n");
    // Alone, it cannot be queried.
    for verb in [&["check"][..], &["check", "-v"], &["filter"], &["info"], &["verify"]] {
        let talk = fail(folder, &[verb, &[without]].concat(), b"1\n");
        assert!(talk.contains("no filter") && talk.contains("Bloom filters"), "{verb:?}: {talk}");
    }
}

#[test]
fn a_row_group_without_a_filter_may_contain_any_line() {
    let folder = folder();
    let folder = folder.path();
    let mut whole = bytes("parquet/pyarrow-types.parquet");
    // The offset of the filter of i32 in the second row group: the type before it makes it another
    // field.
    let footer = whole.len() - 8 - u32_at(&whole, whole.len() - 8) as usize;
    let offset = second_offset(&whole[footer..], "i32");
    assert_eq!(whole[footer + offset] & 0xF, 6);
    whole[footer + offset] ^= 3;
    file(folder, "t.parquet", &whole);
    let ran = run(folder, &["check", "t.parquet#i32"], b"5\n");
    assert_eq!((ran.status.code(), &*ran.stdout), (Some(0), &b"5\n"[..]));
    let talk = String::from_utf8(ran.stderr).unwrap();
    assert!(talk.contains("row group 1 has no filter for column i32"), "{talk}");
    assert_eq!(run(folder, &["check", "-v", "t.parquet#i32"], b"5\n").status.code(), Some(1));
    let info = succeed(folder, &["info", "t.parquet#i32"], b"");
    assert!(String::from_utf8(info).unwrap().contains("row groups without filter"));
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(*bytes[at..].first_chunk().unwrap())
}

/// The offset of the header of field 14 of a column, in its second row group.
fn second_offset(footer: &[u8], column: &str) -> usize {
    let path = [&[0x18, column.len() as u8], column.as_bytes()].concat();
    let mut paths = footer.windows(path.len()).enumerate().filter(|(_, window)| *window == path);
    // A field before it is in the list of the schema.
    let at =
        paths.by_ref().filter(|(at, _)| footer[at - 1] == 0x19 || footer[at - 1] == 0x29).nth(1);
    let at = at.unwrap().0;
    // The next field of an i64 that is followed by the i32 with the length, 15.
    (at..footer.len()).find(|&i| is_filter(&footer[i..])).unwrap()
}

/// `16` or `26`, a number, `15` and a small number: offset and length of a filter.
fn is_filter(bytes: &[u8]) -> bool {
    let len = 1 + bytes[1..].iter().take_while(|&&byte| byte & 0x80 != 0).count() + 1;
    matches!(bytes[0], 0x16 | 0x26) && bytes.get(len) == Some(&0x15)
}
