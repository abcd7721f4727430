//! Line filters against each other: CPU time, wall time, peak memory, and whether what comes out is
//! right. `bench/cli.sh` prepares the input and the peers and calls this.

mod check;
mod child;
mod report;

use check::Verdict;
use child::{Cost, Input, Job};
use mayhap_bench::machine::output;
use mayhap_bench::stats::parse_count;
use serde::Deserialize;
use std::io;
use std::path::{Path, PathBuf};

const USAGE: &str = "\
Usage: cli --lines FILE --mayhap PROGRAM [--distinct 5M] [--rounds 5] [--out DIR]

Peers that are not in PATH are left out, and it is said that they were.
";

/// One row: a name for the ratios, the command, how it gets its input and how it tells its
/// version.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) command: Vec<String>,
    pub(crate) input: Input,
    version: fn(&str) -> String,
}

/// What `mayhap dedup --json` says of itself.
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

pub(crate) const FIXED: &str = "mayhap, -n";
pub(crate) const PIPE: &str = "mayhap, pipe";

/// The version that most programs print.
fn version(program: &str) -> String {
    output(program, &["--version"])
}

fn tools(mayhap: &str, distinct: &str) -> Vec<Tool> {
    let tool = |name, command: &str, input, version| Tool {
        name,
        command: command.split(' ').map(str::to_owned).collect(),
        input,
        version,
    };
    let ours = |name, arguments: &str, input| {
        let mut tool = tool(name, arguments, input, version);
        tool.command.insert(0, mayhap.to_owned());
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
        // It tells no version.
        tool("xuniq", &format!("xuniq -c {count}"), Input::File, |_| "xuniq".to_owned()),
        tool("runiq", "runiq --filter quick -", Input::File, version),
        tool("anewer", "anewer", Input::File, version),
    ]
}

struct Options {
    lines: PathBuf,
    mayhap: String,
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
    let mut outcomes = Vec::new();
    for tool in tools(&options.mayhap, &options.distinct) {
        if !is_there(&tool.command[0]) {
            eprintln!("{}: {} is not there, left out", tool.name, tool.command[0]);
            continue;
        }
        let version = (tool.version)(&tool.command[0]);
        let verdict = Verdict::default();
        outcomes.push(Outcome { tool, version, costs: vec![], verdict, summary: None });
    }
    measure(&mut outcomes, options)?;
    // Only now, since a child's peak memory is counted from the size of its parent on.
    verify(&mut outcomes, &options.lines)?;
    let text = report::to_markdown(&facts, &outcomes, &options.lines, options.rounds);
    if let Some(folder) = &options.out {
        std::fs::write(folder.join("cli.md"), &text)?;
    }
    Ok(text)
}

/// All tools take turns, another one first in each round. The first round warms up the page cache
/// and is not kept.
fn measure(outcomes: &mut [Outcome], options: &Options) -> io::Result<()> {
    for round in 0..=options.rounds {
        for turn in 0..outcomes.len() {
            let outcome = &mut outcomes[(turn + round) % outcomes.len()];
            let tool = &outcome.tool;
            let cost = tool.job(&options.lines).measure().map_err(|e| tool.name_error(&e))?;
            eprintln!("round {round}: {}: {:.2?} CPU", outcome.tool.name, cost.cpu());
            if round > 0 {
                outcome.costs.push(cost);
            }
        }
    }
    Ok(())
}

/// One more run each, whose output is looked at.
fn verify(outcomes: &mut [Outcome], lines: &Path) -> io::Result<()> {
    for outcome in outcomes {
        let tool = &outcome.tool;
        let output = tool.job(lines).output(|out| check::check(lines, out));
        let (verdict, talk) = output.map_err(|error| tool.name_error(&error))?;
        outcome.verdict = verdict?;
        outcome.summary = talk.lines().find_map(|line| serde_json::from_str(line).ok());
        eprintln!("verified: {}", outcome.tool.name);
    }
    Ok(())
}

impl Tool {
    fn job<'a>(&'a self, lines: &'a Path) -> Job<'a> {
        Job { command: &self.command, input: self.input, lines }
    }

    fn name_error(&self, error: &io::Error) -> io::Error {
        io::Error::other(format!("{}: {error}", self.name))
    }

    /// The command as one types it, without the folders of the program.
    pub(crate) fn shell(&self, lines: &Path) -> String {
        let program = Path::new(&self.command[0]).file_name().unwrap_or_default().to_string_lossy();
        let lines = lines.file_name().unwrap_or_default().to_string_lossy();
        let quote = |word: &String| {
            let mark = if word.contains(['!', '$', '[']) { "'" } else { "" };
            format!(" {mark}{word}{mark}")
        };
        let command =
            program.into_owned() + &self.command[1..].iter().map(quote).collect::<String>();
        match self.input {
            Input::File => format!("{command} < {lines}"),
            Input::Pipe => format!("cat {lines} \\| {command}"),
        }
    }
}

/// Whether the program is a file, or one in a folder of PATH.
fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    Path::new(program).is_file()
        || std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn options() -> Result<Options, String> {
    let (mut lines, mut mayhap, mut out) = (None, None, None);
    let (mut distinct, mut rounds) = ("5M".to_owned(), 5);
    let mut parser = lexopt::Parser::from_env();
    let message = |error: lexopt::Error| error.to_string();
    while let Some(argument) = parser.next().map_err(message)? {
        use lexopt::{Arg::Long, ValueExt};
        match argument {
            Long("lines") => lines = Some(parser.value().map_err(message)?.into()),
            Long("mayhap") => mayhap = Some(string(&mut parser)?),
            Long("distinct") => distinct = string(&mut parser)?,
            Long("rounds") => {
                rounds = parser.value().and_then(|value| value.parse()).map_err(message)?;
            }
            Long("out") => out = Some(parser.value().map_err(message)?.into()),
            other => return Err(other.unexpected().to_string()),
        }
    }
    parse_count(&distinct)?;
    let lines = lines.ok_or("--lines is missing")?;
    Ok(Options { lines, mayhap: mayhap.ok_or("--mayhap is missing")?, distinct, rounds, out })
}

fn string(parser: &mut lexopt::Parser) -> Result<String, String> {
    use lexopt::ValueExt;
    parser.value().and_then(ValueExt::string).map_err(|error| error.to_string())
}
