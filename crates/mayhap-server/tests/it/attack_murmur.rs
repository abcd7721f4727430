//! Collisions of `MurmurHash64A` that hold under every seed: they work against filters loaded from
//! `RedisBloom`, whose hash is kept so that their keys are found, and against no other.

use crate::attack::{Target, at_most};
use crate::command::words;
use mayhap_formats::{Limits, RedisBloomFilter, RedisBloomOptions};

const M: u64 = 0xC6A4_A793_5BD1_E995;

/// The inverse of an odd number modulo 2^64, by Newton.
fn inverse(odd: u64) -> u64 {
    (0..6).fold(odd, |x: u64, _| x.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(x))))
}

/// The hash's transformation of a block before it is mixed in.
fn mixed(block: u64) -> u64 {
    let k = block.wrapping_mul(M);
    (k ^ k >> 47).wrapping_mul(M)
}

/// The block whose transformation is the same except for the top bit.
fn flipped(block: u64) -> u64 {
    let k = (mixed(block) ^ 1 << 63).wrapping_mul(inverse(M));
    (k ^ k >> 47).wrapping_mul(inverse(M))
}

/// The same hash under every seed: the top bit is unaffected when the state is multiplied, and the
/// next block cancels it.
fn twin(key: &[u8]) -> Vec<u8> {
    let mut twin = key.to_vec();
    for block in twin[..16].as_chunks_mut::<8>().0 {
        *block = flipped(u64::from_le_bytes(*block)).to_le_bytes();
    }
    twin
}

/// 2^12 strings of 12 pairs of blocks, each pair or its twin.
fn multicollision() -> Vec<Vec<u8>> {
    let pairs: Vec<[Vec<u8>; 2]> = (0..12)
        .map(|i| {
            let pair = format!("pair {i:11}").into_bytes();
            [twin(&pair), pair]
        })
        .collect();
    (0..1_usize << 12)
        .map(|bits| pairs.iter().enumerate().flat_map(move |(i, pair)| &pair[bits >> i & 1]))
        .map(|bytes| bytes.copied().collect())
        .collect()
}

fn victims() -> impl Iterator<Item = Vec<u8>> {
    (0..200).map(|i| format!("https://shop.example/order/{i}").into_bytes())
}

/// A server with a filter of `RedisBloom`.
fn imported() -> Target {
    let options = RedisBloomOptions::new(0.01, 10_000);
    let theirs = RedisBloomFilter::create(&options, &Limits::default()).unwrap();
    let mut target = Target::new("BF.RESERVE other 0.01 100");
    for (cursor, bytes) in theirs.to_chunks() {
        let mut request = words(&format!("BF.LOADCHUNK f {cursor}"));
        request.push(bytes);
        assert_eq!(target.server.ask(&request), b"+OK\r\n");
    }
    target
}

fn ours() -> Target {
    Target::new("BF.RESERVE f 0.01 10000")
}

#[test]
fn the_inverse_is_one() {
    assert_eq!(M.wrapping_mul(inverse(M)), 1);
    assert_eq!(mixed(flipped(7)) ^ mixed(7), 1 << 63);
    assert_ne!(twin(b"https://shop.example"), b"https://shop.example");
}

#[test]
fn a_multicollision_of_murmur_passes_an_imported_filter_and_none_of_ours() {
    let mut keys = multicollision();
    let all = keys.len() as u64;
    let first = keys.pop().unwrap();
    for (mut target, passes) in [(imported(), true), (ours(), false)] {
        assert_eq!(target.add([first.clone()]), 1);
        let passed = target.ask(keys.iter().cloned());
        println!("{passed} of {} pass", all - 1);
        assert_eq!(passed, if passes { all - 1 } else { 0 });
    }
}

#[test]
fn twins_of_murmur_pass_for_and_swallow_keys_of_an_imported_filter_and_of_none_of_ours() {
    for (mut target, works) in [(imported(), true), (ours(), false)] {
        let added = target.add(victims().map(|key| twin(&key)));
        let passed = target.ask(victims());
        // A caller that drops repeats drops keys that are answered "not new".
        let swallowed = 200 - target.add(victims());
        println!("{added} twins added: {passed} victims pass, {swallowed} are swallowed");
        assert!(added >= 199);
        if works {
            assert_eq!((passed, swallowed), (200, 200));
        } else {
            assert!(at_most(passed, 200, 0.01) && swallowed <= passed);
        }
    }
}
