//! The verbs of the command, read from its help, so that tests reach verbs and flags that are added
//! later.

use crate::support::succeed;
use std::path::Path;

/// One verb, as its help describes it.
#[derive(Debug)]
pub(crate) struct Verb {
    pub(crate) name: String,
    /// The line after `Usage:`, without the program and the verb.
    pub(crate) usage: String,
    pub(crate) flags: Vec<Flag>,
}

/// One flag in its longest form.
#[derive(Debug)]
pub(crate) struct Flag {
    pub(crate) name: String,
    /// The name of its value, if it takes one.
    pub(crate) value: Option<String>,
}

impl Verb {
    pub(crate) fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|own| own.name == flag)
    }

    /// The argument vectors in which the verb reads `file` as a filter, and `input` if it reads
    /// one.
    pub(crate) fn ways_to_read(&self, file: &str, input: &str) -> Vec<Vec<String>> {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let mut start = words(&[&self.name]);
        if self.usage.contains("--output <") {
            start.extend(words(&["--output", "made"]));
        }
        let arguments = self.usage.split_once("--output <").map_or(&*self.usage, |(_, rest)| rest);
        let positional = arguments.split_once('>').filter(|_| self.has("--output"));
        let positional = positional.map_or(arguments, |(_, rest)| rest);
        let inputs = if positional.contains("INPUT") { words(&[input]) } else { Vec::new() };
        let mut ways = Vec::new();
        if ["FILTER", "MATRIX"].iter().any(|name| positional.contains(name)) {
            ways.push([start.clone(), words(&[file]), inputs.clone()].concat());
        }
        if self.has("--filter") {
            ways.push([start.clone(), words(&["--filter", file]), inputs].concat());
        }
        if self.has("--state") {
            ways.push([start, words(&["--state", file, input])].concat());
        }
        ways
    }
}

/// All verbs that `mayhap --help` lists.
pub(crate) fn verbs(folder: &Path) -> Vec<Verb> {
    let help = |arguments: &[&str]| String::from_utf8(succeed(folder, arguments, b"")).unwrap();
    let all = help(&["--help"]);
    let names = all.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = names.take_while(|line| !line.is_empty());
    let names: Vec<&str> = names.filter_map(first_word_of_entry).collect();
    assert!(names.len() >= 9 && names.contains(&"dedup"), "{names:?}");
    let verb = |name: &str| {
        let text = help(&[name, "--help"]);
        let usage = text.lines().find_map(|line| line.strip_prefix("Usage: mayhap ")).unwrap();
        let flags = text.lines().filter_map(flag).collect();
        Verb { name: name.into(), usage: usage.replacen(name, "", 1), flags }
    };
    names.into_iter().map(verb).collect()
}

/// `build` of ` build Make a filter file`; nothing for a continuation line.
fn first_word_of_entry(line: &str) -> Option<&str> {
    let entry = line.strip_prefix("  ").filter(|entry| !entry.starts_with(' '))?;
    entry.split_whitespace().next()
}

/// `--items` with `COUNT` of `  -n, --items <COUNT>`.
fn flag(line: &str) -> Option<Flag> {
    let line = line.trim_start();
    let is_flag = line.starts_with('-') && !line.starts_with("- ");
    if !is_flag {
        return None;
    }
    let start = line.find("--")?;
    let mut words = line[start..].split([' ', '=']);
    let name = words.next()?.to_owned();
    let value = words.next().map(|value| value.trim_matches(['<', '>', '[', ']']).to_owned());
    Some(Flag { name, value })
}
