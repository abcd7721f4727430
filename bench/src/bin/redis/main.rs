//! Filters in Redis: ours against hand-written ones, on one server in one run.

mod contestants;

use contestants::{Act, Client, Error, Who};
use lexopt::prelude::*;
use mayhap_bench::keys::{BenchKey, FIRST_ABSENT, Url};
use mayhap_bench::ratio::{self, Ratio, Side};
use mayhap_bench::{machine, stats};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use test_servers::{RedisOptions, RedisServer};

struct Options {
    items: u64,
    fpps: Vec<f64>,
    rounds: u32,
    /// Keys in a figure of single calls and of batches.
    singles: u64,
    batches: u64,
    out: Option<PathBuf>,
    /// Only cases whose name has this in it: `one key, 50 callers, insert, mayhap`.
    only: String,
}

fn options() -> Result<Options, Error> {
    let mut options = Options {
        items: 1_000_000,
        fpps: vec![],
        rounds: 5,
        singles: 100_000,
        batches: 200_000,
        out: None,
        only: String::new(),
    };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("items") => options.items = stats::parse_count(&parser.value()?.string()?)?,
            Long("fpp") => options.fpps.push(parser.value()?.parse()?),
            Long("rounds") => options.rounds = parser.value()?.parse()?,
            Long("singles") => options.singles = stats::parse_count(&parser.value()?.string()?)?,
            Long("batches") => options.batches = stats::parse_count(&parser.value()?.string()?)?,
            Long("only") => options.only = parser.value()?.string()?,
            Long("out") => options.out = Some(parser.value()?.into()),
            _ => return Err(argument.unexpected().into()),
        }
    }
    if options.fpps.is_empty() {
        options.fpps = vec![0.01, 0.001, 0.0001];
    }
    Ok(options)
}

/// How keys are sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// This number of tasks, each of which waits for a key's answer before the next key, with a
    /// connection of its own; ours share one.
    Single(usize),
    /// The same with one connection for all.
    SingleShared(usize),
    /// Batches of 1,000, one after another.
    Batch,
    /// All keys of the filter.
    Bulk,
}

impl Mode {
    const ALL: [Self; 6] = [
        Self::Single(50),
        Self::Single(200),
        Self::Single(1000),
        Self::SingleShared(50),
        Self::Batch,
        Self::Bulk,
    ];

    fn name(self) -> String {
        match self {
            Self::Single(tasks) => format!("one key, {tasks} callers"),
            Self::SingleShared(tasks) => format!("one key, {tasks} callers on one connection"),
            Self::Batch => "batches of 1,000".into(),
            Self::Bulk => "all keys of the filter".into(),
        }
    }
}

/// Keys a second, and microseconds of the server's CPU for a key.
#[derive(Clone, Copy)]
struct Figure {
    rate: f64,
    cpu: f64,
}

struct Case {
    fpp: f64,
    mode: Mode,
    act: Act,
    who: Who,
    figures: Vec<Figure>,
}

impl Case {
    fn name(&self) -> String {
        format!("{}, {}, {}", self.mode.name(), self.act.name(), self.who.name())
    }

    fn rate(&self) -> f64 {
        stats::median(self.figures.iter().map(|figure| figure.rate).collect())
    }

    fn cpu(&self) -> f64 {
        stats::median(self.figures.iter().map(|figure| figure.cpu).collect())
    }
}

/// Seconds of CPU of the server, of all its threads.
fn server_cpu(server: &RedisServer) -> Result<f64, Error> {
    let text = server.cli(&["INFO", "cpu"])?;
    let fields = text.lines().filter_map(|line| line.trim().split_once(':'));
    let used = fields.filter(|(name, _)| matches!(*name, "used_cpu_user" | "used_cpu_sys"));
    Ok(used.filter_map(|(_, value)| value.parse::<f64>().ok()).sum())
}

/// One figure: a fresh filter for insertions, a full one for queries.
async fn measure(
    server: &RedisServer,
    options: &Options,
    case: &Case,
    round: u32,
) -> Result<Figure, Error> {
    let Case { fpp, mode, act, who, .. } = *case;
    let url = server.url();
    let connect = || Client::connect(who, act, &url, options.items, fpp);
    server.flush()?;
    let mut first = connect().await?;
    let count = match mode {
        Mode::Bulk => options.items,
        Mode::Batch => options.batches,
        Mode::Single(_) | Mode::SingleShared(_) => options.singles,
    };
    let start = u64::from(round) << 32;
    if act == Act::Contains {
        // Half of the queries find their key.
        let members: Vec<Url> = (0..options.items).map(|i| Url::nth(start + i)).collect();
        let members: Vec<&[u8]> = members.iter().map(Url::as_bytes).collect();
        let mut filler = Client::connect(who, Act::Insert, &url, options.items, fpp).await?;
        filler.fill(&members).await?;
    }
    let id = |i: u64| match act {
        Act::Contains if i % 2 == 1 => FIRST_ABSENT + start + i,
        _ => start + i % options.items,
    };
    let keys: Arc<Vec<Url>> = Arc::new((0..count).map(|i| Url::nth(id(i))).collect());
    let clients = match (mode, who) {
        (Mode::Single(tasks), Who::Bits | Who::Lua) => {
            let mut clients = Vec::new();
            for _ in 0..tasks {
                clients.push(connect().await?);
            }
            clients
        }
        (Mode::Single(tasks) | Mode::SingleShared(tasks), _) => vec![first.clone(); tasks],
        _ => vec![],
    };
    let (cpu, clock) = (server_cpu(server)?, Instant::now());
    let yes = match mode {
        Mode::Single(_) | Mode::SingleShared(_) => singles(clients, act, &keys).await?,
        Mode::Batch => {
            let mut yes = 0;
            for batch in keys.chunks(1000) {
                let batch: Vec<&[u8]> = batch.iter().map(Url::as_bytes).collect();
                yes += first.call(act, &batch).await?;
            }
            yes
        }
        Mode::Bulk => {
            let all: Vec<&[u8]> = keys.iter().map(Url::as_bytes).collect();
            first.bulk(&all).await?;
            count
        }
    };
    let seconds = clock.elapsed().as_secs_f64();
    let cpu = server_cpu(server)? - cpu;
    check(case, yes, count)?;
    Ok(Figure { rate: count as f64 / seconds, cpu: cpu * 1e6 / count as f64 })
}

/// Answers that no filter of this rate gives stop the run.
fn check(case: &Case, yes: u64, count: u64) -> Result<(), Error> {
    let count = count as f64;
    let (least, most) = match case.act {
        Act::Insert => (count * (1.0 - 2.0 * case.fpp), count),
        Act::Contains => (count / 2.0, count * (0.5 + case.fpp)),
    };
    // Every second query is for an absent key: five standard deviations of chance.
    let chance = 5.0 * (count * case.fpp).sqrt() + 1.0;
    if (least - chance..=most + chance).contains(&(yes as f64)) {
        return Ok(());
    }
    Err(format!("{}: {yes} of {count} answered yes", case.who.name()).into())
}

async fn singles(clients: Vec<Client>, act: Act, keys: &Arc<Vec<Url>>) -> Result<u64, Error> {
    let step = clients.len();
    let tasks = clients.into_iter().enumerate().map(|(task, mut client)| {
        let keys = keys.clone();
        tokio::spawn(async move {
            let mut yes = 0;
            for key in keys.iter().skip(task).step_by(step) {
                yes += client.call(act, &[key.as_bytes()]).await?;
            }
            Ok::<u64, Error>(yes)
        })
    });
    let mut yes = 0;
    for task in tasks.collect::<Vec<_>>() {
        yes += task.await??;
    }
    Ok(yes)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let options = options()?;
    let redis = RedisOptions::default();
    let server = RedisServer::start(&redis)?;
    let facts = machine::facts();
    let mut cases = Vec::new();
    for &fpp in &options.fpps {
        for mode in Mode::ALL {
            let acts = if mode == Mode::Bulk { &Act::ALL[..1] } else { &Act::ALL[..] };
            for &act in acts {
                cases.extend(Who::ALL.map(|who| Case { fpp, mode, act, who, figures: vec![] }));
            }
        }
    }
    cases.retain(|case| case.name().contains(&options.only));
    for round in 0..options.rounds {
        for case in &mut cases {
            let figure = measure(&server, &options, case, round).await?;
            case.figures.push(figure);
        }
        eprintln!("round {} of {}", round + 1, options.rounds);
    }
    let report = report(&options, &facts, &server.cli(&["INFO", "server"])?, &cases);
    println!("{report}");
    if let Some(folder) = &options.out {
        std::fs::write(folder.join("redis.md"), report)?;
    }
    Ok(())
}

fn report(
    options: &Options,
    facts: &[(&'static str, String)],
    info: &str,
    cases: &[Case],
) -> String {
    let version = info.lines().find_map(|line| line.trim().strip_prefix("redis_version:"));
    let mut out = format!(
        "# Filters in Redis\n\nMade by `bench/redis.sh`: one server, no persistence, and one \
         client thread on the other CPU. {} keys; medians of {} rounds with everybody taking \
         turns. CPU is the server's own count, for a key.\n\n{}- server: Redis {}\n\n",
        stats::format_count(options.items),
        options.rounds,
        machine::list(facts),
        version.unwrap_or("unknown"),
    );
    out += "| p | how | what | filter | keys/s | server CPU, µs | keys/s of ours |\n\
            |--:|---|---|---|--:|--:|--:|\n";
    let mut ratios = Vec::new();
    for case in cases {
        let same =
            |other: &&Case| (other.fpp, other.mode, other.act) == (case.fpp, case.mode, case.act);
        let Some(ours) = cases.iter().filter(same).find(|other| other.who == Who::Mayhap) else {
            continue;
        };
        let ratio = ours.rate() / case.rate();
        let _ = writeln!(
            out,
            "| {} % | {} | {} | {} | {:.0} | {:.2} | {ratio:.2} × |",
            case.fpp * 100.0,
            case.mode.name(),
            case.act.name(),
            case.who.name(),
            case.rate(),
            case.cpu(),
        );
        let target = match (case.who, case.mode, case.act) {
            (Who::Bits, Mode::Single(_), _) | (Who::Bits, Mode::Batch, Act::Contains) => 4.0,
            (Who::Bits, Mode::Batch, Act::Insert) => 2.0,
            (Who::Bits, Mode::Bulk, _) => 20.0,
            (Who::Lua, ..) => 1.0,
            _ => continue,
        };
        ratios.push(Ratio {
            what: format!("{} %, {}, {}", case.fpp * 100.0, case.mode.name(), case.act.name()),
            formula: format!("keys/s of mayhap / {}", case.who.name()),
            value: ratio,
            side: Side::AtLeast,
            target,
        });
    }
    out + "\n## Ratios\n\n" + &ratio::table(&ratios)
}
