//! Lines of product code: lines with a token that is neither documentation nor for tests.

use crate::source::{attributes, is_for_tests};
use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::BTreeSet;

/// Lines of product code in a file.
pub fn product_lines(file: &syn::File) -> usize {
    let mut lines = BTreeSet::new();
    for item in file.items.iter().filter(|item| !is_for_tests(attributes(item))) {
        add(item.to_token_stream(), &mut lines);
    }
    lines.len()
}

fn add(tokens: TokenStream, lines: &mut BTreeSet<usize>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                let is_doc = matches!(
                    tokens.peek(),
                    Some(TokenTree::Group(group)) if is_documentation(&group.stream())
                );
                if is_doc {
                    tokens.next();
                } else {
                    note(punct.span(), lines);
                }
            }
            TokenTree::Group(group) => {
                note(group.span_open(), lines);
                add(group.stream(), lines);
                note(group.span_close(), lines);
            }
            other => note(other.span(), lines),
        }
    }
}

fn is_documentation(attribute: &TokenStream) -> bool {
    let first = attribute.clone().into_iter().next();
    matches!(first, Some(TokenTree::Ident(ident)) if ident == "doc")
}

fn note(span: Span, lines: &mut BTreeSet<usize>) {
    lines.extend(span.start().line..=span.end().line);
}
