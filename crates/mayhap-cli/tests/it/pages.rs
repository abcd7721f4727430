//! Pages whose examples are run as they are.

use std::path::Path;
use std::process::Command;

/// A fenced block of the shell, and its expected output.
pub(crate) struct Recipe {
    pub(crate) section: String,
    pub(crate) line: usize,
    pub(crate) script: String,
    pub(crate) expected: String,
    pub(crate) is_pending: bool,
}

/// Reads the page: a block `sh` is followed by a block `text`.
pub(crate) fn recipes(page: &str) -> Vec<Recipe> {
    let mut recipes: Vec<Recipe> = Vec::new();
    let (mut section, mut fence): (String, Option<&str>) = (String::new(), None);
    for (i, line) in page.lines().enumerate() {
        match (fence, line.strip_prefix("```")) {
            (None, None) => {
                if let Some(title) = line.strip_prefix("## ") {
                    title.clone_into(&mut section);
                }
            }
            (None, Some(kind)) => {
                fence = Some(kind);
                if kind.starts_with("sh") {
                    let (line, is_pending) = (i + 1, kind == "sh pending");
                    let (script, expected) = (String::new(), String::new());
                    recipes.push(Recipe {
                        section: section.clone(),
                        line,
                        script,
                        expected,
                        is_pending,
                    });
                } else {
                    assert_eq!(kind, "text", "line {}", i + 1);
                    assert!(recipes.last().unwrap().expected.is_empty(), "line {}", i + 1);
                }
            }
            (Some(kind), None) => {
                let recipe = recipes.last_mut().unwrap();
                let block = if kind == "text" { &mut recipe.expected } else { &mut recipe.script };
                *block += line;
                *block += "\n";
            }
            (Some(_), Some(_)) => fence = None,
        }
    }
    recipes
}

/// Whether a line is the expected one, where `...` matches any text.
pub(crate) fn line_matches(expected: &str, line: &str) -> bool {
    let mut parts = expected.split("...");
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// The same for a whole output, where a line `...` matches any lines.
fn matches(expected: &[&str], lines: &[&str]) -> bool {
    match (expected.split_first(), lines.split_first()) {
        (None, None) => true,
        (Some((&"...", rest)), _) => (0..=lines.len()).any(|skip| matches(rest, &lines[skip..])),
        (Some((first, expected)), Some((line, lines))) => {
            line_matches(first, line) && matches(expected, lines)
        }
        _ => false,
    }
}

/// Runs a script with the command on the path; all that it prints.
pub(crate) fn shell(folder: &Path, script: &str) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_mayhap")).parent().unwrap().to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(binary).chain(std::env::split_paths(&path)));
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{script}")])
        .current_dir(folder)
        .env("PATH", path.unwrap())
        .env("LC_ALL", "C")
        .env("DEMO_SAMPLE", "1")
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Whether a recipe printed the output on the page; otherwise both, for the message.
pub(crate) fn judge(recipe: &Recipe, expected: &str, output: &str) -> Result<(), String> {
    let lines: Vec<&str> = output.lines().collect();
    if matches(&expected.lines().collect::<Vec<_>>(), &lines) {
        return Ok(());
    }
    let Recipe { line, script, .. } = recipe;
    Err(format!("line {line}:\n{script}-- printed\n{output}-- not\n{expected}"))
}

#[test]
fn dots_stand_for_what_differs_and_for_nothing_else() {
    assert!(line_matches("in ... s, ...M/s", "in 0.01 s, 2.94M/s"));
    assert!(!line_matches("in ... s", "in 0.01 s, 2.94M/s"));
    assert!(!line_matches("a", "ab") && !line_matches("a...", "b"));
    assert!(matches(&["a", "...", "d"], &["a", "b", "c", "d"]) && matches(&["..."], &[]));
    assert!(!matches(&["a"], &["a", "b"]) && !matches(&["a", "...", "d"], &["a", "b"]));
    let recipes = recipes("## s\n```sh\na\n```\n\n```text\nb\n```\n```sh pending\nc\n```\n");
    assert_eq!((recipes.len(), &*recipes[0].script, &*recipes[0].expected), (2, "a\n", "b\n"));
    assert!(recipes[1].is_pending && recipes[1].section == "s");
}
