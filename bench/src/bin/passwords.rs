//! A list of passwords that never changes, as a filter at one rate: bytes, seconds to build it from
//! the list, and the time of a query. See `bench/README.md`.

use mayhap::{BinaryFuse, Bitmap, BloomFilter, DigestFunction, RibbonFilter};
use mayhap_bench::machine;
use mayhap_bench::stats::{format_count, median, parse_count};
use parquet::bloom_filter::Sbbf;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use xorf::Filter;

const USAGE: &str = "\
Usage: passwords [--items 10M] [--rate 1e-6] [--rounds 3] [--mayhap PROGRAM] [--dcso PROGRAM]
                 [--work DIR] [--out FILE]

Filters of a list of passwords that was made for it. A program that is not there is left out, and it
is said that it was.
";
const DIGEST: DigestFunction = DigestFunction::xxh3(0);
/// Lines that are queried together.
const BATCH: usize = 16 << 10;
const WORDS: [&str; 16] = [
    "dragon", "monkey", "letmein", "summer", "secret", "love", "qwerty", "shadow", "master",
    "angel", "princess", "football", "sunshine", "welcome", "admin", "pass",
];

struct Options {
    items: u64,
    rate: f64,
    rounds: usize,
    mayhap: String,
    dcso: String,
    work: PathBuf,
    out: Option<PathBuf>,
}

struct Row {
    name: &'static str,
    bytes: u64,
    build_seconds: f64,
    /// ns per member and per absent line in this process, if it was asked here.
    query_ns: Option<[f64; 2]>,
    /// ns per line of a command that is given half of each.
    command_ns: Option<f64>,
    /// Absent lines that were found.
    found: Option<u64>,
}

fn main() {
    let options = options().unwrap_or_else(|message| {
        eprint!("passwords: {message}\n\n{USAGE}");
        std::process::exit(2);
    });
    match run(&options) {
        Ok(text) => println!("{text}"),
        Err(error) => {
            eprintln!("passwords: {error}");
            std::process::exit(2);
        }
    }
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        items: 10_000_000,
        rate: 1e-6,
        rounds: 3,
        mayhap: "target/release/mayhap".into(),
        dcso: "bloom".into(),
        work: "bench/target/passwords".into(),
        out: None,
    };
    let mut arguments = lexopt::Parser::from_env();
    while let Some(argument) = arguments.next().map_err(|error| error.to_string())? {
        let lexopt::Arg::Long(name) = argument else { return Err("options only".into()) };
        let name = name.to_owned();
        let value = arguments.value().map_err(|error| error.to_string())?;
        let value = value.into_string().map_err(|_| "text only")?;
        match name.as_str() {
            "items" => options.items = parse_count(&value)?,
            "rate" => options.rate = value.parse().map_err(|_| format!("{value} is no rate"))?,
            "rounds" => options.rounds = parse_count(&value)? as usize,
            "mayhap" => options.mayhap = value,
            "dcso" => options.dcso = value,
            "work" => options.work = value.into(),
            "out" => options.out = Some(value.into()),
            _ => return Err(format!("no option --{name}")),
        }
    }
    Ok(options)
}

/// Line `number` of all lists: distinct, 6 to 24 bytes.
fn password(number: u64) -> String {
    let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let word = |shift: u32| WORDS[(mixed >> shift & 15) as usize];
    match mixed >> 62 {
        0 => format!("{}{number}", word(40)),
        1 => format!("{}{number}!", word(44)),
        2 => format!("{}{}{number}", word(48), word(52)),
        _ => format!("{number:x}{}", word(56)),
    }
}

fn write_list(path: &Path, numbers: impl Iterator<Item = u64>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    for number in numbers {
        writeln!(out, "{}", password(number))?;
    }
    out.flush()
}

fn run(options: &Options) -> io::Result<String> {
    let Options { items, rate, work, .. } = options;
    let facts = machine::facts();
    std::fs::create_dir_all(work)?;
    let [list, queries] = ["list", "queries"].map(|name| work.join(name));
    write_list(&list, 0..*items)?;
    // Members and absent lines in turns, so that the order of the list is no help.
    let order = |i: u64| if i % 2 == 0 { i.wrapping_mul(7_919) % items } else { items + i };
    write_list(&queries, (0..*items).map(order))?;
    let mut rows = Vec::new();
    rows.extend(ours(options, &list, &queries, "mayhap build --frozen", "--frozen")?);
    rows.extend(ours(options, &list, &queries, "mayhap build --layout fuse", "--layout fuse")?);
    rows.extend(ours(options, &list, &queries, "mayhap build", "--layout standard")?);
    rows.push(xorf_row(options, &list)?);
    rows.push(parquet_row(options, &list)?);
    rows.extend(dcso(options, &list, &queries)?);
    let mut out = format!(
        "# A list of {} passwords at {rate:e}\n\nMade by `cargo run --release --manifest-path \
         bench/Cargo.toml --bin passwords`; `bench/README.md` says what the rows mean.\n\n{}\n\
         | filter | MB | bits/key | seconds to build | ns per query in process, hit / miss \
         | ns per line of the command | absent lines found |\n|---|--:|--:|--:|--:|--:|--:|\n",
        format_count(*items),
        machine::list(&facts),
    );
    for row in &rows {
        let or_none = |text: Option<String>| text.unwrap_or_default();
        out += &format!(
            "| {} | {:.1} | {:.2} | {:.2} | {} | {} | {} |\n",
            row.name,
            row.bytes as f64 / 1e6,
            row.bytes as f64 * 8.0 / *items as f64,
            row.build_seconds,
            or_none(row.query_ns.map(|[hit, miss]| format!("{hit:.0} / {miss:.0}"))),
            or_none(row.command_ns.map(|ns| format!("{ns:.0}"))),
            or_none(row.found.map(|found| format!("{found} of {items}"))),
        );
    }
    if let Some(path) = &options.out {
        std::fs::write(path, &out)?;
    }
    Ok(out)
}

/// The median time of a command, in seconds, with a file as its input.
fn timed(rounds: usize, command: &str, arguments: &str, input: &Path) -> io::Result<f64> {
    let mut times = Vec::new();
    for _ in 0..rounds {
        let start = Instant::now();
        let status = Command::new(command)
            .args(arguments.split_whitespace())
            .stdin(File::open(input)?)
            .stdout(Stdio::null())
            .status()?;
        times.push(start.elapsed().as_secs_f64());
        if !status.success() {
            return Err(io::Error::other(format!("{command} {arguments}: {status}")));
        }
    }
    Ok(median(times))
}

fn is_there(program: &str) -> bool {
    let started = Command::new(program).arg("--version").stdout(Stdio::null()).status();
    if started.is_err() {
        eprintln!("{program} is not there, left out");
    }
    started.is_ok()
}

/// A row of ours: built and queried by the command, and queried here in batches.
fn ours(
    options: &Options,
    list: &Path,
    queries: &Path,
    name: &'static str,
    how: &str,
) -> io::Result<Option<Row>> {
    let Options { items, rate, rounds, mayhap, work, .. } = options;
    if !is_there(mayhap) {
        return Ok(None);
    }
    let file = work.join("filter");
    let path = file.display();
    let build = format!("build -q --force -p {rate} {how} -o {path}");
    let build_seconds = timed(*rounds, mayhap, &build, list)?;
    let command = timed(*rounds, mayhap, &format!("check {path}"), queries)?;
    let digests = || (0..*items).map(|i| DIGEST.digest(password(i).as_str()));
    let fits = "enough memory";
    let (query_ns, found) = match how {
        "--frozen" => {
            let filter = RibbonFilter::build_for_target(*rate, DIGEST, digests()).expect(fits);
            in_batches(options, |keys, found| filter.contains_batch_into(keys, found))
        }
        "--layout fuse" => {
            let filter = BinaryFuse::build_for_target(*rate, DIGEST, digests()).expect(fits);
            in_batches(options, |keys, found| filter.contains_batch_into(keys, found))
        }
        _ => {
            let builder = BloomFilter::builder().expected_items(*items).target_fpp(*rate);
            let mut filter = builder.digest_function(DIGEST).build().expect(fits);
            digests().for_each(|digest| _ = filter.insert_digest(digest));
            in_batches(options, |keys, found| filter.contains_batch_into(keys, found))
        }
    };
    Ok(Some(Row {
        name,
        bytes: file.metadata()?.len(),
        build_seconds,
        query_ns: Some(query_ns),
        command_ns: Some(command * 1e9 / *items as f64),
        found: Some(found),
    }))
}

/// The times of members and of absent lines, in batches, and how many of these are found.
fn in_batches(options: &Options, contains: impl Fn(&[String], &mut Bitmap)) -> ([f64; 2], u64) {
    let mut answers = Bitmap::new();
    queried(options, |keys| {
        contains(keys, &mut answers);
        answers.count_ones() as u64
    })
}

/// Queries as many members as absent lines, `BATCH` at a time; only `count` is timed.
fn queried(options: &Options, mut count: impl FnMut(&[String]) -> u64) -> ([f64; 2], u64) {
    let items = options.items;
    let (mut times, mut found) = ([0.0; 2], [0; 2]);
    for first in (0..items).step_by(BATCH) {
        let numbers = first..items.min(first + BATCH as u64);
        // Members in an order that is not that of the list.
        let members = numbers.clone().map(|i| password(i.wrapping_mul(1_000_003) % items));
        let absent = numbers.map(|i| password(2 * items + i));
        for (kind, keys) in [members.collect::<Vec<_>>(), absent.collect()].iter().enumerate() {
            let start = Instant::now();
            found[kind] += count(keys);
            times[kind] += start.elapsed().as_secs_f64() * 1e9;
        }
    }
    assert_eq!(found[0], items, "a member is missing");
    (times.map(|time| time / items as f64), found[1])
}

/// Fingerprints of 32 bits, the narrowest of this crate that keep one in a million.
fn xorf_row(options: &Options, list: &Path) -> io::Result<Row> {
    let start = Instant::now();
    let text = std::fs::read_to_string(list)?;
    let digests: Vec<u64> = text.lines().map(|line| DIGEST.digest(line).get()).collect();
    let filter = xorf::BinaryFuse32::try_from(&digests).map_err(io::Error::other)?;
    let build_seconds = start.elapsed().as_secs_f64();
    let bytes = filter.fingerprints.len() as u64 * 4;
    let is_in = |key: &&String| filter.contains(&DIGEST.digest(key.as_str()).get());
    let (query_ns, found) = queried(options, |keys| keys.iter().filter(is_in).count() as u64);
    let (query_ns, found) = (Some(query_ns), Some(found));
    let name = "xorf BinaryFuse32, xxh3 digest";
    Ok(Row { name, bytes, build_seconds, query_ns, command_ns: None, found })
}

/// The split block filter of the crate that reads and writes Parquet.
fn parquet_row(options: &Options, list: &Path) -> io::Result<Row> {
    let start = Instant::now();
    let text = std::fs::read_to_string(list)?;
    let filter = Sbbf::new_with_ndv_fpp(options.items, options.rate);
    let mut filter = filter.map_err(io::Error::other)?;
    text.lines().for_each(|line| filter.insert(line));
    let build_seconds = start.elapsed().as_secs_f64();
    let bytes = filter.num_blocks() as u64 * 32;
    let is_in = |key: &&String| filter.check(key.as_str());
    let (query_ns, found) = queried(options, |keys| keys.iter().filter(is_in).count() as u64);
    let (query_ns, found) = (Some(query_ns), Some(found));
    let name = "Parquet's split block filter (crate parquet)";
    Ok(Row { name, bytes, build_seconds, query_ns, command_ns: None, found })
}

/// DCSO's program; queries by the command alone.
fn dcso(options: &Options, list: &Path, queries: &Path) -> io::Result<Option<Row>> {
    let Options { items, rate, rounds, dcso, work, .. } = options;
    if !is_there(dcso) {
        return Ok(None);
    }
    let file = work.join("dcso.bloom");
    let path = file.display();
    let mut times = Vec::new();
    for _ in 0..*rounds {
        let _ = std::fs::remove_file(&file);
        let create = timed(1, dcso, &format!("create -n {items} -p {rate} {path}"), list)?;
        times.push(create + timed(1, dcso, &format!("insert {path}"), list)?);
    }
    let command = timed(*rounds, dcso, &format!("check {path}"), queries)?;
    Ok(Some(Row {
        name: "DCSO bloom",
        bytes: file.metadata()?.len(),
        build_seconds: median(times),
        query_ns: None,
        command_ns: Some(command * 1e9 / *items as f64),
        found: None,
    }))
}
