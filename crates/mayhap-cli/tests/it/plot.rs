//! The pictures, and the page that shows them: both match today's models.

use crate::support::{fail, file, folder, succeed};
use mayhap::sizing::compact::CompactParams;
use mayhap::sizing::window::{self, Load};
use mayhap::sizing::{self, blocked, fuse, matrix, ribbon, scalable, standard};
use mayhap::{FilterParams, FuseWidth, Layout};
use mayhap_units::number::format_bytes;
use std::path::Path;

const PAGE: &str = include_str!("../../../../docs/choosing.md");

const ITEMS: u64 = 10_000_000;

#[test]
fn the_pictures_in_docs_are_what_the_command_draws() {
    let folder = folder();
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/plots");
    for what in ["fpp", "size", "hashes", "bits", "overfill"] {
        let drawn = succeed(folder.path(), &["plot", what], b"");
        let kept = std::fs::read(docs.join(format!("{what}.svg"))).unwrap();
        assert!(drawn == kept, "docs/plots/{what}.svg is old: run make plots, and look at it");
        let link = format!("(plots/{what}.svg)");
        assert!(PAGE.contains(&link), "{what} is not on the page");
        // A white background, so that it can be read on a dark page too.
        let text = String::from_utf8(drawn).unwrap();
        assert!(text.contains(r##"height="3600" opacity="1" fill="#FFFFFF""##), "{what}");
    }
}

#[test]
fn a_picture_goes_to_a_file_and_replaces_none_unasked() {
    let folder = folder();
    succeed(folder.path(), &["plot", "fpp", "-o", "p.svg"], b"");
    let svg = std::fs::read_to_string(folder.path().join("p.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    succeed(folder.path(), &["plot", "fpp", "-o", "p.html"], b"");
    let page = std::fs::read_to_string(folder.path().join("p.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains(&svg), "{page}");
    file(folder.path(), "q.svg", b"mine");
    assert!(fail(folder.path(), &["plot", "bits", "-o", "q.svg"], b"").contains("--force"));
    assert_eq!(std::fs::read(folder.path().join("q.svg")).unwrap(), b"mine");
    succeed(folder.path(), &["plot", "bits", "--force", "-o", "q.svg"], b"");
    assert_ne!(std::fs::read(folder.path().join("q.svg")).unwrap(), b"mine");
    assert!(fail(folder.path(), &["plot", "cake"], b"").contains("fpp"));
}

#[test]
fn numbers_of_ones_own_are_drawn_and_those_of_the_axis_refused() {
    let folder = folder();
    let draw = |arguments: &[&str]| {
        let arguments = [&["plot"], arguments].concat();
        String::from_utf8(succeed(folder.path(), &arguments, b"")).unwrap()
    };
    let three = draw(&["fpp", "-m", "20", "-k", "3", "-p", "5%"]);
    assert!(three.contains("In 20 bits") && three.contains("k = 3") && three.contains("p = 5 %"));
    assert!(!three.contains("k = 7"));
    let blocked = draw(&["size", "-n", "10M", "--layout", "blocked"]);
    assert!(blocked.contains("With 10M keys") && blocked.contains("k = 16"), "of blocks");
    assert!(draw(&["hashes", "-n", "1k", "-m", "10k"]).contains("10.0 bits a key"));
    assert_ne!(draw(&["fpp"]), draw(&["fpp", "-m", "4M"]));
    for (arguments, expected) in [
        (&["fpp", "-n", "10"][..], "-n changes nothing in the picture fpp"),
        (&["size", "-m", "10"], "-m changes nothing in the picture size"),
        (&["hashes", "-k", "3"], "-k changes nothing in the picture hashes"),
        (&["bits", "-p", "1%"], "-p changes nothing in the picture bits"),
        (&["overfill", "--layout", "blocked"], "--layout blocked"),
        (&["fpp", "--layout", "scalable"], "standard and blocked"),
        (&["fpp", "-m", "0"], "-m is 0"),
        (&["fpp", "-k", "33"], "-k is 33"),
    ] {
        let talk = fail(folder.path(), &[&["plot"], arguments].concat(), b"");
        assert!(talk.contains(expected), "{arguments:?}: {talk}");
    }
}

fn sized(layout: Layout, items: u64, target_fpp: f64) -> FilterParams {
    sizing::for_items(layout, items, target_fpp).unwrap()
}

/// Bits per key of a window that remembers [`ITEMS`] keys.
fn of_window(target_fpp: f64) -> f64 {
    let older = window::MAX_OLDER_GENERATIONS;
    let load = Load::Counted(ITEMS.div_ceil(older.into()));
    let (rows, _) = window::for_items(load, older + 1, target_fpp).unwrap();
    (rows * u64::from(window::NUM_COLUMNS)) as f64 / ITEMS as f64
}

/// Bits per key, whenever the keys arrive.
fn of_time_window(target_fpp: f64) -> f64 {
    let (rows, _) = window::spans::for_items(ITEMS, target_fpp).unwrap();
    (rows * u64::from(window::spans::NUM_COLUMNS)) as f64 / ITEMS as f64
}

/// Bits per key of ten full layers.
fn of_chain(target_fpp: f64) -> f64 {
    let (mut bits, mut items) = (0, 0);
    for layer in scalable::chain(ITEMS / 1023, target_fpp).take(10) {
        let layer = layer.unwrap();
        (bits, items) = (bits + layer.num_bits(), items + layer.expected_items());
    }
    bits as f64 / items as f64
}

fn of_compact(target_fpp: f64) -> f64 {
    let params = CompactParams::for_items(ITEMS, target_fpp).unwrap();
    params.num_bytes() as f64 * 8.0 / ITEMS as f64
}

fn of_fuse(target_fpp: f64) -> f64 {
    let width = FuseWidth::for_target(ITEMS, target_fpp).unwrap();
    fuse::num_bits(width, ITEMS).unwrap() as f64 / ITEMS as f64
}

fn of_ribbon(target_fpp: f64) -> f64 {
    let width = ribbon::check_target(ITEMS, target_fpp).unwrap();
    ribbon::num_bits(width, ITEMS).unwrap() as f64 / ITEMS as f64
}

fn of_matrix(target_fpp: f64) -> f64 {
    let (groups, num_hashes) = matrix::solve(ITEMS, target_fpp).unwrap();
    matrix::num_bits(groups, num_hashes) as f64 / ITEMS as f64
}

/// A rate in three digits: `1.00 %`, `15.7 %`, `0.999 %`, `1.2e-4`.
fn rate(fpp: f64) -> String {
    match fpp * 100.0 {
        percent if percent >= 99.95 => "100 %".into(),
        percent if percent >= 9.995 => format!("{percent:.1} %"),
        percent if percent >= 0.9995 => format!("{percent:.2} %"),
        percent if percent >= 0.09995 => format!("{percent:.3} %"),
        _ => format!("{fpp:.2e}"),
    }
}

fn assert_in_page(rows: impl IntoIterator<Item = String>) {
    let rows: Vec<String> = rows.into_iter().collect();
    let missing: Vec<&String> = rows.iter().filter(|row| !PAGE.contains(row.as_str())).collect();
    assert!(missing.is_empty(), "docs/choosing.md does not say\n{missing:#?}");
}

/// A kind, and its bits per key at a rate.
type Kind = (&'static str, fn(f64) -> f64);

#[test]
fn the_page_says_the_models_bits_per_key() {
    let kinds: [Kind; 10] = [
        ("`BlockedBloomFilter`", |p| sized(Layout::Blocked, ITEMS, p).bits_per_item()),
        ("`BloomFilter`", |p| sized(Layout::Standard, ITEMS, p).bits_per_item()),
        ("`ScalableBloomFilter`", of_chain),
        ("`WindowBloomFilter` of w keys", of_window),
        ("`WindowBloomFilter` of w seconds", of_time_window),
        ("`BloomMatrix`", of_matrix),
        ("`CompactFilter`", of_compact),
        ("`BinaryFuse`", of_fuse),
        ("`RibbonFilter`", of_ribbon),
        ("`CountingBloomFilter`", |p| sized(Layout::Blocked128, ITEMS, p).bits_per_item() * 4.0),
    ];
    let cells = |bits: fn(f64) -> f64| format!("{:.1} / {:.1}", bits(0.01), bits(1e-3));
    assert_in_page(kinds.map(|(name, bits)| format!("| {name} | {} |", cells(bits))));
}

#[test]
fn the_page_says_what_overfilling_does() {
    let filters = [
        ("standard", Layout::Standard, 0.01, "1 %"),
        ("blocked", Layout::Blocked, 0.01, "1 %"),
        ("standard", Layout::Standard, 1e-3, "0.1 %"),
        ("blocked", Layout::Blocked, 1e-3, "0.1 %"),
    ];
    assert_in_page(filters.map(|(name, layout, target, asked)| {
        let params = sized(layout, ITEMS, target);
        let cells = [2, 3, 5, 10].map(|times| rate(params.expected_fpp(times * ITEMS)));
        format!("| {name}, {asked} | {} |", cells.join(" | "))
    }));
}

#[test]
fn the_page_says_how_large_filters_are() {
    let counts =
        [(1_000_000, "1 million"), (10_000_000, "10 million"), (100_000_000, "100 million")];
    let counts = counts.into_iter().chain([(1_000_000_000, "1 billion")]);
    assert_in_page(counts.map(|(items, name)| {
        let filters = [(Layout::Blocked, 0.01), (Layout::Blocked, 1e-3)];
        let filters = filters.into_iter().chain([1e-4, 1e-6].map(|p| (Layout::Standard, p)));
        let bytes = filters.map(|(layout, p)| format_bytes(sized(layout, items, p).num_bytes()));
        format!("| {name} | {} |", bytes.collect::<Vec<_>>().join(" | "))
    }));
}

#[test]
fn the_page_says_what_the_textbook_formula_makes_of_blocks() {
    assert_in_page([(0.01, "1 %"), (1e-3, "0.1 %"), (1e-4, "1e-4")].map(|(target, asked)| {
        let bits = standard::ideal_num_bits(ITEMS, target);
        let num_blocks = (bits / 512.0).ceil() as u64;
        let num_hashes = blocked::best_num_hashes(num_blocks, ITEMS);
        let got = blocked::expected_fpp(num_blocks, num_hashes, ITEMS);
        let needed = sized(Layout::Blocked, ITEMS, target).bits_per_item();
        let textbook = bits / ITEMS as f64;
        format!("| {asked} | {textbook:.2} | {} | {needed:.2} |", rate(got))
    }));
}
