//! Texts in the columns of a terminal.

use unicode_width::UnicodeWidthStr;

/// Fewer columns than this are treated as this number: no words fit into less.
const MIN_COLUMNS: usize = 20;

/// The columns that a text takes on a terminal (Unicode Standard Annex 11): two for a wide
/// character, none for a combining one.
///
/// # Examples
///
/// ```
/// assert_eq!(mayhap_plan::columns("filter"), 6);
/// assert_eq!(mayhap_plan::columns("弱口令"), 6);
/// ```
pub fn columns(text: &str) -> usize {
    text.width()
}

/// A text that begins after `indent` columns, broken between words so that no line is longer than
/// `max` columns, and its further lines indented as the first. A longer word has a line of its own.
///
/// # Examples
///
/// ```
/// let folded = mayhap_plan::wrapped("10.0 bits a key, k = 8", 5, 21);
/// assert_eq!(folded, "10.0 bits a key,\n     k = 8");
/// assert_eq!(mayhap_plan::wrapped("10.0 bits a key", 5, usize::MAX), "10.0 bits a key");
/// ```
pub fn wrapped(text: &str, indent: usize, max: usize) -> String {
    let max = max.max(MIN_COLUMNS);
    if columns(text).saturating_add(indent) <= max {
        return text.into();
    }
    let mut lines = String::with_capacity(text.len() + 64);
    let mut column = indent;
    for (i, word) in text.split(' ').enumerate() {
        let width = columns(word);
        if i > 0 && column + 1 + width > max {
            lines.truncate(lines.trim_end_matches(' ').len());
            lines.push('\n');
            lines.extend(std::iter::repeat_n(' ', indent));
            column = indent;
        } else if i > 0 {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += width;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_longer_than_the_terminal_and_no_word_is_lost() {
        let text = "touches 4.5 cache lines per query, not 1.0; 漢字 漢字 漢字 and more words";
        for max in [20, 24, 40, 41, 80] {
            for indent in [0, 7, 12] {
                let wrapped = wrapped(text, indent, max);
                let mut lines = wrapped.lines();
                assert!(columns(lines.next().unwrap()) + indent <= max, "{wrapped}");
                for line in lines {
                    assert!(line.starts_with(&" ".repeat(indent)), "{wrapped}");
                    assert!(columns(line) <= max, "{max} {line}");
                }
                let words: Vec<&str> = wrapped.split_whitespace().collect();
                assert_eq!(words.join(" "), text);
            }
        }
    }

    #[test]
    fn a_word_longer_than_a_line_has_one_of_its_own() {
        let word = "x".repeat(50);
        assert_eq!(wrapped(&format!("a {word} b"), 2, 20), format!("a\n  {word}\n  b"));
    }
}
