//! `RedisBloom`.

use crate::golden::Golden;
use crate::suite::{self, cases, damage, noise};
use crate::text::{ask_all, f64_of, indices, keys, text, u64_of};
use mayhap_formats::{
    Chunk, Error, ForeignFilter, Format, Limits, RedisBloomFilter, RedisBloomOptions, detect, open,
};
use proptest::prelude::*;

/// The options bit of a filter with this meaning.
const FORCE_64: u64 = 4;
const NO_SCALING: u64 = 8;

fn boxed(bytes: &[u8], limits: &Limits) -> Result<Box<dyn ForeignFilter>, Error> {
    open(Format::RedisBloom, bytes, limits)
}

fn from_chunks(chunks: &[Chunk<Vec<u8>>]) -> Result<RedisBloomFilter, Error> {
    RedisBloomFilter::from_chunks(chunks, &Limits::default())
}

/// The chunks of a header and all bits, one for each layer as in the header.
fn chunks(header: Vec<u8>, bits: &[u8]) -> Vec<Chunk<Vec<u8>>> {
    let layers = header[20..].as_chunks::<53>().0;
    let lens: Vec<usize> = layers
        .iter()
        .map(|layer| u64::from_le_bytes(*layer.first_chunk().unwrap()) as usize)
        .collect();
    let mut chunks = vec![(1, header)];
    let mut end = 0;
    for len in lens {
        chunks.push(((end + len + 1).cast_signed() as i64, bits[end..end + len].to_vec()));
        end += len;
    }
    assert_eq!(end, bits.len());
    chunks
}

#[test]
fn every_golden_file_is_answered_and_made_as_by_the_original() {
    let golden = Golden::of("redisbloom");
    let names = golden.names();
    for name in names.iter().filter_map(|name| name.strip_suffix(".json")) {
        let json = golden.json(&format!("{name}.json"));
        let header = golden.bytes(&text(&json, "file"));
        let chunks = chunks(header, &golden.bytes(&format!("{name}.bits")));
        let filter = from_chunks(&chunks).unwrap();
        assert_eq!(filter.num_layers() as u64, u64_of(&json, "layers"), "{name}");
        assert_eq!(filter.num_items(), u64_of(&json, "items"), "{name}");
        assert_eq!(filter.to_chunks(), chunks, "{name}");
        let file = filter.encode();
        assert_eq!(detect(&file)[0].format, Format::RedisBloom);
        assert_eq!(RedisBloomFilter::decode(&file, &Limits::default()), Ok(filter.clone()));

        if u64_of(&json, "refused") == 0 {
            ask_all(name, &json, "probes_rule_contains_true_at", &filter);
        }
        let options = u64_of(&json, "options");
        // Filters of BF.RESERVE; the others are from old servers.
        if options & !NO_SCALING == FORCE_64 | 1 {
            made(name, &json, &filter);
        }
    }
    golden.all_were_used();
}

fn made(name: &str, json: &serde_json::Value, filter: &RedisBloomFilter) {
    let options = RedisBloomOptions {
        growth: filter.growth(),
        ..RedisBloomOptions::new(f64_of(json, "error"), u64_of(json, "capacity"))
    };
    let mut made = RedisBloomFilter::create(&options, &Limits::default()).unwrap();
    let there = indices(&json["members_rule_add_returned_false_at"]);
    let mut refused = 0;
    for (i, key) in keys(json, "members").iter().enumerate() {
        match made.insert(key) {
            Ok(new) => assert_eq!(new, !there.contains(&i), "{name}: {i}"),
            Err(error) => {
                assert_eq!(error.to_string(), "ERR non scaling filter is full");
                refused += 1;
            }
        }
    }
    assert_eq!(refused, u64_of(json, "refused"), "{name}");
    assert!(made == *filter, "{name} made otherwise");
}

#[test]
fn filters_of_old_servers_go_on_with_their_own_hash() {
    let golden = Golden::of("redisbloom");
    for name in ["rb_rounded32", "rb_compat32", "rb_rounded64", "rb_bits"] {
        let header = golden.bytes(&format!("{name}.header"));
        let chunks = chunks(header, &golden.bytes(&format!("{name}.bits")));
        let mut filter = from_chunks(&chunks).unwrap();
        // The members once more: each is found, or was a false positive; nothing changes.
        for key in keys(&golden.json(&format!("{name}.json")), "members") {
            assert_eq!(filter.insert(&key), Ok(false), "{name}");
        }
        assert_eq!(filter.to_chunks(), chunks);
    }
}

#[test]
fn chunks_may_be_cut_anywhere_but_across_layers() {
    let mut filter =
        RedisBloomFilter::create(&RedisBloomOptions::new(0.01, 10), &Limits::default()).unwrap();
    for i in 0..100u8 {
        filter.insert(&[i]).unwrap();
    }
    let whole = filter.to_chunks();
    assert!(whole.len() > 3);
    let mut cut = vec![whole[0].clone()];
    for (cursor, bytes) in &whole[1..] {
        let (first, second) = bytes.split_at(5);
        cut.push((cursor - second.len().cast_signed() as i64, first.to_vec()));
        cut.push((*cursor, second.to_vec()));
    }
    cut.push((0, Vec::new()));
    assert_eq!(from_chunks(&cut).unwrap(), filter);

    let mut across = whole.clone();
    let (cursor, second) = across.remove(2);
    across[1].0 = cursor;
    across[1].1.extend(second);
    assert!(from_chunks(&across).unwrap_err().to_string().contains("across two layers"));
    let mut swapped = whole.clone();
    swapped.swap(1, 2);
    assert!(from_chunks(&swapped).is_err());
    assert!(from_chunks(&whole[..2]).is_err());
    assert!(from_chunks(&whole[1..]).is_err());
    assert!(from_chunks(&[]).is_err());
}

/// A header with one layer, changed.
fn changed(change: impl FnOnce(&mut Vec<u8>)) -> Error {
    let filter = RedisBloomFilter::create(&RedisBloomOptions::new(0.01, 100), &Limits::default());
    let mut chunks = filter.unwrap().to_chunks();
    change(&mut chunks[0].1);
    from_chunks(&chunks).unwrap_err()
}

#[test]
fn forged_headers_are_refused() {
    let put = |at: usize, bytes: &[u8]| {
        let bytes = bytes.to_vec();
        changed(move |header| header[at..at + bytes.len()].copy_from_slice(&bytes))
    };
    // 64 GiB in one layer, which a server allocates.
    let large = (64u64 << 30).to_le_bytes();
    assert!(matches!(put(20, &large), Error::TooLarge { .. }));
    // Two billion hash functions, by way of the bits per item; they block a server.
    let bits_for_an_item = (2.1e9 / std::f64::consts::LN_2).to_le_bytes();
    assert!(put(52, &bits_for_an_item).to_string().starts_with("bits for an item is"));
    assert!(put(60, &7u32.to_le_bytes()).to_string().starts_with("number of hashes is"));
    for rate in [f64::NAN, 0.0, 1.0, -0.5, f64::INFINITY] {
        assert!(put(44, &rate.to_le_bytes()).to_string().contains("error rate"), "{rate}");
    }
    assert!(put(52, &f64::NAN.to_le_bytes()).to_string().starts_with("bits for an item is"));
    assert!(put(72, &[64]).to_string().contains("log2"));
    assert!(put(72, &[12]).to_string().contains("log2"));
    assert!(put(12, &[16]).to_string().contains("options"));
    assert!(put(8, &[0]).to_string().contains("layers"));
    assert!(put(8, &[2]).to_string().contains("truncated"));
    assert!(put(8, &[0xFF; 4]).to_string().contains("truncated"));
    assert!(put(0, &[1]).to_string().contains("sum over the layers"));
    assert!(put(28, &[1]).to_string().contains("bits of a layer"));
    assert!(changed(|header| header.push(0)).to_string().contains("follow"));
}

#[test]
fn growth_stops_at_the_limit() {
    let limits = Limits { max_bytes: 1_000, ..Limits::default() };
    let mut filter = RedisBloomFilter::create(&RedisBloomOptions::new(0.01, 100), &limits).unwrap();
    let error = (0..2_000u32).find_map(|i| filter.insert(&i.to_le_bytes()).err()).unwrap();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    assert!(filter.num_bits() <= 8_000);
}

#[test]
fn numbers_out_of_range_are_refused_in_the_words_of_the_server() {
    let refused = |options: RedisBloomOptions| {
        RedisBloomFilter::create(&options, &Limits::default()).unwrap_err().to_string()
    };
    let new = RedisBloomOptions::new;
    let message = "ERR error rate must be in the range (0.000000, 1.000000)";
    assert_eq!(refused(new(1.0, 100)), message);
    assert_eq!(refused(new(f64::NAN, 100)), message);
    let message = "ERR capacity must be in the range [1, 1073741824]";
    assert_eq!(refused(new(0.01, 0)), message);
    assert_eq!(refused(new(0.01, (1 << 30) + 1)), message);
    let growth = RedisBloomOptions { growth: Some(32_769), ..new(0.01, 100) };
    assert_eq!(refused(growth), "ERR expansion must be in the range [0, 32768]");
    let few = Limits { max_hashes: 20, ..Limits::default() };
    let error = RedisBloomFilter::create(&new(1e-9, 100), &few).unwrap_err().to_string();
    assert_eq!(error, "number of hashes is 31, above the limit of 20");
}

#[test]
fn a_rate_above_a_quarter_is_a_quarter() {
    let create = |rate| {
        RedisBloomFilter::create(&RedisBloomOptions::new(rate, 100), &Limits::default()).unwrap()
    };
    assert_eq!(create(0.9), create(0.25));
    assert_ne!(create(0.24), create(0.25));
}

#[test]
fn damaged_bytes_are_refused_or_kept() {
    let mut filter =
        RedisBloomFilter::create(&RedisBloomOptions::new(0.1, 10), &Limits::default()).unwrap();
    for i in 0..30u8 {
        filter.insert(&[i]).unwrap();
    }
    damage("redisbloom", &filter.encode(), false, boxed);
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn what_was_written_is_read(
        capacity in 1u64..500,
        rate in 1e-6..0.999,
        growth in prop::option::of(0u32..5),
        keys: Vec<Vec<u8>>,
    ) {
        let options = RedisBloomOptions { growth, ..RedisBloomOptions::new(rate, capacity) };
        let mut filter = RedisBloomFilter::create(&options, &Limits::default()).unwrap();
        suite::is_read_again(&mut filter, &keys, |file| boxed(file, &Limits::default()))?;
        prop_assert_eq!(RedisBloomFilter::decode(&filter.encode(), &Limits::default()), Ok(filter));
    }

    #[test]
    fn any_bytes_are_refused(bytes in noise()) {
        let mut file = b"RedisBloom dump\n\x01\0\0\0\0\0\0\0\x49\0\0\0\0\0\0\0".to_vec();
        file.extend(bytes);
        prop_assert!(boxed(&file, &Limits::default()).is_err());
    }
}
