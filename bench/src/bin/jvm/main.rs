//! Filters of Guava and Spark, queried by the JVM's own classes and by ours: the same files, the
//! same keys, the same answers. `bench/jvm.sh` compiles the JVM's side and runs this.

mod ours;

use lexopt::prelude::*;
use mayhap_bench::ratio::{self, Ratio, Side};
use mayhap_bench::{machine, stats};
use ours::{Kind, System, Times};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

type Error = Box<dyn std::error::Error>;

struct Options {
    class_paths: Vec<(System, String)>,
    items: Vec<u64>,
    rounds: u32,
    out: PathBuf,
}

fn options() -> Result<Options, Error> {
    let mut options =
        Options { class_paths: vec![], items: vec![], rounds: 5, out: "bench/results".into() };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("guava") => {
                options.class_paths.push((System::Guava, parser.value()?.string()?));
            }
            Long("spark") => {
                options.class_paths.push((System::SparkV1, parser.value()?.string()?));
                let (_, path) = options.class_paths[options.class_paths.len() - 1].clone();
                options.class_paths.push((System::SparkV2, path));
            }
            Long("items") => options.items.push(stats::parse_count(&parser.value()?.string()?)?),
            Long("rounds") => options.rounds = parser.value()?.parse()?,
            Long("out") => options.out = parser.value()?.into(),
            _ => return Err(argument.unexpected().into()),
        }
    }
    if options.items.is_empty() {
        options.items.push(1_000_000);
    }
    Ok(options)
}

/// A line of the table.
struct Row {
    system: System,
    kind: Kind,
    items: u64,
    hit: bool,
    jvm_ns: f64,
    our_ns: f64,
    batch_ns: f64,
}

/// The output of the JVM: best time and number of keys found, for hits and for misses.
fn jvm(
    system: System,
    class_path: &str,
    kind: Kind,
    file: &Path,
    items: u64,
) -> Result<[(f64, usize); 2], Error> {
    let output = Command::new("java")
        .args(["-Xmx4g", "-XX:+UseParallelGC", "-cp", class_path, system.class(), kind.name()])
        .arg(file)
        .args([items.to_string(), "10".to_owned()])
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let mut rows = text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let mut next = |what: &str| -> Result<(f64, usize), Error> {
        match rows.next().as_deref() {
            Some(&[name, ns, found]) if name == what => Ok((ns.parse()?, found.parse()?)),
            other => {
                let said = String::from_utf8_lossy(&output.stderr);
                Err(format!("java printed {other:?} for {what}: {said}").into())
            }
        }
    };
    Ok([next("hit")?, next("miss")?])
}

/// Interleaved rounds of one case; the best of each side.
fn case(
    system: System,
    class_path: &str,
    kind: Kind,
    items: u64,
    rounds: u32,
) -> Result<Vec<Row>, Error> {
    let filter = ours::build(system, kind, items)?;
    let file = std::env::temp_dir().join(format!("mayhap-jvm-{}.bin", std::process::id()));
    std::fs::write(&file, filter.encode())?;
    let mut rows: Vec<Row> = [true, false]
        .map(|hit| Row {
            system,
            kind,
            items,
            hit,
            jvm_ns: f64::MAX,
            our_ns: f64::MAX,
            batch_ns: f64::MAX,
        })
        .into();
    for _ in 0..rounds {
        let jvm = jvm(system, class_path, kind, &file, items)?;
        for (row, (ns, found)) in rows.iter_mut().zip(jvm) {
            row.jvm_ns = row.jvm_ns.min(ns);
            let Times { single_ns, batch_ns, found: ours } =
                ours::measure(&filter, kind, row.hit, items);
            if ours != found {
                return Err(format!("{ours} keys found here, {found} by the JVM").into());
            }
            row.our_ns = row.our_ns.min(single_ns);
            row.batch_ns = row.batch_ns.min(batch_ns);
        }
    }
    std::fs::remove_file(&file)?;
    Ok(rows)
}

fn report(rows: &[Row], rounds: u32) -> String {
    let mut facts = machine::facts();
    facts.push(("java", java_version()));
    let mut out = format!(
        "# Filters of the JVM\n\nMade by `bench/jvm.sh`: the same files queried with the same {} \
         keys, with the same answers, by the\nJVM's own classes and here. Nanoseconds a key; the \
         best of {rounds} processes of ten rounds after three\nseconds of warm-up there, in turn \
         with the best of as many here. p = 1 %, k = 7.\n\n{}\n",
        ours::KEYS,
        machine::list(&facts)
    );
    out += "| filter | keys | items | promised | JVM | here, one by one | ratio | here, a batch | \
            ratio |\n\
            |---|---|--:|---|--:|--:|--:|--:|--:|\n";
    let mut ratios = Vec::new();
    for row in rows {
        let (system, kind) = (row.system.name(), row.kind.name());
        let items = stats::format_count(row.items);
        let asked = if row.hit { "members" } else { "others" };
        let (single, batch) = (row.jvm_ns / row.our_ns, row.jvm_ns / row.batch_ns);
        let _ = writeln!(
            out,
            "| {system} | {kind} | {items} | {asked} | {:.1} | {:.1} | {single:.2} | {:.1} | \
             {batch:.2} |",
            row.jvm_ns, row.our_ns, row.batch_ns
        );
        ratios.push(Ratio {
            what: format!("{system}, {kind}, {items}, {asked}"),
            formula: "JVM / here, a batch".to_owned(),
            value: batch,
            side: Side::AtLeast,
            target: 2.0,
        });
    }
    out + "\n## Ratios\n\n" + &ratio::table(&ratios)
}

/// `java -version` writes to its error output.
fn java_version() -> String {
    let output = Command::new("java").arg("-version").output();
    let text = output.map_or_else(|_| Vec::new(), |output| output.stderr);
    String::from_utf8_lossy(&text).lines().nth(1).unwrap_or("unknown").to_owned()
}

fn main() -> Result<(), Error> {
    let options = options()?;
    let mut rows = Vec::new();
    for (system, class_path) in &options.class_paths {
        for kind in Kind::ALL {
            for &items in &options.items {
                eprintln!("{} {} {items}", system.name(), kind.name());
                rows.extend(case(*system, class_path, kind, items, options.rounds)?);
            }
        }
    }
    std::fs::create_dir_all(&options.out)?;
    let path = options.out.join("jvm.md");
    std::fs::write(&path, report(&rows, options.rounds))?;
    eprintln!("wrote {}", path.display());
    Ok(())
}
