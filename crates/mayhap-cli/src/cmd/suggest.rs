//! Verbs that people type, of other tools and of the library, and what they are called here.

/// A name that no verb has, and the verbs that do what it says, the likeliest first.
const OTHER_NAMES: [(&str, &[&str]); 45] = [
    ("append", &["add"]),
    ("cat", &["info"]),
    ("combine", &["merge"]),
    ("contains", &["check"]),
    ("count", &["info"]),
    ("dedupe", &["dedup"]),
    ("del", &["delete", "remove"]),
    ("discard", &["remove"]),
    ("download", &["pull"]),
    ("drop", &["delete"]),
    ("dump", &["pull"]),
    ("empty", &["clear"]),
    ("erase", &["remove"]),
    ("estimate", &["plan"]),
    ("exists", &["check"]),
    ("export", &["convert", "pull"]),
    ("find", &["check", "which"]),
    ("get", &["check"]),
    ("has", &["check"]),
    ("import", &["convert", "push"]),
    ("init", &["create"]),
    ("insert", &["add"]),
    ("inspect", &["info"]),
    ("join", &["merge"]),
    ("list", &["info"]),
    ("load", &["push"]),
    ("lookup", &["check"]),
    ("ls", &["info"]),
    ("make", &["build", "create"]),
    ("new", &["create"]),
    ("put", &["add"]),
    ("query", &["check"]),
    ("reset", &["clear"]),
    ("resize", &["grow"]),
    ("rm", &["delete", "remove"]),
    ("search", &["check"]),
    ("server", &["serve"]),
    ("show", &["info"]),
    ("size", &["plan"]),
    ("stat", &["info"]),
    ("stats", &["info"]),
    ("test", &["check"]),
    ("union", &["merge"]),
    ("uniq", &["dedup"]),
    ("upload", &["push"]),
];

/// The verbs that do what this name says, if it is one that people try.
pub(super) fn verbs_for(name: &str) -> Option<&'static [&'static str]> {
    let at = OTHER_NAMES.binary_search_by_key(&name, |(name, _)| name).ok()?;
    Some(OTHER_NAMES[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_lead_to_verbs() {
        assert!(OTHER_NAMES.is_sorted_by_key(|(name, _)| *name));
        let command = crate::cmd::command();
        for (name, verbs) in OTHER_NAMES {
            assert!(command.find_subcommand(name).is_none(), "{name} is a verb");
            for verb in verbs {
                // Some are in builds with a feature alone.
                let is_optional = matches!(*verb, "push" | "pull" | "serve");
                assert!(is_optional || command.find_subcommand(verb).is_some(), "{verb}");
            }
        }
    }
}
