//! Hostile or worn-out input: bytes that could be read in two ways, counts at their maximum, and
//! anything else that could be written and then not be read again.

use crate::golden::Golden;
use mayhap_formats::{
    BloomFileter, BloomFileterOptions, Error, ForeignFilter, Format, Limits, MagnusFilter,
    MagnusForm, MagnusSizing, ParquetFile, RedisBloomFilter, RedisBloomOptions, RedissonConfig,
    Shape, SparkFilter, SplitBlockFilter, detect, open, open_with,
};
use std::io::Cursor;

fn find(bytes: &[u8], what: &[u8]) -> usize {
    bytes.windows(what.len()).position(|window| window == what).unwrap()
}

/// A filter of the class, as Java wrote it.
fn java_object() -> MagnusFilter {
    let sizing = MagnusSizing::Rate { fpp: 0.01, expected_items: 1_000 };
    MagnusFilter::create(&sizing, MagnusForm::Serialized, &Limits::default()).unwrap()
}

#[test]
fn a_java_object_whose_bits_come_before_its_numbers_is_refused() {
    let bytes = java_object().encode();
    let numbers = find(&bytes, b"I\0\x0AbitSetSize");
    let bitset = find(&bytes, b"L\0\x06bitset");
    let values = bitset + find(&bytes[bitset..], b"\x78\x70") + 2;
    // Four ints and a double.
    let bits = values + 24;
    let other_order = [
        &bytes[..numbers],
        &bytes[bitset..values - 2],
        &bytes[numbers..bitset],
        b"\x78\x70",
        &bytes[bits..],
        &bytes[values..bits],
    ]
    .concat();
    assert_eq!(other_order.len(), bytes.len());
    let error = MagnusFilter::decode(&other_order, &Limits::default())
        .map(|filter| filter.encode())
        .unwrap_err();
    assert!(error.to_string().starts_with("order of the fields"), "{error}");
}

/// A truncated object may be no longer than the bits that m and k promise.
#[test]
fn a_java_object_that_is_cut_off_is_not_taken_for_a_bitmap() {
    let mut filter = java_object();
    filter.insert(b"a key");
    let whole = filter.encode();
    let shape =
        Shape { num_bits: filter.num_bits().cast_signed(), num_hashes: filter.num_hashes() };
    let named = find(&whole, b"bitSetSize") + b"bitSetSize".len();
    for len in named..whole.len() {
        let opened = open_with(Format::MagnusS, &whole[..len], shape, &Limits::default());
        assert!(opened.is_err(), "{len} bytes of {}", whole.len());
    }
}

#[test]
fn a_size_that_overflowed_makes_no_filter_but_one_in_redis() {
    let sizing = MagnusSizing::RedisRate { fpp: 0.25, expected_items: i32::MAX };
    let create = |form| MagnusFilter::create(&sizing, form, &Limits::default());
    assert_eq!(create(MagnusForm::Redis).unwrap().scheme().signed_num_bits(), -2);
    for form in [MagnusForm::BitSet, MagnusForm::Serialized] {
        let error = create(form).unwrap_err();
        assert_eq!(error.to_string(), "number of bits is -2, allowed is 1 and more");
    }
}

#[test]
fn a_use_count_that_wraps_is_written_and_read() {
    let options = BloomFileterOptions::new(100, "a.Filter");
    let mut bytes = BloomFileter::create(&options, &Limits::default()).unwrap().encode();
    // It is the last field.
    let last = bytes.len() - 4;
    bytes[last..].copy_from_slice(&(i32::MAX - 3).to_be_bytes());
    let mut filter = BloomFileter::decode(&bytes, &Limits::default()).unwrap();
    assert!(!filter.add_if_not_exist("a key"));
    assert_eq!(filter.use_count(), i32::MIN + 12);
    let again = BloomFileter::decode(&filter.encode(), &Limits::default()).unwrap();
    assert!(again.check("a key"));
    assert_eq!((again.use_count(), again.estimated_items()), (i32::MIN + 12, None));
}

#[test]
fn items_of_layers_that_cannot_be_added_up_are_refused() {
    let options = RedisBloomOptions::new(0.01, 10);
    let mut filter = RedisBloomFilter::create(&options, &Limits::default()).unwrap();
    for i in 0..20u8 {
        filter.insert(&[i]).unwrap();
    }
    let mut chunks = filter.to_chunks();
    assert_eq!(filter.num_layers(), 2);
    let mut put = |at: usize, number: u64| {
        chunks[0].1[at..at + 8].copy_from_slice(&number.to_le_bytes());
    };
    // The items in all, the items of the two layers, and the room left in the second.
    put(0, u64::MAX);
    put(20 + 16, 1 << 63);
    put(73 + 16, (1 << 63) - 1);
    put(73 + 44, u64::MAX);
    let opened = RedisBloomFilter::from_chunks(&chunks, &Limits::default());
    let added = opened.map(|mut filter| {
        filter.insert(b"a key").unwrap();
        filter.num_items()
    });
    assert!(matches!(added, Err(Error::TooLarge { field: "items", .. })), "{added:?}");
}

/// Each level of nesting would be one more recursive call.
#[test]
fn a_spark_object_in_a_spark_object_is_refused() {
    let golden = Golden::of("spark");
    let whole = golden.bytes("v2_merge_a.ser");
    let first_block = whole.iter().position(|&byte| byte == 0x7A).unwrap();
    let head = &whole[..first_block];
    let around = |contents: &[u8]| {
        let mut bytes = head.to_vec();
        for block in contents.chunks(1024) {
            if block.len() > 255 {
                bytes.push(0x7A);
                bytes.extend((block.len() as u32).to_be_bytes());
            } else {
                bytes.extend([0x77, block.len() as u8]);
            }
            bytes.extend(block);
        }
        bytes.push(0x78);
        bytes
    };
    let stream = SparkFilter::decode(&whole, &Limits::default()).unwrap().to_stream();
    assert!(around(&stream) == whole);
    let nested = (0..2).fold(around(&whole), |bytes, _| around(&bytes));
    let error = SparkFilter::decode(&nested, &Limits::default()).unwrap_err();
    assert!(error.to_string().starts_with("version is"), "{error}");
}

/// Only a small number identifies an rbloom file, and DCSO's files begin with one too.
#[test]
fn a_damaged_file_of_dcso_is_not_taken_for_one_of_rbloom() {
    let golden = Golden::of("dcso");
    let whole = golden.bytes("dcso_a.bloom");
    let mut damaged = vec![golden.bytes("dcso_bad_bad_version.bloom")];
    damaged.extend((48..whole.len()).step_by(7).map(|len| whole[..len].to_vec()));
    for bytes in damaged {
        let formats: Vec<Format> = detect(&bytes).iter().map(|found| found.format).collect();
        assert_eq!(formats, [Format::Dcso], "{} bytes", bytes.len());
        assert!(open(Format::Dcso, &bytes, &Limits::default()).is_err());
    }
}

#[test]
fn a_parquet_file_that_is_cut_off_is_not_taken_for_a_bit_set() {
    let whole = Golden::of("parquet").bytes("pyarrow.parquet");
    for len in (32..whole.len()).step_by(32) {
        let error = SplitBlockFilter::decode(&whole[..len], &Limits::default()).unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }), "{len} bytes: {error}");
    }
}

/// A name with a dot, and a name within another: the queried filter may belong to the wrong one.
#[test]
fn a_path_that_two_columns_have_is_refused() {
    // One row group of one row: [["a.b"], ["a", "b"]], without filters.
    let schema =
        b"\x29\x4C\x48\x01r\x15\x04\0\x15\x02\x38\x03a.b\0\x48\x01a\x15\x02\0\x15\x02\x38\x01b\0";
    let rows = b"\x16\x02\x19\x1C\x19\x2C\x3C\x15\x02\x29\x18\x03a.b\0\0";
    let footer = [&schema[..], rows, b"\x3C\x15\x02\x29\x28\x01a\x01b\0\0\x26\x02\0\0"].concat();
    let len = (footer.len() as u32).to_le_bytes();
    let file = [b"PAR1", &footer[..], &len, b"PAR1"].concat();
    let mut file = ParquetFile::open(Cursor::new(file), &Limits::default()).unwrap();
    let error = file.column("a.b", &Limits::default()).unwrap_err();
    assert!(error.to_string().contains("2 columns"), "{error}");
}

/// Redisson compares the texts, and would find that its config has changed.
#[test]
fn numbers_that_would_be_written_otherwise_are_refused() {
    let config = |at: usize, text: &'static str| {
        let mut fields = [
            ("size", "9585"),
            ("hashIterations", "7"),
            ("expectedInsertions", "1000"),
            ("falseProbability", "0.01"),
        ];
        fields[at].1 = text;
        RedissonConfig::parse(fields)
    };
    for (at, text) in [(0, "+9585"), (0, "09585"), (1, "+7"), (1, "2147483648"), (2, "-0")] {
        assert!(config(at, text).is_err(), "{text}");
    }
    assert!(config(1, "2147483647").is_ok() && config(2, "-1000").is_ok());
}
