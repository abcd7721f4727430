//! Runs one command and measures its cost: CPU time and peak memory from `wait4`, which counts the
//! command and the children it waited for.
#![expect(unsafe_code, reason = "wait4 has no safe form in std")]

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The source of the lines.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Input {
    /// Standard input is the file.
    File,
    /// Standard input is a pipe into which the benchmark copies the file.
    Pipe,
}

/// The cost of one run.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) user: Duration,
    pub(crate) system: Duration,
    pub(crate) wall: Duration,
    pub(crate) max_rss_kib: u64,
}

impl Cost {
    pub(crate) fn cpu(&self) -> Duration {
        self.user + self.system
    }
}

/// A command and its input.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) command: &'a [String],
    pub(crate) input: Input,
    pub(crate) lines: &'a Path,
}

impl Job<'_> {
    fn command(self) -> io::Result<Command> {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).env("LC_ALL", "C");
        command.stdin(match self.input {
            Input::File => Stdio::from(File::open(self.lines)?),
            Input::Pipe => Stdio::piped(),
        });
        Ok(command)
    }

    /// Runs it with its output thrown away.
    pub(crate) fn measure(self) -> io::Result<Cost> {
        let mut command = self.command()?;
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let start = Instant::now();
        let mut child = command.spawn()?;
        let feeder = self.feed(&mut child);
        let cost = wait4(&child, start)?;
        if let Some(feeder) = feeder {
            feeder.join().expect("no panic")?;
        }
        Ok(cost)
    }

    /// Runs it and hands its output to `read`; returns the result and its standard error.
    pub(crate) fn output<R>(
        &self,
        read: impl FnOnce(&mut dyn Read) -> R,
    ) -> io::Result<(R, String)> {
        let mut command = self.command()?;
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let feeder = self.feed(&mut child);
        let mut stderr = child.stderr.take().expect("piped");
        let talk = thread::spawn(move || io::read_to_string(&mut stderr));
        let result = read(child.stdout.as_mut().expect("piped"));
        if let Some(feeder) = feeder {
            feeder.join().expect("no panic")?;
        }
        let talk = talk.join().expect("no panic")?;
        let status = child.wait()?;
        if status.success() {
            Ok((result, talk))
        } else {
            Err(failed(&format!("{status}: {talk}")))
        }
    }

    fn feed(self, child: &mut Child) -> Option<thread::JoinHandle<io::Result<()>>> {
        let mut pipe = child.stdin.take()?;
        let lines = self.lines.to_owned();
        Some(thread::spawn(move || io::copy(&mut File::open(lines)?, &mut pipe).map(drop)))
    }
}

fn failed(how: &str) -> io::Error {
    io::Error::other(format!("the command failed: {how}"))
}

fn wait4(child: &Child, start: Instant) -> io::Result<Cost> {
    let mut status = 0;
    // SAFETY: all zeros is a valid `rusage`.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let pid = child.id().cast_signed();
    // SAFETY: both pointers are to live values of the right type; the child is ours and was not
    // waited for, so that its id is still its own.
    let waited = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
    let wall = start.elapsed();
    if waited != pid {
        return Err(io::Error::last_os_error());
    }
    if !libc::WIFEXITED(status) || libc::WEXITSTATUS(status) != 0 {
        return Err(failed(&format!("wait status {status}")));
    }
    let time = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
    };
    Ok(Cost {
        user: time(usage.ru_utime),
        system: time(usage.ru_stime),
        wall,
        max_rss_kib: usage.ru_maxrss as u64,
    })
}
