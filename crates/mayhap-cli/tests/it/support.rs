//! Running the binary.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};

/// The command, with a folder of its own to run in and no colour of the machine.
pub(crate) fn mayhap(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mayhap"));
    command.current_dir(folder).env_remove("NO_COLOR").stdin(Stdio::null());
    command
}

/// Starts with these arguments and a pipe for each stream.
pub(crate) fn start(folder: &Path, arguments: &[&str]) -> Child {
    mayhap(folder)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Starts a command that serves, and reads its messages until a line has `before`: returns the
/// command, the rest of that line, and its later messages.
pub(crate) fn start_serving(
    mut command: Command,
    before: &str,
) -> (Child, String, BufReader<ChildStderr>) {
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    let rest = loop {
        let mut line = String::new();
        assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "it ended: {said}");
        said += &line;
        if let Some((_, rest)) = line.trim_end().split_once(before) {
            break rest.to_owned();
        }
    };
    (child, rest, stderr)
}

pub(crate) fn send_signal(child: &Child, signal: &str) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// Runs with these arguments and this standard input, through a pipe.
pub(crate) fn run(folder: &Path, arguments: &[&str], input: &[u8]) -> Output {
    let mut child = start(folder, arguments);
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        // The command may stop reading before the end: that is its right.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

/// Runs and expects exit code 0; returns stdout.
pub(crate) fn succeed(folder: &Path, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let output = run(folder, arguments, input);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    output.stdout
}

/// The lines of this input that a filter may hold.
pub(crate) fn held(folder: &Path, name: &str, input: &[u8]) -> Vec<u8> {
    let output = run(folder, &["check", name], input);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    output.stdout
}

/// Runs a command whose first line is `key-0`, reads that line and closes the pipe: it has to end
/// quietly and without an error.
pub(crate) fn closes_after_a_line(folder: &Path, arguments: &[&str]) {
    let mut child = mayhap(folder)
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 6];
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut first).unwrap();
    drop(stdout);
    let output = child.wait_with_output().unwrap();
    assert_eq!((&first, output.status.code()), (b"key-0\n", Some(0)));
    assert_eq!(stderr(&output), "");
}

/// Runs and expects exit code 2; returns stderr.
pub(crate) fn fail(folder: &Path, arguments: &[&str], input: &[u8]) -> String {
    let output = run(folder, arguments, input);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
    stderr(&output)
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Writes a file in the folder.
pub(crate) fn file(folder: &Path, name: &str, contents: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, contents).unwrap();
    path
}

/// A number as the command writes it.
pub(crate) fn grouped(number: u64) -> String {
    mayhap_cli::io::messages::grouped(number)
}

/// Lines `prefix-i` for each `i`.
pub(crate) fn lines(prefix: &str, numbers: impl IntoIterator<Item = u64>) -> Vec<u8> {
    let line = |i| format!("{prefix}-{i}\n").into_bytes();
    numbers.into_iter().flat_map(line).collect()
}

/// The JSON object that is all of some output: one line, and nothing before or after it.
pub(crate) fn json(output: &[u8]) -> serde_json::Value {
    let text = std::str::from_utf8(output).unwrap();
    let line = text.strip_suffix('\n').unwrap_or_else(|| panic!("no line: {text:?}"));
    assert!(!line.contains('\n'), "more than a line of JSON: {text}");
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The one JSON object that is no message among those on stderr of a command with `--json`, and its
/// messages in the form without `--json`.
pub(crate) fn json_and_talk(stderr: &[u8]) -> (serde_json::Value, Vec<String>) {
    let text = std::str::from_utf8(stderr).unwrap();
    let (messages, objects): (Vec<_>, Vec<_>) =
        json_lines(text).into_iter().partition(|object| object["level"].is_string());
    assert_eq!(objects.len(), 1, "one object that is no message: {text}");
    let talk = messages.iter().flat_map(|message| {
        let before = match message["level"].as_str() {
            Some("warning") => "warning: ",
            Some("error") => "mayhap: ",
            _ => "",
        };
        let line = format!("{before}{}", message["message"].as_str().unwrap());
        let hint = message["hint"].as_str().map(|hint| format!("hint: {hint}"));
        [Some(line), hint].into_iter().flatten()
    });
    (objects[0].clone(), talk.collect())
}

/// The objects of a text with exactly one JSON object on each line.
pub(crate) fn json_lines(text: &str) -> Vec<serde_json::Value> {
    let object = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line)
            .unwrap_or_else(|error| panic!("{line:?} is not JSON ({error}): {text}"));
        assert!(value.is_object(), "{text}");
        value
    };
    text.lines().map(object).collect()
}

/// The output of `awk '!seen[$0]++'`: the reference for dedup.
pub(crate) fn first_of_each(input: &[u8]) -> Vec<u8> {
    let mut seen = std::collections::HashSet::new();
    let lines = input.split_inclusive(|&byte| byte == b'\n');
    lines.filter(|line| seen.insert(*line)).flatten().copied().collect()
}

/// A generator of numbers that look random, the same on every run.
pub(crate) fn numbers(mut seed: u64) -> impl Iterator<Item = u64> {
    std::iter::repeat_with(move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed >> 33
    })
}

/// All verbs, as `mayhap --help` lists them.
pub(crate) fn verbs(folder: &Path) -> Vec<String> {
    let help = String::from_utf8(succeed(folder, &["--help"], b"")).unwrap();
    let (_, list) = help.split_once("\nCommands:\n").unwrap();
    let rows = list.lines().take_while(|line| !line.is_empty());
    // A continuation line is indented further.
    let rows = rows.filter(|line| !line.starts_with("   "));
    rows.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
}

/// Runs with a limit on the size of files, in blocks of 512 bytes.
pub(crate) fn limited(folder: &Path, blocks: u32, arguments: &[&str]) -> Output {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_mayhap")]).args(arguments);
    command.current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

/// The names in a folder, in order.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|e| name(e).into_string().unwrap()).collect();
    names.sort();
    names
}
