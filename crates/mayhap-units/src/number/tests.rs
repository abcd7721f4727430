use super::{Problem, format_bytes, format_count, parse_bytes, parse_count, parse_fpp};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

#[test]
fn counts_are_read_exactly() {
    let table = [
        ("0", 0),
        ("7", 7),
        ("  42 ", 42),
        ("+5", 5),
        ("10M", 10_000_000),
        ("1.5G", 1_500_000_000),
        ("1.5 g", 1_500_000_000),
        ("2B", 2_000_000_000),
        ("1b", 1_000_000_000),
        ("3k", 3_000),
        ("1T", 1_000_000_000_000),
        ("1P", 1_000_000_000_000_000),
        ("64Ki", 65_536),
        ("1mi", 1 << 20),
        ("2Gi", 2 << 30),
        ("1_000_000", 1_000_000),
        ("1,000,000", 1_000_000),
        ("12,345.678k", 12_345_678),
        ("1e6", 1_000_000),
        ("1E+6", 1_000_000),
        ("1.5e3", 1_500),
        ("1500e-2", 15),
        ("1e3k", 1_000_000),
        ("5.", 5),
        (".5k", 500),
        ("0.0009765625Ki", 1),
        ("0e99999999999999999999", 0),
        ("000000000000000000000000000000000001", 1),
        ("1000000000000000000000000000000e-30", 1),
        // Above 2^53: a way through f64 would lose the last digits.
        ("9007199254740993", 9_007_199_254_740_993),
        ("18446744073709551615", u64::MAX),
        ("18446744073.709551615G", u64::MAX),
    ];
    for (text, value) in table {
        assert_eq!(parse_count(text), Ok(value), "{text}");
    }
}

#[test]
fn a_count_that_is_none_is_refused_with_its_reason() {
    let unit = |text: &str| Problem::Unit(text.into());
    let table = [
        ("", Problem::Empty),
        (" \t", Problem::Empty),
        ("-1", Problem::Negative),
        ("-0", Problem::Negative),
        ("\u{2212}5", Problem::Negative),
        ("NaN", Problem::NotFinite),
        ("inf", Problem::NotFinite),
        ("+Infinity", Problem::NotFinite),
        ("abc", Problem::NotANumber),
        (".", Problem::NotANumber),
        ("e6", Problem::NotANumber),
        ("_", Problem::NotANumber),
        ("+-1", Problem::NotANumber),
        ("\u{661}", Problem::NotANumber),
        ("1,5", Problem::Separator),
        ("1,5M", Problem::Separator),
        ("1000,000", Problem::Separator),
        (",000", Problem::Separator),
        ("1,000_000", Problem::Separator),
        ("1__0", Problem::Separator),
        ("_1", Problem::Separator),
        ("1_", Problem::Separator),
        ("10X", unit("X")),
        ("1e", unit("e")),
        ("1e-", unit("e-")),
        ("1.2.3", unit(".3")),
        ("10M items", unit("M items")),
        ("10%", unit("%")),
        ("64KiB", unit("KiB")),
        ("1Ei", unit("Ei")),
        ("1\u{fffd}", unit("\u{fffd}")),
        ("1.5", Problem::NotWhole),
        ("1e-6", Problem::NotWhole),
        ("1e-99999999999999999999", Problem::NotWhole),
        ("0.1Ki", Problem::NotWhole),
        ("0.12345678901234567891Pi", Problem::NotWhole),
        ("123456789012345678901", Problem::TooPrecise),
        ("1.00000000000000000000000000000000000000000001", Problem::TooPrecise),
        ("18446744073709551616", Problem::TooLarge),
        ("20000P", Problem::TooLarge),
        ("1e20", Problem::TooLarge),
        ("1e99999999999999999999", Problem::TooLarge),
        ("99999999999999999999Pi", Problem::TooLarge),
    ];
    for (text, problem) in table {
        assert_eq!(parse_count(text).map_err(|error| error.problem), Err(problem), "{text}");
    }
}

#[test]
fn sizes_take_both_kinds_of_units_with_or_without_a_b() {
    let table = [
        ("0", 0),
        ("4096", 4096),
        ("4096B", 4096),
        ("1 b", 1),
        ("64KiB", 65_536),
        ("64 kib", 65_536),
        ("64Ki", 65_536),
        ("512M", 512_000_000),
        ("1.1GiB", 1_181_116_006),
        ("1e-9k", 0),
        ("512MB", 512_000_000),
        ("2GiB", 2 << 30),
        ("1.5GiB", 3 << 29),
        ("1E3kB", 1_000_000),
        ("15EiB", 15 << 60),
    ];
    for (text, value) in table {
        assert_eq!(parse_bytes(text), Ok(value), "{text}");
    }
    for text in ["", "-1", "16EiB", "0.5", "1BB", "1KiBB", "1 i", "64 bits", "nan", "1EB"] {
        assert!(parse_bytes(text).is_err(), "{text}");
    }
}

#[test]
fn probabilities_are_the_nearest_float() {
    let table = [
        ("0.01", 0.01),
        ("1e-6", 1e-6),
        ("0.1%", 0.001),
        ("5 %", 0.05),
        ("1e-3%", 1e-5),
        ("99.9%", 0.999),
        ("1/1000", 0.001),
        ("1 / 1k", 0.001),
        ("3/10", 0.3),
        ("1 in 1M", 1e-6),
        ("1 IN 1,000", 0.001),
        (".5", 0.5),
        ("5e-324", 5e-324),
    ];
    for (text, value) in table {
        assert_eq!(parse_fpp(text), Ok(value), "{text}");
    }
}

#[test]
fn a_probability_outside_its_open_interval_is_refused_with_its_reason() {
    let meant = |text: &str| Problem::NotBelowOne(Some(text.into()));
    let table = [
        ("5", meant("5%")),
        ("1", meant("1%")),
        ("2.5", meant("2.5%")),
        ("100", Problem::NotBelowOne(None)),
        ("100%", Problem::NotBelowOne(None)),
        ("250%", Problem::NotBelowOne(None)),
        ("2/1", Problem::NotBelowOne(None)),
        ("0.99999999999999999999", Problem::NotBelowOne(None)),
        ("1e999", Problem::NotBelowOne(None)),
        ("0", Problem::NotAboveZero),
        ("0%", Problem::NotAboveZero),
        ("0/7", Problem::NotAboveZero),
        ("1e-999", Problem::NotAboveZero),
        ("1/0", Problem::NotFinite),
        ("NaN", Problem::NotFinite),
        ("-0.1", Problem::Negative),
        ("-1/2", Problem::Negative),
        ("1/", Problem::Empty),
        ("/2", Problem::Empty),
        ("1/2/3", Problem::Unit("/3".into())),
        ("0.5/2", Problem::NotWhole),
        ("1%%", Problem::Unit("%%".into())),
        ("1k", Problem::Unit("k".into())),
        ("one", Problem::NotANumber),
        ("", Problem::Empty),
    ];
    for (text, problem) in table {
        let found = parse_fpp(text).map_err(|error| error.problem);
        let problem = if text == "0.99999999999999999999" { meant("1%") } else { problem };
        assert_eq!(found, Err(problem), "{text}");
    }
}

#[test]
fn messages_say_what_the_value_the_bound_and_what_to_write() {
    let count = |text: &str| parse_count(text).unwrap_err().to_string();
    let like = "; write it like 10M, 1.5G, 2e6 or 1,000,000";
    assert_eq!(count("1.5"), format!("the count \"1.5\" is not a whole number{like}"));
    let limit = "is above the limit of 18446744073709551615";
    assert_eq!(count("1e20"), format!("the count \"1e20\" {limit}{like}"));
    assert!(
        count("1,5M").starts_with("the count \"1,5M\" has a misplaced separator; write 1,000,000")
    );
    let unit = parse_bytes("3 QiB").unwrap_err().to_string();
    assert!(
        unit.starts_with("the size \"3 QiB\" ends in \"QiB\", which is not a known unit; use B, k"),
        "{unit}"
    );
    let fpp = parse_fpp("5").unwrap_err().to_string();
    assert_eq!(fpp, "the probability \"5\" is not below 1; did you mean 5%?");
    let empty = parse_fpp(" ").unwrap_err().to_string();
    assert!(empty.starts_with("the probability is empty; write it like 0.01"), "{empty}");
}

#[test]
fn a_message_repeats_only_the_front_of_a_long_input() {
    let message = parse_count(&"x\u{1b}".repeat(100_000)).unwrap_err().to_string();
    assert!(message.len() < 400, "{} bytes", message.len());
    assert!(!message.contains('\u{1b}'), "terminal escapes must be shown, not sent");
}

#[test]
fn formatted_numbers_have_three_digits_and_a_unit() {
    let counts = [
        (0, "0"),
        (999, "999"),
        (1_000, "1,000"),
        (9_999, "9,999"),
        (10_000, "10.0k"),
        (99_949, "99.9k"),
        (99_950, "100k"),
        (999_499, "999k"),
        (999_500, "1.00M"),
        (1_234_567, "1.23M"),
        (1_000_000_000_000, "1.00T"),
        (u64::MAX, "1.84e19"),
    ];
    for (count, text) in counts {
        assert_eq!(format_count(count), text);
    }
    let sizes = [
        (0, "0 B"),
        (1_023, "1023 B"),
        (1_024, "1.00 KiB"),
        (1_048_063, "1023 KiB"),
        (1_048_064, "1.00 MiB"),
        (1 << 30, "1.00 GiB"),
        (u64::MAX, "16.0 EiB"),
    ];
    for (bytes, text) in sizes {
        assert_eq!(format_bytes(bytes), text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_text_makes_a_parser_panic(text in "\\PC*", number in "[-+0-9.,_eEkKMGTPiBb%/ n]{0,24}") {
        for text in [&text, &number] {
            let _ = parse_count(text);
            let _ = parse_bytes(text);
            let _ = parse_fpp(text);
        }
    }

    #[test]
    fn every_count_survives_its_digits(count: u64, zeros in 0usize..40) {
        prop_assert_eq!(parse_count(&count.to_string()), Ok(count));
        prop_assert_eq!(parse_bytes(&count.to_string()), Ok(count));
        let padded = format!("{}{count}.{}", "0".repeat(zeros), "0".repeat(zeros));
        prop_assert_eq!(parse_count(&padded), Ok(count));
    }

    #[test]
    fn formatted_counts_and_sizes_read_back_within_half_a_percent(count: u64, shift in 0u32..64) {
        let count = count >> shift;
        let bound = 0.005 * count as f64;
        let read = parse_count(&format_count(count)).unwrap();
        prop_assert!(read.abs_diff(count) as f64 <= bound, "{count} -> {read}");
        prop_assert!(count >= 10_000 || read == count);
        let size = count.min(15 << 60);
        let read = parse_bytes(&format_bytes(size)).unwrap();
        prop_assert!(read.abs_diff(size) as f64 <= bound + 1.0, "{size} -> {read}");
    }

    #[test]
    fn every_probability_survives_its_shortest_form(fpp in 0.0f64..1.0, power in 0..300i32) {
        let fpp = fpp * 10f64.powi(-power);
        prop_assume!(fpp > 0.0);
        prop_assert_eq!(parse_fpp(&fpp.to_string()), Ok(fpp));
        prop_assert_eq!(parse_fpp(&format!("{fpp:e}")), Ok(fpp));
    }
}
