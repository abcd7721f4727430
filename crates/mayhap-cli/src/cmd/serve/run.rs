//! The server's life: recover, listen, wait, end.

use super::notify::{notify, watchdog};
use crate::args::secret_key;
use crate::error::Error;
use crate::io::messages::Talk;
use crate::io::progress::Progress as Bar;
use crate::io::signals::Stop;
use crate::memory::physical_bytes;
use crate::outcome::Outcome;
use mayhap::{DigestFunction, SecretKey};
use mayhap_server::config::Config;
use mayhap_server::durable::{self, DataFolder, Log, Progress, Report, Threads};
use mayhap_server::http::Http;
use mayhap_server::keyspace::{self, Growing, Keyspace, Recovery, Watching};
use mayhap_server::metrics::Metrics;
use mayhap_server::net::{self, Clients, Listen, tls_config};
use mayhap_server::resp::Limits;
use mayhap_server::{Ended, Server, Shared};
use mayhap_units::number::{format_bytes, format_count};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often it is looked whether `SHUTDOWN` came, and what has expired.
const TICK: Duration = Duration::from_millis(200);
/// Filters looked at for their expiry in a tick.
const SWEPT: usize = 1000;
/// Without a terminal, recovery is told so often.
const TOLD_EVERY: Duration = Duration::from_secs(2);

/// Serves until a signal or `SHUTDOWN`.
pub(super) fn run(mut config: Config, talk: Talk) -> Result<Outcome, Error> {
    // From the very first moment, so that a signal during recovery ends it too.
    let stop = Stop::on_signals()?;
    if config.max_memory.is_none() {
        // A filter beyond the machine's memory would only be found out by the OOM killer.
        config.max_memory = physical_bytes().map(|bytes| bytes / 4 * 3);
    }
    let network = network(&config)?;
    let kept = open(&config, talk)?;
    let shared = Arc::new(Shared {
        metrics: Metrics::new(network.threads),
        config,
        keyspace: kept.keyspace,
        log: kept.log,
        clients: Clients::default(),
    });
    let threads = shared.log.as_ref().map(|log| Threads::start(log, shared.clone())).transpose();
    let threads = threads.map_err(Error::io("start", "the threads of the log"))?;
    let growing = Growing::start(&shared).map_err(Error::io("start", "the thread of growth"))?;
    let watching = Watching::start(&shared).map_err(Error::io("start", "the thread of files"))?;
    let server = Server::start(network, shared.clone()).map_err(|error| failed(&error))?;
    let http = shared.config.http_port.map(|_| Http::start(shared.clone())).transpose();
    let http = http.map_err(|error| no_http(&shared.config, &error))?;
    say_where(&server, http.as_ref(), &shared.config);
    notify("READY=1");
    let save = wait(&stop, &server, &shared);
    notify("STOPPING=1");
    log::info!("ending");
    if let Some(http) = http {
        http.stop();
    }
    server.stop();
    let ended = server.join();
    drop((growing, watching));
    let save = save || matches!(ended, Ok(Ended::Shutdown { save: true }));
    end(&shared, threads, save)?;
    ended.map_err(|error| failed(&error))?;
    log::info!("ended");
    Ok(Outcome::Done)
}

/// Reads the certificate, as a start would.
pub(super) fn check_tls(config: &Config) -> Result<(), Error> {
    network(config).map(|_| ())
}

fn failed(error: &net::Error) -> Error {
    let hint = match error {
        net::Error::Listen { .. } => "is another server there? another one: --port PORT",
        _ => "",
    };
    Error::usage(error.to_string(), hint)
}

fn no_http(config: &Config, error: &std::io::Error) -> Error {
    let place = SocketAddr::new(config.http_bind(), config.http_port.unwrap_or_default());
    let text = format!("cannot listen on {place} for HTTP: {error}");
    Error::usage(text, "is another server there? another one: --http PORT")
}

/// Where the loops listen and what they allow.
fn network(config: &Config) -> Result<net::Options, Error> {
    let place = |port| SocketAddr::new(config.bind, port);
    let files = config.tls_cert.as_deref().zip(config.tls_key.as_deref());
    let tls = files
        .map(|(cert, key)| tls_config(cert, key))
        .transpose()
        .map_err(|error| failed(&error))?;
    let mut listen = match (tls, config.tls_port) {
        (None, _) => vec![Listen::Tcp(place(config.port))],
        (Some(tls), None) => vec![Listen::Tls(place(config.port), tls)],
        (Some(tls), Some(port)) => {
            vec![Listen::Tcp(place(config.port)), Listen::Tls(place(port), tls)]
        }
    };
    listen.extend(config.unix_socket.clone().map(Listen::Unix));
    let for_ever = Duration::from_secs(u64::from(u32::MAX));
    let time = |millis| if millis == 0 { for_ever } else { Duration::from_millis(millis) };
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let defaults = net::Options::default();
    Ok(net::Options {
        listen,
        threads: config.threads.unwrap_or_else(cores),
        // On one core it would take the time of whom it waits for.
        busy_poll: Duration::from_micros(if cores() > 1 { config.busy_poll_us.into() } else { 0 }),
        max_clients: config.max_clients as usize,
        max_buffer_bytes: usize::try_from(config.max_buffer_bytes).unwrap_or(usize::MAX),
        limits: Limits {
            max_word_bytes: config.max_word_bytes,
            max_chunk_bytes: config.max_chunk_bytes,
            max_words: config.max_words,
            max_request_bytes: config.max_request_bytes,
            ..Limits::default()
        },
        request_timeout: time(config.request_timeout_ms),
        write_timeout: time(config.output_timeout_ms),
        idle_timeout: (config.idle_timeout_ms != 0).then(|| time(config.idle_timeout_ms)),
        keepalive: time(config.keepalive_ms),
        ..defaults
    })
}

/// The filters, and their log if they are kept.
struct Kept {
    keyspace: Keyspace,
    log: Option<Arc<Log>>,
}

fn options(config: &Config, secret_key: SecretKey) -> keyspace::Options {
    keyspace::Options {
        max_filter_bytes: config.max_filter_bytes.or(config.max_memory).unwrap_or(u64::MAX),
        max_memory: config.max_memory.unwrap_or(u64::MAX),
        max_name_bytes: config.max_name_bytes as usize,
        ..keyspace::Options::new(secret_key)
    }
}

fn open(config: &Config, talk: Talk) -> Result<Kept, Error> {
    let Some(data) = &config.data else {
        log::warn!("no data folder: filters are gone when the server ends; --data DIR keeps them");
        let secret_key = match &config.key_file {
            Some(path) => secret_key::read(path)?,
            None => random_key()?,
        };
        return Ok(Kept { keyspace: Keyspace::new(options(config, secret_key)), log: None });
    };
    let folder = DataFolder::open(data).map_err(|error| damaged(&error))?;
    let secret_key = match &config.key_file {
        Some(path) => secret_key::read(path)?,
        None => folder.secret_key().map_err(|error| damaged(&error))?,
    };
    let recovery = Recovery::new(options(config, secret_key));
    let mut settings = durable::Options::new(DigestFunction::sip13(secret_key));
    settings.policy = config.appendfsync;
    settings.segment_bytes = config.checkpoint_bytes;
    let interval = Duration::from_millis(config.checkpoint_interval_ms);
    settings.checkpoint_every = Some(interval).filter(|interval| !interval.is_zero());
    settings.threads = config.threads.unwrap_or(settings.threads);
    let begun = Instant::now();
    let teller = Mutex::new(Teller::new(talk));
    let tell = |progress| {
        let mut teller = teller.lock().unwrap_or_else(PoisonError::into_inner);
        teller.tell(progress);
    };
    let (log, report) =
        Log::open(folder, settings, &recovery, &tell).map_err(|error| damaged(&error))?;
    drop(teller);
    let keyspace = Keyspace::restored(recovery, report.next_id)
        .map_err(|problem| Error::usage(problem, "give the server more memory"))?;
    say_recovered(data, &report, keyspace.len(), begun.elapsed());
    for path in &report.imports {
        match keyspace.serve_file(path) {
            Ok(_) => log::info!("serving {} read only", path.display()),
            // One that is of no use is no reason to keep the others from clients.
            Err(problem) => log::warn!("not served: {problem}"),
        }
    }
    Ok(Kept { keyspace, log: Some(log) })
}

fn random_key() -> Result<SecretKey, Error> {
    use std::io::Read;
    let mut key = [0; 16];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut random| random.read_exact(&mut key))
        .map_err(Error::io("read", "/dev/urandom"))?;
    Ok(SecretKey::new(key))
}

fn damaged(error: &durable::Error) -> Error {
    let hint = match error {
        durable::Error::Damaged { .. } | durable::Error::Missing { .. } => {
            "mayhap serve --repair, with the same settings, keeps a copy and drops what is damaged"
        }
        durable::Error::Locked { .. } => {
            "stop it, or give this one a folder and a port of its own: --data DIR --port PORT"
        }
        durable::Error::Io { action: "open", .. } => {
            "--data DIR is a folder that this user can write to, or can make"
        }
        _ => "docs/operations.md says what can be done",
    };
    Error::usage(error.to_string(), hint)
}

/// Says how far recovery is: a bar on a terminal, lines elsewhere.
struct Teller {
    bar: Option<Bar>,
    talk: Talk,
    last: Instant,
}

impl Teller {
    fn new(talk: Talk) -> Self {
        Self { bar: None, talk, last: Instant::now() }
    }

    fn tell(&mut self, progress: Progress) {
        let (what, done, total) = match progress {
            Progress::Images { done, total } => ("images", done, total),
            Progress::Log { done, total } => ("log", done, total),
        };
        let talk = self.talk;
        self.bar.get_or_insert_with(|| Bar::new(talk, Some(total))).tick_bytes(done);
        if done == total {
            // The next part has a total of its own.
            self.bar = None;
        }
        if self.last.elapsed() >= TOLD_EVERY {
            self.last = Instant::now();
            let (done, total) = (format_bytes(done), format_bytes(total));
            log::info!("recovering: {done} of {total} of the {what}");
        }
    }
}

fn say_recovered(data: &Path, report: &Report, filters: usize, time: Duration) {
    let mut text = format!(
        "opened {}: {} filters, {} of images, {} of log, in {:.2} s",
        data.display(),
        format_count(filters as u64),
        format_bytes(report.image_bytes),
        format_bytes(report.log_bytes),
        time.as_secs_f64()
    );
    if report.operations + report.digests + report.keys == 0 {
        text += "; nothing had to be replayed";
    }
    log::info!("{text}");
    if let Some(cut) = &report.dropped {
        log::warn!(
            "{}: {} bytes from offset {} on were an unfinished write and are removed; nothing that \
             was acknowledged was in them, but for the last two seconds before a power cut",
            cut.path.display(),
            cut.bytes,
            cut.offset
        );
    }
}

fn say_where(server: &Server, http: Option<&Http>, config: &Config) {
    for address in server.addresses() {
        log::info!("Redis clients: {address}");
    }
    if let Some(path) = &config.unix_socket {
        log::info!("Redis clients: {}", path.display());
    }
    if let Some(http) = http {
        let scheme = if config.http_tls() { "https" } else { "http" };
        log::info!("HTTP: {scheme}://{}/", http.address());
    }
}

/// Waits for a signal, or until the loops end; whether a signal is to make a checkpoint.
fn wait(stop: &Stop, server: &Server, shared: &Shared) -> bool {
    let watchdog = watchdog();
    let mut told = Instant::now();
    let mut cursor = 0;
    loop {
        let wake = stop.wake();
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(TICK.subsec_nanos()) };
        // An interrupted wait is one that ends early.
        let _ = poll(&mut [PollFd::new(&wake, PollFlags::IN)], Some(&timeout));
        if let Some(signal) = stop.signal() {
            log::info!("signal {signal}: requests at hand end; a second one ends at once");
            return shared.config.checkpoint_on_exit;
        }
        if server.control().is_stopping() {
            return false;
        }
        if watchdog.is_some_and(|every| told.elapsed() >= every) {
            told = Instant::now();
            notify("WATCHDOG=1");
        }
        let now = unix_ms();
        // What cannot be written now stays, as good as gone.
        let swept = shared.keyspace.sweep(cursor, SWEPT, now, shared.log.as_deref());
        cursor = swept.unwrap_or(0);
    }
}

fn unix_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}

/// Makes safe what was written, and a checkpoint if asked for.
fn end(shared: &Shared, threads: Option<Threads>, save: bool) -> Result<(), Error> {
    if let Some(log) = shared.log.as_ref().filter(|_| save) {
        let saves = log.checkpoint(&shared.keyspace).map_err(|error| damaged(&error))?;
        log::info!("checkpoint: {saves:?}");
    }
    match threads.map(Threads::close) {
        Some(Err(refused)) => {
            Err(Error::usage(refused.0, "docs/operations.md says what can be done"))
        }
        _ => Ok(()),
    }
}
