//! Which file uses the items of which other one, with re-exports resolved to the file of the item.

use crate::source::{Crate, Use};
use std::collections::{BTreeMap, BTreeSet};

/// Where a path leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Module(usize),
    /// An item, in the file of this index.
    Item(usize),
}

/// Re-exports that are followed; a longer chain is one that leads back to itself.
const MAX_DEPTH: usize = 16;

/// For each file, the other files whose items it uses, as indices into [`Crate::files`].
///
/// A module that is only named on the way to an item does not count, nor does a re-export that its
/// own module does not use.
pub fn imports(parsed: &Crate) -> Vec<BTreeSet<usize>> {
    let mut edges = vec![BTreeSet::new(); parsed.files.len()];
    for (id, module) in parsed.modules.iter().enumerate() {
        let mut add = |target: Option<Target>| {
            if let Some(Target::Item(file)) = target
                && file != module.file
            {
                edges[module.file].insert(file);
            }
        };
        for used in &module.uses {
            match &used.name {
                Some(name) if used.is_reexport && !module.names.contains(name) => {}
                Some(_) => add(resolve(parsed, id, &used.path, MAX_DEPTH)),
                None if used.is_reexport => {}
                None => {
                    if let Some(Target::Module(from)) = resolve(parsed, id, &used.path, MAX_DEPTH) {
                        for name in &module.names {
                            add(look_up(parsed, from, name, MAX_DEPTH));
                        }
                    }
                }
            }
        }
        for path in &module.paths {
            add(resolve(parsed, id, path, MAX_DEPTH));
        }
    }
    edges
}

/// For each type that has an `impl` without a trait the files of those, as indices into
/// [`Crate::files`]. A type is the file that defines it, with its name.
pub fn impls(parsed: &Crate) -> BTreeMap<(usize, String), BTreeSet<usize>> {
    let mut files: BTreeMap<_, BTreeSet<usize>> = BTreeMap::new();
    for (id, module) in parsed.modules.iter().enumerate() {
        for path in &module.impls {
            if let Some(Target::Item(home)) = resolve(parsed, id, path, MAX_DEPTH)
                && let Some(name) = path.last()
            {
                files.entry((home, name.clone())).or_default().insert(module.file);
            }
        }
    }
    files
}

fn resolve(parsed: &Crate, from: usize, path: &[String], depth: usize) -> Option<Target> {
    let mut target = None;
    for (i, name) in path.iter().enumerate() {
        target = Some(match (target, name.as_str()) {
            (Some(Target::Item(file)), _) => return Some(Target::Item(file)),
            (None, "crate") => Target::Module(0),
            (None, "self") => Target::Module(from),
            (None, "super") => Target::Module(parsed.modules[from].parent),
            (Some(Target::Module(id)), "super") => Target::Module(parsed.modules[id].parent),
            (None, name) => look_up(parsed, from, name, depth)?,
            (Some(Target::Module(id)), name) => match look_up(parsed, id, name, depth) {
                Some(target) => target,
                // An item that a macro defines, in the module that was found.
                None if i > 0 => return Some(Target::Item(parsed.modules[id].file)),
                None => return None,
            },
        });
    }
    target
}

fn look_up(parsed: &Crate, id: usize, name: &str, depth: usize) -> Option<Target> {
    let depth = depth.checked_sub(1)?;
    let module = &parsed.modules[id];
    if let Some(&child) = module.children.get(name) {
        return Some(Target::Module(child));
    }
    if module.items.contains(name) {
        return Some(Target::Item(module.file));
    }
    let is_named = |used: &&Use| used.name.as_deref() == Some(name);
    // A name of another crate resolves to nothing, and must not resolve to itself.
    let is_other = |used: &&Use| used.path.first().is_some_and(|first| first != name);
    if let Some(used) = module.uses.iter().filter(is_named).find(is_other) {
        return resolve(parsed, id, &used.path, depth);
    }
    module.uses.iter().filter(|used| used.name.is_none()).find_map(|glob| {
        match resolve(parsed, id, &glob.path, depth)? {
            Target::Module(from) if from != id => look_up(parsed, from, name, depth),
            _ => None,
        }
    })
}
