//! RESP requests that are expensive, in pipelines.

use super::{Target, command};
use mayhap_bench::process::Error;
use std::time::Instant;

pub(super) fn long_names(target: &Target, until: Instant) -> Result<(), Error> {
    let mut request = Vec::new();
    for i in 0..400 {
        let name = format!("{i}{}", "n".repeat(65_000));
        request.extend(command(&["BF.ADD", &name, "x"]));
    }
    target.flood(&request, until)
}

pub(super) fn which_pairs(target: &Target, until: Instant) -> Result<(), Error> {
    let mut words = vec!["BF.WHICH".to_owned(), "1000".to_owned()];
    words.extend((0..1000).map(|i| format!("some-{i}")));
    words.extend((0..1000).map(|i| i.to_string()));
    target.flood(&command(&words), until)
}

pub(super) fn which_names(target: &Target, until: Instant) -> Result<(), Error> {
    let mut words = vec!["BF.WHICH", "8000"];
    words.extend(vec!["some-1"; 8000]);
    words.extend(vec!["x"; 8000]);
    target.flood(&command(&words), until)
}

pub(super) fn keys(target: &Target, until: Instant) -> Result<(), Error> {
    target.flood(&command(&["KEYS", "*"]).repeat(200), until)
}

/// A matcher that tries all ways takes a time exponential in the stars.
pub(super) fn backtracking(target: &Target, until: Instant) -> Result<(), Error> {
    let name = "a".repeat(1000);
    let pattern = "a*".repeat(400) + "b";
    let mut request = command(&["BF.ADD", &name, "x"]);
    request.extend(command(&["KEYS", &pattern]).repeat(200));
    target.flood(&request, until)
}

pub(super) fn scan(target: &Target, until: Instant) -> Result<(), Error> {
    let request = command(&["SCAN", "0", "COUNT", "10000", "MATCH", "*[ab]*?*[cd]*"]);
    target.flood(&request.repeat(200), until)
}

pub(super) fn info(target: &Target, until: Instant) -> Result<(), Error> {
    target.flood(&command(&["INFO", "all"]).repeat(200), until)
}

pub(super) fn fill(target: &Target, until: Instant) -> Result<(), Error> {
    target.flood(&command(&["BF.INFO", "large", "FILL"]).repeat(200), until)
}

pub(super) fn merge(target: &Target, until: Instant) -> Result<(), Error> {
    target.flood(&command(&["BF.MERGE", "taken", "large", "large"]).repeat(200), until)
}

pub(super) fn scandump(target: &Target, until: Instant) -> Result<(), Error> {
    target.flood(&command(&["BF.SCANDUMP", "dump", "0"]).repeat(200), until)
}

pub(super) fn copies(target: &Target, until: Instant) -> Result<(), Error> {
    target.flood(&command(&["COPY", "large", "copy", "REPLACE"]).repeat(200), until)?;
    target.flood(&command(&["DEL", "copy"]), Instant::now() + std::time::Duration::from_millis(5))
}

/// A large request, large answers, and items that all filters of the server have to hash.
pub(super) fn batches(target: &Target, until: Instant) -> Result<(), Error> {
    let mut words = vec!["BF.MADD".to_owned(), "large".to_owned()];
    words.extend((0..100_000).map(|i| i.to_string()));
    target.flood(&command(&words), until)
}

/// One after another: the next checkpoint begins when this one has ended.
pub(super) fn saves(target: &Target, until: Instant) -> Result<(), Error> {
    let mut request = command(&["BF.ADD", "large", "y"]);
    request.extend(command(&["SAVE"]));
    request.extend(command(&["BGSAVE"]));
    target.flood(&request.repeat(50), until)
}

pub(super) fn reports(target: &Target, until: Instant) -> Result<(), Error> {
    let mut request = Vec::new();
    for words in [
        &["SLOWLOG", "GET", "-1"] as &[&str],
        &["CLIENT", "LIST"],
        &["ACL", "LIST"],
        &["ACL", "CAT"],
        &["COMMAND"],
        &["COMMAND", "DOCS"],
        &["CONFIG", "GET", "*"],
    ] {
        request.extend(command(words));
    }
    target.flood(&request.repeat(50), until)
}
