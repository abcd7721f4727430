//! Split-block filters of Parquet, alone and in files.

mod borders;

use crate::golden::{Golden, Key, hex};
use crate::suite::{self, cases, damage, noise};
use crate::text::{f64_of, indices, text, u64_of};
use ::parquet::bloom_filter::Sbbf;
use ::parquet::data_type::AsBytes;
use mayhap::Bitmap;
use mayhap_formats::{
    Error, ForeignFilter, Format, KeyType, Limits, ParquetFile, SplitBlockFilter, SplitBlockSize,
    detect, open, parquet_mr_num_bits, parquet_mr_num_bytes,
};
use proptest::prelude::*;
use std::io::Cursor;
use xxhash_rust::xxh64::xxh64;

fn decode(bytes: &[u8]) -> Result<SplitBlockFilter, Error> {
    SplitBlockFilter::decode(bytes, &Limits::default())
}

fn boxed(bytes: &[u8], limits: &Limits) -> Result<Box<dyn ForeignFilter>, Error> {
    open(Format::Parquet, bytes, limits)
}

fn file(bytes: &[u8]) -> Result<ParquetFile<Cursor<&[u8]>>, Error> {
    ParquetFile::open(Cursor::new(bytes), &Limits::default())
}

#[test]
fn every_golden_file_is_answered_and_made_as_by_the_original() {
    let golden = Golden::of("parquet");
    for (name, key_type) in [
        ("sbbf_big", KeyType::Bytes),
        ("sbbf_bytes", KeyType::Bytes),
        ("sbbf_int32", KeyType::Int),
        ("sbbf_int64", KeyType::Long),
        ("sbbf_one_block", KeyType::Bytes),
    ] {
        bit_set(&golden, name, key_type);
    }
    hashes(&golden);
    sizing(&golden);
    pyarrow(&golden);
    parquet_mr(&golden);
    // Their contents are queried in the module `borders`.
    for name in ["duckdb-types", "pyarrow-types"] {
        let columns = golden.json(&format!("{name}.json"));
        assert_eq!(detect(&golden.bytes(&format!("{name}.parquet")))[0].format, Format::Parquet);
        assert!(columns.as_object().unwrap().len() > 20);
    }
    golden.bytes("pyarrow-decimals.parquet");
    golden.all_were_used();
}

fn bit_set(golden: &Golden, name: &str, key_type: KeyType) {
    let json = golden.json(&format!("{name}.json"));
    let bytes = golden.bytes(&text(&json, "file"));
    let filter = decode(&bytes).unwrap();
    assert!(!filter.has_header() && filter.encode() == bytes, "{name}");
    let found = indices(&json["probes_rule_check_true_at"]);
    for (i, key) in Key::of_rule(&json["probes_rule"]).iter().enumerate() {
        assert_eq!(
            filter.contains(&key.encode(key_type).unwrap()),
            found.contains(&i),
            "{name} {i}"
        );
    }

    let (n, p) = (u64_of(&json, "ndv"), f64_of(&json, "fpp"));
    let size = parquet_mr_num_bytes(n, p, &Limits::default()).unwrap();
    assert_eq!(size, u64_of(&json, "bitset_bytes"));
    let mut made = SplitBlockFilter::with_num_bytes(size, &Limits::default()).unwrap();
    for key in Key::of_rule(&json["members_rule"]) {
        made.insert(&key.encode(key_type).unwrap()).unwrap();
    }
    assert!(made.to_bit_set() == bytes, "{name} made otherwise");
    // With a header in front, as in a file.
    let with_header = made.encode();
    let varint = size.ilog2() as usize / 7;
    assert_eq!(with_header.len(), bytes.len() + 15 + varint);
    assert_eq!(decode(&with_header).as_ref(), Ok(&made));
    assert_eq!(detect(&with_header)[0].format, Format::Parquet);
}

fn hashes(golden: &Golden) {
    for row in golden.json("hashes.json")["rows"].as_array().unwrap() {
        let key_type = match row["type"].as_str().unwrap() {
            "INT32" => KeyType::Int,
            "INT64" => KeyType::Long,
            "FLOAT" => KeyType::Float,
            "DOUBLE" => KeyType::Double,
            _ => KeyType::Hex,
        };
        let key = row.get("value").or_else(|| row.get("hex")).or_else(|| row.get("text"));
        let key = key.and_then(|key| key.as_str()).unwrap_or_else(|| panic!("{row}"));
        let key_type = if row.get("text").is_some() { KeyType::Bytes } else { key_type };
        let mut scratch = Vec::new();
        let bytes = key_type.encode(key.as_bytes(), &mut scratch).unwrap();
        assert_eq!(format!("{:016x}", xxh64(bytes, 0)), text(row, "hash"), "{row}");
    }
}

fn sizing(golden: &Golden) {
    for row in golden.json("sizing.json")["rows"].as_array().unwrap() {
        let (n, p) = (u64_of(row, "ndv"), f64_of(row, "fpp"));
        assert_eq!(parquet_mr_num_bits(n, p).map(u64::from), Ok(u64_of(row, "bits")), "{row}");
        if let Some(bytes) = row["bitset_bytes"].as_u64() {
            assert_eq!(parquet_mr_num_bytes(n, p, &Limits::default()), Ok(bytes), "{row}");
        }
    }
}

/// The value of row i in a column of the golden files, as text.
fn value(column: &str, i: u32) -> String {
    let number = f64::from(i);
    match column {
        "s" => format!("user:{i}"),
        "l" => (3 * i + 10).to_string(),
        "i" => (i64::from(i) - 500).to_string(),
        "d" => (number / 8.0).to_string(),
        "f" => (number / 4.0).to_string(),
        _ => format!("{:02x}{:02x}", i & 255, i >> 8),
    }
}

/// Queries the rows up to `end` in each column, and as many values beyond.
fn ask_columns(golden: &Golden, name: &str, columns: &[&str], row_group_rows: u32) {
    let bytes = golden.bytes(name);
    let mut file = file(&bytes).unwrap();
    for &column in columns {
        let columns = file.columns().unwrap();
        let key_types = columns.iter().find(|info| info.path() == column).unwrap().key_types();
        let key_type = if column == "b" { KeyType::Hex } else { key_types[0] };
        let filters = file.column(column, &Limits::default()).unwrap();
        assert_eq!(filters.filters().len() as u32, 1_000u32.div_ceil(row_group_rows));
        let key = |i: u32| {
            let mut scratch = Vec::new();
            key_type.encode(value(column, i).as_bytes(), &mut scratch).unwrap().to_vec()
        };
        let keys: Vec<Vec<u8>> = (0..2_000).map(key).collect();
        let mut found = Bitmap::new();
        filters.contains_batch(&keys.iter().map(Vec::as_slice).collect::<Vec<_>>(), &mut found);
        for (i, key) in keys.iter().enumerate() {
            assert_eq!(filters.contains(key), found.get(i), "{name} {column} {i}");
            assert!(i >= 1_000 || found.get(i), "{name} {column} {i}");
            // In the filter of its own row group.
            let own = filters.filters().get(i / row_group_rows as usize);
            assert!(i >= 1_000 || own.unwrap().contains(key), "{name} {column} {i}");
        }
        let absent = found.count_ones() - 1_000;
        assert!(absent < 60, "{name} {column}: {absent} of 1,000 absent are found");
        // The same bytes are in the file.
        let encoded = filters.filters()[0].encode();
        assert!(bytes.windows(encoded.len()).any(|window| window == encoded), "{name} {column}");
    }
    let error = file.column("nobf", &Limits::default()).unwrap_err();
    assert!(error.to_string().contains("no row group has a Bloom filter"), "{error}");
    let error = file.column("missing", &Limits::default()).unwrap_err();
    assert!(error.to_string().contains("columns with Bloom filters are s, l, i"), "{error}");
    assert!(boxed(&bytes, &Limits::default()).unwrap_err().to_string().contains("column"));
    assert_eq!(detect(&bytes)[0].format, Format::Parquet);
}

fn pyarrow(golden: &Golden) {
    let json = golden.json("pyarrow.json");
    let rows = u64_of(&json, "row_group_size") as u32;
    ask_columns(golden, &text(&json, "file"), &["s", "l", "i", "d", "f", "b"], rows);
}

fn parquet_mr(golden: &Golden) {
    ask_columns(golden, "parquet-mr-1.13.1.parquet", &["s", "l", "i"], 1_000);
}

#[test]
fn the_filters_of_a_column_cannot_be_changed() {
    let golden = Golden::of("parquet");
    let bytes = golden.bytes("pyarrow.parquet");
    let mut column = file(&bytes).unwrap().column("s", &Limits::default()).unwrap();
    let before = column.clone();
    assert!(matches!(column.insert(b"x"), Err(Error::Unsupported { .. })));
    assert!(matches!(column.union_with(&before), Err(Error::Unsupported { .. })));
    assert_eq!(column, before);
    let rates: Vec<f64> = column.filters().iter().map(ForeignFilter::estimated_fpp).collect();
    let rate = column.estimated_fpp();
    assert!(
        rates.iter().all(|&one| one < rate) && rate < rates.iter().sum(),
        "{rate} of {rates:?}"
    );
}

#[test]
fn filters_that_add_up_to_more_than_the_limit_are_refused() {
    let golden = Golden::of("parquet");
    let bytes = golden.bytes("pyarrow.parquet");
    let limits = Limits { max_bytes: 600, ..Limits::default() };
    // Each of the three has 512 bytes.
    let mut file = file(&bytes).unwrap();
    let error = file.column("s", &limits).unwrap_err();
    assert!(matches!(error, Error::TooLarge { limit: 88, found: 512, .. }), "{error}");
}

#[test]
fn damaged_files_are_refused_or_answer() {
    let golden = Golden::of("parquet");
    let whole = golden.bytes("pyarrow.parquet");
    for len in [0, 3, 4, 8, 11, 12, 100, whole.len() - 1] {
        assert!(file(&whole[..len]).is_err(), "{len} bytes");
    }
    let mut damaged = whole.clone();
    // The metadata are at the end.
    for i in whole.len() - 3_000..whole.len() {
        for change in [1, 0x10, 0x80, 0xFF] {
            damaged[i] ^= change;
            if let Ok(mut file) = file(&damaged) {
                for info in file.columns().unwrap_or_default() {
                    let column = file.column(info.path(), &Limits::default());
                    let _ = column.map(|column| column.contains(b"x"));
                }
            }
            damaged[i] ^= change;
        }
    }
    let with_footer = |footer: &[u8]| {
        let len = (footer.len() as u32).to_le_bytes();
        [b"PAR1", footer, &len, b"PAR1"].concat()
    };
    // Two billion row groups in seven bytes.
    let claims = with_footer(&hex("49fcffffffff07"));
    assert!(matches!(file(&claims), Err(Error::Truncated { .. })));
    // Lists in lists.
    let deep = with_footer(&[0x19; 100]);
    assert!(file(&deep).unwrap_err().to_string().contains("depth"));
    let encrypted = [&whole[..whole.len() - 1], b"E"].concat();
    assert!(file(&encrypted).unwrap_err().to_string().contains("encrypted"));
}

#[test]
fn promised_rates_are_kept() {
    // The rate of a full filter, counted: 40,000 absent keys, four standard deviations.
    for (items, fpp) in [(1_000u32, 0.01), (5_000, 0.001), (20_000, 0.1)] {
        let size = SplitBlockSize::Smallest;
        let mut filter =
            SplitBlockFilter::create(u64::from(items), fpp, size, &Limits::default()).unwrap();
        for i in 0..items {
            filter.insert_i64(i64::from(i));
        }
        let absent = 40_000;
        let found = (0..absent).filter(|&i| filter.contains_i64(1 << 40 | i)).count() as f64;
        let expected = absent as f64 * fpp;
        let deviation = 4.0 * (expected * (1.0 - fpp)).sqrt();
        assert!((found - expected).abs() < deviation, "{items} {fpp}: {found}, not {expected}");
        let estimate = filter.estimated_items().unwrap() as f64 / f64::from(items);
        assert!((estimate - 1.0).abs() < 0.05, "{estimate}");
        assert!((filter.estimated_fpp() / fpp - 1.0).abs() < 0.2, "{}", filter.estimated_fpp());
    }
}

#[test]
fn numbers_are_what_their_text_is() {
    let mut filter = SplitBlockFilter::with_num_bytes(1 << 12, &Limits::default()).unwrap();
    filter.insert_i32(-5);
    filter.insert_i64(7);
    filter.insert_f32(0.25);
    filter.insert_f64(-0.0);
    filter.insert_str("text");
    let contains = |key_type: KeyType, text: &str| {
        let mut scratch = Vec::new();
        filter.contains(key_type.encode(text.as_bytes(), &mut scratch).unwrap())
    };
    assert!(contains(KeyType::Int, "-5") && !contains(KeyType::Long, "-5"));
    assert!(contains(KeyType::Long, "7") && !contains(KeyType::Int, "7"));
    assert!(contains(KeyType::Float, "0.25") && !contains(KeyType::Double, "0.25"));
    assert!(contains(KeyType::Double, "-0") && !contains(KeyType::Double, "0"));
    assert!(contains(KeyType::Bytes, "text") && contains(KeyType::Hex, "74657874"));
}

#[test]
fn headers_of_other_algorithms_and_sizes_are_refused() {
    let filter = SplitBlockFilter::with_num_bytes(512, &Limits::default()).unwrap();
    let good = filter.encode();
    assert_eq!(good[..16], hex("1580081c1c00001c1c00001c1c000000"));
    for at in [3, 4, 5, 8, 12, 15] {
        let mut bytes = good.clone();
        bytes[at] ^= 0x20;
        assert!(decode(&bytes).is_err(), "byte {at}");
    }
    // 0, 48, 31, −32, 256 MiB and a varint without an end.
    for size in ["00", "60", "3e", "3f", "8080808002", "ffffffffff"] {
        let bytes = hex(&format!("15{size}1c1c00001c1c00001c1c000000"));
        assert!(decode(&bytes).unwrap_err().to_string().contains("number of bytes"), "{size}");
    }
    for size in [0, 31, 48, (128 << 20) + 32] {
        assert!(SplitBlockFilter::with_num_bytes(size, &Limits::default()).is_err());
    }
}

#[test]
fn filters_of_other_sizes_have_no_union() {
    let create = |bytes| SplitBlockFilter::with_num_bytes(bytes, &Limits::default()).unwrap();
    let (mut left, mut right) = (create(64), create(64));
    left.insert_str("left");
    right.insert_str("right");
    assert!(!left.contains_str("right"));
    left.union_with(&right).unwrap();
    assert!(left.contains_str("left") && left.contains_str("right"));
    assert!(left.union_with(&create(96)).is_err());
}

#[test]
fn damaged_bytes_are_refused_or_kept() {
    let mut filter = SplitBlockFilter::with_num_bytes(96, &Limits::default()).unwrap();
    filter.insert_str("hello");
    // Truncated, it is a bare bit set if its length allows that.
    damage("parquet", &filter.encode(), true, boxed);
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn what_was_written_is_read(blocks in 1u64..100, keys: Vec<Vec<u8>>, has_header: bool) {
        let mut filter = SplitBlockFilter::with_num_bytes(blocks * 32, &Limits::default()).unwrap();
        filter.set_header(has_header);
        suite::is_read_again(&mut filter, &keys, |file| boxed(file, &Limits::default()))?;
        prop_assert!(keys.iter().all(|key| filter.contains_bytes(key)));
        prop_assert_eq!(decode(&filter.encode()), Ok(filter));
    }

    #[test]
    fn any_bytes_are_refused_or_kept(bytes in noise()) {
        suite::are_refused_or_kept(&bytes, decode(&bytes))?;
    }

    /// The fold of the crate `parquet`, and the filter built at the smaller size.
    #[test]
    fn a_fold_is_that_of_another_implementation_to_the_byte(
        halvings in 0u32..12,
        keys in prop::collection::vec(any::<i64>(), 0..400),
        target_fpp in 1e-6..0.9f64,
    ) {
        let of_blocks = |blocks: u64| {
            let mut filter = SplitBlockFilter::with_num_bytes(blocks * 32, &Limits::default())?;
            for &key in &keys {
                filter.insert_i64(key);
            }
            Ok::<_, Error>(filter)
        };
        let mut ours = of_blocks(1 << halvings).unwrap();
        let mut theirs = Sbbf::new(&ours.to_bit_set());
        theirs.fold_to_target_fpp(target_fpp);
        let factor = ours.fold_to_target_fpp(target_fpp);
        let mut written = Vec::new();
        theirs.write(&mut written).unwrap();
        prop_assert_eq!(&written, &ours.encode());
        prop_assert_eq!(&ours, &of_blocks((1 << halvings) / factor).unwrap());
        // Any other factor too.
        for factor in 1..20 {
            let mut ours = of_blocks(factor * 3).unwrap();
            ours.fold(factor).unwrap();
            prop_assert_eq!(&ours, &of_blocks(3).unwrap());
            prop_assert!(ours.fold(2).is_err() && ours.fold(0).is_err());
        }
    }

    /// The independent implementation of the crate `parquet`.
    #[test]
    fn another_reader_gives_the_same_answers(
        blocks in 1u64..100,
        keys: Vec<Vec<u8>>,
        probes: Vec<Vec<u8>>,
    ) {
        let mut ours = SplitBlockFilter::with_num_bytes(blocks * 32, &Limits::default()).unwrap();
        let mut theirs = Sbbf::new(&ours.to_bit_set());
        for key in &keys {
            ours.insert_bytes(key);
            theirs.insert(key.as_slice());
        }
        let mut written = Vec::new();
        theirs.write(&mut written).unwrap();
        prop_assert_eq!(&written, &ours.encode());
        let theirs = Sbbf::from_bytes(&ours.encode()).unwrap();
        for key in keys.iter().chain(&probes) {
            prop_assert_eq!(ours.contains_bytes(key), theirs.check(key.as_bytes()));
        }
    }
}
