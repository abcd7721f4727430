//! Command-line tools against each other: line filters, and filter files that are built, queried
//! and merged. CPU time, wall time, peak memory, and whether the output is right. `bench/cli.sh`
//! prepares the input and the peers and calls this.

mod check;
mod child;
mod files;
mod report;

use check::Verdict;
use child::{Cost, Input, Job};
use mayhap_bench::machine::output;
use mayhap_bench::stats::parse_count;
use serde::Deserialize;
use std::io;
use std::path::{Path, PathBuf};

const USAGE: &str = "\
Usage: cli --lines FILE --members FILE --queries FILE --absent FILE --items COUNT
           --mayhap PROGRAM --work DIR [--distinct 5M] [--rounds 5] [--out DIR]

--lines is for dedup. --members are COUNT distinct lines, --absent are lines that are no members,
and --queries are those and as many members. Filters are made in --work.

Peers that are not in PATH are left out, and it is said that they were.
";

/// One row: a name for the ratios, the command, the form of its input and the way to get its
/// version.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) command: Vec<String>,
    pub(crate) input: Input,
    pub(crate) lines: PathBuf,
    version: fn(&str) -> String,
}

/// The summary of `mayhap dedup --json`.
#[derive(Deserialize)]
pub(crate) struct Summary {
    pub(crate) lines_read: u64,
    pub(crate) lines_kept: u64,
    pub(crate) lines_dropped: u64,
    pub(crate) expected_lost_lines: f64,
    pub(crate) expected_lost_lines_sigma: f64,
}

/// All that is known of one tool.
pub(crate) struct Outcome {
    pub(crate) tool: Tool,
    pub(crate) version: String,
    pub(crate) costs: Vec<Cost>,
    pub(crate) verdict: Verdict,
    pub(crate) summary: Option<Summary>,
}

impl Outcome {
    /// The outcome of a tool that has not run yet; `None`, with a message, if its program is
    /// missing.
    pub(crate) fn of(tool: Tool, program: &str) -> Option<Self> {
        if !is_there(program) {
            eprintln!("{}: {program} is not there, left out", tool.name);
            return None;
        }
        let version = (tool.version)(program);
        Some(Self { tool, version, costs: vec![], verdict: Verdict::default(), summary: None })
    }
}

pub(crate) const FIXED: &str = "mayhap, -n";
pub(crate) const PIPE: &str = "mayhap, pipe";

/// The version that most programs print.
pub(crate) fn version(program: &str) -> String {
    output(program, &["--version"])
}

fn tools(options: &Options) -> Vec<Tool> {
    let Options { mayhap, distinct, lines, .. } = options;
    let tool = |name, command: &str, input, version| Tool {
        name,
        command: command.split(' ').map(str::to_owned).collect(),
        input,
        lines: lines.clone(),
        version,
    };
    let ours = |name, arguments: &str, input| {
        let mut tool = tool(name, arguments, input, version);
        tool.command.insert(0, mayhap.clone());
        tool
    };
    let count = parse_count(distinct).expect("checked with the options");
    vec![
        ours(FIXED, &format!("dedup --json -n {distinct} -p 1e-4"), Input::File),
        ours(PIPE, "dedup --json", Input::Pipe),
        ours("mayhap, file", "dedup --json", Input::File),
        tool("sort", "sort -u", Input::File, version),
        tool("mawk", "mawk !seen[$0]++", Input::File, |program| {
            output(program, &["-W", "version"])
        }),
        tool("huniq", "huniq", Input::File, version),
        // It has no option for its version.
        tool("xuniq", &format!("xuniq -c {count}"), Input::File, |_| "xuniq".to_owned()),
        tool("runiq", "runiq --filter quick -", Input::File, version),
        tool("anewer", "anewer", Input::File, version),
    ]
}

/// The command line.
#[derive(Default)]
pub(crate) struct Options {
    lines: PathBuf,
    pub(crate) members: PathBuf,
    pub(crate) queries: PathBuf,
    pub(crate) absent: PathBuf,
    pub(crate) items: u64,
    pub(crate) mayhap: String,
    pub(crate) work: PathBuf,
    distinct: String,
    rounds: usize,
    out: Option<PathBuf>,
}

fn main() {
    let options = options().unwrap_or_else(|message| fail(&format!("{message}\n\n{USAGE}")));
    match run(&options) {
        Ok(text) => println!("{text}"),
        Err(error) => fail(&error.to_string()),
    }
}

fn fail(message: &str) -> ! {
    eprintln!("cli: {}", message.trim_end());
    std::process::exit(2);
}

fn run(options: &Options) -> io::Result<String> {
    let facts = mayhap_bench::machine::facts();
    let mut dedup: Vec<Outcome> = tools(options)
        .into_iter()
        .filter_map(|tool| {
            let program = tool.command[0].clone();
            Outcome::of(tool, &program)
        })
        .collect();
    measure(&mut dedup, options.rounds)?;
    let mut files = files::Tables::new(options)?;
    files.measure(options)?;
    // Only now, since a child's peak memory is counted from the size of its parent on.
    verify(&mut dedup)?;
    let (mut text, mut ratios) = report::dedup(&dedup, &options.lines);
    text += &files.to_markdown();
    ratios.extend(files.ratios());
    let text = report::page(&facts, &text, &ratios, options.rounds);
    if let Some(folder) = &options.out {
        std::fs::write(folder.join("tools.md"), &text)?;
        let all: Vec<&Outcome> = dedup.iter().chain(files.outcomes()).collect();
        let json = report::to_json(&facts, &all, &files.to_json(), &ratios)?;
        std::fs::write(folder.join("tools.json"), json)?;
    }
    Ok(text)
}

/// All tools take turns, another one first in each round. The first round warms up the page cache
/// and is not kept.
pub(crate) fn measure(outcomes: &mut [Outcome], rounds: usize) -> io::Result<()> {
    for round in 0..=rounds {
        for turn in 0..outcomes.len() {
            let number = (turn + round) % outcomes.len();
            let outcome = &mut outcomes[number];
            let tool = &outcome.tool;
            let cost = tool.job().measure().map_err(|e| tool.name_error(&e))?;
            eprintln!("round {round}: {}: {:.2?} CPU", outcome.tool.name, cost.cpu());
            if round > 0 {
                outcome.costs.push(cost);
            }
        }
    }
    Ok(())
}

/// One more run each, whose output is checked.
fn verify(outcomes: &mut [Outcome]) -> io::Result<()> {
    for outcome in outcomes {
        let tool = &outcome.tool;
        let output = tool.job().output(|out| check::check(&tool.lines, out));
        let (verdict, talk) = output.map_err(|error| tool.name_error(&error))?;
        outcome.verdict = verdict?;
        outcome.summary = talk.lines().find_map(|line| serde_json::from_str(line).ok());
        eprintln!("verified: {}", outcome.tool.name);
    }
    Ok(())
}

impl Tool {
    pub(crate) fn job(&self) -> Job<'_> {
        Job { command: &self.command, input: self.input, lines: &self.lines }
    }

    pub(crate) fn name_error(&self, error: &io::Error) -> io::Error {
        io::Error::other(format!("{}: {error}", self.name))
    }

    /// The command as one types it, without the folders of the files.
    pub(crate) fn shell(&self) -> String {
        let lines = name_of(&self.lines);
        let quote = |word: &String| {
            let mark = if word.contains(['!', '$', '[']) { "'" } else { "" };
            format!(" {mark}{}{mark}", name_of(Path::new(word)))
        };
        let command = match self.command.as_slice() {
            [sh, _, script] if sh == "sh" => without_folders(script),
            [program, words @ ..] => {
                name_of(Path::new(program)) + &words.iter().map(quote).collect::<String>()
            }
            [] => String::new(),
        };
        match self.input {
            Input::File => format!("{command} < {lines}"),
            Input::Pipe => format!("cat {lines} \\| {command}"),
        }
    }
}

/// The last part of a path; all of it if it has none.
fn name_of(path: &Path) -> String {
    let is_path = path.is_absolute();
    let name = path.file_name().filter(|_| is_path).unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

fn without_folders(script: &str) -> String {
    script.split(' ').map(|word| name_of(Path::new(word))).collect::<Vec<_>>().join(" ")
}

/// Whether the program is a file, or one in a folder of PATH.
pub(crate) fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    Path::new(program).is_file()
        || std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn options() -> Result<Options, String> {
    let mut options = Options { distinct: "5M".to_owned(), rounds: 5, ..Options::default() };
    let mut parser = lexopt::Parser::from_env();
    let message = |error: lexopt::Error| error.to_string();
    while let Some(argument) = parser.next().map_err(message)? {
        use lexopt::{Arg::Long, ValueExt};
        match argument {
            Long("lines") => options.lines = path(&mut parser)?,
            Long("members") => options.members = path(&mut parser)?,
            Long("queries") => options.queries = path(&mut parser)?,
            Long("absent") => options.absent = path(&mut parser)?,
            Long("items") => options.items = parse_count(&string(&mut parser)?)?,
            Long("mayhap") => options.mayhap = string(&mut parser)?,
            Long("work") => options.work = path(&mut parser)?,
            Long("distinct") => options.distinct = string(&mut parser)?,
            Long("rounds") => {
                options.rounds = parser.value().and_then(|value| value.parse()).map_err(message)?;
            }
            Long("out") => options.out = Some(path(&mut parser)?),
            other => return Err(other.unexpected().to_string()),
        }
    }
    parse_count(&options.distinct)?;
    let Options { lines, members, queries, absent, work, .. } = &options;
    let is_missing = |path: &PathBuf| path.as_os_str().is_empty();
    if [lines, members, queries, absent, work].into_iter().any(is_missing)
        || options.items == 0
        || options.mayhap.is_empty()
    {
        return Err("an argument is missing".to_owned());
    }
    Ok(options)
}

/// A path, made absolute: commands run where they are.
fn path(parser: &mut lexopt::Parser) -> Result<PathBuf, String> {
    let path = parser.value().map_err(|error| error.to_string())?;
    std::path::absolute(path).map_err(|error| error.to_string())
}

fn string(parser: &mut lexopt::Parser) -> Result<String, String> {
    use lexopt::ValueExt;
    parser.value().and_then(ValueExt::string).map_err(|error| error.to_string())
}
