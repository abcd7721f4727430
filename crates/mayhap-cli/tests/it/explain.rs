//! `mayhap explain`: the worked examples of texts on Bloom filters, and the library's positions.

use crate::pages::{Recipe, judge, recipes, shell};
use crate::support::{fail, folder, json, run, stderr, succeed};
use mayhap::{AnyFilter, BloomFilter, Build, DigestFunction, FilterParams, Layout};
use serde_json::{Value, json as value};
use std::path::Path;

fn text(folder: &Path, arguments: &[&str]) -> String {
    String::from_utf8(succeed(folder, &[&["explain"], arguments].concat(), b"")).unwrap()
}

fn explained(folder: &Path, arguments: &[&str]) -> Value {
    json(&succeed(folder, &[&["explain", "--json"], arguments].concat(), b""))
}

/// The positions that a list of bits of the JSON names.
fn positions(bits: &Value) -> Vec<u64> {
    bits.as_array().unwrap().iter().map(|bit| bit["position"].as_u64().unwrap()).collect()
}

#[test]
fn twenty_bits_hold_a_b_and_c_step_by_step() {
    let folder = folder();
    let arguments = ["-m", "20", "A=0,5,7", "B=2,8,13", "C=0,4,7", "--query", "A"];
    let arguments = [&arguments[..], &["--query", "X=0,8,13", "--query", "Y=1,5,19"]].concat();
    let array = explained(folder.path(), &arguments);
    let keys = array["keys"].as_array().unwrap();
    let after: Vec<&str> = keys.iter().map(|key| key["bits"].as_str().unwrap()).collect();
    let printed = ["10000101000000000000", "10100101100001000000", "10101101100001000000"];
    assert_eq!(after, printed);
    assert_eq!(array["bits"], printed[2]);
    assert_eq!((&array["num_hashes"], &array["num_ones"]), (&value!(3), &value!(7)));
    let third = &keys[2];
    assert_eq!((&third["new"], &third["given"]), (&value!([4]), &value!(true)));
    let shared = value!([{"position": 0, "by": ["A"]}, {"position": 7, "by": ["A"]}]);
    assert_eq!(third["already_set"], shared);
    // (7/20)^3.
    assert!((array["estimated_fpp"].as_f64().unwrap() - 0.042_875).abs() < 1e-12);
    let queries = array["queries"].as_array().unwrap();
    let answer = |i: usize| (queries[i]["maybe_present"].clone(), queries[i]["inserted"].clone());
    assert_eq!(answer(0), (value!(true), value!(true)));
    assert_eq!(answer(1), (value!(true), value!(false)), "a false positive");
    assert_eq!(answer(2), (value!(false), value!(false)));
    assert_eq!(queries[2]["clear"], value!([1, 19]));
    let words = text(folder.path(), &arguments);
    for line in printed {
        assert!(words.contains(line), "{words}");
    }
    assert!(words.contains("\nX?      1.......1....1......  mayhap there, a false pos"), "{words}");
    assert!(words.contains("\nY?      .0...1.............0  surely not there: bits 1, 19 are 0\n"));
}

#[test]
fn two_names_share_bit_4_and_a_third_is_surely_absent() {
    let folder = folder();
    let array = explained(
        folder.path(),
        &[
            "-m",
            "9",
            "baidu=1,4,7",
            "tencent=3,4,8",
            "--query",
            "dianping=1,5,8",
            "--query",
            "baidu",
        ],
    );
    assert_eq!(array["bits"], "010110011");
    assert_eq!(array["keys"][1]["already_set"], value!([{"position": 4, "by": ["baidu"]}]));
    let queries = array["queries"].as_array().unwrap();
    assert_eq!(
        (&queries[0]["maybe_present"], &queries[0]["clear"]),
        (&value!(false), &value!([5]))
    );
    assert_eq!(
        (positions(&queries[0]["set"]), &queries[1]["maybe_present"]),
        (vec![1, 8], &value!(true))
    );
    // Bit 4 cannot be cleared for one of them without losing the other.
    assert_eq!(queries[1]["set"][1], value!({"position": 4, "by": ["baidu", "tencent"]}));
}

#[test]
fn with_3_hashes_1_and_10_are_there_and_3_is_surely_absent() {
    let folder = folder();
    let arguments = ["-m", "20", "-k", "3", "1", "10", "--query", "3", "--query", "10"];
    let array = explained(folder.path(), &arguments);
    for key in array["keys"].as_array().unwrap() {
        let digest = DigestFunction::default().digest(key["key"].as_str().unwrap());
        let expected = mayhap::positions(Layout::Standard, 20, 3, digest).unwrap();
        assert_eq!(key["positions"], value!(expected.collect::<Vec<u64>>()));
    }
    let queries = array["queries"].as_array().unwrap();
    assert_eq!(queries[0]["maybe_present"], false, "{array}");
    assert_eq!(queries[1]["maybe_present"], true);
}

/// The bits and answers of an array equal a filter's.
#[test]
fn the_bits_and_the_answers_are_those_of_a_filter() {
    let folder = folder();
    let names: Vec<String> = (0..40).map(|i| format!("key-{i}")).collect();
    for (layout, num_bits, num_hashes, seed) in
        [(Layout::Standard, 100, 3, 0), (Layout::Blocked, 1024, 8, 7), (Layout::Blocked, 512, 4, 1)]
    {
        let params = FilterParams::new(layout, num_bits, num_hashes, 10, 0.01).unwrap();
        let mut filter = AnyFilter::empty(params, DigestFunction::xxh3(seed)).unwrap();
        let numbers = [num_bits.to_string(), num_hashes.to_string(), seed.to_string()];
        let mut arguments = vec!["-m", &numbers[0], "-k", &numbers[1], "--seed", &numbers[2]];
        arguments.extend(["--layout", layout.name()]);
        for name in &names[..10] {
            filter.insert(name.as_str());
            arguments.push(name);
        }
        for name in &names {
            arguments.extend(["--query", name.as_str()]);
        }
        let array = explained(folder.path(), &arguments);
        assert_eq!(array["num_ones"], filter.count_ones(), "{layout}");
        let ones = array["bits"].as_str().unwrap().bytes().filter(|bit| *bit == b'1').count();
        assert_eq!(array["num_ones"], ones);
        let mut maybe = 0;
        for (query, name) in array["queries"].as_array().unwrap().iter().zip(&names) {
            let expected = filter.contains(name.as_str());
            assert_eq!(query["maybe_present"], expected, "{layout} {name}");
            maybe += u32::from(expected);
        }
        assert!((10..40).contains(&maybe), "{layout}: {maybe} of 40");
        if layout == Layout::Standard {
            let fpp = array["estimated_fpp"].as_f64().unwrap();
            assert!((fpp - filter.estimated_fpp()).abs() < 1e-12);
        } else {
            assert_eq!(array["estimated_fpp"], Value::Null);
        }
    }
}

#[test]
fn large_arrays_are_listed_and_not_drawn() {
    let folder = folder();
    let folder = folder.path();
    let drawn = text(folder, &["-m", "512", "-k", "8", "--layout", "blocked", "A"]);
    let rows = drawn.lines().filter(|line| line.starts_with(|start: char| start.is_ascii_digit()));
    assert_eq!(rows.count(), 8, "{drawn}");
    let most = explained(folder, &["-m", "1T", "-k", "7", "A", "--query", "B"]);
    assert_eq!((&most["bits"], &most["num_ones"]), (&Value::Null, &value!(7)));
    let params = FilterParams::new(Layout::Standard, 1_000_000_000_000, 7, 1, 0.5).unwrap();
    let expected: Vec<u64> = params.positions(DigestFunction::default().digest("A")).collect();
    assert_eq!(most["keys"][0]["positions"], value!(expected));
    let words = text(folder, &["-m", "1T", "-k", "7", "A"]);
    assert_eq!(words.lines().count(), 3, "{words}");
}

#[test]
fn what_cannot_be_drawn_is_refused_with_the_next_step() {
    let folder = folder();
    let refused = |arguments: &[&str], expected: &[&str]| {
        let talk = fail(folder.path(), &[&["explain"], arguments].concat(), b"");
        for words in expected {
            assert!(talk.contains(words), "{arguments:?}: {talk}");
        }
    };
    refused(&["-m", "20", "A"], &["-k is not given", "hint: for example"]);
    refused(&["-m", "20", "A=0,5,20"], &["is 20, and the last bit is 19", "-m"]);
    refused(&["-m", "20", "A=0,5,7", "B=1,2"], &["2 positions", "\"B\"", "k is 3", "--literal"]);
    refused(&["-m", "20", "A=0,,7"], &["\"\"", "NAME=0,5,7"]);
    refused(&["-m", "0", "-k", "3", "A"], &["-m is 0", "from 1 to"]);
    refused(&["-m", "20", "-k", "33", "A"], &["-k is 33", "32"]);
    refused(&["-m", "511", "-k", "8", "--layout", "blocked", "A"], &["-m is 511", "512"]);
    refused(&["-m", "20", "-k", "3", "--layout", "scalable", "A"], &["standard and blocked"]);
    // As a key, rather than a list.
    let array = explained(folder.path(), &["-m", "20", "-k", "3", "--literal", "A=0,5,20"]);
    assert_eq!(
        (&array["keys"][0]["key"], &array["keys"][0]["given"]),
        (&value!("A=0,5,20"), &value!(false))
    );
}

#[test]
fn keys_of_any_bytes_are_drawn_without_moving_the_cursor() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = folder();
    let key = b"\xFF\x1B[2J\n";
    let output = crate::support::mayhap(folder.path())
        .args(["explain", "-m", "64", "-k", "3"])
        .arg(OsStr::from_bytes(key))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let words = String::from_utf8(output.stdout).unwrap();
    assert!(words.lines().all(|line| !line.contains(char::is_control)), "{words:?}");
    let params = FilterParams::new(Layout::Standard, 64, 3, 1, 0.5).unwrap();
    let mut filter: BloomFilter = Build::empty(params, DigestFunction::default()).unwrap();
    filter.insert(&key[..]);
    assert!(words.contains(&format!("  {} of 64 bits", filter.count_ones())), "{words}");
    // A closed pipe is no error.
    assert_eq!(run(folder.path(), &["explain", "-m", "20", "A=1"], b"").status.code(), Some(0));
}

#[test]
fn every_command_of_the_page_prints_what_stands_there() {
    let page = include_str!("../../../../docs/choosing.md");
    let (_, section) = page.split_once("\n## Bit by bit\n").unwrap();
    let folder = folder();
    let recipes = recipes(section);
    let output = |recipe: &Recipe| shell(folder.path(), &recipe.script);
    let wrong =
        recipes.iter().filter_map(|recipe| judge(recipe, &recipe.expected, &output(recipe)).err());
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(recipes.len() >= 9, "only {} commands were found", recipes.len());
}
