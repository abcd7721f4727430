//! A crate's product code as modules: everything below `src` that is not for tests alone.

use crate::lines::product_lines;
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use syn::punctuated::Punctuated;
use syn::token::Comma;
use syn::{Attribute, Field, Fields, Item, ItemImpl, ItemStruct, Meta, Type, UseTree, Visibility};

/// A module: a file, or a `mod` block in one.
#[derive(Debug, Default)]
pub struct Module {
    /// The file, as an index into [`Crate::files`].
    pub file: usize,
    /// Its parent module; the root is its own.
    pub parent: usize,
    /// Modules in it, by name.
    pub children: BTreeMap<String, usize>,
    /// Items defined in it.
    pub items: BTreeSet<String>,
    /// Names that `use` brings in.
    pub uses: Vec<Use>,
    /// Paths with more than one segment, outside of `use`.
    pub paths: Vec<Vec<String>>,
    /// Single names, outside of `use`.
    pub names: BTreeSet<String>,
    /// Types that an `impl` without a trait is for, as paths.
    pub impls: Vec<Vec<String>>,
    /// Structs with named fields.
    pub structs: Vec<Struct>,
}

/// A struct with named fields.
#[derive(Debug, Clone)]
pub struct Struct {
    /// Its name.
    pub name: String,
    /// How many fields it has.
    pub fields: usize,
    /// Fields that neighbours can reach though they are not public: `pub(super)`, `pub(in path)`.
    pub open: usize,
}

/// One leaf of a `use`.
#[derive(Debug, Clone)]
pub struct Use {
    /// The whole path; without the `*` of a glob.
    pub path: Vec<String>,
    /// The name that it gets here; `None` for a glob.
    pub name: Option<String>,
    /// Whether others can import it from here.
    pub is_reexport: bool,
}

/// The product code of a crate.
#[derive(Debug, Default)]
pub struct Crate {
    /// Paths relative to `src`.
    pub files: Vec<PathBuf>,
    /// Lines of product code in each file.
    pub lines: Vec<usize>,
    /// All modules; the first one is the root.
    pub modules: Vec<Module>,
}

impl Crate {
    /// Parses `src/lib.rs` (or `main.rs`) and the modules that it declares.
    ///
    /// # Errors
    ///
    /// [`io::Error`] with the file's name for one that is missing or is no Rust.
    pub fn parse(src: &Path) -> io::Result<Self> {
        let root =
            ["lib.rs", "main.rs"].map(|name| src.join(name)).into_iter().find(|f| f.exists());
        let root = root.ok_or_else(|| failed(src, "has neither lib.rs nor main.rs"))?;
        let mut parsed = Self::default();
        parsed.file(src, &root, 0, src)?;
        Ok(parsed)
    }

    /// Adds a file's module; `folder` is the folder of its children.
    fn file(&mut self, src: &Path, path: &Path, parent: usize, folder: &Path) -> io::Result<usize> {
        let text = fs::read_to_string(path).map_err(|error| failed(path, error))?;
        let syntax = syn::parse_file(&text).map_err(|error| failed(path, error))?;
        let file = self.files.len();
        self.files.push(path.strip_prefix(src).unwrap_or(path).to_path_buf());
        let module = self.modules.len();
        self.modules.push(Module { file, parent, ..Module::default() });
        self.lines.push(product_lines(&syntax));
        self.fill(src, module, &syntax.items, folder)?;
        Ok(module)
    }

    fn fill(&mut self, src: &Path, id: usize, items: &[Item], folder: &Path) -> io::Result<()> {
        for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
            match item {
                Item::Mod(inner) => {
                    let name = inner.ident.to_string();
                    let child = if let Some((_, items)) = &inner.content {
                        let (child, file) = (self.modules.len(), self.modules[id].file);
                        self.modules.push(Module { file, parent: id, ..Module::default() });
                        self.fill(src, child, items, &folder.join(&name))?;
                        child
                    } else {
                        let flat = folder.join(format!("{name}.rs"));
                        let deep = folder.join(&name).join("mod.rs");
                        let path = if flat.exists() { flat } else { deep };
                        self.file(src, &path, id, &folder.join(&name))?
                    };
                    self.modules[id].children.insert(name, child);
                }
                Item::Use(used) => {
                    let is_reexport = !matches!(used.vis, Visibility::Inherited);
                    let uses = &mut self.modules[id].uses;
                    leaves(&used.tree, &mut Vec::new(), is_reexport, uses);
                }
                other => {
                    let module = &mut self.modules[id];
                    module.impls.extend(inherent(other));
                    module.structs.extend(named_fields(other));
                    module.items.extend(name_of(other));
                    paths_in(other.to_token_stream(), module);
                }
            }
        }
        Ok(())
    }
}

fn failed(path: &Path, error: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}

/// Whether an item is compiled for tests alone: `cfg(test)`, or `cfg(all(test, …))`.
pub fn is_for_tests(attributes: &[Attribute]) -> bool {
    let needs_test = |attribute: &Attribute| attribute.parse_args().is_ok_and(|it| of_tests(&it));
    attributes.iter().any(|it| it.path().is_ident("cfg") && needs_test(it))
}

fn of_tests(condition: &Meta) -> bool {
    match condition {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("all") => {
            let parts = list.parse_args_with(Punctuated::<Meta, Comma>::parse_terminated);
            parts.is_ok_and(|parts| parts.iter().any(of_tests))
        }
        _ => false,
    }
}

/// The attributes of an item.
pub fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn name_of(item: &Item) -> Option<String> {
    Some(match item {
        Item::Const(item) => item.ident.to_string(),
        Item::Enum(item) => item.ident.to_string(),
        Item::Fn(item) => item.sig.ident.to_string(),
        Item::Macro(item) => item.ident.as_ref()?.to_string(),
        Item::Static(item) => item.ident.to_string(),
        Item::Struct(item) => item.ident.to_string(),
        Item::Trait(item) => item.ident.to_string(),
        Item::Type(item) => item.ident.to_string(),
        Item::Union(item) => item.ident.to_string(),
        _ => return None,
    })
}

/// The path of the type that an `impl` without a trait is for.
fn inherent(item: &Item) -> Option<Vec<String>> {
    let Item::Impl(ItemImpl { trait_: None, self_ty, .. }) = item else { return None };
    let Type::Path(path) = &**self_ty else { return None };
    Some(path.path.segments.iter().map(|segment| segment.ident.to_string()).collect())
}

fn named_fields(item: &Item) -> Option<Struct> {
    let Item::Struct(ItemStruct { ident, fields: Fields::Named(fields), .. }) = item else {
        return None;
    };
    let is_open = |field: &&Field| match &field.vis {
        Visibility::Restricted(to) => !to.path.is_ident("crate"),
        _ => false,
    };
    Some(Struct {
        name: ident.to_string(),
        fields: fields.named.len(),
        open: fields.named.iter().filter(is_open).count(),
    })
}

fn leaves(tree: &UseTree, before: &mut Vec<String>, is_reexport: bool, found: &mut Vec<Use>) {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            leaves(&path.tree, before, is_reexport, found);
            before.pop();
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                leaves(tree, before, is_reexport, found);
            }
        }
        UseTree::Glob(_) => found.push(Use { path: before.clone(), name: None, is_reexport }),
        UseTree::Name(name) => found.push(leaf(before, &name.ident, &name.ident, is_reexport)),
        UseTree::Rename(rename) => {
            found.push(leaf(before, &rename.ident, &rename.rename, is_reexport));
        }
    }
}

fn leaf(before: &[String], item: &Ident, name: &Ident, is_reexport: bool) -> Use {
    let mut path = before.to_vec();
    if item != "self" {
        path.push(item.to_string());
    }
    let name = if name == "self" { path.last().cloned() } else { Some(name.to_string()) };
    Use { path, name, is_reexport }
}

/// Collects paths and names from tokens, in macros and in bodies without tests alike.
fn paths_in(tokens: TokenStream, module: &mut Module) {
    let mut path: Vec<String> = Vec::new();
    // Colons since the last name.
    let mut colons = 0;
    let end = |path: &mut Vec<String>, module: &mut Module| match path.len() {
        0 => {}
        1 => {
            module.names.insert(path.remove(0));
        }
        _ => module.paths.push(std::mem::take(path)),
    };
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => {
                if colons != 2 {
                    end(&mut path, module);
                }
                path.push(ident.to_string());
                colons = 0;
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
            TokenTree::Group(group) => {
                end(&mut path, module);
                colons = 0;
                paths_in(group.stream(), module);
            }
            _ => {
                end(&mut path, module);
                colons = 0;
            }
        }
    }
    end(&mut path, module);
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    #[test]
    fn items_for_tests_alone_are_known_whatever_else_they_need() {
        for (attribute, expected) in [
            (parse_quote!(#[cfg(test)]), true),
            (parse_quote!(#[cfg(all(test, feature = "server"))]), true),
            (parse_quote!(#[cfg(all(unix, all(loom, test)))]), true),
            (parse_quote!(#[cfg(any(test, feature = "server"))]), false),
            (parse_quote!(#[cfg(not(test))]), false),
            (parse_quote!(#[test]), false),
        ] {
            let attribute: Attribute = attribute;
            let text = attribute.to_token_stream().to_string();
            assert_eq!(is_for_tests(&[attribute]), expected, "{text}");
        }
    }
}
