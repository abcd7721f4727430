//! Verbs of other tools and of the library that users try, and their names here.

/// Each verb with names that users try for its purpose; the likelier verb for a name comes first.
const OTHER_NAMES: [(&str, &str); 23] = [
    ("add", "append insert put"),
    ("build", "make"),
    ("check", "contains exists find get has lookup query search test"),
    ("clear", "empty reset"),
    ("convert", "export import"),
    ("create", "init make new"),
    ("dedup", "dedupe uniq"),
    ("delete", "del drop rm"),
    ("freeze", "frozen fuse ribbon"),
    ("grow", "resize"),
    ("info", "cat count inspect show stat stats"),
    ("list", "filters ls"),
    ("merge", "combine join union"),
    ("move", "copy cp migrate"),
    ("plan", "estimate size"),
    ("pull", "download dump export"),
    ("orphans", "gc sweep"),
    ("push", "import load upload"),
    ("remove", "del discard erase rm"),
    ("rename", "mv"),
    ("serve", "server"),
    ("shrink", "compress fold resize"),
    ("which", "find"),
];

/// The verbs for the purpose of a name that users try, the likeliest first.
pub(super) fn verbs_for(name: &str) -> impl Iterator<Item = &'static str> {
    let is_it = move |names: &str| names.split(' ').any(|other| other == name);
    let verbs = OTHER_NAMES.into_iter().filter(move |(_, names)| is_it(names));
    verbs.map(|(verb, _)| verb)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_names_are_no_verbs_and_lead_to_verbs() {
        let command = crate::cmd::command();
        for (verb, names) in OTHER_NAMES {
            // Some exist only in builds with a feature.
            let is_optional =
                matches!(verb, "push" | "pull" | "serve" | "list" | "move" | "orphans" | "rename");
            assert!(is_optional || command.find_subcommand(verb).is_some(), "{verb}");
            for name in names.split(' ') {
                assert!(command.find_subcommand(name).is_none(), "{name} is a verb");
                assert!(verbs_for(name).any(|other| other == verb), "{name}");
            }
        }
        assert!(verbs_for("rm").eq(["delete", "remove"]) && verbs_for("r").next().is_none());
        assert!(verbs_for("find").eq(["check", "which"]));
    }
}
