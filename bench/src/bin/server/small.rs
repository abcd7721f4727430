//! A million small filters: the speed of their creation, their memory, and the time of a checkpoint
//! and of a start.

use mayhap_bench::machine;
use mayhap_bench::process::{Error, Process};
use mayhap_bench::ratio::{self, Ratio, Side};
use mayhap_bench::stats;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hint::black_box;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

/// Commands of one pipeline.
const PIPELINE: u64 = 1000;
const STARTS: usize = 3;
const PAGE_BYTES: usize = 4096;
/// More than a million filters of `BF.ADD` are charged.
const MAX_MEMORY: [&str; 2] = ["--max-memory", "12GiB"];

/// The results.
struct Small {
    filters: u64,
    /// Seconds to create them by `BF.ADD`, and of CPU.
    created: (f64, f64),
    /// Bytes that are resident after that, and charged.
    memory: (u64, u64),
    /// Seconds of the checkpoint of all, and of one after a change of one filter.
    saved: (f64, f64),
    /// The bytes of the files that the second of them wrote, except for the log.
    written: u64,
    /// Bytes of the folder.
    folder: u64,
    /// Seconds of each start, and of CPU.
    starts: Vec<(f64, f64)>,
    /// Seconds to touch as much memory page by page: the system's share of a start.
    touched: f64,
}

/// Measures and reports.
pub(crate) fn report(program: &Path, folder: &Path, filters: u64) -> Result<String, Error> {
    let small = measure(program, folder, filters)?;
    let mut out = format!(
        "# Many small filters\n\nMade by `bench/server.sh --small`: {filters} filters made by \
         `BF.ADD` of new names of 8 bytes, one key each, in pipelines of {PIPELINE} over one \
         connection, `everysec`, one thread.\n\n{}\n",
        machine::list(&machine::facts()),
    );
    let starts: Vec<String> =
        small.starts.iter().map(|(wall, cpu)| format!("{wall:.2} ({cpu:.2} of CPU)")).collect();
    let _ = writeln!(
        out,
        "Created in {:.2} s, {:.2} s of CPU. Resident {} MiB, charged {} MiB. Checkpoint of all: \
         {:.2} s; of one that was changed: {:.2} s, {} bytes. The folder: {} MiB. Starts: {} s. To \
         touch as much fresh memory page by page takes the system {:.2} s.\n",
        small.created.0,
        small.created.1,
        small.memory.0 >> 20,
        small.memory.1 >> 20,
        small.saved.0,
        small.saved.1,
        small.written,
        small.folder >> 20,
        starts.join(", "),
        small.touched,
    );
    Ok(out + &ratio::table(&ratios(&small)))
}

fn ratios(small: &Small) -> Vec<Ratio> {
    let million = small.filters as f64 / 1e6;
    let start = stats::median(small.starts.iter().map(|start| start.0).collect());
    let row = |what: &str, formula: &str, value, side, target| Ratio {
        what: what.into(),
        formula: formula.into(),
        value,
        side,
        target,
    };
    let rate = small.filters as f64 / small.created.0 / 1000.0;
    let resident = small.memory.0 as f64 / small.memory.1 as f64;
    vec![
        row("new names by BF.ADD", "thousands a second", rate, Side::AtLeast, 100.0),
        row("memory", "resident / charged", resident, Side::AtMost, 1.15),
        row("checkpoint", "s a million", small.saved.0 / million, Side::AtMost, 20.0),
        row("start", "s a million", start / million, Side::AtMost, 3.0),
    ]
}

fn measure(program: &Path, folder: &Path, filters: u64) -> Result<Small, Error> {
    let begin = || Process::mayhap_with(program, Some((folder, "everysec")), &MAX_MEMORY);
    let server = begin()?;
    let clock = Instant::now();
    create(&server, filters)?;
    let created = (clock.elapsed().as_secs_f64(), server.cpu()?);
    let memory = (server.resident()?, charged(&server)?);
    let all = save(&server)?;
    server.expect(b"BF.ADD f0000007 another\r\n", b":1\r\n")?;
    let before = files_in(folder)?;
    let saved = (all, save(&server)?);
    let written = bytes_changed(&before, &files_in(folder)?);
    drop(server);
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        let clock = Instant::now();
        let server = begin()?;
        let last = filters - 1;
        server.expect(format!("BF.EXISTS f{last:07} k\r\n").as_bytes(), b":1\r\n")?;
        starts.push((clock.elapsed().as_secs_f64(), server.cpu()?));
    }
    let touched = touch(memory.0 as usize);
    let folder = files_in(folder)?.values().map(|(bytes, _)| bytes).sum();
    Ok(Small { filters, created, memory, saved, written, folder, starts, touched })
}

fn create(server: &Process, filters: u64) -> Result<(), Error> {
    let mut stream = server.connect()?;
    for start in (0..filters).step_by(PIPELINE as usize) {
        let end = filters.min(start + PIPELINE);
        let add = |i| format!("*3\r\n$6\r\nBF.ADD\r\n$8\r\nf{i:07}\r\n$1\r\nk\r\n");
        stream.write_all((start..end).map(add).collect::<String>().as_bytes())?;
        let mut answers = vec![0; ":1\r\n".len() * (end - start) as usize];
        stream.read_exact(&mut answers)?;
        if answers.chunks(4).any(|answer| answer != b":1\r\n") {
            return Err(String::from_utf8_lossy(&answers[..200]).into());
        }
    }
    Ok(())
}

/// Seconds of a checkpoint.
fn save(server: &Process) -> Result<f64, Error> {
    let clock = Instant::now();
    server.expect(b"SAVE\r\n", b"+OK\r\n")?;
    Ok(clock.elapsed().as_secs_f64())
}

/// Bytes that the server has charged.
fn charged(server: &Process) -> Result<u64, Error> {
    let mut stream = server.connect()?;
    stream.write_all(b"INFO memory\r\n")?;
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let found = stream.read(&mut buffer)?;
        answer.extend_from_slice(&buffer[..found]);
        let text = String::from_utf8_lossy(&answer);
        let line = text.lines().find_map(|line| line.strip_prefix("used_memory:"));
        if let Some(bytes) = line.filter(|_| text.len() > 200 || found == 0) {
            return Ok(bytes.trim().parse()?);
        }
        if found == 0 {
            return Err("INFO has no used_memory".into());
        }
    }
}

/// Length of a file, and when it was changed.
type State = (u64, SystemTime);

fn files_in(folder: &Path) -> Result<BTreeMap<PathBuf, State>, Error> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            files.extend(files_in(&entry.path())?);
        } else {
            let found = entry.metadata()?;
            files.insert(entry.path(), (found.len(), found.modified()?));
        }
    }
    Ok(files)
}

/// Bytes of the files that are new or changed, except for the log.
fn bytes_changed(before: &BTreeMap<PathBuf, State>, now: &BTreeMap<PathBuf, State>) -> u64 {
    let is_log = |path: &Path| path.extension().is_some_and(|extension| extension == "log");
    let changed = now.iter().filter(|(path, state)| before.get(*path) != Some(state));
    changed.filter(|(path, _)| !is_log(path)).map(|(_, (bytes, _))| bytes).sum()
}

/// Seconds to write a byte to each page of so much fresh memory.
fn touch(bytes: usize) -> f64 {
    let clock = Instant::now();
    // In parts as small as an allocator takes them, so that no huge pages are used.
    let mut parts: Vec<Vec<u8>> = Vec::new();
    for _ in 0..bytes / (64 << 10) {
        let mut part = Vec::with_capacity(64 << 10);
        part.resize(64 << 10, 0);
        part.iter_mut().step_by(PAGE_BYTES).for_each(|byte| *byte = 1);
        parts.push(part);
    }
    black_box(&parts);
    clock.elapsed().as_secs_f64()
}
