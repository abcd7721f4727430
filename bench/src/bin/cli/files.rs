//! Filter files: built, queried and merged by us and by others, with the same numbers.

use crate::child::Input;
use crate::report::{COST_COLUMNS, cost_cells};
use crate::{Options, Outcome, Tool, measure, version};
use mayhap_bench::machine::output;
use mayhap_bench::ratio::{Ratio, Side};
use serde::Serialize;
use std::fmt::Write as _;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The rate requested from every tool.
const FPP: &str = "1e-4";
const SHARDS: usize = 8;
const MIB: f64 = (1 << 20) as f64;
/// Memory that a command may take in addition to its filter.
const SLACK: f64 = 8.0 * MIB;

const DCSO: &str = "DCSO bloom";
const POPPY: &str = "poppy";
const OURS: &str = "mayhap";
const STANDARD: &str = "mayhap standard";
/// The name of a filter as large as that of [`DCSO`].
const SAME_SIZE: &str = "mayhap, same size";

/// One program with its filter.
#[derive(Clone)]
struct Contestant {
    name: &'static str,
    /// The program that it needs.
    program: String,
    filter: PathBuf,
    build: Vec<String>,
    check: Vec<String>,
    version: fn(&str) -> String,
    rate: Rate,
}

/// The results of queries whose answer is known.
#[derive(Clone, Copy, Default, Serialize)]
struct Rate {
    asked: u64,
    false_positives: u64,
    false_negatives: u64,
}

/// All that is measured of filter files.
pub(crate) struct Tables {
    contestants: Vec<Contestant>,
    build: Vec<Outcome>,
    check: Vec<Outcome>,
    merge: Vec<Outcome>,
}

/// DCSO's program prints its version as `Bloom Filter version 0.2.4`.
fn last_word(program: &str) -> String {
    let text = output(program, &["--version"]);
    format!("{program} {}", text.split(' ').next_back().unwrap_or_default())
}

fn words(command: &str) -> Vec<String> {
    command.split(' ').map(str::to_owned).collect()
}

fn shell(script: String) -> Vec<String> {
    vec!["sh".into(), "-c".into(), script]
}

fn contestants(options: &Options) -> Vec<Contestant> {
    let (mayhap, items) = (&options.mayhap, options.items);
    let filter = |name: &str| options.work.join(name);
    let ours = |name, file: &str, size: &str| {
        let path = filter(file).display().to_string();
        Contestant {
            name,
            program: mayhap.clone(),
            filter: filter(file),
            build: words(&format!("{mayhap} build -q --force -o {path} {size}")),
            check: words(&format!("{mayhap} check {path}")),
            version,
            rate: Rate::default(),
        }
    };
    let theirs = |name, program: &str, file: &str, create: &str, insert: &str, check: &str, v| {
        let path = filter(file).display().to_string();
        Contestant {
            name,
            program: program.to_owned(),
            filter: filter(file),
            build: shell(format!("rm -f {path} && {create} {path} && {insert} {path}")),
            check: words(&format!("{check} {path}")),
            version: v,
            rate: Rate::default(),
        }
    };
    let plain = format!("-n {items} -p {FPP}");
    vec![
        theirs(
            DCSO,
            "bloom",
            "dcso.bloom",
            &format!("bloom create {plain}"),
            "bloom insert",
            "bloom check",
            last_word,
        ),
        theirs(
            POPPY,
            "poppy",
            "poppy.bloom",
            &format!("poppy -j 1 create -c {items} -p {FPP}"),
            "poppy -j 1 insert",
            "poppy -j 1 check",
            |_| "poppy-filters".to_owned(),
        ),
        ours(OURS, "mayhap", &plain),
        ours(STANDARD, "standard", &format!("--layout standard {plain}")),
    ]
}

impl Tables {
    /// Finds the programs and makes each filter once.
    pub(crate) fn new(options: &Options) -> io::Result<Self> {
        std::fs::create_dir_all(&options.work)?;
        let mut contestants = contestants(options);
        contestants.retain(|one| {
            let is_there = crate::is_there(&one.program);
            if !is_there {
                eprintln!("SKIPPED {}: {} is not there", one.name, one.program);
            }
            is_there
        });
        for one in &contestants {
            one.tool(&one.build, &options.members).job().measure()?;
        }
        contestants.extend(same_size(&contestants, options)?);
        let of = |command: fn(&Contestant) -> &Vec<String>, lines: &PathBuf| {
            let outcome =
                |one: &Contestant| Outcome::of(one.tool(command(one), lines), &one.program);
            contestants.iter().filter_map(outcome).collect::<Vec<_>>()
        };
        let build = of(|one| &one.build, &options.members);
        let check = of(|one| &one.check, &options.queries);
        let merge = merge(options)?;
        Ok(Self { contestants, build, check, merge })
    }

    /// Runs all in turns, and counts the output.
    pub(crate) fn measure(&mut self, options: &Options) -> io::Result<()> {
        measure(&mut self.build, options.rounds)?;
        measure(&mut self.check, options.rounds)?;
        measure(&mut self.merge, options.rounds)?;
        let absent = count_lines(&options.absent)?;
        let members = count_lines(&options.queries)? - absent;
        for one in &mut self.contestants {
            let count = |lines| one.tool(&one.check, lines).job().output(|out| count(out));
            let (false_positives, _) = count(&options.absent)?;
            let (found, _) = count(&options.queries)?;
            let false_positives = false_positives?;
            let false_negatives = (members + false_positives).saturating_sub(found?);
            one.rate = Rate { asked: absent, false_positives, false_negatives };
            eprintln!("counted: {}", one.name);
        }
        Ok(())
    }

    pub(crate) fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        [&self.build, &self.check, &self.merge].into_iter().flatten()
    }

    pub(crate) fn to_markdown(&self) -> String {
        let mut out = String::new();
        for (title, outcomes) in [
            ("Build a filter file of distinct lines", &self.build),
            ("Query it, half of the lines are members", &self.check),
            ("Merge filter files", &self.merge),
        ] {
            let _ = write!(out, "## {title}\n\n{COST_COLUMNS}\n|---|---|--:|--:|--:|--:|--:|\n");
            for outcome in outcomes {
                out += &cost_cells(outcome);
                out += "\n";
            }
            out += "\n";
        }
        if self.merge.is_empty() {
            out += "SKIPPED: this mayhap has no `merge`.\n\n";
        }
        out += "## Rates\n\n| tool | filter MB | target rate | measured rate | false positives \
                | false negatives |\n|---|--:|--:|--:|--:|--:|\n";
        for one in &self.contestants {
            let Rate { asked, false_positives, false_negatives } = one.rate;
            let asked_rate = if one.name == SAME_SIZE { "as large as DCSO's" } else { FPP };
            let _ = writeln!(
                out,
                "| {} | {:.1} | {asked_rate} | {:.2e} | {false_positives} of {asked} \
                 | {false_negatives} |",
                one.name,
                one.bytes() / 1e6,
                false_positives as f64 / asked as f64,
            );
        }
        out + "\n"
    }

    /// Size and answers of every filter.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        let one = |one: &Contestant| {
            let bytes = one.bytes();
            serde_json::json!({ "name": one.name, "filter_bytes": bytes, "rate": one.rate })
        };
        self.contestants.iter().map(one).collect()
    }

    /// The targets of mayhap, computed from this run.
    pub(crate) fn ratios(&self) -> Vec<Ratio> {
        let mut ratios = Vec::new();
        let mut add = |what: &str, formula: String, value, side, target| {
            ratios.push(Ratio { what: what.to_owned(), formula, value, side, target });
        };
        let cpu = |outcomes: &[Outcome], name| find(outcomes, name).map(Outcome::cpu);
        for (what, outcomes, ours, target) in [
            ("CPU time, build", &self.build, OURS, 4.0),
            ("CPU time, check", &self.check, SAME_SIZE, 6.0),
        ] {
            if let (Some(us), Some(them)) = (cpu(outcomes, ours), cpu(outcomes, DCSO)) {
                add(what, format!("{DCSO} / {ours}"), them / us, Side::AtLeast, target);
            }
        }
        for (what, outcomes) in
            [("peak memory, build", &self.build), ("peak memory, check", &self.check)]
        {
            for one in self.contestants.iter().filter(|one| one.name.starts_with(OURS)) {
                if let Some(outcome) = find(outcomes, one.name) {
                    let over = outcome.max_rss_mb() * 1e6 - one.bytes();
                    let formula = format!("{}: MiB beside the filter", one.name);
                    add(what, formula, over / MIB, Side::AtMost, SLACK / MIB);
                }
            }
        }
        if let [ours, floor] = self.merge.as_slice() {
            let formula = "cat + write / merge".to_owned();
            add(
                "wall time, merge",
                formula.clone(),
                floor.wall() / ours.wall(),
                Side::AtLeast,
                0.5,
            );
            add("CPU time, merge", formula, floor.cpu() / ours.cpu(), Side::AtLeast, 0.5);
        }
        for one in self.contestants.iter().filter(|one| one.name.starts_with(OURS)) {
            let lost = one.rate.false_negatives as f64;
            add("false negatives", one.name.to_owned(), lost, Side::AtMost, 0.0);
            if one.name != SAME_SIZE {
                let expected = one.rate.asked as f64 * 1e-4;
                let above = (one.rate.false_positives as f64 - expected) / expected.sqrt();
                let formula = format!("{}: σ above the rate asked", one.name);
                add("rate", formula, above, Side::AtMost, 3.0);
            }
        }
        ratios
    }
}

impl Contestant {
    fn tool(&self, command: &[String], lines: &Path) -> Tool {
        Tool {
            name: self.name,
            command: command.to_vec(),
            input: Input::File,
            lines: lines.to_owned(),
            version: self.version,
        }
    }

    fn bytes(&self) -> f64 {
        self.filter.metadata().map_or(f64::NAN, |data| data.len() as f64)
    }
}

/// Ours once more, as large as DCSO's filter.
fn same_size(contestants: &[Contestant], options: &Options) -> io::Result<Option<Contestant>> {
    let find = |name| contestants.iter().find(|one| one.name == name);
    let (Some(ours), Some(dcso)) = (find(OURS), find(DCSO)) else { return Ok(None) };
    let mut same = Contestant { name: SAME_SIZE, ..ours.clone() };
    same.filter = options.work.join("same-size");
    let (path, bytes) = (same.filter.display(), dcso.filter.metadata()?.len());
    let Options { mayhap, items, .. } = options;
    let size = format!("-n {items} --mem {bytes} --layout blocked");
    same.build = words(&format!("{mayhap} build -q --force -o {path} {size}"));
    same.check = words(&format!("{mayhap} check {path}"));
    same.tool(&same.build, &options.members).job().measure()?;
    Ok(Some(same))
}

/// Merging against reading the same files and writing one.
fn merge(options: &Options) -> io::Result<Vec<Outcome>> {
    let mayhap = &options.mayhap;
    if output(mayhap, &["merge", "--help"]) == "unknown" {
        eprintln!("SKIPPED merge: this mayhap has no such verb");
        return Ok(Vec::new());
    }
    // A filter of 8 times 128 MiB at 10 M lines, and in proportion.
    let bytes = options.items.saturating_mul(13).max(1 << 20);
    let shards: Vec<String> = (0..SHARDS)
        .map(|shard| options.work.join(format!("shard-{shard}")).display().to_string())
        .collect();
    for (i, path) in shards.iter().enumerate() {
        let script = format!(
            "awk 'NR % {SHARDS} == {i}' | {mayhap} build -q --force -o {path} -n {} --mem {bytes}",
            options.items
        );
        let lines = options.members.clone();
        let command = shell(script);
        let tool = Tool { name: "shard", command, input: Input::File, lines, version };
        tool.job().measure()?;
    }
    let (all, copy) = (options.work.join("all"), options.work.join("copy"));
    let (all, copy, shards) = (all.display(), copy.display(), shards.join(" "));
    let first = shards.split(' ').next().unwrap_or_default();
    let tool = |name, command| Tool {
        name,
        command,
        input: Input::File,
        lines: PathBuf::from("/dev/null"),
        version,
    };
    let ours = tool("merge", words(&format!("{mayhap} merge -q --force -o {all} {shards}")));
    // The merged file is safe on the disk, too.
    let floor = tool(
        "cat + write",
        shell(format!("cat {shards} > /dev/null && dd bs=1M conv=fsync < {first} > {copy}")),
    );
    Ok([Outcome::of(ours, mayhap), Outcome::of(floor, "cat")].into_iter().flatten().collect())
}

fn find<'a>(outcomes: &'a [Outcome], name: &str) -> Option<&'a Outcome> {
    outcomes.iter().find(|outcome| outcome.tool.name == name)
}

fn count_lines(path: &Path) -> io::Result<u64> {
    count(&mut std::fs::File::open(path)?)
}

fn count(from: &mut dyn Read) -> io::Result<u64> {
    let (mut buffer, mut count) = (vec![0; 1 << 16], 0);
    loop {
        let length = from.read(&mut buffer)?;
        if length == 0 {
            return Ok(count);
        }
        count += buffer[..length].iter().map(|&byte| u64::from(byte == b'\n')).sum::<u64>();
    }
}
