//! Help that teaches: every verb begins with examples, and every example runs.

use crate::foreign::golden;
use crate::support::{file, folder, lines, succeed, verbs};
use mayhap::BloomMatrix;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use test_servers::{RedisOptions, RedisServer, ready};

/// Programs that cannot be run here or may be missing, with stand-ins of the same name.
const STAND_INS: [(&str, &str); 6] = [
    ("crawl", "printf 'https://a.example/\\nhttps://b.example/\\n'"),
    ("fetch", "cat"),
    // Without -f, which would not end.
    ("tail", "shift; cat \"$@\""),
    ("jq", "cat"),
    ("man", "cat"),
    ("mayhap.ps1", "true"),
];

/// Texts that examples name without an ending.
const TEXTS: [&str; 7] = ["a", "b", "keys", "log", "today", "words", "yesterday"];

/// The examples of a verb's help, as they are printed: explanations are comments of the shell, so
/// that a whole line can be typed.
fn examples(verb: &str) -> Vec<String> {
    let folder = folder();
    let arguments: Vec<&str> = verb.split_whitespace().chain(["--help"]).collect();
    let help = String::from_utf8(succeed(folder.path(), &arguments, b"")).unwrap();
    let mut lines = help.lines();
    assert_eq!(lines.next(), Some("Examples:"), "mayhap {verb} has no examples: {help}");
    let examples: Vec<String> = lines
        .take_while(|line| !line.is_empty())
        .map(|line| {
            let line = line.strip_prefix("  ");
            let line = line.unwrap_or_else(|| panic!("mayhap {verb}: a line is wrapped: {help}"));
            let (command, comment) = parts(line);
            assert!(!command.contains("  "), "mayhap {verb}: no comment begins with #: {line}");
            assert_eq!(comment.trim_start().len() > 1, line.contains("  # "), "{line}");
            line.to_owned()
        })
        .collect();
    assert!(!examples.is_empty(), "mayhap {verb}: {help}");
    let teaches = |example: &String| example.contains(&format!("mayhap {verb}"));
    assert!(examples.iter().any(teaches), "mayhap {verb} is in none of its examples: {help}");
    examples
}

/// The command of an example, and the comment that may follow it.
fn parts(example: &str) -> (&str, &str) {
    let command = example.split("  #").next().unwrap_or(example).trim_end();
    example.split_at(command.len())
}

/// An example of small size: filters of any size are made alike, and measuring takes time.
fn scaled(command: &str) -> String {
    let mut words: Vec<&str> = command.split(' ').collect();
    let plans = words.windows(2).any(|pair| pair == ["mayhap", "plan"]);
    for i in 1..words.len() {
        match words[i - 1] {
            "-n" if !plans => words[i] = "10k",
            "--mem" if !plans => words[i] = "64KiB",
            _ => {}
        }
    }
    let is_service = words.starts_with(&["mayhap", "serve"]);
    if is_service && !words.iter().any(|word| ["--check-config", "--hash-password"].contains(word))
    {
        // It never ends by itself: serve.rs has tests of that.
        words.push("--check-config");
    }
    if matches!(words[..], ["mayhap", "backup" | "restore" | "ui", ..]) {
        // They need a server's folder, or never end: tests/serve/backup.rs and ui.rs have tests.
        words.push("--help");
    }
    words.join(" ").replace("mayhap bench ", "mayhap bench --seconds 0.01 ")
}

/// Makes the files that a command names, except those that it makes itself.
fn make_inputs(folder: &Path, command: &str) {
    for name in TEXTS {
        file(folder, name, &list_for(command));
    }
    let words: Vec<&str> = command.split([' ', ';', '"', '\'']).collect();
    for (i, word) in words.iter().enumerate() {
        let before = if i == 0 { "" } else { words[i - 1] };
        if let Some(path) = word.strip_prefix("~/") {
            let folder = folder.join(path);
            std::fs::create_dir_all(folder.parent().unwrap()).unwrap();
            continue;
        }
        if word.starts_with("redis://") {
            continue;
        }
        let is_made = [">", ">>", "-o", "--output", "--out", "--state", "--new-key-file", "create"];
        let is_pulled = command.starts_with("mayhap pull");
        if is_made.contains(&before) || is_pulled || word.starts_with('-') {
            continue;
        }
        for number in ["1", "2"] {
            make_input(folder, &word.replace('*', number), command, before == "<");
        }
    }
}

/// Lines that have a key by the key options of a command.
fn list_for(command: &str) -> Vec<u8> {
    let line: fn(u64) -> String = match command {
        command if command.contains("/user/mail") => |i| format!("{{\"user\":{{\"mail\":{i}}}}}\n"),
        command if command.contains("--field 2") => |i| format!("key-{i}\tkey-{i}\n"),
        command if command.contains("--key-type long") => |i| format!("{i}\n"),
        _ => |i| format!("key-{i}\n"),
    };
    (0..50).flat_map(|i| line(i).into_bytes()).collect()
}

fn make_input(folder: &Path, name: &str, command: &str, is_read: bool) {
    let path = folder.join(name);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).unwrap();
    }
    let text = list_for(command);
    let ending = Path::new(name).extension().and_then(|ending| ending.to_str());
    match ending {
        _ if name.ends_with('/') => {
            std::fs::create_dir_all(&path).unwrap();
            make_filter(&path, "one.mayhap", "");
        }
        Some("list") => {
            make_filter(folder, "one.mayhap", "");
            file(folder, name, b"one.mayhap\n");
        }
        Some("mayhap") => make_filter(folder, name, command),
        Some("gz") => {
            let level = flate2::Compression::fast();
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
            encoder.write_all(&text).unwrap();
            file(folder, name, &encoder.finish().unwrap());
        }
        Some("zst") => {
            file(folder, name, &zstd::encode_all(&*text, 1).unwrap());
        }
        Some("key") => {
            file(folder, name, &[b'0'; 32]);
        }
        Some("toml") => {
            file(folder, name, b"port = 0\n");
        }
        Some("guava") => {
            std::fs::copy(golden("guava/union_a.bin"), path).unwrap();
        }
        Some("ser") => {
            std::fs::copy(golden("guava/javaser_long_mitz64.ser"), path).unwrap();
        }
        Some("txt" | "csv") => {
            file(folder, name, &text);
        }
        _ if is_read => {
            file(folder, name, &text);
        }
        _ => {}
    }
}

/// A filter of the kind that the command is for.
fn make_filter(folder: &Path, name: &str, command: &str) {
    let is_matrix = command.contains("mayhap which") && name.starts_with("shards");
    if is_matrix || command.contains("--replace-sets") {
        let mut matrix = BloomMatrix::builder()
            .num_sets(3)
            .expected_items(1000)
            .target_fpp(0.01)
            .build()
            .unwrap();
        matrix.set_names(&["east.txt", "north.txt", "west.txt"]).unwrap();
        for i in 0..50 {
            matrix.insert(i % 3, format!("key-{i}").as_bytes());
        }
        mayhap_store::save(&folder.join(name), &matrix, "").unwrap();
        return;
    }
    let layout = match command {
        _ if command.contains("mayhap remove") => "counting",
        _ if command.contains("--age") => "window:10k",
        _ => "blocked",
    };
    let items = if command.contains("mayhap-short") { "100" } else { "10k" };
    let mut made = vec!["build", "-q", "--force", "-n", items, "--layout", layout, "-o", name];
    if command.contains("mayhap assemble") {
        made.extend(["--segment", if name.contains('1') { "1/2" } else { "2/2" }]);
    }
    if command.contains("--sha1") {
        made.push("--sha1");
    }
    if command.contains("mayhap shrink") {
        // A size that has the factor of the examples.
        made.extend(["--mem", "64KiB"]);
    }
    if command.contains("mayhap grow") || command.contains("mayhap freeze") {
        made.push("--keep-digests");
    }
    succeed(folder, &made, &lines("key", 0..100));
}

/// The server that examples name.
const SERVER: &str = "redis://127.0.0.1:6379";

/// Starts a server of its own for an example that names one, with the filter that it queries.
fn with_server(folder: &Path, command: &str) -> (String, Option<RedisServer>) {
    if !command.contains(SERVER) {
        return (command.into(), None);
    }
    let options = RedisOptions { appendonly: true, ..RedisOptions::default() };
    let server = RedisServer::start(&options).unwrap();
    let command = command.replace(SERVER, &server.url());
    if !["create", "push"].iter().any(|verb| command.starts_with(&format!("mayhap {verb}"))) {
        make_filter(folder, "on-the-server.mayhap", "");
        let url = format!("{}/0/seen", server.url());
        succeed(folder, &["push", "-q", "on-the-server.mayhap", &url], b"");
    }
    (command, Some(server))
}

/// Runs an example in a folder of its own; its exit code and its messages.
fn try_example(example: &str) -> (Option<i32>, String) {
    let folder = folder();
    let (here, programs) = (folder.path().join("here"), folder.path().join("programs"));
    std::fs::create_dir(&here).unwrap();
    std::fs::create_dir(&programs).unwrap();
    for (name, script) in STAND_INS {
        let path = file(&programs, name, format!("#!/bin/sh\n{script}\n").as_bytes());
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_mayhap"), programs.join("mayhap")).unwrap();
    let (command, comment) = parts(example);
    let command = scaled(command);
    make_inputs(&here, &command);
    let (command, _server) = with_server(&here, &command);
    let printed = format!("{command}{comment}");
    let mut path = OsString::from(&programs);
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    // Completions need a shell that has them.
    let shell = if command.starts_with("eval") { "bash" } else { "sh" };
    let output = Command::new(shell)
        .args(["-c", &printed])
        .current_dir(&here)
        .env("PATH", path)
        .env("HOME", &here)
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn every_verb_has_examples_and_all_of_them_run() {
    let folder = folder();
    for verb in verbs(folder.path()).iter().map(String::as_str).chain([""]) {
        for example in examples(verb) {
            if example.contains(SERVER) && !ready(&["redis-server"]) {
                continue;
            }
            let (code, talk) = try_example(&example);
            if cfg!(not(feature = "explorer")) && talk.contains("built without the explorer page") {
                continue;
            }
            assert!(matches!(code, Some(0 | 1)), "{example}: {code:?} {talk}");
            // The exit code of a pipe is only its last command's.
            let failed = talk.lines().any(|line| line.starts_with("mayhap:"));
            assert!(!failed && !talk.contains("not found"), "{example}: {talk}");
        }
    }
}

#[test]
fn the_version_needs_no_verb_and_minds_none() {
    let folder = folder();
    let version = format!("mayhap {}\n", env!("CARGO_PKG_VERSION"));
    for arguments in [&["--version"][..], &["-V"], &["-V", "dedup"], &["--color=never", "-V"]] {
        let output = succeed(folder.path(), arguments, b"");
        assert_eq!(String::from_utf8(output).unwrap(), version, "{arguments:?}");
    }
}

#[test]
fn an_example_that_is_wrong_is_found_out() {
    for wrong in [
        "mayhap info --jsn seen.mayhap | jq .estimated_fpp",
        "mayhap check absent-file-without-ending < words.txt",
        "mayhapp info seen.mayhap",
        "mayhap remove seen.mayhap gone | cat; mayhap nothing",
        // The explanation would be typed, too.
        "mayhap info seen.mayhap   look inside",
    ] {
        let (code, talk) = try_example(wrong);
        let failed = talk.lines().any(|line| line.starts_with("mayhap:"));
        assert!(!matches!(code, Some(0 | 1)) || failed, "{wrong}: {code:?} {talk}");
    }
}

#[test]
fn the_notes_of_a_verb_are_short_and_lead_to_its_page() {
    let folder = folder();
    let shown =
        |arguments: &[&str]| String::from_utf8(succeed(folder.path(), arguments, b"")).unwrap();
    let mut led = 0;
    for verb in verbs(folder.path()) {
        let help = shown(&[verb.as_str(), "--help"]);
        // What follows the options, which are indented.
        let notes = help.lines().rev().take_while(|line| !line.starts_with(' '));
        let notes: Vec<&str> = notes.filter(|line| !line.is_empty()).collect();
        assert!(notes.len() <= 6, "mayhap {verb}: {notes:#?}");
        for line in notes.iter().filter(|line| line.starts_with("Details")) {
            assert!(line.ends_with(&format!(": mayhap man {verb}")), "{line}");
            let page = shown(&["man", verb.as_str()]);
            assert!(!page.contains("Details"), "{verb}: the page leads to itself");
            led += 1;
        }
    }
    assert!(led >= 20, "{led}");
}
