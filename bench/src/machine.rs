//! Facts that a figure means nothing without.

use std::collections::BTreeSet;
use std::fs::read_to_string;
use std::path::Path;
use std::process::Command;

/// Name and value of each fact: processor, caches, memory, system, compiler, commit, date.
pub fn facts() -> Vec<(&'static str, String)> {
    vec![
        ("date", output("date", &["-u", "+%Y-%m-%d %H:%M UTC"])),
        ("commit", commit()),
        ("rustc", output("rustc", &["--version"])),
        ("CPU", format!("{}, {} CPUs", cpu_model(), num_cpus())),
        ("caches of CPU 0", caches()),
        ("memory", line_value("/proc/meminfo", "MemTotal")),
        ("kernel of the system", output("uname", &["-sr"])),
        ("transparent huge pages", read("/sys/kernel/mm/transparent_hugepage/enabled")),
        ("load before the run", read("/proc/loadavg")),
        ("kernels of mayhap", mayhap::kernel_names().collect::<Vec<_>>().join(", ")),
    ]
}

/// The facts as a Markdown list.
pub fn list(facts: &[(&'static str, String)]) -> String {
    facts.iter().fold(String::new(), |list, (name, value)| list + &format!("- {name}: {value}\n"))
}

/// The output of a command, on one line; `unknown` if it cannot be run.
pub fn output(program: &str, arguments: &[&str]) -> String {
    match Command::new(program).args(arguments).output() {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned()
        }
        _ => "unknown".to_owned(),
    }
}

fn commit() -> String {
    let commit = output("git", &["rev-parse", "--short=12", "HEAD"]);
    match Command::new("git").args(["diff", "--quiet", "HEAD"]).status() {
        Ok(status) if status.code() == Some(1) => format!("{commit} with local changes"),
        _ => commit,
    }
}

fn num_cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn cpu_model() -> String {
    let model = line_value("/proc/cpuinfo", "model name");
    let family = line_value("/proc/cpuinfo", "cpu family");
    format!("{model} (family {family}, model {})", line_value("/proc/cpuinfo", "model"))
}

fn caches() -> String {
    let mut caches = BTreeSet::new();
    for index in 0..8 {
        let folder = format!("/sys/devices/system/cpu/cpu0/cache/index{index}");
        if Path::new(&folder).exists() {
            let read = |field| read(&format!("{folder}/{field}"));
            caches.insert(format!("L{} {} {}", read("level"), read("type"), read("size")));
        }
    }
    caches.into_iter().collect::<Vec<_>>().join(", ")
}

fn read(path: &str) -> String {
    read_to_string(path).map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

/// The value of `name : value` in a file of such lines.
fn line_value(path: &str, name: &str) -> String {
    read_to_string(path)
        .ok()
        .and_then(|text| {
            text.lines()
                .filter_map(|line| line.split_once(':'))
                .find(|(key, _)| key.trim() == name)
                .map(|(_, value)| value.trim().to_owned())
        })
        .unwrap_or_else(|| "unknown".to_owned())
}
