//! The candidates for a file, in words.

use mayhap_formats::Candidate;

/// A candidate in words.
pub fn describe(candidate: &Candidate) -> String {
    let Candidate { format, form, missing, .. } = candidate;
    match *missing {
        "nothing" => format!("{} ({form})", format.name()),
        missing => format!("{} ({form}, which does not say {missing})", format.name()),
    }
}
