//! Files that need each other stay few.

use crate::check;
use tidy::{circles::circles, imports::imports, packages, source::Crate};

/// The largest circle of imports between the files of a folder.
const LIMIT: usize = 2;
/// Crates with larger ones, and whether those may reach across folders.
const EXCEPTIONS: [(&str, usize, bool); 2] = [("mayhap", 3, false), ("mayhap-engine", 5, false)];

#[test]
fn no_circle_of_imports_is_larger_than_its_limit() {
    let mut found = Vec::new();
    for package in packages() {
        let name = &*package.name;
        let exception = EXCEPTIONS.iter().find(|exception| exception.0 == name);
        let (limit, across_folders) = exception.map_or((LIMIT, false), |it| (it.1, it.2));
        let parsed = Crate::parse(&package.src).unwrap();
        assert!(!parsed.files.is_empty());
        for circle in circles(&imports(&parsed)) {
            let files: Vec<_> = circle.iter().map(|&file| &parsed.files[file]).collect();
            if files.len() > limit {
                found.push(format!("{name}: {} files need each other: {files:?}", files.len()));
            }
            let folder = files[0].parent();
            if !across_folders && files.iter().any(|file| file.parent() != folder) {
                found.push(format!("{name}: a circle across folders: {files:?}"));
            }
        }
    }
    check("circles of imports stay small and in a folder", &found);
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
    // Through the root, and inside of a macro.
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
