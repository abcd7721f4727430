//! One child process: started so that it cannot outlive us, its log, its end.

use crate::Error;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

/// Pause between two checks of a condition.
const POLL: Duration = Duration::from_millis(5);

/// Returns a command that runs `program` and has it sent `signal` when we die.
///
/// `setpriv` (util-linux) sets that up with the kernel and then executes the program, so the pid
/// stays; with `user` it also gives up root.
pub(crate) fn mortal(program: &Path, signal: &str, user: Option<&str>) -> Command {
    if !cfg!(target_os = "linux") {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    if let Some(user) = user {
        command.args(["--reuid", user, "--regid", user, "--init-groups"]);
    }
    command.args(["--pdeathsig", signal, "--"]).arg(program);
    command
}

/// A running child with a log. Dropping it kills it and waits.
#[derive(Debug)]
pub(crate) struct Process {
    program: String,
    child: Child,
    log: PathBuf,
    /// The length of the log before: the processes of a folder share one log.
    log_start: u64,
    farewell: Signal,
}

impl Process {
    /// Starts `command` with both outputs appended to `log`.
    pub(crate) fn spawn(program: &str, mut command: Command, log: &Path) -> Result<Self, Error> {
        let open = || File::options().create(true).append(true).open(log);
        let output = open().map_err(Error::io(format!("open {}", log.display())))?;
        let (log_start, errors) = output
            .metadata()
            .and_then(|data| Ok((data.len(), output.try_clone()?)))
            .map_err(Error::io(format!("open {}", log.display())))?;
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        let child = spawn_from_lasting_thread(command)
            .map_err(Error::io(format!("start {program} (by setpriv of util-linux)")))?;
        let (program, log) = (program.to_owned(), log.to_owned());
        Ok(Self { program, child, log, log_start, farewell: Signal::KILL })
    }

    /// Sets the signal that ends the process when this value is dropped.
    pub(crate) fn farewell(mut self, signal: Signal) -> Self {
        self.farewell = signal;
        self
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the output of this process so far.
    pub(crate) fn log(&self) -> String {
        let bytes = fs::read(&self.log).unwrap_or_default();
        let start = usize::try_from(self.log_start).unwrap_or(usize::MAX).min(bytes.len());
        String::from_utf8_lossy(&bytes[start..]).into_owned()
    }

    /// Sends a signal to this process alone. It was not waited for, so the pid is still its own.
    pub(crate) fn signal(&mut self, signal: Signal) -> Result<(), Error> {
        self.alive()?;
        kill_process(Pid::from_child(&self.child), signal)
            .map_err(|error| Error::io(format!("send {signal:?}"))(error.into()))
    }

    /// # Errors
    ///
    /// [`Error::Died`] with the log if the process ended.
    pub(crate) fn alive(&mut self) -> Result<(), Error> {
        let ended = self.child.try_wait().map_err(Error::io(format!("wait for {}", self.program)));
        ended?.map_or(Ok(()), |status| Err(self.died(status)))
    }

    /// Waits for the successful end of a process.
    ///
    /// # Errors
    ///
    /// [`Error::Died`] with the log if it ended otherwise, [`Error::Slow`] if it is still running.
    pub(crate) fn succeed(mut self, seconds: u64) -> Result<(), Error> {
        let what = format!("the end of {}", self.program);
        poll(&what, seconds, || match self.alive() {
            Ok(()) => Ok(Err(self.log())),
            Err(Error::Died { status, .. }) if status.success() => Ok(Ok(())),
            Err(error) => Err(error),
        })
    }

    fn died(&self, status: ExitStatus) -> Error {
        Error::Died { program: self.program.clone(), status, log: self.log() }
    }

    /// Waits until `done` is true.
    ///
    /// # Errors
    ///
    /// [`Error::Died`] or [`Error::Slow`] with the log.
    pub(crate) fn wait_until(
        &mut self,
        seconds: u64,
        mut done: impl FnMut(&Self) -> bool,
    ) -> Result<(), Error> {
        let what = format!("{} to be ready", self.program);
        poll(&what, seconds, || {
            self.alive()?;
            Ok(if done(self) { Ok(()) } else { Err(self.log()) })
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A stopped process reacts to no signal but SIGKILL.
        let _ = self.signal(Signal::CONT);
        let _ = self.signal(self.farewell);
        let patience = poll("its end", 10, || {
            Ok(if self.child.try_wait().is_ok_and(|end| end.is_none()) {
                Err(String::new())
            } else {
                Ok(())
            })
        });
        if patience.is_err() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Calls `look` repeatedly until it returns `Ok(Ok(()))`; it may give up by itself.
///
/// # Errors
///
/// The error of `look`, or [`Error::Slow`] with the state that it reported last.
pub(crate) fn poll(
    what: &str,
    seconds: u64,
    mut look: impl FnMut() -> Result<Result<(), String>, Error>,
) -> Result<(), Error> {
    let deadline = Instant::now() + Duration::from_secs(seconds);
    loop {
        let Err(state) = look()? else { return Ok(()) };
        if Instant::now() > deadline {
            return Err(Error::Slow { what: what.to_owned(), seconds, state });
        }
        thread::sleep(POLL);
    }
}

type Order = (Command, Sender<io::Result<Child>>);

/// Starts a child from a thread that lasts as long as this process: for the kernel a child's
/// parent is the thread that created it, and a test's thread may end before a shared server.
fn spawn_from_lasting_thread(command: Command) -> io::Result<Child> {
    static SPAWNER: OnceLock<Mutex<Sender<Order>>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (sender, orders) = mpsc::channel::<Order>();
        thread::spawn(move || {
            for (mut command, reply) in orders {
                let _ = reply.send(command.spawn());
            }
        });
        Mutex::new(sender)
    });
    let gone = || io::Error::other("the thread that starts servers is gone");
    let (reply, answer) = mpsc::channel();
    let sent =
        spawner.lock().unwrap_or_else(PoisonError::into_inner).send((command, reply)).is_ok();
    if !sent {
        return Err(gone());
    }
    answer.recv().map_err(|_| gone())?
}
