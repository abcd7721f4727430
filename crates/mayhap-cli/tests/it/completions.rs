//! Completions and manual pages.

use crate::support::{fail, file, folder, run, stderr, succeed, verbs};
use std::path::Path;
use std::process::Command;
use test_servers::tool;

const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

fn text(folder: &Path, arguments: &[&str]) -> String {
    String::from_utf8(succeed(folder, arguments, b"")).unwrap()
}

/// The completions of bash for the last of these words.
fn bash_offers(folder: &Path, words: &[&str]) -> Vec<String> {
    let script = r#"
        . ./completion.bash
        function=$(complete -p mayhap | sed 's/.*-F \([^ ]*\).*/\1/')
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
        "$function" mayhap "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let output = Command::new("bash")
        .args(["--norc", "-c", script, "bash"])
        .args(words)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    String::from_utf8(output.stdout).unwrap().lines().map(Into::into).collect()
}

#[test]
fn bash_completes_verbs_flags_and_values() {
    let folder = folder();
    let folder = folder.path();
    if !tool(Command::new("bash").arg("--version").output().is_ok(), "bash") {
        return;
    }
    let script = text(folder, &["completions", "bash"]);
    file(folder, "completion.bash", script.as_bytes());
    let parsed = Command::new("bash").args(["-n", "completion.bash"]).current_dir(folder).output();
    let parsed = parsed.unwrap();
    assert!(parsed.status.success() && parsed.stderr.is_empty(), "{}", stderr(&parsed));
    assert_eq!(bash_offers(folder, &["mayhap", "ded"]), ["dedup"]);
    assert_eq!(bash_offers(folder, &["mayhap", "dedup", "--ov"]), ["--overfill"]);
    let colors = bash_offers(folder, &["mayhap", "info", "--color", "a"]);
    assert_eq!(colors, ["auto", "always"]);
    let offered = bash_offers(folder, &["mayhap", ""]);
    for verb in verbs(folder) {
        assert!(offered.contains(&verb), "{verb}: {offered:?}");
    }
}

#[test]
fn every_shell_gets_a_script_that_knows_every_verb() {
    let folder = folder();
    for shell in SHELLS {
        let script = text(folder.path(), &["completions", shell]);
        for verb in verbs(folder.path()) {
            assert!(script.contains(&verb), "{shell}: {verb}");
        }
    }
    let talk = fail(folder.path(), &["completions", "tcsh"], b"");
    for shell in SHELLS {
        assert!(talk.contains(shell), "{talk}");
    }
}

#[test]
fn manual_pages_render_and_name_every_verb() {
    let folder = folder();
    let folder = folder.path();
    let output = run(folder, &["man", "--out", "share/man1"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let verbs = verbs(folder);
    let mut names: Vec<String> =
        verbs.iter().map(|verb| format!("mayhap-{verb}.1")).chain(["mayhap.1".into()]).collect();
    names.sort();
    let mut written: Vec<String> = std::fs::read_dir(folder.join("share/man1"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    written.sort();
    assert_eq!(written, names);
    // Once more over the old pages, and alike on stdout.
    succeed(folder, &["man", "--out", "share/man1"], b"");
    let page = std::fs::read_to_string(folder.join("share/man1/mayhap-dedup.1")).unwrap();
    assert_eq!(page, text(folder, &["man", "dedup"]));
    if !tool(Command::new("groff").arg("--version").output().is_ok(), "groff (groff-base)") {
        return;
    }
    for name in &names {
        let rendered = Command::new("groff")
            .args(["-man", "-Tascii", "-P-cbou", "-ww", "-rLL=100n", name])
            .current_dir(folder.join("share/man1"))
            .output()
            .unwrap();
        // groff warns of roff that it does not understand.
        assert_eq!(stderr(&rendered), "", "{name}");
        let page = String::from_utf8(rendered.stdout).unwrap();
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES"] {
            assert!(page.contains(&format!("\n{section}\n       ")), "{name}: {section}{page}");
        }
        if name == "mayhap.1" {
            for verb in &verbs {
                assert!(page.contains(&format!("       mayhap-{verb}(1)\n")), "{verb}: {page}");
            }
        }
    }
}

#[test]
fn a_page_of_no_verb_is_refused_with_the_verbs() {
    let folder = folder();
    let talk = fail(folder.path(), &["man", "dedupe"], b"");
    assert!(talk.contains("unknown verb \"dedupe\"") && talk.contains("dedup, build"), "{talk}");
    let talk = fail(folder.path(), &["man", "dedup", "--out", "pages"], b"");
    assert!(talk.contains("cannot be used with"), "{talk}");
    assert!(!folder.path().join("pages").exists());
    file(folder.path(), "taken", b"");
    let talk = fail(folder.path(), &["man", "--out", "taken"], b"");
    assert!(talk.contains("taken is not a folder"), "{talk}");
}
