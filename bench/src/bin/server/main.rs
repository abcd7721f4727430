//! `mayhap serve` under load, beside Redis on the same machine in one run.

mod load;
mod small;
mod store;
mod times;

use lexopt::prelude::*;
use load::Load;
use mayhap_bench::process::{Error, Process};
use mayhap_bench::ratio::{self, Ratio, Side};
use mayhap_bench::{machine, stats};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Instant;
use times::Waits;

/// Keys, digests or items of a batch command.
const ITEMS: usize = 100;
/// Digests of a batch of digests.
const DIGESTS: usize = 10_000;
const IDLE: usize = 10_000;
/// Items, of a million, that are inserted, and others.
const ITEM: &str = "i:__number__";
const ABSENT: &str = "z:__number__";
/// Connections of a load.
const CLIENTS: usize = 50;

struct Options {
    mayhap: PathBuf,
    rounds: u32,
    /// A hundredth of the number of commands sent.
    scale: u64,
    /// Only this number of small filters, and nothing else.
    small: Option<u64>,
    /// Only a server in front of Redis.
    store: bool,
    out: Option<PathBuf>,
}

fn options() -> Result<Options, Error> {
    let mut options = Options {
        mayhap: "mayhap".into(),
        rounds: 5,
        scale: 100,
        small: None,
        store: false,
        out: None,
    };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("mayhap") => options.mayhap = parser.value()?.into(),
            Long("rounds") => options.rounds = parser.value()?.parse()?,
            Long("scale") => options.scale = parser.value()?.parse()?,
            Long("store") => options.store = true,
            Long("small") => options.small = Some(1_000_000),
            Long("filters") => options.small = Some(parser.value()?.parse()?),
            Long("out") => options.out = Some(parser.value()?.into()),
            _ => return Err(argument.unexpected().into()),
        }
    }
    Ok(options)
}

/// The server that is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    Redis,
    /// Without a data folder.
    Memory,
    /// With a log, `everysec`.
    Logged,
}

/// A command at a depth of pipelining.
struct Case {
    who: Who,
    name: &'static str,
    command: Vec<&'static str>,
    pipeline: u64,
    /// Commands a second, µs of CPU a command.
    figures: Vec<(f64, f64)>,
    /// The cases that it is compared with, measured right before it each time: the machine may
    /// behave differently a minute later.
    beside: Vec<Beside>,
}

/// The figures of another case, a place in the list.
struct Beside {
    case: usize,
    figures: Vec<(f64, f64)>,
}

impl Case {
    fn rate(&self) -> f64 {
        stats::median(self.figures.iter().map(|figure| figure.0).collect())
    }

    fn cpu(&self) -> f64 {
        stats::median(self.figures.iter().map(|figure| figure.1).collect())
    }

    /// Its rate divided by that of the other case.
    fn rate_to(&self, other: usize) -> Option<f64> {
        let beside = self.beside.iter().find(|beside| beside.case == other)?;
        let pairs = self.figures.iter().zip(&beside.figures);
        Some(stats::median(pairs.map(|(ours, theirs)| ours.0 / theirs.0).collect()))
    }

    /// The same for the CPU time.
    fn cpu_to(&self, other: usize) -> Option<f64> {
        let beside = self.beside.iter().find(|beside| beside.case == other)?;
        let pairs = self.figures.iter().zip(&beside.figures);
        Some(stats::median(pairs.map(|(ours, theirs)| ours.1 / theirs.1).collect()))
    }

    fn is_batch(&self) -> bool {
        self.command.len() > ITEMS
    }

    fn load(&self, scale: u64) -> Load {
        let load = Load { clients: CLIENTS, pipeline: self.pipeline, commands: 0, lines: 1 };
        let commands = match self.pipeline {
            // CPU is counted in hundredths of a second, and scale must not change how many are new.
            _ if self.is_batch() => {
                return Load { commands: 50_000, lines: 1 + ITEMS as u64, ..load };
            }
            1 => 200_000,
            16 => 1_000_000,
            _ => 3_000_000,
        };
        Load { commands: commands * scale / 100, ..load }
    }
}

fn cases() -> Vec<Case> {
    let items = |name: &'static str| {
        let mut command = vec![name, "bf"];
        command.extend(vec![ITEM; ITEMS]);
        command
    };
    let mut cases = Vec::new();
    let mut case = |who, name, command: &[&'static str], pipeline| {
        let (command, figures, beside) = (command.to_vec(), vec![], vec![]);
        cases.push(Case { who, name, command, pipeline, figures, beside });
    };
    for pipeline in [1, 16, 100] {
        case(Who::Redis, "PING", &["PING"], pipeline);
        case(Who::Redis, "GETBIT", &["GETBIT", "bm", load::BIT], pipeline);
        case(Who::Redis, "GETBIT of one bit", &["GETBIT", "bm", "7777777"], pipeline);
        case(Who::Memory, "PING", &["PING"], pipeline);
        for (name, command, item) in [
            ("BF.ADD", "BF.ADD", ITEM),
            ("BF.EXISTS, some there", "BF.EXISTS", ITEM),
            ("BF.EXISTS, absent", "BF.EXISTS", ABSENT),
        ] {
            case(Who::Memory, name, &[command, "bf", item], pipeline);
        }
        case(Who::Logged, "BF.ADD", &["BF.ADD", "bf", ITEM], pipeline);
    }
    case(Who::Memory, "BF.MADD × 100", &items("BF.MADD"), 16);
    case(Who::Memory, "BF.MEXISTS × 100", &items("BF.MEXISTS"), 16);
    for i in 0..cases.len() {
        cases[i].beside = compared(&cases, i);
    }
    cases
}

fn place(cases: &[Case], who: Who, name: &str, pipeline: u64) -> Option<usize> {
    cases.iter().position(|case| case.who == who && case.name == name && case.pipeline == pipeline)
}

/// The cases that a case is compared with.
fn compared(cases: &[Case], i: usize) -> Vec<Beside> {
    let Case { who, name, pipeline, .. } = cases[i];
    let ping = (Who::Redis, "PING", 100);
    let with = match who {
        Who::Memory if cases[i].is_batch() => vec![ping],
        Who::Memory if name == "PING" => vec![],
        Who::Memory if pipeline == 100 => vec![ping, (Who::Redis, "GETBIT", pipeline)],
        Who::Memory => vec![(Who::Redis, "GETBIT", pipeline)],
        Who::Logged => vec![(Who::Memory, name, pipeline)],
        Who::Redis => vec![],
    };
    let found = with.iter().filter_map(|&(who, name, at)| place(cases, who, name, at));
    found.map(|case| Beside { case, figures: vec![] }).collect()
}

struct Servers {
    redis: Process,
    memory: Process,
    logged: Process,
}

impl Servers {
    fn of(&self, who: Who) -> &Process {
        match who {
            Who::Redis => &self.redis,
            Who::Memory => &self.memory,
            Who::Logged => &self.logged,
        }
    }
}

/// One figure, on a fresh filter of a million.
fn measure(servers: &Servers, case: &Case, scale: u64) -> Result<(f64, f64), Error> {
    let server = servers.of(case.who);
    if case.who == Who::Redis {
        server.ask(b"SETBIT bm 9999999 1\r\n")?;
    } else {
        server.ask(b"DEL bf\r\n")?;
        server.ask(b"BF.RESERVE bf 0.01 1000000\r\n")?;
        if case.name.starts_with("BF.EXISTS") || case.name.starts_with("BF.MEXISTS") {
            let load = Load { clients: CLIENTS, pipeline: 100, commands: 500_000, lines: 1 };
            load::run(server, load, &["BF.ADD", "bf", ITEM])?;
        }
    }
    let load = case.load(scale);
    let before = server.cpu()?;
    let rate = load::run(server, load, &case.command)?;
    let cpu = (server.cpu()? - before) * 1e6 / load.commands as f64;
    Ok((rate, cpu))
}

/// Digests queried per second by one connection, and µs of CPU for one.
fn digests(server: &Process) -> Result<(f64, f64), Error> {
    server.ask(b"DEL dg\r\n")?;
    server.ask(b"BF.RESERVE dg 0.01 1000000 KEYED no\r\n")?;
    let mut stream = server.connect()?;
    let mut request = format!("*3\r\n$13\r\nBF.MEXISTSHASH\r\n$2\r\ndg\r\n${}\r\n", DIGESTS * 8)
        .replace("$13", "$14")
        .into_bytes();
    for i in 0..DIGESTS as u64 {
        request.extend(mayhap_bench::keys::mix(i).to_le_bytes());
    }
    request.extend(b"\r\n");
    let rounds = 500;
    let (cpu, clock) = (server.cpu()?, Instant::now());
    for _ in 0..rounds {
        stream.write_all(&request)?;
        read_bulk(&mut stream)?;
    }
    let count = (rounds * DIGESTS) as f64;
    Ok((count / clock.elapsed().as_secs_f64(), (server.cpu()? - cpu) * 1e6 / count))
}

fn read_bulk(stream: &mut TcpStream) -> Result<(), Error> {
    let mut buffer = [0; 16_384];
    let mut length = stream.read(&mut buffer)?;
    if buffer[0] != b'$' {
        return Err(String::from_utf8_lossy(&buffer[..length.min(200)]).into());
    }
    let wanted = loop {
        if let Some(end) = buffer[..length].iter().position(|&byte| byte == b'\n') {
            let bytes: usize = std::str::from_utf8(&buffer[1..end])?.trim().parse()?;
            break end + 1 + bytes + 2;
        }
        length += stream.read(&mut buffer[length..])?;
    };
    while length < wanted {
        let more = stream.read(&mut buffer)?;
        if more == 0 {
            return Err("the connection was closed".into());
        }
        length += more;
    }
    Ok(())
}

/// Bytes that an idle connection costs, after one command each.
fn idle(server: &Process) -> Result<f64, Error> {
    let before = server.resident()?;
    let mut streams = Vec::with_capacity(IDLE);
    for _ in 0..IDLE {
        let mut stream = server.connect()?;
        stream.write_all(b"PING\r\n")?;
        stream.read_exact(&mut [0; 7])?;
        streams.push(stream);
    }
    Ok((server.resident()?.saturating_sub(before)) as f64 / IDLE as f64)
}

/// The measurements besides the cases.
struct Once {
    /// Digests a second, µs of CPU for one.
    digests: Vec<(f64, f64)>,
    /// Bytes of an idle connection.
    idle: f64,
    /// Pipelines of 100, single calls.
    growth: [Waits; 2],
    /// Seconds.
    starts: Vec<f64>,
}

impl Once {
    fn digest_cpu(&self) -> f64 {
        stats::median(self.digests.iter().map(|figure| figure.1).collect())
    }

    fn text(&self) -> String {
        let rate = stats::median(self.digests.iter().map(|figure| figure.0).collect());
        let mut out = format!(
            "\nDigests, {DIGESTS} a command, one connection: {rate:.0} a second, {:.4} µs of CPU \
             each.\nAn idle connection, of {IDLE} after one command each: {:.0} bytes.\n",
            self.digest_cpu(),
            self.idle
        );
        for (what, waits) in ["100 in a pipeline", "one at a time"].iter().zip(self.growth) {
            let Waits { usual, rare, longest } = waits;
            let _ = writeln!(
                out,
                "BF.ADD while a filter grows from 1 M to 8 M keys, everysec, {what}: half wait \
                 {usual:.3} ms, one of 1,000 {rare:.2} ms or more, the longest {longest:.1} ms."
            );
        }
        let starts: Vec<String> = self.starts.iter().map(|it| format!("{it:.2}")).collect();
        let _ = writeln!(
            out,
            "Start with 1 GiB of filters in 8 files, to the answer about a key: {} s.",
            starts.join(", ")
        );
        out
    }
}

fn main() -> Result<(), Error> {
    let options = options()?;
    let facts = machine::facts();
    let folder = std::env::temp_dir().join(format!("mayhap-load-{}", std::process::id()));
    std::fs::create_dir(&folder)?;
    if let Some(filters) = options.small {
        let report = small::report(&options.mayhap, &folder.join("small"), filters);
        std::fs::remove_dir_all(&folder)?;
        return print(&report?, options.out.as_ref().map(|out| out.join("server-small.md")));
    }
    if options.store {
        let report = store::report(&options.mayhap, &folder, (options.rounds, options.scale));
        std::fs::remove_dir_all(&folder)?;
        return print(&report?, options.out.as_ref().map(|out| out.join("store.md")));
    }
    let servers = Servers {
        redis: Process::redis()?,
        memory: Process::mayhap(&options.mayhap, None)?,
        logged: Process::mayhap(&options.mayhap, Some((&folder, "everysec")))?,
    };
    let mut cases = cases();
    let mut of_digests = vec![];
    for round in 0..options.rounds {
        for i in 0..cases.len() {
            for j in 0..cases[i].beside.len() {
                let figure = measure(&servers, &cases[cases[i].beside[j].case], options.scale)?;
                cases[i].beside[j].figures.push(figure);
            }
            let figure = measure(&servers, &cases[i], options.scale)?;
            cases[i].figures.push(figure);
        }
        of_digests.push(digests(&servers.memory)?);
        eprintln!("round {} of {}", round + 1, options.rounds);
    }
    let once = Once {
        digests: of_digests,
        idle: idle(&servers.memory)?,
        growth: times::growth(&servers.logged)?,
        starts: {
            drop(servers);
            times::starts(&options.mayhap, &folder.join("start"))?
        },
    };
    std::fs::remove_dir_all(&folder)?;
    let report = report(&options, &facts, &cases, &once);
    print(&report, options.out.as_ref().map(|out| out.join("server.md")))
}

fn print(report: &str, to: Option<PathBuf>) -> Result<(), Error> {
    println!("{report}");
    to.map_or(Ok(()), |to| Ok(std::fs::write(to, report)?))
}

fn report(
    options: &Options,
    facts: &[(&'static str, String)],
    cases: &[Case],
    once: &Once,
) -> String {
    let mut out = format!(
        "# The server under load\n\nMade by `bench/server.sh`: {CLIENTS} connections of one \
         thread on the CPU that the servers, of one thread each, leave, with requests that were \
         written beforehand, keys of 14 bytes out of a million, a filter of a million keys at 1 %; \
         GETBIT reads one of 9 million bits each time, as a lookup in a filter does; medians of {} \
         rounds with everybody taking turns; ratios are medians of those with the other one, \
         measured again right before. CPU is the server's own, for a command (a batch command \
         has {ITEMS} items; of those of BF.MADD a fifth are new).\n\n{}- peer: {}\n\n",
        options.rounds,
        machine::list(facts),
        machine::output("redis-server", &["--version"]),
    );
    out += "| pipeline | server | command | a second | CPU, µs |\n|--:|---|---|--:|--:|\n";
    for case in cases {
        let who = match case.who {
            Who::Redis => "Redis",
            Who::Memory => "mayhap, no data folder",
            Who::Logged => "mayhap, everysec",
        };
        let (pipeline, name) = (case.pipeline, case.name);
        let _ = writeln!(
            out,
            "| {pipeline} | {who} | {name} | {:.0} | {:.3} |",
            case.rate(),
            case.cpu()
        );
    }
    out += &once.text();
    out + "\n## Ratios\n\n" + &ratio::table(&ratios(cases, once))
}

fn ratios(cases: &[Case], once: &Once) -> Vec<Ratio> {
    let find = |who, name: &str, pipeline| place(cases, who, name, pipeline);
    let mut ratios = Vec::new();
    let mut push = |what: String, formula: &str, value: f64, side, target| {
        ratios.push(Ratio { what, formula: formula.into(), value, side, target });
    };
    let names = ["BF.ADD", "BF.EXISTS, some there", "BF.EXISTS, absent"];
    for pipeline in [1, 16, 100] {
        let Some(getbit) = find(Who::Redis, "GETBIT", pipeline) else { continue };
        for name in names {
            let case = find(Who::Memory, name, pipeline);
            if let Some(value) = case.and_then(|case| cases[case].rate_to(getbit)) {
                let what = format!("{name}, pipeline {pipeline}");
                push(what, "a second / GETBIT of Redis", value, Side::AtLeast, 1.0);
            }
        }
        let logged =
            find(Who::Logged, "BF.ADD", pipeline).zip(find(Who::Memory, "BF.ADD", pipeline));
        if let Some(value) = logged.and_then(|(logged, memory)| cases[logged].rate_to(memory)) {
            let what = format!("BF.ADD with everysec, pipeline {pipeline}");
            push(what, "a second / without a log", value, Side::AtLeast, 0.85);
        }
    }
    if let Some(ping) = find(Who::Redis, "PING", 100) {
        for name in names {
            let case = find(Who::Memory, name, 100);
            if let Some(value) = case.and_then(|case| cases[case].cpu_to(ping)) {
                let what = format!("{name}, pipeline 100");
                push(what, "CPU / PING of Redis", value, Side::AtMost, 1.6);
            }
        }
        // 0.05 and 0.04 µs where a PING takes 0.273.
        for (name, target) in [("BF.MADD × 100", 0.18), ("BF.MEXISTS × 100", 0.145)] {
            let case = find(Who::Memory, name, 16);
            if let Some(value) = case.and_then(|case| cases[case].cpu_to(ping)) {
                let value = value / ITEMS as f64;
                push(name.into(), "CPU an item / PING of Redis", value, Side::AtMost, target);
            }
        }
        // 20 M a second and core.
        let value = once.digest_cpu() / cases[ping].cpu();
        push("digests".into(), "CPU of one / PING of Redis", value, Side::AtMost, 0.18);
    }
    push("an idle connection".into(), "KiB", once.idle / 1024.0, Side::AtMost, 15.0);
    let rare = once.growth[0].rare.max(once.growth[1].rare);
    push("BF.ADD while a filter grows".into(), "p99.9, ms", rare, Side::AtMost, 5.0);
    let start = stats::median(once.starts.clone());
    push("start with 1 GiB of filters".into(), "s", start, Side::AtMost, 1.5);
    ratios
}
