//! Columns of every type by two writers, and files with one bit flipped.

use super::file;
use ::parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use mayhap::Bitmap;
use mayhap_formats::{Error, ForeignFilter, Format, KeyType, Limits, ParquetColumn};
use std::collections::{BTreeMap, BTreeSet};
use test_data::golden::Golden;

/// Whether all cases are tried, rather than a sample.
fn is_whole() -> bool {
    std::env::var_os("BORDERS").is_some_and(|value| value != "0")
}

/// The values of each column, in every form in which its writer prints them.
type Texts = BTreeMap<String, Vec<String>>;

/// The files of every type, with their values as their writers print them.
fn of_types() -> Vec<(Vec<u8>, Texts)> {
    let golden = Golden::of("parquet");
    let texts = |name: &str| serde_json::from_value(golden.json(name)).unwrap();
    let decimals = |texts: &Texts| {
        let names = ["dec4", "dec9", "dec18"];
        names.iter().map(|&name| (name.to_owned(), texts[name].clone())).collect()
    };
    let pyarrow = texts("pyarrow-types.json");
    vec![
        (golden.bytes("duckdb-types.parquet"), texts("duckdb-types.json")),
        (golden.bytes("pyarrow-decimals.parquet"), decimals(&pyarrow)),
        (golden.bytes("pyarrow-types.parquet"), pyarrow),
    ]
}

fn column(bytes: &[u8], path: &str) -> Result<ParquetColumn, Error> {
    file(bytes)?.column(path, &Limits::default())
}

fn encoded(column: &ParquetColumn, text: &str) -> Result<Vec<u8>, Error> {
    let mut scratch = Vec::new();
    column.encode_key(column.key_types()[0], text.as_bytes(), &mut scratch).map(<[u8]>::to_vec)
}

/// Whether a text may be a value; `None` where that is undecided.
fn maybe(column: &ParquetColumn, text: &str) -> Option<bool> {
    encoded(column, text).ok().map(|key| column.contains(&key))
}

/// The types without text, or without a filter.
const WITHOUT: [&str; 2] = ["interval", "bool"];

#[test]
fn every_value_is_found_as_its_writer_prints_it() {
    for (bytes, texts) in of_types() {
        for (path, texts) in texts.iter().filter(|(path, _)| !WITHOUT.contains(&path.as_str())) {
            let column = column(&bytes, path).unwrap();
            let mut keys = Vec::new();
            for text in texts {
                let key = encoded(&column, text).unwrap_or_else(|e| panic!("{path} {text}: {e}"));
                assert!(column.contains(&key), "{path} {text}");
                keys.push(key);
            }
            let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
            let mut found = Bitmap::new();
            column.contains_batch(&keys, &mut found);
            assert_eq!(found.count_ones(), keys.len(), "{path}");
        }
    }
}

#[test]
fn absent_values_are_found_at_the_rate() {
    const ABSENT: u64 = 2_000;
    let few = ["i8", "u8", "i16", "u16", "f16", "dec4", "dec9", "old_date", "date", "date64"];
    for (bytes, texts) in of_types() {
        let columns = texts.iter().filter(|(path, _)| !WITHOUT.contains(&path.as_str()));
        for (path, texts) in columns.filter(|(path, _)| !few.contains(&path.as_str())) {
            let column = column(&bytes, path).unwrap();
            let present: BTreeSet<Vec<u8>> =
                texts.iter().map(|text| encoded(&column, text).unwrap()).collect();
            let number = |i: u64| (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let text = |i| column.random_value(number(i)).unwrap_or_else(|| format!("absent {i}"));
            let absent: BTreeSet<Vec<u8>> =
                (0..ABSENT).map(|i| encoded(&column, &text(i)).unwrap()).collect();
            let absent: Vec<&[u8]> = absent.difference(&present).map(Vec::as_slice).collect();
            assert!(absent.len() as u64 > ABSENT / 2, "{path}: {} values", absent.len());
            let mut found = Bitmap::new();
            column.contains_batch(&absent, &mut found);
            let one_by_one = absent.iter().filter(|key| column.contains(key)).count();
            assert_eq!(found.count_ones(), one_by_one, "{path}");
            let expected = absent.len() as f64 * column.estimated_fpp();
            let limit = expected + 4.0 * expected.max(1.0).sqrt();
            assert!((one_by_one as f64) < limit, "{path}: {one_by_one}, expected {expected}");
        }
    }
}

#[test]
fn texts_that_cannot_be_values_are_errors() {
    let files = of_types();
    let wrong = |file: usize, path: &str, texts: &[&str]| {
        let column = column(&files[file].0, path).unwrap();
        for text in texts {
            let error = encoded(&column, text).expect_err(&format!("{path} {text}"));
            assert!(matches!(error, Error::BadKey { .. }), "{path} {text}: {error}");
        }
    };
    for (file, _) in [0, 2].into_iter().zip(&files) {
        wrong(file, "i8", &["128", "-129", "300", "x", "", "1.0", " 1"]);
        wrong(file, "i16", &["32768", "-32769"]);
        wrong(file, "i32", &["2147483648", "-2147483649"]);
        wrong(file, "i64", &["9223372036854775808", "1e3"]);
        wrong(file, "u8", &["256", "-1"]);
        wrong(file, "u16", &["65536", "-1"]);
        wrong(file, "u32", &["4294967296", "-1"]);
        wrong(file, "u64", &["18446744073709551616", "-1"]);
        wrong(file, "f32", &["1e39", "-1e39", "x", "1,5"]);
        wrong(file, "f64", &["1e309", "x", ""]);
        wrong(file, "dec4", &["1.00", "1000.0", "x", "1e4", "NaN"]);
        wrong(file, "dec9", &["1.001", "10000000.00", "10000000", "1e-3"]);
        wrong(file, "uuid", &["123e4567", "123e4567-e89b-12d3-a456-42661417400g", ""]);
        wrong(file, "date", &["2024-02-30", "17.05.2024", "2024-05-17 10:00:00", "1"]);
    }
    wrong(0, "time", &["10:20:30+02", "25:00:00", "10:20:30.0000001", "10"]);
    wrong(0, "ts", &["2024-05-17 10:20:30Z", "2024-05-17 10:20:30.0000001", "1715941230000000"]);
    wrong(0, "ts_ms", &["2024-05-17 10:20:30.0001"]);
    wrong(0, "tstz", &["2024-05-17 10:20:30", "2024-05-17 10:20:30 Mars"]);
    wrong(0, "interval", &["1 day"]);
    wrong(2, "f16", &["65520", "1e5", "x"]);
    wrong(2, "fixed", &["four", "sixsix"]);
    wrong(2, "time_ms", &["10:20:30.0001"]);
    wrong(2, "tz_us", &["1969-06-01 01:02:03"]);
    let day = ["2024-05-17", "2024-05-17T00:00", "2024-05-17 00:00:00", "2024-05-17 00:00:00.000"];
    let ts = column(&files[0].0, "ts").unwrap();
    let keys: BTreeSet<Vec<u8>> = day.iter().map(|text| encoded(&ts, text).unwrap()).collect();
    assert_eq!(keys.len(), 1);
}

#[test]
fn equal_values_are_found_whatever_their_bytes() {
    let files = of_types();
    for (file, path) in [(0, "f32"), (0, "f64"), (2, "f16"), (2, "f32"), (2, "f64")] {
        let column = column(&files[file].0, path).unwrap();
        // The file has -0.0, and the NaN of its writer.
        for text in ["0", "0.0", "-0.0", "nan", "-nan", "NaN", "inf"] {
            assert_eq!(maybe(&column, text), Some(true), "{path} {text}");
        }
    }
    // A text of a decimal, with and without its zeros and digits of the exponent.
    let dec9 = column(&files[0].0, "dec9").unwrap();
    for text in ["-30000.00", "-30000", "-30000.0", "-3e4", "-0030000.00", "-3.0000E+4"] {
        assert_eq!(maybe(&dec9, text), Some(true), "{text}");
    }
    let uuid = column(&files[0].0, "uuid").unwrap();
    let text = "123e4567-e89b-12d3-a456-426614174000";
    for text in [text, &text.to_uppercase(), &text.replace('-', ""), &format!("{{{text}}}")] {
        assert_eq!(maybe(&uuid, text), Some(true), "{text}");
    }
}

/// Where the footer starts.
fn footer_start(bytes: &[u8]) -> usize {
    let len = bytes[bytes.len() - 8..].first_chunk().map(|&len| u32::from_le_bytes(len)).unwrap();
    bytes.len() - 8 - len as usize
}

fn metadata(bytes: &[u8]) -> ParquetMetaData {
    let end = bytes.len() - 8;
    ParquetMetaDataReader::decode_metadata(&bytes[footer_start(bytes)..end]).unwrap()
}

/// The offsets of all filters, by row group and column.
fn filter_offsets(bytes: &[u8]) -> Vec<Vec<Option<usize>>> {
    let metadata = metadata(bytes);
    let groups = metadata.row_groups().iter();
    let offset = |offset: Option<i64>| offset.map(|offset| offset as usize);
    groups
        .map(|group| group.columns().iter().map(|it| offset(it.bloom_filter_offset())).collect())
        .collect()
}

/// The places of the names of columns in the footer.
fn names_in<'a>(whole: &[u8], paths: impl Iterator<Item = &'a String>) -> Vec<(usize, String)> {
    let footer = footer_start(whole);
    let mut names = Vec::new();
    for path in paths {
        let name = path.split('.').next().unwrap();
        let name = [&[name.len() as u8], name.as_bytes()].concat();
        let found = whole[footer..].windows(name.len()).enumerate();
        let found = found.filter(|(_, window)| *window == name);
        names.extend(found.map(|(at, _)| (footer + at, path.clone())));
    }
    names.sort();
    names
}

/// The columns that a byte of the footer may affect, and one of the others in turn.
fn near(names: &[(usize, String)], at: usize, turn: usize) -> impl Iterator<Item = &String> {
    let after = names.partition_point(|(name, _)| *name <= at);
    let near = names[after.saturating_sub(1)..].iter().take(2);
    near.chain([&names[turn % names.len()]]).map(|(_, path)| path)
}

/// Every bit of the footer, of its length and mark, and of the header of each filter: the answer
/// for present keys is never "surely not".
#[test]
fn one_flipped_bit_never_makes_a_key_absent() {
    let golden = Golden::of("parquet");
    let mut files = of_types();
    let rows = |text: fn(u32) -> String| (0..1_000).step_by(333).map(text).collect();
    let texts = [
        ("s".to_owned(), rows(|i| format!("user:{i}"))),
        ("l".to_owned(), rows(|i| (3 * i + 10).to_string())),
        ("i".to_owned(), rows(|i| (i64::from(i) - 500).to_string())),
    ];
    files.push((golden.bytes("parquet-mr-1.13.1.parquet"), BTreeMap::from(texts)));
    let (mut opened, mut refused) = (0u64, 0u64);
    for (whole, texts) in &mut files {
        texts.retain(|path, _| !WITHOUT.contains(&path.as_str()));
        let headers = filter_offsets(whole).into_iter().flatten().flatten();
        let varint =
            |at: usize| whole[at..].iter().take_while(|&&byte| byte & 0x80 != 0).count() + 1;
        let headers = headers.flat_map(|at| at..at + 1 + varint(at + 1) + 13);
        let bytes = (0..4).chain(headers).chain(footer_start(whole)..whole.len());
        let bits = bytes.flat_map(|at| (0..8).map(move |bit| (at, bit)));
        let step = if is_whole() { 1 } else { 499 };
        let names = names_in(whole, texts.keys());
        let mut bytes = whole.clone();
        for (i, (at, bit)) in bits.enumerate().step_by(step) {
            bytes[at] ^= 1 << bit;
            match file(&bytes) {
                Err(_) => refused += 1,
                Ok(mut file) => {
                    opened += 1;
                    for (path, texts) in near(&names, at, i).map(|path| (path, &texts[path])) {
                        let Ok(column) = file.column(path, &Limits::default()) else { continue };
                        for text in texts.iter().skip(i % 7).step_by(19) {
                            let maybe = maybe(&column, text);
                            assert!(maybe != Some(false), "{path} {text}: bit {bit} of byte {at}");
                        }
                    }
                }
            }
            bytes[at] ^= 1 << bit;
        }
        assert!(bytes == *whole);
    }
    assert!(opened > 0 && refused > 0, "{opened} {refused}");
    println!("{opened} opened, {refused} refused");
}

#[test]
fn a_filter_without_bits_beside_rows_is_refused() {
    for name in ["duckdb-types.parquet", "parquet-mr-1.13.1.parquet"] {
        let mut bytes = Golden::of("parquet").bytes(name);
        let metadata = metadata(&bytes);
        let chunk = metadata.row_group(0).column(1);
        let path = chunk.column_path().string();
        let start = chunk.bloom_filter_offset().unwrap() as usize;
        let before = column(&bytes, &path).unwrap();
        let len = before.filters()[0].encode().len();
        let header = len - before.filters()[0].to_bit_set().len();
        bytes[start + header..start + len].fill(0);
        let error = column(&bytes, &path).unwrap_err().to_string();
        assert!(error.contains("no bit set") && error.contains("row group 0"), "{name}: {error}");
    }
}

/// A header that claims a wrong number of bytes, in a file that records no length.
#[test]
fn a_filter_ends_where_the_next_part_of_the_file_starts() {
    let whole = Golden::of("parquet").bytes("parquet-mr-1.13.1.parquet");
    for (path, index) in [("s", 0), ("l", 1), ("i", 2)] {
        let start = filter_offsets(&whole)[0][index].unwrap();
        // 15 and a varint of two or three bytes.
        let before = column(&whole, path).unwrap();
        let size = before.filters()[0].to_bit_set().len() as u64;
        for other in [size / 2, size * 2, size + 32, size - 32] {
            let mut zigzag = other * 2;
            let mut bytes = whole.clone();
            let mut at = start + 1;
            while bytes[at] & 0x80 != 0 {
                bytes[at] = zigzag as u8 | 0x80;
                zigzag >>= 7;
                at += 1;
            }
            bytes[at] = zigzag as u8;
            assert!(zigzag < 0x80);
            let error = column(&bytes, path).unwrap_err();
            let is_size = matches!(error, Error::Truncated { .. } | Error::BadField { .. });
            assert!(is_size, "{path} {size} {other}: {error}");
        }
    }
}

#[test]
fn two_columns_with_one_filter_are_refused() {
    let whole = Golden::of("parquet").bytes("pyarrow-types.parquet");
    let footer = footer_start(&whole);
    let offsets = filter_offsets(&whole);
    let varint = |number: usize| {
        let mut zigzag = number as u64 * 2;
        let mut bytes = Vec::new();
        while zigzag >= 0x80 {
            bytes.push(zigzag as u8 | 0x80);
            zigzag >>= 7;
        }
        bytes.push(zigzag as u8);
        bytes
    };
    // i32 refers to that of u32, and a row group of i32 to that of another.
    let names: Vec<String> = metadata(&whole)
        .row_group(0)
        .columns()
        .iter()
        .map(|chunk| chunk.column_path().string())
        .collect();
    let index = |name: &str| names.iter().position(|it| it == name).unwrap();
    let (i32s, u32s) = (index("i32"), index("u32"));
    for (from, to) in [
        (offsets[0][i32s].unwrap(), offsets[0][u32s].unwrap()),
        (offsets[0][i32s].unwrap(), offsets[2][i32s].unwrap()),
    ] {
        let (from, to) = (varint(from), varint(to));
        assert_eq!(from.len(), to.len());
        let mut bytes = whole.clone();
        let found = bytes[footer..].windows(from.len()).position(|window| window == from).unwrap();
        bytes[footer + found..][..to.len()].copy_from_slice(&to);
        let error = column(&bytes, "i32").unwrap_err().to_string();
        assert!(error.contains("two columns"), "{error}");
    }
}

/// Field 14 of one chunk made another field: that row group has no filter.
#[test]
fn any_key_may_be_in_a_row_group_without_a_filter() {
    let bytes = without_a_filter("i32", &[1]);
    let column = column(&bytes, "i32").unwrap();
    assert_eq!((column.filters().len(), column.num_without_filter()), (2, 1));
    assert_eq!(maybe(&column, "123456789"), Some(true));
    let mut found = Bitmap::new();
    column.contains_batch(&[&[1; 4], &[2; 4]], &mut found);
    assert_eq!(found.count_ones(), 2);
    assert!(column.estimated_fpp() >= 1.0 && column.estimated_items().is_none());
    let why = column.holds_any().unwrap();
    assert!(why.contains("row group 1") && why.contains("i32"), "{why}");

    let none = without_a_filter("i32", &[0, 1, 2]);
    let mut none = file(&none).unwrap();
    let error = none.column("i32", &Limits::default()).unwrap_err().to_string();
    assert!(error.contains("no row group has a Bloom filter for column i32"), "{error}");
    let column = none.column_if_any("i32", &Limits::default()).unwrap();
    assert!(column.contains(b"1234") && column.holds_any().unwrap().contains("no filter"));
    assert_eq!(column.format(), Format::Parquet);
    // Its neighbours are as before.
    let other = none.column("u32", &Limits::default()).unwrap();
    assert!(other.holds_any().is_none() && other.key_types()[0] == KeyType::Column);
}

/// The pyarrow file without the filters of a column in some row groups.
fn without_a_filter(path: &str, row_groups: &[usize]) -> Vec<u8> {
    let mut bytes = Golden::of("parquet").bytes("pyarrow-types.parquet");
    let footer = footer_start(&bytes);
    let metadata = metadata(&bytes);
    for &group in row_groups {
        let columns = metadata.row_group(group).columns().iter();
        let mut columns = columns.filter(|chunk| chunk.column_path().string() == path);
        let offset = columns.next().unwrap().bloom_filter_offset().unwrap();
        let mut zigzag = offset as u64 * 2;
        let mut field = Vec::new();
        while zigzag >= 0x80 {
            field.push(zigzag as u8 | 0x80);
            zigzag >>= 7;
        }
        field.push(zigzag as u8);
        let found = bytes[footer..].windows(field.len()).position(|window| window == field);
        // The type of the field before it, an i64, becomes an i32, so that it is not field 14.
        let at = footer + found.unwrap() - 1;
        assert_eq!(bytes[at] & 0xF, 6);
        bytes[at] ^= 3;
    }
    bytes
}
