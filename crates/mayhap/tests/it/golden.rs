//! Files made from the specification by another program, open forever.

use mayhap::native::{self, HEADER_BYTES, Header, Identity, Native};
use mayhap::sizing::compact::CompactParams;
use mayhap::{
    AnyFilter, BinaryFuse, CompactFilter, CountingBloomFilter, DigestFunction, RibbonFilter,
    SecretKey, WindowBloomFilter,
};

const ANSWERS: &str = include_str!("../golden/native/answers.txt");
const OPTIONS: &str = "lower=true\ntrim=true\ndelim=→\n";

macro_rules! files {
    ($($name:literal),*) => {
        [$(($name, include_bytes!(concat!("../golden/native/", $name, ".mayhap")).as_slice())),*]
    };
}

const FILES: [(&str, &[u8]); 7] = files![
    "v1-standard",
    "v1-standard-sip13",
    "v1-blocked-k4",
    "v1-blocked-k8",
    "v1-blocked-k16",
    "v1-blocked-key-options",
    "v1-standard-empty"
];

/// The key of a file that has one.
fn key_of(bytes: &[u8]) -> Option<SecretKey> {
    let key = || SecretKey::new(std::array::from_fn(|i| i as u8));
    native::Header::decode(bytes).unwrap().is_keyed().then(key)
}

enum Member {
    Text(String),
    Bytes(Vec<u8>),
    Integer(i64),
    Unsigned(u64),
}

impl Member {
    fn is_in(&self, filter: &AnyFilter) -> bool {
        match self {
            Self::Text(key) => filter.contains(key),
            Self::Bytes(key) => filter.contains(key),
            Self::Integer(key) => filter.contains(key),
            Self::Unsigned(key) => filter.contains(key),
        }
    }
}

/// The keys inside, by `tests/golden/native/README.md`.
fn members(count: usize) -> impl Iterator<Item = Member> {
    let odd = [
        Member::Text(String::new()),
        Member::Text("é".into()),
        Member::Bytes(vec![0xFF, 0x00, 0x80]),
        Member::Bytes(vec![0; 300]),
        Member::Unsigned(u64::MAX - 1),
        Member::Integer(i64::MIN),
    ];
    let regular = (0i64..).flat_map(|i| {
        [
            Member::Text(format!("member-{i}")),
            Member::Integer(-1 - i),
            Member::Integer(i * 1_000_003),
        ]
    });
    odd.into_iter().chain(regular).take(count)
}

/// The header is written back as it was, and the filter with the same body in the present version.
fn check_written_back<F: Native>(name: &str, filter: &F, header: &Header, bytes: &[u8]) {
    let (start, rest) = bytes.split_at(HEADER_BYTES);
    assert!(header.encode(header.table_checksum()) == *start, "{name}: not the same header");
    let written = native::encode(filter, header.key_options());
    assert!(written[HEADER_BYTES..] == *rest, "{name}: not the same body");
    let (_, again) = native::decode_as::<F>(&written, key_of(&written)).unwrap();
    assert_eq!((again.version(), again.identity()), (native::VERSION, None), "{name}");
    assert_eq!((again.fields(), again.key_options()), (header.fields(), header.key_options()));
}

#[test]
fn golden_files_open_answer_and_are_written_back_byte_for_byte() {
    assert_eq!(ANSWERS.lines().count(), FILES.len());
    for ((name, bytes), line) in FILES.iter().zip(ANSWERS.lines()) {
        let (filter, header) = native::decode(bytes, key_of(bytes)).unwrap();
        let [line_name, count, inserted_items, false_positives] =
            line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        assert_eq!(line_name, *name);
        assert_eq!(filter.inserted_items().to_string(), inserted_items, "{name}");
        let missing = members(count.parse().unwrap()).filter(|key| !key.is_in(&filter)).count();
        assert_eq!(missing, 0, "{name}: false negatives");
        let found: Vec<String> = (0..1000)
            .filter(|i| filter.contains(&format!("absent-{i}")))
            .map(|i| i.to_string())
            .collect();
        let found = if found.is_empty() { "-".into() } else { found.join(",") };
        assert_eq!(found, false_positives, "{name}");
        assert_eq!(header.key_options(), if name.ends_with("options") { OPTIONS } else { "" });
        check_written_back(name, &filter, &header, bytes);
    }
}

const COUNTING_ANSWERS: &str = include_str!("../golden/native/answers_counting.txt");

/// `absent-i` that are answered "maybe", as `answers_counting.txt` lists them.
fn list_absent(count: impl Fn(&str) -> u32) -> String {
    let found = (0..1000).filter_map(|i| match count(&format!("absent-{i}")) {
        0 => None,
        count => Some(format!("{i}:{count}")),
    });
    found.collect::<Vec<_>>().join(",")
}

#[test]
fn golden_files_of_version_2_open_answer_and_are_written_back_byte_for_byte() {
    let files = files!["v2-blocked128", "v2-blocked64", "v2-counting4", "v2-counting8"];
    assert_eq!(COUNTING_ANSWERS.lines().count(), files.len());
    for ((name, bytes), line) in files.iter().zip(COUNTING_ANSWERS.lines()) {
        let [line_name, inserted, removed, absent] =
            line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        assert_eq!(line_name, *name);
        let members = (0..inserted.parse().unwrap()).map(|i: u32| format!("member-{i}"));
        let mut inside = members.skip(removed.parse().unwrap());
        if name.starts_with("v2-blocked") {
            let (filter, header) = native::decode(bytes, None).unwrap();
            assert!(inside.all(|key| filter.contains(&key)), "{name}: false negative");
            assert_eq!(list_absent(|key| filter.contains(key).into()), absent, "{name}");
            check_written_back(name, &filter, &header, bytes);
        } else {
            let (mut filter, header) =
                native::decode_as::<CountingBloomFilter>(bytes, None).unwrap();
            assert!(inside.all(|key| filter.contains(&key)), "{name}: false negative");
            assert_eq!(list_absent(|key| filter.estimated_count(key)), absent, "{name}");
            check_written_back(name, &filter, &header, bytes);
            assert_eq!(filter.saturated_counters() > 0, name.ends_with('4'), "{name}");
            let before = native::encode(&filter, "");
            assert!(filter.remove("member-499") && native::encode(&filter, "") != before);
        }
    }
}

/// Made from the multiset of fingerprints, where the filter moves them one by one.
#[test]
fn golden_compact_files_open_answer_and_are_written_back_byte_for_byte() {
    let files = files!["v3-compact", "v3-compact-sized", "v3-compact-no-remainders"];
    let answers = include_str!("../golden/native/answers_compact.txt");
    assert_eq!(answers.lines().count(), files.len());
    for ((name, bytes), line) in files.iter().zip(answers.lines()) {
        let [line_name, inserted, removed, absent] =
            line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        assert_eq!(line_name, *name);
        let (filter, header) = native::decode_as::<CompactFilter>(bytes, None).unwrap();
        let found = list_absent(|key| filter.count(key));
        assert_eq!(if found.is_empty() { "-" } else { &found }, absent, "{name}");
        check_written_back(name, &filter, &header, bytes);
        let times = |i: u32| match i {
            0 => 20,
            i if i % 8 == 0 => 3,
            _ => 1,
        };
        let mut again = CompactFilter::empty(*filter.params(), *filter.digest_function()).unwrap();
        again.set_grows(filter.grows());
        let members = |count: &str| (0..count.parse().unwrap()).map(|i| (i, format!("member-{i}")));
        for (i, key) in members(inserted) {
            for _ in 0..times(i) {
                again.insert(&key).unwrap();
            }
        }
        for (i, key) in members(removed) {
            assert_eq!(again.remove(&key), i > 0, "{name}: the first key stays");
        }
        assert!(native::encode(&again, "") == *bytes, "{name}: not the same file");
    }
}

/// Solved by another order of the keys than ours, so the slots are others than we would write.
#[test]
fn golden_fuse_files_open_answer_and_are_written_back_byte_for_byte() {
    let files = files![
        "v3-fuse-8",
        "v3-fuse-16",
        "v4-fuse-4",
        "v4-fuse-mixed",
        "v4-fuse-mixed-31",
        "v4-fuse-empty"
    ];
    let answers = include_str!("../golden/native/answers_fuse.txt");
    assert_eq!(answers.lines().count(), files.len());
    for ((name, bytes), line) in files.iter().zip(answers.lines()) {
        let [line_name, count, absent] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        assert_eq!(line_name, *name);
        let (filter, header) = native::decode_as::<BinaryFuse>(bytes, None).unwrap();
        assert_eq!(filter.len().to_string(), count, "{name}");
        assert!((0..filter.len()).all(|i| filter.contains(&format!("member-{i}"))), "{name}");
        let found = list_absent(|key| filter.contains(key).into()).replace(":1", "");
        assert_eq!(if found.is_empty() { "-" } else { &found }, absent, "{name}");
        let version = if name.starts_with("v3") { 3 } else { 4 };
        assert_eq!(header.version(), version, "{name}");
        assert!(native::encode(&filter, "") == *bytes, "{name}: not the same file");
    }
}

/// Solved without knowing that equations are short; and the same set gives the same file.
#[test]
fn golden_ribbon_files_open_answer_and_are_built_again_byte_for_byte() {
    let files = files![
        "v4-ribbon-4",
        "v4-ribbon-mixed",
        "v4-ribbon-mixed-31",
        "v4-ribbon-wide-alone",
        "v4-ribbon-empty"
    ];
    let answers = include_str!("../golden/native/answers_ribbon.txt");
    assert_eq!(answers.lines().count(), files.len());
    for ((name, bytes), line) in files.iter().zip(answers.lines()) {
        let [line_name, count, absent] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        assert_eq!(line_name, *name);
        let (filter, header) = native::decode_as::<RibbonFilter>(bytes, None).unwrap();
        assert_eq!(filter.len().to_string(), count, "{name}");
        assert!((0..filter.len()).all(|i| filter.contains(&format!("member-{i}"))), "{name}");
        let found = list_absent(|key| filter.contains(key).into()).replace(":1", "");
        assert_eq!(if found.is_empty() { "-" } else { &found }, absent, "{name}");
        assert_eq!(header.version(), 4, "{name}");
        assert!(native::encode(&filter, "") == *bytes, "{name}: not the same file");
        let keys = (0..filter.len()).map(|i| format!("member-{i}"));
        let again = RibbonFilter::from_keys(filter.width(), *filter.digest_function(), keys);
        assert!(native::encode(&again.unwrap(), "") == *bytes, "{name}: not built the same");
    }
}

/// The worked example of `crates/mayhap/NATIVE-FORMAT.md`: the keys `a`, `b` and `c`.
#[test]
fn the_buckets_of_the_worked_example_are_right() {
    let params = CompactParams::new(2, 3, 4, 100, 0.5).unwrap();
    let mut filter = CompactFilter::empty(params, DigestFunction::default()).unwrap();
    filter.insert_batch(&["a", "b", "c"]).unwrap();
    let mut found = Vec::new();
    filter.for_each_fingerprint(|number, copies| found.push((number, copies)));
    assert_eq!(found, [(32, 1), (52, 1), (86, 1)]);
    let body = native::encode(&filter, "")[HEADER_BYTES..].to_vec();
    let bytes = (0..4096).filter(|&i| body[i] != 0).map(|i| (i, body[i]));
    assert_eq!(bytes.collect::<Vec<_>>(), [(0, 0x04), (128, 0x09), (128 + 26, 0x32)]);
}

const ANSWERS_V3: &str = include_str!("../golden/native/answers_v3.txt");

/// Files with a log are read without it; `mayhap-store` reads the logs.
#[test]
fn golden_files_of_version_3_open_answer_and_are_written_back_byte_for_byte() {
    let files = files![
        "v3-standard",
        "v3-blocked-k8",
        "v3-state",
        "v3-state-log",
        "v3-state-torn-log",
        "v3-state-empty-log"
    ];
    let identity = |epoch, log_begun| {
        Some(Identity { id: 0x0F1E_2D3C_4B5A_6978_8796_A5B4_C3D2_E1F0, epoch, log_begun })
    };
    let identities = [
        None,
        None,
        identity(5, false),
        identity((1 << 63) - 1, true),
        identity(1, true),
        identity(2, true),
    ];
    let counts = [150, 4500, 200, 900, 100, 20];
    assert_eq!(ANSWERS_V3.lines().count(), files.len());
    for (i, ((name, bytes), line)) in files.iter().zip(ANSWERS_V3.lines()).enumerate() {
        let (filter, header) = native::decode(bytes, key_of(bytes)).unwrap();
        let [line_name, count, inserted_items, false_positives] =
            line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        assert_eq!((line_name, header.version()), (*name, 3));
        assert_eq!(header.identity(), identities[i], "{name}");
        assert_eq!(filter.inserted_items().to_string(), inserted_items, "{name}");
        let mut inside = (0..counts[i]).map(|i| format!("member-{i}"));
        assert!(inside.all(|key| filter.contains(&key)), "{name}: false negative");
        if count == counts[i].to_string() {
            let listed = list_absent(|key| filter.contains(key).into()).replace(":1", "");
            assert_eq!(if listed.is_empty() { "-" } else { &listed }, false_positives, "{name}");
        }
        check_written_back(name, &filter, &header, bytes);
        if header.identity().is_none() {
            assert!(native::encode(&filter, header.key_options()) == *bytes, "{name}");
        }
    }
}

#[test]
fn golden_short_files_open_answer_and_are_written_back_byte_for_byte() {
    let files = files!["v5-short-standard", "v5-short-blocked", "v5-short-sip13", "v5-short-empty"];
    let answers = include_str!("../golden/native/answers_short.txt");
    assert_eq!(answers.lines().count(), files.len());
    for ((name, bytes), line) in files.iter().zip(answers.lines()) {
        let [line_name, count, inserted_items, absent] =
            line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        assert_eq!((line_name, bytes[8]), (*name, 5));
        let (filter, header) = native::decode(bytes, key_of(bytes)).unwrap();
        assert_eq!(filter.inserted_items().to_string(), inserted_items, "{name}");
        let mut inside = (0..count.parse().unwrap()).map(|i: u32| format!("member-{i}"));
        assert!(inside.all(|key| filter.contains(&key)), "{name}: false negative");
        let found = list_absent(|key| filter.contains(key).into()).replace(":1", "");
        assert_eq!(if found.is_empty() { "-" } else { &found }, absent, "{name}");
        let options = if name.ends_with("blocked") { "trim=true\n" } else { "" };
        assert_eq!(header.key_options(), options, "{name}");
        assert!(native::encode_short(&filter, options).unwrap() == *bytes, "{name}");
        let paged = native::encode(&filter, options);
        check_written_back(name, &filter, &header, &paged);
    }
}

/// The keys inserted into the golden windows with their times, as in `make_v2_window.py`.
fn arrivals() -> impl Iterator<Item = (String, u64)> {
    let mut now = 1000;
    (0i64..).map(move |i| {
        now += if i % 2500 == 2499 { 3000 } else { u64::from(i % 500 >= 300) };
        (format!("member-{}", if i % 3 == 0 { i - i % 7 * 40 } else { i }), now)
    })
}

/// Each is two files, before and after some insertions: so the rules of inserting, sealing,
/// clearing and forgetting are compared, to the bit.
#[test]
fn golden_windows_open_go_on_and_are_written_back_byte_for_byte() {
    let files = files![
        "v2-window-keys-1",
        "v2-window-keys-2",
        "v2-window-time-even-1",
        "v2-window-time-even-2",
        "v2-window-time-1",
        "v2-window-time-2",
        "v2-window-time-large-1",
        "v2-window-time-large-2",
        "v2-window-arrivals-1",
        "v2-window-arrivals-2"
    ];
    let answers = include_str!("../golden/native/answers_window.txt");
    assert_eq!(answers.lines().count() * 2, files.len());
    for (pair, line) in files.chunks(2).zip(answers.lines()) {
        let [name, from, to, forgotten, absent] =
            line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let [(first_name, first), (_, second)] = pair else { unreachable!() };
        assert_eq!(*first_name, format!("{name}-1"));
        let (mut window, header) = native::decode_as::<WindowBloomFilter>(first, None).unwrap();
        check_written_back(name, &window, &header, first);
        let (from, to): (usize, usize) = (from.parse().unwrap(), to.parse().unwrap());
        for (key, now) in arrivals().take(to).skip(from) {
            let was_there = window.contains_at(&key, now);
            assert_eq!(window.insert_at(&key, now), !was_there, "{name}: {key}");
        }
        let (fields, written) = (window.fields(), native::encode(&window, ""));
        let (window, header) = native::decode_as::<WindowBloomFilter>(second, None).unwrap();
        // By the rule of 0.1 a count window did not move for keys that it had just received.
        let goes_on_as_then = name != "v2-window-keys";
        let is_same = written[HEADER_BYTES..] == second[HEADER_BYTES..];
        assert_eq!(is_same, goes_on_as_then, "{name}: another window");
        assert_eq!(fields == *header.fields(), goes_on_as_then, "{name}");
        check_written_back(name, &window, &header, second);
        let found: Vec<String> = (0..1000)
            .filter(|i| window.contains(&format!("absent-{i}")))
            .map(|i| i.to_string())
            .collect();
        assert_eq!(found.join(","), absent, "{name}");
        // Windows that are cut by the clock alone do not count them.
        assert_eq!(window.forgotten_early().unwrap_or(0).to_string(), forgotten, "{name}");
        // The last keys to arrive are present.
        let keys: Vec<(String, u64)> = arrivals().take(to).collect();
        let since = window.complete_since().unwrap_or(0);
        let last = keys.iter().rev().take(100).filter(|(_, now)| *now >= since);
        assert!(last.clone().count() > 0 || since > window.now());
        assert!(last.into_iter().all(|(key, _)| window.contains(key)), "{name}: false negative");
    }
}

#[test]
fn the_keyed_golden_file_wants_its_key() {
    let (_, bytes) = FILES[1];
    for key in [None, Some(SecretKey::new([0; 16]))] {
        let refused = native::decode(bytes, key).unwrap_err();
        assert!(matches!(refused, mayhap::Error::WrongKey { .. }), "{refused}");
    }
}

/// The reader that the specification links to is the one that was run on these files.
#[test]
fn the_specification_shows_the_tested_reader() {
    let specification = include_str!("../../NATIVE-FORMAT.md");
    assert!(specification.contains("](tests/golden/native/read_v3.py)"));
    assert!(include_str!("../golden/native/read_v3.py").contains("class Filter:"));
}

/// The worked example of `crates/mayhap/NATIVE-FORMAT.md`: the key `a`.
#[test]
fn the_positions_of_the_worked_example_are_right() {
    use mayhap::{Build, Digest, DigestFunction, FilterParams, Layout};
    assert_eq!(DigestFunction::xxh3(0).digest("a"), Digest::new(0xE6C6_32B6_1E96_4E1F));
    let k8 = [3584, 3661, 3743, 3811, 3863, 3908, 3992, 4065];
    let k16 = [3610, 3665, 3714, 3784, 3869, 3961, 4025, 4042];
    for (layout, m, k, positions) in [
        (Layout::Standard, 1000, 7, vec![901, 607, 487, 227, 203, 533, 379]),
        (Layout::Blocked, 4096, 4, vec![3584, 3765, 3964, 4021]),
        (Layout::Blocked, 4096, 8, k8.to_vec()),
        (Layout::Blocked, 4096, 16, [k8, k16].concat()),
        (Layout::Blocked128, 4096, 8, vec![3584, 3600, 3629, 3639, 3662, 3667, 3685, 3708]),
        (Layout::Blocked64, 4096, 8, vec![3648, 3656, 3665, 3677, 3683, 3695, 3700, 3707]),
    ] {
        let params = FilterParams::new(layout, m, k, 100, 0.01).unwrap();
        let mut filter: AnyFilter = Build::empty(params, DigestFunction::default()).unwrap();
        filter.insert("a");
        let body = native::body_bytes(filter.blocks());
        let mut found: Vec<usize> =
            (0..m as usize).filter(|bit| body[bit / 8] >> (bit % 8) & 1 == 1).collect();
        let mut expected = positions;
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{layout} k {k}");
    }
}

macro_rules! packed {
    ($($name:literal),*) => {
        [$((
            include_bytes!(concat!("../golden/native/", $name, ".packed")).as_slice(),
            include_bytes!(concat!("../golden/native/", $name, ".mayhap")).as_slice(),
        )),*]
    };
}

#[test]
fn packed_files_are_those_of_the_specification() {
    let files = packed![
        "v1-standard-empty",
        "v1-standard-sip13",
        "v2-counting4",
        "v3-blocked-k8",
        "v3-matrix-names"
    ];
    for (packed, file) in files {
        assert_eq!(native::unpack(packed).as_deref(), Ok(file));
        assert_eq!(native::pack(file).as_deref(), Some(packed));
        assert!(packed.len() < file.len());
    }
}
