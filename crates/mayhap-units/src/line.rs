//! Text of others that is shown in lines of ours.

use std::borrow::Cow;

/// A line with escaped control characters: names of files may contain any, and must not move the
/// cursor or begin a line that looks like ours.
pub fn printable(line: &str) -> Cow<'_, str> {
    if !line.contains(char::is_control) {
        return line.into();
    }
    let mut text = String::with_capacity(line.len() + 8);
    for char in line.chars() {
        if char.is_control() {
            text.extend(char.escape_default());
        } else {
            text.push(char);
        }
    }
    text.into()
}
