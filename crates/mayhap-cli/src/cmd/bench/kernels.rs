//! The same measurement with each kernel, each in a process of its own: the choice of a kernel
//! holds for a process.

use crate::error::Error;
use crate::io::messages::{Reporter, print_findings};
use serde_json::Value;
use std::env;
use std::fmt::Write;
use std::process::{Command, Stdio};

/// Runs `mayhap bench` with these arguments once for each kernel, the fastest first.
///
/// # Errors
///
/// [`Error::Io`]; the output of a run, if one failed.
pub(super) fn run(json: bool, talk: Reporter) -> Result<(), Error> {
    let mut reports = Vec::new();
    for kernel in mayhap::kernel_names() {
        talk.say(&format!("kernel {kernel}"));
        let output = command(kernel)?.output().map_err(|source| failed(kernel, source))?;
        let report: Option<Value> = serde_json::from_slice(&output.stdout).ok();
        let Some(report) = report.filter(|_| output.status.success()) else {
            let code = output.status.code().unwrap_or(2);
            return Err(Error::usage(
                format!("the run with the kernel {kernel} failed (exit code {code})"),
                "run it without --kernels to see why",
            ));
        };
        reports.push(report);
    }
    print_findings(json, &reports, |reports| table(reports))
}

/// This command with the same arguments, limited to a kernel, and its report as JSON.
fn command(kernel: &str) -> Result<Command, Error> {
    let program = env::current_exe().map_err(|source| failed(kernel, source))?;
    let mut command = Command::new(program);
    let same = |argument: &std::ffi::OsString| argument != "--kernels" && argument != "--json";
    command.args(env::args_os().skip(1).filter(same)).arg("--json");
    command.env("MAYHAP_KERNEL", kernel).stderr(Stdio::inherit());
    Ok(command)
}

fn failed(kernel: &str, source: std::io::Error) -> Error {
    Error::Io { action: "run", name: format!("mayhap bench with the kernel {kernel}"), source }
}

/// Nanoseconds per key: a row for each kernel.
fn table(reports: &[Value]) -> String {
    const COLUMNS: [&str; 3] = ["insert", "hit", "miss"];
    let mut text = format!("{:<12}", "ns per key");
    for name in COLUMNS {
        let batch = format!("{name}, batch");
        let _ = write!(text, "{name:>12}{batch:>15}");
    }
    text.push('\n');
    for report in reports {
        let _ = write!(text, "{:<12}", report["kernel"].as_str().unwrap_or("-"));
        for field in COLUMNS {
            let cell =
                |way: &str| report[field][way].as_f64().map_or("-".into(), |ns| format!("{ns:.2}"));
            let _ = write!(text, "{:>12}{:>15}", cell("single"), cell("batch"));
        }
        text.push('\n');
    }
    text
}
