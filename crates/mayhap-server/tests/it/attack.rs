//! An attacker who knows the source, the parameters of a filter and every key in it, but not the
//! secret key. Attacks on an unkeyed filter succeed only by chance on a keyed one.

use crate::command::Server;
use mayhap::{AnyFilter, Build, DigestFunction, Layout, ScalableBloomFilter, SecretKey, native};

/// Absent keys for measuring a rate.
const ABSENT: u64 = 200_000;

/// A server, and a client of it.
pub(crate) struct Target {
    pub(crate) server: Server,
}

impl Target {
    pub(crate) fn new(reserve: &str) -> Self {
        let mut server = Server::new();
        assert_eq!(server.line(reserve), "+OK\r\n", "{reserve}");
        Self { server }
    }

    /// For how many of these keys a command answers 1; in batches of a thousand.
    fn count(&mut self, command: &str, keys: impl IntoIterator<Item = Vec<u8>>) -> u64 {
        let (mut keys, mut count) = (keys.into_iter(), 0);
        loop {
            let batch: Vec<Vec<u8>> = keys.by_ref().take(1_000).collect();
            if batch.is_empty() {
                return count;
            }
            let expected = format!("*{}\r\n", batch.len());
            let words = [command.as_bytes().to_vec(), b"f".to_vec()].into_iter().chain(batch);
            let answer = String::from_utf8(self.server.ask(&words.collect::<Vec<_>>())).unwrap();
            assert!(answer.starts_with(&expected) && !answer.contains('-'), "{answer:.100}");
            count += answer.matches(":1\r\n").count() as u64;
        }
    }

    pub(crate) fn add(&mut self, keys: impl IntoIterator<Item = Vec<u8>>) -> u64 {
        self.count("BF.MADD", keys)
    }

    pub(crate) fn ask(&mut self, keys: impl IntoIterator<Item = Vec<u8>>) -> u64 {
        self.count("BF.MEXISTS", keys)
    }

    /// How many of [`ABSENT`] keys that were not chosen are answered "maybe".
    fn wrong(&mut self) -> u64 {
        self.ask(numbered("absent", 0..ABSENT))
    }

    fn alarm(&mut self) -> bool {
        match self.server.line("BF.INFO f FILLALARM").as_str() {
            "*1\r\n:1\r\n" => true,
            "*1\r\n:0\r\n" => false,
            other => panic!("{other}"),
        }
    }
}

pub(crate) fn numbered(what: &str, range: std::ops::Range<u64>) -> impl Iterator<Item = Vec<u8>> {
    range.map(move |i| format!("{what}:{i}").into_bytes())
}

/// Whether this count is what chance gives, within three standard deviations.
pub(crate) fn is_chance(found: u64, of: u64, p: f64) -> bool {
    (found as f64 - of as f64 * p).abs() <= 3.0 * (of as f64 * p * (1.0 - p)).sqrt()
}

/// No more than chance gives, within three standard deviations.
pub(crate) fn at_most(found: u64, of: u64, p: f64) -> bool {
    found as f64 <= of as f64 * p + 3.0 * (of as f64 * p * (1.0 - p)).sqrt()
}

/// The attacker's own copy: the same filter with the digests known from the source, and the keys
/// that are in it.
fn twin(keys: impl Iterator<Item = Vec<u8>>) -> ScalableBloomFilter {
    let mut twin = ScalableBloomFilter::new(10_000, 0.01, DigestFunction::xxh3(0)).unwrap();
    keys.for_each(|key| {
        twin.insert(&key[..]).unwrap();
    });
    twin
}

#[test]
fn forged_keys_pass_a_filter_without_a_key_and_a_keyed_one_by_chance_alone() {
    let inside = || numbered("user", 0..10_000);
    let twin = twin(inside());
    let forged: Vec<Vec<u8>> =
        numbered("forged", 0..u64::MAX).filter(|key| twin.contains(&key[..])).take(3_000).collect();
    for (keyed, all_pass) in [("no", true), ("yes", false)] {
        let mut target = Target::new(&format!("BF.RESERVE f 0.01 10000 KEYED {keyed}"));
        assert!(target.add(inside()) > 9_900);
        let rate = target.wrong() as f64 / ABSENT as f64;
        let passed = target.ask(forged.iter().cloned());
        println!("keyed {keyed}: {passed} of 3000 forged keys pass, rate {rate}");
        if all_pass {
            assert_eq!(passed, 3_000);
        } else {
            assert!(at_most(passed, 3_000, rate), "{passed} at {rate}");
        }
    }
}

/// Keys each of which sets as many clear bits as can be found: the fastest way to fill a filter.
fn polluting(count: usize, mut twin: AnyFilter) -> Vec<Vec<u8>> {
    const TRIES: usize = 4_000;
    let params = *twin.params();
    let mut is_set = vec![false; params.num_bits() as usize];
    let (mut chosen, mut next) = (Vec::new(), 0_u64);
    while chosen.len() < count {
        let mut best = (0, 0);
        for _ in 0..TRIES {
            next += 1;
            let digest = twin.digest_function().digest(&next.to_le_bytes()[..]);
            let clear = params.positions(digest).filter(|&at| !is_set[at as usize]).count();
            best = best.max((clear, next));
            if clear == params.num_hashes() as usize {
                break;
            }
        }
        let key = best.1.to_le_bytes();
        let digest = twin.digest_function().digest(&key[..]);
        params.positions(digest).for_each(|at| is_set[at as usize] = true);
        assert!(twin.insert_digest(digest), "a key that is not new sets no bit");
        chosen.push(key.to_vec());
    }
    chosen
}

#[test]
fn chosen_keys_spoil_a_filter_without_a_key_and_no_keyed_one_and_the_alarm_says_so() {
    for layout in [Layout::Standard, Layout::Blocked] {
        let twin = AnyFilter::builder().expected_items(10_000).target_fpp(0.01).layout(layout);
        // Of 10,000 random keys some would be taken for repeats, so that fewer fill it.
        let chosen = polluting(9_900, twin.build().unwrap());
        let reserve = format!("BF.RESERVE f 0.01 10000 NONSCALING LAYOUT {}", layout.name());
        for (keyed, spoilt) in [("no", true), ("yes", false)] {
            let mut target = Target::new(&format!("{reserve} KEYED {keyed}"));
            let new = target.add(chosen.iter().cloned());
            let wrong = target.wrong();
            let alarm = target.alarm();
            println!(
                "{} keyed {keyed}: {new} of 9900 chosen keys are new, {:.2} x the promise, \
                 alarm {alarm}",
                layout.name(),
                wrong as f64 / ABSENT as f64 / 0.01
            );
            assert_eq!(alarm, spoilt);
            if spoilt {
                assert!(new == 9_900 && wrong > ABSENT / 100 * 5, "{wrong}");
            } else {
                assert!(at_most(wrong, ABSENT, 0.01), "{wrong}");
            }
        }
    }
}

#[test]
fn crowded_keys_spoil_a_filter_without_a_key_as_its_measured_rate_shows() {
    let layer = ScalableBloomFilter::new(10_000, 0.01, DigestFunction::xxh3(0)).unwrap();
    let (params, _) = layer.layers().next().unwrap();
    let blocks = params.part().num_bits() / 512;
    let digest = |key: u64| DigestFunction::xxh3(0).digest(&key.to_le_bytes()[..]);
    // The attacker crowds the keys into one block out of eight.
    let crowded = |key: &u64| {
        let wide = u128::from(digest(*key).get()) * u128::from(blocks);
        (wide >> 64).is_multiple_of(8)
    };
    let chosen: Vec<Vec<u8>> =
        (0..).filter(crowded).take(5_000).map(|key: u64| key.to_le_bytes().to_vec()).collect();
    for (keyed, honest) in [("no", false), ("yes", true)] {
        let mut target = Target::new(&format!("BF.RESERVE f 0.01 10000 KEYED {keyed}"));
        let new = target.add(chosen.iter().cloned());
        let (wrong, alarm) = (target.wrong(), target.alarm());
        println!("crowded, keyed {keyed}: {new} new, {wrong} of {ABSENT} wrong, alarm {alarm}");
        assert_eq!(at_most(wrong, ABSENT, 0.01), honest, "{wrong}");
        // Crowding leaves bits clear, so the alarm cannot detect it: the measured rate does.
        assert!(!alarm);
        let entry = target.server.shared.keyspace.get(b"f", 1).unwrap();
        let (measured, predicted) = (entry.measure().estimated_fpp, entry.info().expected_fpp);
        assert_eq!(measured < 2.0 * predicted, honest, "{measured} {predicted}");
    }
}

#[test]
fn random_keys_raise_no_alarm() {
    let mut looks = 0;
    for reserve in [
        "BF.RESERVE f 0.01 10",
        "BF.RESERVE f 0.3 3000",
        "BF.RESERVE f 0.01 100000",
        "BF.RESERVE f 0.000001 100",
        "BF.RESERVE f 0.01 20000 NONSCALING LAYOUT standard",
        "BF.RESERVE f 0.9 20000 NONSCALING",
        "BF.RESERVE f 0.0001 20000 NONSCALING LAYOUT blocked",
    ] {
        for seed in 0..10 {
            let mut target = Target::new(&format!("{reserve} KEYED no"));
            let mut before = 0;
            assert!(!target.alarm(), "empty");
            for items in [1, 2, 3, 5, 10, 30, 100, 300, 1_000, 3_000, 10_000, 20_000] {
                target.add(numbered(&format!("{seed}"), before..items));
                // Repeated keys are not new.
                target.add(numbered(&format!("{seed}"), before / 2..items.min(1_000)));
                assert!(!target.alarm(), "{reserve}, {items} keys, seed {seed}");
                (before, looks) = (items, looks + 1);
            }
        }
    }
    println!("{looks} looks");
}

#[test]
fn the_alarm_is_in_the_metrics_and_over_http() {
    let server = crate::http::Server::plain();
    let body = serde_json::json!({ "capacity": 10_000, "target_fpp": 0.01, "keyed": false });
    assert_eq!(server.send("PUT /v1/filters/f", &body).status, 201);
    let page = |expected: &str| {
        let page = server.get("/metrics").text();
        assert!(page.contains(expected), "{page}");
    };
    let told = || server.get("/v1/filters/f?measure=true").json()["fill_alarm"].clone();
    page("mayhap_filter_fill_alarm{filter=\"f\"} 0");
    assert_eq!(told(), false);
    let chain = ScalableBloomFilter::new(10_000, 0.01, DigestFunction::xxh3(0)).unwrap();
    let (layer, _) = chain.layers().next().unwrap();
    let twin = AnyFilter::empty(*layer.part(), DigestFunction::xxh3(0)).unwrap();
    let entry = server.shared.keyspace.get(b"f", 1).unwrap();
    let mut work = mayhap_engine::Work::default();
    for key in polluting(5_000, twin) {
        entry.insert(&key, &mut work).unwrap();
    }
    page("mayhap_filter_fill_alarm{filter=\"f\"} 1");
    assert_eq!(told(), true);
}

/// A thief has the file, and a dictionary of a million words of which ten thousand are in it.
#[test]
fn a_dictionary_finds_nothing_in_a_stolen_file_without_its_key() {
    const WORDS: u64 = 1_000_000;
    let words = || numbered("word", 0..WORDS);
    let inside = |i: u64| i % 100 == 7;
    for keyed in ["no", "yes"] {
        let mut target = Target::new(&format!("BF.RESERVE f 0.01 10000 NONSCALING KEYED {keyed}"));
        target.add((0..WORDS).filter(|&i| inside(i)).map(|i| format!("word:{i}").into_bytes()));
        let entry = target.server.shared.keyspace.get(b"f", 1).unwrap();
        let keyspace = &target.server.shared.keyspace;
        let file = keyspace.begin_dump(&entry, 1).unwrap().bytes().to_vec();
        let stolen = native::decode_as::<AnyFilter>(&file, None);
        assert_eq!(stolen.is_err(), keyed == "yes", "the file does not open without its key");
        // So the thief takes the bits, whose number is in the header, and guesses.
        let header = native::Header::decode(&file).unwrap();
        let key = header.is_keyed().then(|| SecretKey::new(*b"0123456789abcdef"));
        let blocks = native::decode_as::<AnyFilter>(&file, key).unwrap().0;
        assert!(
            header.num_pages() > 0 && !file.windows(16).any(|part| part == *b"0123456789abcdef")
        );
        let rate = blocks.estimated_fpp();
        for guess in [
            DigestFunction::xxh3(0),
            DigestFunction::sip13(SecretKey::new([0; 16])),
            DigestFunction::sip13(SecretKey::new(*b"0123456789abcdeg")),
        ] {
            let bits = blocks.blocks();
            let guessed = AnyFilter::from_parts(*blocks.params(), guess, bits, 0).unwrap();
            let (mut hits, mut right) = (0, 0);
            for (i, word) in (0..).zip(words()) {
                let hit = guessed.contains(&word[..]);
                hits += u64::from(hit);
                right += u64::from(hit && inside(i));
            }
            println!("keyed {keyed}, {guess:?}: {hits} hits, {right} of 10000 right, rate {rate}");
            if keyed == "no" && guess == DigestFunction::xxh3(0) {
                assert_eq!(right, 10_000);
                continue;
            }
            assert!(is_chance(hits, WORDS, rate), "{hits} {rate}");
            assert!(is_chance(right, 10_000, rate), "{right} {rate}");
        }
    }
}
