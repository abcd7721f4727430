//! `mayhap plan`: the planner's numbers, and no others.

use crate::support::{fail, folder, json, run, stderr, succeed};
use mayhap::plan::{Costs, Needs, plan};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::Value;
use std::path::Path;

fn planned(folder: &Path, arguments: &[&str]) -> Value {
    json(&succeed(folder, &[&["plan", "--json"], arguments].concat(), b""))
}

fn text(folder: &Path, arguments: &[&str]) -> String {
    String::from_utf8(succeed(folder, &[&["plan"], arguments].concat(), b"")).unwrap()
}

#[test]
fn a_link_to_the_page_has_the_numbers_exactly() {
    let folder = folder();
    let page = "https://example.org/explorer/";
    let link = text(folder.path(), &["-n", "10M", "-p", "1 in 3", "--delete", "--url", page]);
    assert_eq!(link, format!("{page}#n=10000000&p=3.333333333333333e-1&delete=1\n"));
    let link = text(folder.path(), &["--budget", "2GiB", "-p", "0.1%", "--url", page]);
    assert_eq!(link, format!("{page}#p=1e-3&m=2147483648\n"));
    // A key is any text.
    let keys = ["explain", "-m", "1M", "-k", "7", "https://example.org/", "x://y"];
    succeed(folder.path(), &keys, b"");
    for arguments in [&["-n", "10M"][..], &["--window", "7d", "-n", "1M", "-p", "1%"]] {
        let refused = run(folder.path(), &[&["plan", "--url", page], arguments].concat(), b"");
        assert!(!refused.status.success() && refused.stdout.is_empty(), "{arguments:?}");
    }
}

#[cfg(not(feature = "explorer"))]
#[test]
fn a_command_without_the_page_names_what_to_do() {
    let folder = folder();
    for arguments in [&["plan", "-n", "10M", "-p", "1%", "--url"][..], &["explain", "--web"]] {
        let talk = fail(folder.path(), arguments, b"");
        assert!(talk.contains("this command is built without the explorer page"), "{talk}");
        assert!(talk.contains("hint: build it with --features explorer"), "{talk}");
        assert!(talk.contains("plan --url PAGE"), "{talk}");
    }
    // The page has neither keys nor an array of one's own.
    let talk = fail(folder.path(), &["explain", "--web", "-m", "20", "A=0,5"], b"");
    assert!(talk.contains("cannot be used with"), "{talk}");
}

/// Whether two are equal, except for the last digit, which JSON's reader may change.
fn alike(found: &Value, expected: impl Into<Option<f64>>) -> bool {
    match (found.as_f64(), expected.into()) {
        (Some(found), Some(expected)) => (found - expected).abs() <= 1e-14 * expected.abs(),
        (found, expected) => found.is_none() && expected.is_none(),
    }
}

/// Arguments, and the needs that they name.
fn cases() -> Vec<(&'static [&'static str], Needs)> {
    let of = |items, fpp| Needs { target_fpp: Some(fpp), ..Needs::for_items(items) };
    vec![
        (&["-n", "1B", "-p", "0.1%"], of(1_000_000_000, 1e-3)),
        (&["-n", "10M", "-p", "1e-6"], of(10_000_000, 1e-6)),
        (&["-n", "1M", "-p", "1%", "--delete"], Needs { delete: true, ..of(1_000_000, 0.01) }),
        (&["--window", "1M", "-p", "1%"], Needs { forget: true, ..of(1_000_000, 0.01) }),
        (
            &["--window", "7d", "-n", "1M", "-p", "1%"],
            Needs { forget: true, by_time: true, ..of(1_000_000, 0.01) },
        ),
        (&["-n", "1M", "-p", "1e-4", "--frozen"], Needs { frozen: true, ..of(1_000_000, 1e-4) }),
        (
            &["-n", "1M", "-p", "1%", "--unknown-n"],
            Needs { unknown_items: true, ..of(1_000_000, 0.01) },
        ),
        (&["-n", "5k", "-p", "1%", "--sets", "4000"], Needs { sets: 4000, ..of(5000, 0.01) }),
        (
            &["-n", "1M", "--budget", "2MiB"],
            Needs { max_bytes: Some(2 << 20), ..Needs::for_items(1_000_000) },
        ),
        (
            &["-p", "0.1%", "--mem", "2GiB"],
            Needs { target_fpp: Some(1e-3), max_bytes: Some(2 << 30), ..Needs::default() },
        ),
    ]
}

#[test]
fn the_numbers_are_those_of_the_planner() {
    let folder = folder();
    for (arguments, needs) in cases() {
        let (report, plan) = (planned(folder.path(), arguments), plan(&needs).unwrap());
        let (best, expected) = (&report["best"], plan.best.unwrap());
        assert_eq!(best["kind"], expected.name(), "{arguments:?}");
        assert_eq!(best["num_bits"], expected.num_bits, "{arguments:?}");
        assert_eq!(best["num_bytes"], expected.num_bytes, "{arguments:?}");
        assert_eq!(best["num_hashes"], expected.num_hashes, "{arguments:?}");
        assert_eq!(best["items"], expected.items, "{arguments:?}");
        assert!(alike(&best["expected_fpp"], expected.expected_fpp), "{arguments:?}");
        assert!(alike(&best["fpp_at_2x"], expected.fpp_at_2x), "{arguments:?}");
        assert!(alike(&best["fpp_at_10x"], expected.fpp_at_10x), "{arguments:?}");
        let kept = expected.items_kept_of(2 * expected.items);
        assert_eq!(best["items_kept_of_2x"].as_u64(), kept, "{arguments:?}");
        assert!(alike(&best["bits_per_item"], expected.bits_per_item()), "{arguments:?}");
        assert!(alike(&best["cache_lines_miss"], expected.cache_lines.miss), "{arguments:?}");
        let names = |list: &Value| -> Vec<String> {
            let list = list.as_array().unwrap();
            list.iter().map(|other| other["kind"].as_str().unwrap().into()).collect()
        };
        let rejected: Vec<&str> = plan.rejected.iter().map(|(other, _)| other.name()).collect();
        assert_eq!(names(&report["rejected"]), rejected, "{arguments:?}");
        let unfit: Vec<&str> = plan.unfit.iter().map(|(kind, _)| kind.name()).collect();
        assert_eq!(names(&report["unfit"]), unfit, "{arguments:?}");
        // The words are of the same numbers.
        let words = text(folder.path(), arguments);
        assert!(words.starts_with(&format!("kind        {}: ", expected.name())), "{words}");
        for (other, _) in &plan.rejected {
            assert!(words.contains(&format!("{} (", other.name())), "{words}");
        }
    }
}

#[test]
fn the_command_that_it_prints_makes_that_filter() {
    let folder = folder();
    let folder = folder.path();
    for (arguments, _) in cases() {
        let report = planned(folder, arguments);
        let (best, Some(command)) = (&report["best"], report["create"].as_str()) else {
            assert_eq!(report["best"]["kind"], "matrix");
            continue;
        };
        assert!(text(folder, arguments).contains(command), "{command}");
        if best["num_bytes"].as_u64().unwrap() > 64 << 20
            || ["fuse", "ribbon"].iter().any(|kind| best["kind"] == *kind)
        {
            continue;
        }
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        succeed(folder, &[&words[..], &["--force"]].concat(), b"");
        let made = json(&succeed(folder, &["info", "--json", "seen.mayhap"], b""));
        let kind = if made["kind"] == "bloom" { &made["layout"] } else { &made["kind"] };
        assert_eq!(kind, &best["kind"], "{command}");
        let bits = |numbers: &Value| numbers["num_bits"].as_u64().unwrap().div_ceil(512);
        assert_eq!(bits(&made), bits(best), "{command}: {made}");
        assert_eq!(made["target_fpp"], best["target_fpp"], "{command}");
    }
}

#[test]
fn the_command_names_the_memory_where_the_memory_was_given() {
    let folder = folder();
    let command = |arguments: &[&str]| planned(folder.path(), arguments)["create"].clone();
    let of_items = command(&["-n", "1B", "--budget", "2GiB"]);
    assert_eq!(of_items, "mayhap create seen.mayhap -n 1B --mem 2GiB --layout blocked");
    let of_rate = command(&["-p", "0.1%", "--budget", "2GiB"]);
    assert_eq!(of_rate, "mayhap create seen.mayhap --mem 2GiB -p 0.1% --layout blocked");
    let of_both = command(&["-n", "1B", "-p", "0.1%"]);
    assert_eq!(of_both, "mayhap create seen.mayhap -n 1B -p 0.1%");
    let frozen = command(&["-n", "1M", "-p", "1e-4", "--frozen"]);
    assert_eq!(frozen, "mayhap build -o seen.mayhap --frozen -p 1e-4 keys.txt");
}

#[test]
fn costs_are_those_of_the_model() {
    let folder = folder();
    let arguments = [
        "-n",
        "1M",
        "-p",
        "1%",
        "--disk-cost",
        "10ms",
        "--filter-cost",
        "1us",
        "--misses",
        "90%",
        "--per-second",
        "1000",
    ];
    let report = planned(folder.path(), &arguments);
    let (fpp, cost) = (report["best"]["expected_fpp"].as_f64().unwrap(), &report["cost"]);
    let costs = Costs { without_disk: 1e-6, with_disk: 1e-6 + 10e-3, absent_share: 0.9 };
    let model = costs.of(fpp);
    let close = |name: &str, expected: f64| {
        let found = cost[name].as_f64().unwrap();
        assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{name}: {found} {expected}");
    };
    close("with_filter", model.with_filter);
    close("without_filter", 10e-3);
    close("with_hash_map", model.with_hash_map);
    close("of_false_positives", 0.9 * fpp * 10e-3);
    close("false_positives_per_second", 900.0 * fpp);
    close("break_even_fpp", 1.0 - 1e-6 / (0.9 * 10e-3));
    assert_eq!((&report["no_filter"], &cost["unit"]), (&Value::Null, &"s".into()));
    let words = text(folder.path(), &arguments);
    let row = "a query     1.09 ms with the filter, 10 ms without it: saves 8.91 ms (89.1 %)\n";
    assert!(words.contains(row), "{words}");
}

#[test]
fn where_no_filter_pays_it_says_so() {
    let folder = folder();
    let of_cost = |filter: &str, misses: &str| {
        let arguments = ["-n", "1M", "-p", "1%", "--disk-cost", "10", "--filter-cost", filter];
        planned(folder.path(), &[&arguments[..], &["--misses", misses]].concat())
    };
    // Asking costs 2, and at 25 % misses a filter without any error would save 2.5.
    let report = of_cost("2", "25%");
    assert_eq!(report["no_filter"], Value::Null);
    let break_even = report["cost"]["break_even_fpp"].as_f64().unwrap();
    assert!((break_even - 0.2).abs() < 1e-12);
    let report = of_cost("2", "19%");
    assert!(report["no_filter"].as_str().unwrap().contains("costs 2 for the filter"), "{report}");
    assert_eq!(report["cost"]["break_even_fpp"], Value::Null);
    let words = text(folder.path(), &["-n", "1k", "-p", "1e-9", "--key-bytes", "1"]);
    assert!(words.contains("verdict     no filter: a hash set of the keys"), "{words}");
}

#[test]
fn one_number_alone_makes_a_table() {
    let folder = folder();
    for arguments in [["--budget", "2GiB"], ["-n", "1M"], ["-p", "1%"]] {
        let report = planned(folder.path(), &arguments);
        let rows = report["rows"].as_array().unwrap();
        assert!(rows.len() >= 7, "{arguments:?}");
        for row in rows {
            let (items, fpp) = (row["items"].as_u64(), row["target_fpp"].as_f64());
            let needs = Needs {
                items: items.filter(|_| arguments[0] != "--budget"),
                target_fpp: fpp,
                max_bytes: (arguments[0] == "--budget").then_some(2 << 30),
                ..Needs::default()
            };
            let best = plan(&needs).unwrap().best.unwrap();
            assert_eq!(row["num_bits"].as_u64(), Some(best.num_bits), "{arguments:?}");
            // The rate was converted to JSON and back.
            assert!(best.items.abs_diff(items.unwrap()) <= 1, "{arguments:?}");
        }
        let table = text(folder.path(), &arguments);
        assert_eq!(table.lines().count(), rows.len() + 1);
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    }
}

#[test]
fn the_plot_fits_a_terminal_and_marks_what_was_asked() {
    let folder = folder();
    let arguments = ["-n", "1B", "-p", "0.1%", "--plot"];
    let words = text(folder.path(), &arguments);
    let (_, plot) = words.split_once("\n\n").unwrap();
    assert_eq!(plot.lines().count(), 17, "{plot}");
    assert!(words.lines().all(|line| line.chars().count() <= 80), "{words}");
    assert!(plot.contains('●') && plot.contains("0.1 % with 1.00G keys"), "{plot}");
    assert!(!plot.contains('\x1B'));
    let colored = text(folder.path(), &[&arguments[..], &["--color", "always"]].concat());
    assert!(colored.contains("\x1B[1m●\x1B[0m"));
}

#[test]
fn nonsense_is_refused_with_the_next_step() {
    let folder = folder();
    let cases: [(&[&str], &str); 14] = [
        (&[], "mayhap plan -n 1B -p 0.1%"),
        (&["-n", "0", "-p", "1%"], "-n is 0"),
        (&["-n", "1M", "-p", "5"], "did you mean 5%?"),
        (&["-n", "1M", "-p", "0"], "is not above 0"),
        (&["-n", "1M", "-p", "1%", "--sets", "0"], "sets is 0"),
        (&["-n", "1M", "--plot"], "give two of -n, -p and --budget"),
        (&["--window", "0", "-p", "1%"], "remembers nothing"),
        (
            &["--window", "7x", "-p", "1%"],
            "write --window 10M for the last 10 million keys, or --window 7d",
        ),
        (&["--window", "7d", "-p", "1%"], "--window 7d -n 10M"),
        (&["--window", "7M", "-n", "8M", "-p", "1%"], "omit -n"),
        (&["-n", "1M", "-p", "1%", "--disk-cost", "10ms"], "--filter-cost <COST>"),
        (&["-n", "1M", "-p", "1%", "--per-second", "10"], "--disk-cost <COST>"),
        (&["-n", "1M", "-p", "1%", "--plot", "--json"], "cannot be used with"),
        (
            &["-n", "1", "-p", "1%", "--disk-cost", "1", "--filter-cost", "1s", "--misses", "9%"],
            "give both with a unit",
        ),
    ];
    for (arguments, step) in cases {
        let talk = fail(folder.path(), &[&["plan"], arguments].concat(), b"");
        let start = if arguments.contains(&"--json") { r#"{"level":"error""# } else { "mayhap: " };
        assert!(talk.starts_with(start) && talk.contains(step), "{arguments:?}: {talk}");
    }
}

#[test]
fn needs_that_no_kind_serves_are_found_nothing() {
    let folder = folder();
    let cases: [&[&str]; 3] = [
        &["-n", "1M", "-p", "1%", "--delete", "--window", "1M"],
        &["-n", "1B", "-p", "1e-9", "--budget", "1MiB"],
        &["-n", "1B", "--budget", "1"],
    ];
    for arguments in cases {
        let output = run(folder.path(), &[&["plan"], arguments].concat(), b"");
        let words = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(words.contains("verdict     no filter: no kind"), "{words}");
        let report =
            json(&run(folder.path(), &[&["plan", "--json"], arguments].concat(), b"").stdout);
        assert_eq!((&report["best"], &report["create"]), (&Value::Null, &Value::Null));
        assert!(report["unfit"].as_array().unwrap().len() > 1);
    }
}

/// A number of any size, as text.
fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<u64>().prop_map(|n| n.to_string()),
        (0u32..64).prop_map(|shift| (u64::MAX >> shift).to_string()),
        (0u64..1000, "[kMGTP]?").prop_map(|(n, unit)| format!("{n}{unit}")),
    ]
}

fn rate_text() -> impl Strategy<Value = String> {
    prop_oneof![
        (0.0..1f64).prop_map(|p| format!("{p}")),
        (1i32..310).prop_map(|e| format!("1e-{e}")),
        Just("0.9999999999999999".to_owned()),
    ]
}

/// `flag value` with a chance of one in two.
fn option(
    flag: &'static str,
    value: impl Strategy<Value = String>,
) -> impl Strategy<Value = Vec<String>> {
    proptest::option::of(value)
        .prop_map(move |value| value.map(|value| vec![flag.into(), value]).unwrap_or_default())
}

fn flag(flag: &'static str) -> impl Strategy<Value = Vec<String>> {
    proptest::bool::weighted(0.2)
        .prop_map(move |given| if given { vec![flag.into()] } else { vec![] })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        rng_seed: RngSeed::Fixed(15),
        failure_persistence: None,
        ..Default::default()
    })]
    #[test]
    fn no_arguments_make_it_panic(
        sizes in (option("-n", number()), option("-p", rate_text()), option("--budget", number())),
        needs in (
            flag("--delete"), flag("--frozen"), flag("--unknown-n"), flag("--plot"),
            proptest::option::weighted(0.2, number()), proptest::option::weighted(0.3, number()),
        ),
        costs in proptest::option::weighted(0.3, (number(), number(), rate_text())),
    ) {
        let (delete, frozen, unknown, plot, sets, window) = needs;
        let mut arguments = vec!["plan".to_owned()];
        let sets = sets.map(|sets| vec!["--sets".into(), sets]).unwrap_or_default();
        let window = window.map(|window| vec!["--window".into(), window]).unwrap_or_default();
        let costs = costs.map(|(disk, filter, misses)| {
            let filter: String = filter.chars().filter(char::is_ascii_digit).collect();
            let disk: String = disk.chars().filter(char::is_ascii_digit).collect();
            let flags = ["--disk-cost", "--filter-cost", "--misses"];
            flags.into_iter().map(String::from).zip([disk, filter, misses])
                .flat_map(|(flag, value)| [flag, value]).collect::<Vec<_>>()
        });
        let costs = costs.unwrap_or_default();
        let flags = [delete, frozen, unknown, plot, sets, window, costs];
        for part in [sizes.0, sizes.1, sizes.2].into_iter().chain(flags) {
            arguments.extend(part);
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let folder = folder();
        let output = run(folder.path(), &arguments, b"");
        let talk = stderr(&output);
        match output.status.code() {
            Some(0 | 1) => prop_assert_eq!(&talk, "", "{:?}", arguments),
            code => {
                prop_assert_eq!(code, Some(2), "{:?}: {}", arguments, talk);
                prop_assert!(talk.starts_with("mayhap: "), "{:?}: {}", arguments, talk);
            }
        }
    }
}

#[test]
fn n_p_m_and_k_of_a_plain_filter_follow_from_one_another() {
    use mayhap::{Layout, sizing};
    let folder = folder();
    let folder = folder.path();
    let of_rate = planned(folder, &["-n", "1M", "-p", "1%", "--layout", "standard"]);
    let expected = sizing::for_items(Layout::Standard, 1_000_000, 0.01).unwrap();
    assert_eq!(of_rate["num_bits"], expected.num_bits());
    assert_eq!((&of_rate["num_hashes"], &of_rate["best_num_hashes"]), (&7.into(), &7.into()));
    let bits = expected.num_bits().to_string();
    let of_bits = planned(folder, &["-n", "1M", "-m", &bits, "-k", "3"]);
    let fpp = sizing::expected_fpp(Layout::Standard, expected.num_bits(), 3, 1_000_000);
    assert!(alike(&of_bits["expected_fpp"], fpp), "{of_bits}");
    assert!(alike(&of_bits["best_expected_fpp"], expected.expected_fpp(1_000_000)));
    let of_items = planned(folder, &["-p", "1%", "-m", &bits]);
    let items = sizing::max_items(Layout::Standard, expected.num_bits(), 0.01).unwrap();
    assert_eq!(of_items["items"], items);
    let blocked = planned(folder, &["-n", "1M", "-p", "1%", "--layout", "blocked", "-k", "16"]);
    let expected = sizing::for_items_and_hashes(Layout::Blocked, 16, 1_000_000, 0.01).unwrap();
    assert_eq!(blocked["num_bits"], expected.num_bits());
    // A table where a number is missing, and nothing where a rate is not kept.
    let rows = planned(folder, &["-n", "1M", "-k", "3"]);
    assert!(rows["rows"].as_array().unwrap().iter().all(|row| row["num_hashes"] == 3));
    let table = text(folder, &["-n", "1M", "-k", "3"]);
    assert_eq!(table.lines().count(), rows["rows"].as_array().unwrap().len() + 1);
    let missed = run(folder, &["plan", "-n", "1M", "-p", "1%", "-m", "1M"], b"");
    assert_eq!(missed.status.code(), Some(1), "{}", stderr(&missed));
    assert!(text(folder, &["-n", "1M", "-m", "10M", "--plot"]).contains("rate of standard"));
    for (arguments, expected) in [
        (&["-k", "3"][..], "n, p or m"),
        (&["-n", "1M", "-m", "1M", "--budget", "1MiB"], "--budget"),
        (&["-n", "1M", "-p", "1%", "--layout", "scalable"], "--unknown-n"),
        (&["-n", "1M", "-m", "0"], "-m is 0"),
        (&["-n", "1M", "-m", "1M", "-k", "33"], "-k is 33"),
        (&["-n", "1M", "-k", "3", "--plot"], "two of -n, -p and -m"),
    ] {
        let talk = fail(folder, &[&["plan"], arguments].concat(), b"");
        assert!(talk.contains(expected), "{arguments:?}: {talk}");
    }
}
