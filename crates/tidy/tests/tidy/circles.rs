//! Files that need each other stay few.

use tidy::{circles::circles, imports::imports, source::Crate, workspace};

/// The largest circle of imports between the files of a crate, and whether circles may reach
/// across its folders.
const LIMITS: [(&str, usize, bool); 14] = [
    ("mayhap", 6, true),
    ("mayhap-store", 2, false),
    ("mayhap-formats", 3, true),
    ("mayhap-redis", 2, false),
    ("mayhap-server", 9, true),
    ("mayhap-units", 1, false),
    ("mayhap-keys", 2, false),
    ("mayhap-lists", 4, false),
    ("mayhap-measure", 1, false),
    ("mayhap-plan", 1, false),
    ("mayhap-plot", 1, false),
    ("mayhap-sets", 2, false),
    ("mayhap-foreign", 2, false),
    ("mayhap-cli", 9, false),
];

#[test]
fn no_circle_of_imports_is_larger_than_its_limit() {
    for (name, limit, across_folders) in LIMITS {
        let parsed = Crate::parse(&workspace().join("crates").join(name).join("src")).unwrap();
        assert!(!parsed.files.is_empty());
        for circle in circles(&imports(&parsed)) {
            let files: Vec<_> = circle.iter().map(|&file| &parsed.files[file]).collect();
            assert!(
                files.len() <= limit,
                "{name}: {} files need each other: {files:?}",
                files.len()
            );
            let folder = files[0].parent();
            let in_one = files.iter().all(|file| file.parent() == folder);
            assert!(in_one || across_folders, "{name}: a circle across folders: {files:?}");
        }
    }
}

#[test]
fn imports_are_resolved_through_reexports() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("lib.rs", "mod a; mod b; pub use b::Beta;");
    // By way of the root, and inside of a macro.
    write(
        "a.rs",
        "use crate::Beta; pub struct Alpha(Beta); pub fn f() { debug!(crate::b::c::g()) }",
    );
    write("b/mod.rs", "pub mod c; mod tell; pub use tell::Beta;");
    write("b/c.rs", "pub fn g() {} #[cfg(test)] mod tests { use crate::a::Alpha; }");
    write("b/tell.rs", "use super::super::a; pub struct Beta; fn h(_: a::Alpha) {}");
    let parsed = Crate::parse(folder.path()).unwrap();
    let file = |name: &str| parsed.files.iter().position(|file| file.ends_with(name)).unwrap();
    let edges = imports(&parsed);
    let uses = |from: &str, to: &str| edges[file(from)].contains(&file(to));
    assert!(uses("a.rs", "b/tell.rs") && uses("a.rs", "b/c.rs"), "{edges:?}");
    assert!(!uses("a.rs", "b/mod.rs") && !uses("b/c.rs", "a.rs"), "{edges:?}");
    assert_eq!(circles(&edges), [[file("a.rs"), file("b/tell.rs")]]);
}
