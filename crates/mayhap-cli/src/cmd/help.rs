//! The examples and the notes of a verb, for `--help` and its manual page: a text in `manual/`.

use clap::Command;

/// The line of a text after which it is only in the manual page.
const PAGE_ONLY: &str = "\n---\n";

/// Adds the examples and the notes of a text to a command: its first paragraph is the examples, and
/// each further one is wrapped anew.
pub(super) fn describe(command: Command, text: &'static str) -> Command {
    let help = text.split_once(PAGE_ONLY).map_or(text, |(help, _)| help);
    let mut paragraphs = paragraphs(help);
    let examples = paragraphs.next().unwrap_or_default();
    let notes: Vec<String> = paragraphs.map(|paragraph| paragraph.replace('\n', " ")).collect();
    let command = command.before_help(examples);
    if notes.is_empty() { command } else { command.after_help(notes.join("\n\n")) }
}

/// The paragraphs of a text that are only in the manual page.
pub(super) fn page_only(text: &str) -> impl Iterator<Item = &str> {
    paragraphs(text.split_once(PAGE_ONLY).map_or("", |(_, page)| page))
}

fn paragraphs(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n\n").map(str::trim_end).filter(|paragraph| !paragraph.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_divided_into_examples_notes_and_what_only_the_page_has() {
        let text =
            "Examples:\n  a\n  b\n\nOne\nnote.\n\nAnother.\n---\nMore,\nlater.\n\nThe end.\n";
        let command = describe(Command::new("verb"), text);
        let shown = |text: Option<&clap::builder::StyledStr>| text.map(ToString::to_string);
        assert_eq!(shown(command.get_before_help()).as_deref(), Some("Examples:\n  a\n  b"));
        assert_eq!(shown(command.get_after_help()).as_deref(), Some("One note.\n\nAnother."));
        assert_eq!(page_only(text).collect::<Vec<_>>(), ["More,\nlater.", "The end."]);
        let command = describe(Command::new("verb"), "Examples:\n  a\n");
        assert!(command.get_after_help().is_none() && page_only("Examples:\n").next().is_none());
    }
}
