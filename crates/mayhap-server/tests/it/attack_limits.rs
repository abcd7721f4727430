//! Absurd numbers, by command and over HTTP: a filter within the limits or a clear refusal.

use crate::command::Server;
use crate::conformance::answer_len;
use crate::http;
use mayhap_server::Config;

const MAX_FILTER_BYTES: u64 = 8 << 20;

const CAPACITIES: [&str; 16] = [
    "0",
    "1",
    "100",
    "1000000",
    "4294967296",
    "1000000000000000000",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-1",
    "1e18",
    "0x10",
    "NaN",
    "",
];
const ERRORS: [&str; 19] = [
    "0.01",
    "1e-6",
    "1e-300",
    "5e-324",
    "1e-400",
    "0.9999999999999999",
    "0.99999999999999999",
    "0",
    "-0.0",
    "1",
    "-1",
    "2",
    "1e400",
    "NaN",
    "-nan",
    "inf",
    "-inf",
    "0x1p-3",
    "",
];
const OPTIONS: [&[&str]; 15] = [
    &[],
    &["EXPANSION", "0"],
    &["EXPANSION", "1"],
    &["EXPANSION", "32768"],
    &["EXPANSION", "32769"],
    &["EXPANSION", "-1"],
    &["EXPANSION", "99999999999999999999"],
    &["NONSCALING"],
    &["COUNTING"],
    &["LAYOUT", "compact"],
    &["LAYOUT", "compact", "EXPANSION", "2"],
    &["WINDOW", "18446744073709551615d"],
    &["CLEARAT", "5e-324"],
    &["CLEARAT", "nan"],
    &["CLEARAT", "1"],
];

fn server() -> Server {
    Server::with(Config::default(), |options| {
        options.max_filter_bytes = MAX_FILTER_BYTES;
        options.max_memory = 2 * MAX_FILTER_BYTES;
    })
}

#[test]
fn absurd_numbers_in_commands_make_small_filters_or_clear_errors() {
    let mut server = server();
    let (mut made, mut too_large, mut refused) = (0, 0, 0);
    for capacity in CAPACITIES {
        for error in ERRORS {
            for options in OPTIONS {
                let reserve = [&["BF.RESERVE", "f", error, capacity], options].concat();
                let insert =
                    [&["BF.INSERT", "f", "ERROR", error, "CAPACITY", capacity], options].concat();
                for words in [reserve, [&insert[..], &["ITEMS", "a"]].concat()] {
                    let request: Vec<_> =
                        words.iter().map(|word| word.as_bytes().to_vec()).collect();
                    let answer = server.ask(&request);
                    assert_eq!(answer_len(&answer), Some(answer.len()), "{words:?}");
                    let answer = String::from_utf8(answer).unwrap();
                    let used = server.shared.keyspace.used_bytes();
                    if answer.starts_with('-') {
                        assert!(answer.len() > 10 && used == 0, "{words:?}: {answer}");
                        if answer.contains("would take") {
                            too_large += 1;
                            let told =
                                format!("above the limit of {MAX_FILTER_BYTES} (max_filter_bytes)");
                            assert!(answer.contains(&told), "{answer}");
                        } else {
                            refused += 1;
                        }
                        continue;
                    }
                    made += 1;
                    assert!(used > 0 && used <= MAX_FILTER_BYTES, "{words:?}: {used}");
                    assert_eq!(
                        server.line("BF.EXISTS f a"),
                        format!(":{}\r\n", u8::from(words[0] == "BF.INSERT"))
                    );
                    assert_eq!(server.line("DEL f"), ":1\r\n");
                    assert_eq!(server.shared.keyspace.used_bytes(), 0);
                }
            }
        }
    }
    println!("{made} made, {too_large} too large, {refused} refused otherwise");
    assert!(made > 100 && too_large > 200 && refused > 1_000);
}

#[test]
fn a_refusal_says_what_was_asked_the_limit_and_the_setting() {
    let mut server = server();
    for (line, told) in [
        ("BF.RESERVE f 0.01 1000000000000000000", "max_filter_bytes"),
        ("BF.RESERVE f 1e-300 1000000", "max_filter_bytes"),
        ("BF.RESERVE f NaN 100", "ERR bad error rate"),
        ("BF.RESERVE f 2 100", "ERR error rate must be in the range (0.000000, 1.000000)"),
        (
            "BF.RESERVE f 1e-300 100",
            "ERR could not create filter: error rate is 1e-300, below the lowest",
        ),
        (
            "BF.RESERVE f 1e-300 100 NONSCALING",
            "ERR could not create filter: error rate is 1e-300, below the lowest",
        ),
        (
            "BF.RESERVE f 1e-300 100 COUNTING",
            "ERR could not create filter: error rate is 1e-300, below the lowest",
        ),
        (
            "BF.RESERVE f 1e-300 100 LAYOUT compact",
            "ERR could not create filter: error rate is 1e-300, below the lowest",
        ),
        (
            "CF.RESERVE f 100 ERROR 1e-300",
            "ERR could not create filter: error rate is 1e-300, below the lowest",
        ),
        (
            "BF.RESERVE f 1e-300 100 CLEARAT 0.5",
            "ERR could not create filter: error rate is 1e-300, below the lowest",
        ),
        (
            "BF.RESERVE f 1e-300 100 WINDOW 100",
            "ERR could not create filter: error rate is 1e-300, below the lowest",
        ),
        ("BF.RESERVE f 0.01 1000000000000000000 NONSCALING", "max_filter_bytes"),
        ("BF.RESERVE f 0.01 1000000000000000000 COUNTING", "max_filter_bytes"),
        ("BF.RESERVE f 0.01 1000000000000000000 LAYOUT compact", "max_filter_bytes"),
        ("CF.RESERVE f 1000000000000000000", "max_filter_bytes"),
        ("BF.RESERVE f 0.01 1000 WINDOW 1000000000000000000", "max_filter_bytes"),
        ("BF.RESERVE f 0.01 9223372036854775808", "ERR bad capacity"),
    ] {
        let answer = server.line(line);
        println!("{line}: {answer}");
        assert!(answer.starts_with('-') && answer.contains(told), "{line}: {answer}");
    }
    let answer = server.line("BF.RESERVE f 0.01 1000000000000000000");
    println!("{answer}");
    let asked: u64 = answer.split(' ').find_map(|word| word.parse().ok()).unwrap();
    // The rate in the error is the lowest one: above it only the size is the obstacle.
    let grows = " LAYOUT compact EXPANSION 1";
    for kind in
        ["", " NONSCALING", " COUNTING", " LAYOUT compact", grows, " CLEARAT 0.5", " WINDOW 2048"]
    {
        let answer = server.line(&format!("BF.RESERVE f 1e-300 2048{kind}"));
        let words = answer.split([' ', ',', ';']);
        let lowest = words.filter_map(|word| word.parse::<f64>().ok()).nth(1).unwrap();
        let again = server.line(&format!("BF.RESERVE f {:e} 2048{kind}", lowest * 1.01));
        assert!(again == "+OK\r\n" || again.contains("max_filter_bytes"), "{answer}{again}");
        server.line("DEL f");
    }
    // 9.6 bits a key.
    assert!((1_190_000_000_000_000_000..1_300_000_000_000_000_000).contains(&asked), "{answer}");
}

#[test]
fn absurd_numbers_over_http_make_small_filters_or_clear_errors() {
    let server = http::Server::limited(MAX_FILTER_BYTES);
    let (mut made, mut refused) = (0, 0);
    for capacity in CAPACITIES {
        for error in ERRORS {
            for options in ["", ", \"fixed\": true", ", \"expansion\": 0", ", \"expansion\": 32769"]
            {
                let body =
                    format!("{{\"capacity\": {capacity}, \"target_fpp\": {error}{options}}}");
                let json = [("Content-Type", "application/json")];
                let answer = server.ask("PUT /v1/filters/f", &json, body.as_bytes());
                let used = server.shared.keyspace.used_bytes();
                if answer.status == 201 {
                    made += 1;
                    assert!(used > 0 && used <= MAX_FILTER_BYTES, "{body}");
                    assert_eq!(server.ask("DELETE /v1/filters/f", &[], b"").status, 204);
                    continue;
                }
                refused += 1;
                assert!([400, 413, 422, 507].contains(&answer.status), "{body}: {answer:?}");
                assert!(used == 0 && answer.text().len() > 20, "{body}: {answer:?}");
            }
        }
    }
    println!("{made} made, {refused} refused");
    assert!(made > 10 && refused > 500);
}
