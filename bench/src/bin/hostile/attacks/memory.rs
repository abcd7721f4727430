//! Filters: large, many, short-lived.

use super::{Target, answers, command};
use mayhap_bench::process::Error;
use std::time::Instant;

/// Layer after layer, each of which is allocated while items arrive.
pub(super) fn growth(target: &Target, until: Instant) -> Result<(), Error> {
    let mut stream = target.connect()?;
    answers(&mut stream, &command(&["BF.RESERVE", "grows", "0.0001", "1"]), 1)?;
    let mut at = 0_u64;
    while Instant::now() < until {
        let mut words = vec!["BF.MADD".to_owned(), "grows".to_owned()];
        words.extend((at..at + 2000).map(|i| i.to_string()));
        at += 2000;
        answers(&mut stream, &command(&words), 2001)?;
    }
    answers(&mut stream, &command(&["DEL", "grows"]), 1)
}

/// Thousands of names that expire in the same instant.
pub(super) fn expiry(target: &Target, until: Instant) -> Result<(), Error> {
    let mut stream = target.connect()?;
    let half = until.saturating_duration_since(Instant::now()) / 2;
    let end = (std::time::SystemTime::now() + half).duration_since(std::time::UNIX_EPOCH)?;
    let end = end.as_millis().to_string();
    let (mut at, stop) = (0, Instant::now() + half);
    while Instant::now() < stop {
        let mut request = Vec::new();
        for _ in 0..200 {
            let name = format!("short-{at}");
            request.extend(command(&["BF.ADD", &name, "x"]));
            request.extend(command(&["PEXPIREAT", &name, &end]));
            at += 1;
        }
        answers(&mut stream, &request, 400)?;
    }
    super::wait(until);
    Ok(())
}

pub(super) fn giants(target: &Target, until: Instant) -> Result<(), Error> {
    let mut request = Vec::new();
    for at in 0..4 {
        let name = format!("giant-{at}");
        request.extend(command(&["BF.RESERVE", &name, "0.001", "18000000"]));
        request.extend(command(&["BF.ADD", &name, "x"]));
        request.extend(command(&["DEL", &name]));
    }
    target.flood(&request, until)
}

pub(super) fn reserves(target: &Target, until: Instant) -> Result<(), Error> {
    let mut request = Vec::new();
    for power in 0..60 {
        let (name, capacity) = (format!("r-{power}"), (1_u64 << power).to_string());
        request.extend(command(&["BF.RESERVE", &name, "1e-6", &capacity]));
        request.extend(command(&["DEL", &name]));
    }
    target.flood(&request, until)
}

/// The last one: the filters stay.
pub(super) fn fills(target: &Target, until: Instant) -> Result<(), Error> {
    let mut at = 0;
    while Instant::now() < until {
        let mut request = Vec::new();
        for _ in 0..500 {
            request.extend(command(&["BF.ADD", &format!("new-{at}"), "x"]));
            at += 1;
        }
        answers(&mut target.connect()?, &request, 500)?;
    }
    Ok(())
}
