//! `mayhap serve --store` in front of Redis, for many clients with a key in each command: beside
//! the same server with filters of its own, commands of Redis that do as much, and our library.

use crate::load::{self, Load};
use mayhap_bench::process::{Error, Process};
use mayhap_bench::ratio::{self, Ratio, Side};
use mayhap_bench::{machine, stats};
use mayhap_redis::{Address, NativeFilter, NativeOptions, RemoteFilter, Server, ServerOptions};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;
use tokio::runtime::Runtime;

/// Connections of a load.
const CLIENTS: usize = 200;
const KEYS: u64 = 1_000_000;
/// Keys of a batch of the library.
const BATCH: usize = 1000;
/// Members of the filter that is queried, of a million numbers.
const FILLED: u64 = 500_000;

/// Where the keys are added and queried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    /// Commands of Redis that do for one key what an addition or a query does.
    Redis,
    /// A server with filters of its own, and no folder.
    Memory,
    /// The same with a log, `everysec`.
    Logged,
    /// A server in front of Redis.
    Front,
    /// The library, in this process, with batches.
    Library,
}

impl Who {
    const fn name(self) -> &'static str {
        match self {
            Self::Redis => "Redis, raw",
            Self::Memory => "mayhap, no data folder",
            Self::Logged => "mayhap, everysec",
            Self::Front => "mayhap --store",
            Self::Library => "library, batches of 1,000",
        }
    }
}

/// One figure.
#[derive(Clone, Copy)]
struct Figure {
    /// Keys a second.
    rate: f64,
    /// µs of CPU for a key: of the server that has the clients, and of Redis.
    cpu: f64,
    store_cpu: f64,
}

struct Case {
    who: Who,
    adds: bool,
    /// Commands that a connection sends at once; none of the library.
    pipeline: u64,
    figures: Vec<Figure>,
}

impl Case {
    fn median(&self, part: impl Fn(&Figure) -> f64) -> f64 {
        stats::median(self.figures.iter().map(part).collect())
    }

    const fn what(&self) -> &'static str {
        if self.adds { "add" } else { "query" }
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for adds in [true, false] {
        for pipeline in [1, 16] {
            for who in [Who::Redis, Who::Memory, Who::Logged, Who::Front] {
                if adds || who != Who::Logged {
                    cases.push(Case { who, adds, pipeline, figures: vec![] });
                }
            }
        }
        cases.push(Case { who: Who::Library, adds, pipeline: 0, figures: vec![] });
    }
    cases
}

struct Servers {
    redis: Process,
    memory: Process,
    logged: Process,
    front: Process,
    runtime: Runtime,
}

/// Measures and reports.
pub(crate) fn report(
    program: &Path,
    folder: &Path,
    (rounds, scale): (u32, u64),
) -> Result<String, Error> {
    let redis = Process::redis()?;
    let store = format!("redis://127.0.0.1:{}", redis.port());
    let servers = Servers {
        front: Process::mayhap_with(program, None, &["--store", &store])?,
        redis,
        memory: Process::mayhap(program, None)?,
        logged: Process::mayhap(program, Some((folder, "everysec")))?,
        runtime: tokio::runtime::Builder::new_current_thread().enable_all().build()?,
    };
    let facts = machine::facts();
    let mut cases = cases();
    for round in 0..rounds {
        for case in &mut cases {
            let figure = servers.measure(case, scale)?;
            case.figures.push(figure);
        }
        eprintln!("round {} of {rounds}", round + 1);
    }
    let mut out = format!(
        "# A server in front of Redis\n\nMade by `bench/server.sh --store`: {CLIENTS} connections \
         of one thread with requests that were written beforehand, one key in each, to servers \
         with one thread for clients; all of them, the load and Redis share the processors. A \
         filter of a million keys at 1 % in mayhap's layout, keys of 14 bytes out of a million; \
         raw commands are BITFIELD with as many SET or GET as a key has bits, of nine million. \
         Medians of {rounds} rounds with everybody taking turns; CPU is for a key, of the server \
         with the clients and of Redis.\n\n{}- store: {}\n\n",
        machine::list(&facts),
        machine::output("redis-server", &["--version"]),
    );
    out += "| pipeline | server | what | keys a second | its CPU, µs | CPU of Redis, µs |\n\
            |--:|---|---|--:|--:|--:|\n";
    for case in &cases {
        let Case { who, pipeline, .. } = case;
        let _ = writeln!(
            out,
            "| {} | {} | {} | {:.0} | {:.2} | {:.2} |",
            if *pipeline == 0 { "–".into() } else { pipeline.to_string() },
            who.name(),
            case.what(),
            case.median(|figure| figure.rate),
            case.median(|figure| figure.cpu),
            case.median(|figure| figure.store_cpu),
        );
    }
    Ok(out + "\n## Ratios\n\n" + &ratio::table(&ratios(&cases)))
}

fn ratios(cases: &[Case]) -> Vec<Ratio> {
    let mut ratios = Vec::new();
    for case in cases.iter().filter(|case| case.who == Who::Front) {
        let what = format!("{}, pipeline {}", case.what(), case.pipeline);
        let mut push = |formula: &str, value, side, target| {
            ratios.push(Ratio { what: what.clone(), formula: formula.into(), value, side, target });
        };
        let (rate, cpu) = (case.median(|figure| figure.rate), case.median(|figure| figure.cpu));
        let target = if case.adds { 100.0 } else { 250.0 };
        push("thousands a second", rate / 1000.0, Side::AtLeast, target);
        // The rate if two processors were its own.
        push("thousands in 2 s of its CPU", 2000.0 / cpu, Side::AtLeast, target);
        let is_library = |other: &&Case| other.who == Who::Library && other.adds == case.adds;
        if let Some(library) = cases.iter().find(is_library) {
            let pairs = case.figures.iter().zip(&library.figures);
            let ratio = pairs.map(|(ours, theirs)| ours.store_cpu / theirs.store_cpu).collect();
            let formula = "CPU of Redis / for the library's batches";
            push(formula, stats::median(ratio), Side::AtMost, 1.2);
        }
    }
    ratios
}

impl Servers {
    /// The server that has the clients.
    const fn of(&self, who: Who) -> &Process {
        match who {
            Who::Redis | Who::Library => &self.redis,
            Who::Memory => &self.memory,
            Who::Logged => &self.logged,
            Who::Front => &self.front,
        }
    }

    /// One figure, on a fresh filter.
    fn measure(&self, case: &Case, scale: u64) -> Result<Figure, Error> {
        let server = self.of(case.who);
        if case.who == Who::Redis {
            server.ask(b"DEL raw\r\n")?;
            server.ask(b"SETBIT raw 9999999 1\r\n")?;
        } else if case.who != Who::Library {
            server.ask(b"DEL bf\r\n")?;
            server.ask(b"BF.RESERVE bf 0.01 1000000 NONSCALING\r\n")?;
            if !case.adds {
                let fill = Load { clients: CLIENTS, pipeline: 100, commands: FILLED, lines: 1 };
                load::run(server, fill, &["BF.ADD", "bf", super::ITEM])?;
            }
        }
        let commands = if case.pipeline == 1 { 200_000 } else { 1_000_000 } * scale / 100;
        let before = (server.cpu()?, self.redis.cpu()?);
        let rate = match case.who {
            Who::Library => self.library(case.adds, commands)?,
            Who::Redis => self.raw(case, commands)?,
            _ => {
                let word = if case.adds { "BF.ADD" } else { "BF.EXISTS" };
                let load = Load { clients: CLIENTS, pipeline: case.pipeline, commands, lines: 1 };
                load::run(server, load, &[word, "bf", super::ITEM])?
            }
        };
        let micros = |seconds: f64| seconds * 1e6 / commands as f64;
        let (cpu, store_cpu) = (server.cpu()? - before.0, self.redis.cpu()? - before.1);
        Ok(Figure { rate, cpu: micros(cpu), store_cpu: micros(store_cpu) })
    }

    fn raw(&self, case: &Case, commands: u64) -> Result<f64, Error> {
        let (clients, pipeline, bits) = (CLIENTS, case.pipeline, bits()?);
        let mut words = vec![if case.adds { "BITFIELD" } else { "BITFIELD_RO" }, "raw"];
        for _ in 0..bits {
            if case.adds {
                words.extend(["SET", "u1", load::BIT, "1"]);
            } else {
                words.extend(["GET", "u1", load::BIT]);
            }
        }
        load::run(&self.redis, Load { clients, pipeline, commands, lines: 1 + bits }, &words)
    }

    fn library(&self, adds: bool, keys: u64) -> Result<f64, Error> {
        self.runtime.block_on(async {
            let address = Address::parse(&format!("redis://127.0.0.1:{}", self.redis.port()))?;
            let server = Server::connect(&address, ServerOptions::default()).await?;
            let options = NativeOptions::for_items(KEYS, 0.01)?;
            let filter = NativeFilter::create(&server, "library", &options).await?;
            filter.clear().await?;
            let text = |i: u64| format!("i:{:012}", mayhap_bench::keys::mix(i) % KEYS);
            if !adds {
                let members: Vec<String> = (0..FILLED).map(text).collect();
                let members: Vec<&[u8]> = members.iter().map(String::as_bytes).collect();
                for batch in members.chunks(BATCH) {
                    filter.insert_batch(batch).await?;
                }
            }
            let keys: Vec<String> = (0..keys).map(|i| text(i + (1 << 40))).collect();
            let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
            let clock = Instant::now();
            for batch in keys.chunks(BATCH) {
                if adds {
                    filter.insert_batch(batch).await?;
                } else {
                    filter.contains_batch(batch).await?;
                }
            }
            Ok(keys.len() as f64 / clock.elapsed().as_secs_f64())
        })
    }
}

/// The bits of a key.
fn bits() -> Result<u64, Error> {
    let options = NativeOptions::for_items(KEYS, 0.01)?;
    Ok(u64::from(options.params.num_hashes()))
}
