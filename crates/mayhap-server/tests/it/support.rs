//! A server on a port of its own, and raw sockets to speak to it.

use mayhap_engine::Words;
use mayhap_engine::durable::{Refused, State, Ticket, Unwritten};
use mayhap_server::command::After;
use mayhap_server::config::Rights;
use mayhap_server::net::{Clients, Listen, Loops, Options, Service};
use mayhap_server::resp::Reply;
use mayhap_server::{Session, Turn};
use socket2::{Domain, Socket, Type};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once, OnceLock};
use std::time::{Duration, Instant};

/// Options of a server on a free port of the loopback, with two loops.
pub(crate) fn options() -> Options {
    let listen = vec![Listen::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)))];
    Options { listen, threads: 2, ..Options::default() }
}

/// An engine without filters: `PING`, `ECHO word`, `BIG bytes`, `COUNT word…`, `ADD` (which depends
/// on the log), `BUSY`, `WORK nanoseconds`, `LOGIN`, `NAME word`, `WHO`, `QUIT`, `SHUTDOWN`, and
/// `SLOW word…`: the request of these words, on a worker thread.
#[derive(Default)]
pub(crate) struct Echo {
    clients: Clients,
    needs_login: bool,
    /// Whether the log refuses records.
    pub(crate) full: AtomicBool,
    /// Whether answers wait for the log.
    pub(crate) waits: AtomicBool,
    safe: AtomicU64,
    failed: AtomicBool,
    written: AtomicU64,
    wake: OnceLock<Box<dyn Fn() + Send + Sync>>,
    /// Commits that had records to write.
    pub(crate) commits: AtomicU64,
    /// `BUSY` and `SLOW` take as long as this is locked.
    pub(crate) busy: Mutex<()>,
    /// The words of `ADD`, and `BUSY` and `SLOW`.
    pub(crate) requests: Mutex<Vec<Vec<u8>>>,
}

impl Echo {
    /// An engine that requires a login.
    pub(crate) fn with_logins() -> Self {
        Self { needs_login: true, ..Self::default() }
    }

    /// Everything written so far is safe now.
    pub(crate) fn sync(&self) {
        self.safe.store(self.written.load(Ordering::SeqCst), Ordering::SeqCst);
        (self.wake.get().unwrap())();
    }

    /// It never will be.
    pub(crate) fn fail(&self) {
        self.failed.store(true, Ordering::SeqCst);
        (self.wake.get().unwrap())();
    }
}

impl Service for Echo {
    fn clients(&self) -> &Clients {
        &self.clients
    }

    fn open(&self, id: u64, address: Option<SocketAddr>) -> Session {
        let all = !self.needs_login;
        Session::new(id, address, if all { Rights::ALL } else { Rights::NONE })
    }

    fn turn(&self) -> Turn {
        Turn::default()
    }

    fn execute(
        &self,
        words: Words<'_>,
        session: &mut Session,
        turn: &mut Turn,
        out: &mut Vec<u8>,
    ) -> After {
        if words.get(0) == Some(b"SLOW") {
            if turn.hurried {
                return After::Later;
            }
            self.requests.lock().unwrap().push(b"SLOW".to_vec());
            drop(self.busy.lock().unwrap());
            return self.execute(words.from(1), session, turn, out);
        }
        let mut reply = Reply::new(out, session.info.resp3);
        let number = |index| std::str::from_utf8(words.get(index).unwrap()).unwrap().parse();
        match words.get(0).unwrap() {
            b"PING" => reply.simple("PONG"),
            b"ECHO" => reply.bulk(words.get(1).unwrap_or(b"?")),
            b"BIG" => reply.bulk(&vec![b'x'; number(1).unwrap()]),
            b"COUNT" => reply.simple(&(words.len() - 1).to_string()),
            b"ADD" => {
                self.requests.lock().unwrap().push(words.get(1).unwrap().to_vec());
                turn.wrote = true;
                turn.work.digests.push(mayhap::Digest::new(1));
                reply.integer(1);
            }
            b"BUSY" => {
                self.requests.lock().unwrap().push(b"BUSY".to_vec());
                drop(self.busy.lock().unwrap());
                reply.simple("OK");
            }
            b"WORK" => {
                self.requests.lock().unwrap().push(b"WORK".to_vec());
                turn.work_ns += number(1).unwrap() as u64;
                reply.simple("OK");
            }
            b"LOGIN" => {
                session.rights.read = true;
                reply.simple("OK");
            }
            b"NAME" => {
                session.info.name = words.get(1).unwrap().to_vec();
                reply.simple("OK");
            }
            b"WHO" => reply.bulk(&session.info.name),
            b"QUIT" => {
                reply.simple("OK");
                return After::Close;
            }
            b"SHUTDOWN" => return After::Shutdown { save: words.len() == 1 },
            _ => reply.error("ERR unknown command"),
        }
        After::Go
    }

    fn commit(&self, turn: &mut Turn) -> Result<Option<Ticket>, Unwritten> {
        if turn.work.digests.is_empty() {
            return Ok(None);
        }
        turn.work.digests.clear();
        if self.full.load(Ordering::SeqCst) {
            return Err(Unwritten { why: Refused::Meanwhile, until: None });
        }
        self.commits.fetch_add(1, Ordering::SeqCst);
        let ticket = Ticket(self.written.fetch_add(1, Ordering::SeqCst) + 1);
        Ok(self.waits.load(Ordering::SeqCst).then_some(ticket))
    }

    fn end(&self, _turn: &mut Turn, _took: Duration) {}

    fn end_job(&self, _words: Words<'_>, _session: &Session, _turn: &mut Turn, _took: Duration) {}

    fn last_operation(&self) -> Option<Ticket> {
        None
    }

    fn is_undone(&self, _number: u64) -> bool {
        true
    }

    fn state(&self, ticket: Ticket) -> State {
        if self.safe.load(Ordering::SeqCst) >= ticket.0 {
            State::Safe
        } else if self.failed.load(Ordering::SeqCst) {
            State::Refused
        } else {
            State::Waiting
        }
    }

    fn on_progress(&self, wake: Box<dyn Fn() + Send + Sync>) {
        assert!(self.wake.set(wake).is_ok());
    }
}

/// A server with that engine; stopped and waited for when it is dropped.
pub(crate) struct Running {
    pub(crate) engine: Arc<Echo>,
    pub(crate) server: Option<Loops>,
}

impl Running {
    pub(crate) fn new(options: Options) -> Self {
        Self::with(options, Echo::default())
    }

    pub(crate) fn with(options: Options, engine: Echo) -> Self {
        let engine = Arc::new(engine);
        let server = Loops::start(options, Arc::clone(&engine)).unwrap();
        Self { engine, server: Some(server) }
    }

    pub(crate) fn clients(&self) -> &Clients {
        self.engine.clients()
    }

    pub(crate) fn connect(&self) -> Raw {
        Raw::connect(self.server.as_ref().unwrap().address().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop();
            let ended = server.join();
            if !std::thread::panicking() {
                ended.unwrap();
            }
        }
    }
}

/// A socket that sends and expects raw bytes. A server that is silent for a minute has failed the
/// test.
pub(crate) struct Raw {
    pub(crate) socket: TcpStream,
}

impl Raw {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let socket = TcpStream::connect(address).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        socket.set_write_timeout(Some(Duration::from_secs(60))).unwrap();
        Self { socket }
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.socket.write_all(bytes.as_ref()).unwrap();
    }

    /// As [`Raw::send`], to a server that may have closed already.
    pub(crate) fn try_send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.socket.write_all(bytes.as_ref());
    }

    /// Expects exactly these bytes next.
    pub(crate) fn expect(&mut self, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        let mut got = vec![0; bytes.len()];
        let mut at = 0;
        while at < bytes.len() && got[..at] == bytes[..at] {
            match self.socket.read(&mut got[at..]) {
                Ok(0) => break,
                Ok(more) => at += more,
                Err(error) => panic!("{error} after {:?}", got[..at].escape_ascii().to_string()),
            }
        }
        let (got, bytes) = (&got[..at], &bytes[..bytes.len().min(at + 200)]);
        assert!(got.starts_with(bytes), "{} for {}", got.escape_ascii(), bytes.escape_ascii());
    }

    /// Sends a request as an array, and expects its answer.
    pub(crate) fn call(&mut self, words: &[&str], answer: &str) {
        self.send(request(words));
        self.expect(answer);
    }

    /// Everything until the server closes.
    pub(crate) fn rest(&mut self) -> String {
        let mut rest = Vec::new();
        match self.socket.read_to_end(&mut rest) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
            Err(error) => panic!("{error} after {:?}", rest.escape_ascii().to_string()),
        }
        String::from_utf8_lossy(&rest).into_owned()
    }

    /// Sends requests until a condition holds that the server reaches in its own time.
    pub(crate) fn until(&mut self, mut is_true: impl FnMut() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(300);
        while !is_true() {
            assert!(Instant::now() < deadline, "it never became true");
            self.call(&["PING"], "+PONG\r\n");
        }
    }

    /// Nothing arrives before the answer to another client: the request is unanswered, and the
    /// server alive.
    pub(crate) fn silent(&mut self, bystander: &mut Self) {
        bystander.call(&["PING"], "+PONG\r\n");
        self.socket.set_nonblocking(true).unwrap();
        let result = self.socket.read(&mut [0; 64]);
        self.socket.set_nonblocking(false).unwrap();
        assert_eq!(result.map_err(|error| error.kind()), Err(ErrorKind::WouldBlock));
    }
}

/// The bytes of a request.
pub(crate) fn request(words: &[&str]) -> Vec<u8> {
    let words_too = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len()));
    std::iter::once(format!("*{}\r\n", words.len()))
        .chain(words_too)
        .collect::<String>()
        .into_bytes()
}

/// Collects the log messages of this process, from all tests.
struct Messages(Mutex<Vec<String>>);

static MESSAGES: Messages = Messages(Mutex::new(Vec::new()));
static BEGIN: Once = Once::new();

impl log::Log for Messages {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        if record.target().starts_with("mayhap") {
            self.0.lock().unwrap().push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

/// The messages logged in this process since the first call, by all tests.
pub(crate) fn messages() -> &'static Mutex<Vec<String>> {
    BEGIN.call_once(|| {
        log::set_logger(&MESSAGES).unwrap();
        log::set_max_level(log::LevelFilter::Trace);
    });
    &MESSAGES.0
}

/// Waits until a message is logged that has all of these parts.
pub(crate) fn until_logged(parts: &[&str]) {
    let deadline = Instant::now() + Duration::from_secs(300);
    let is_there = || {
        let messages = messages().lock().unwrap();
        messages.iter().any(|text| parts.iter().all(|part| text.contains(part)))
    };
    while !is_there() {
        assert!(Instant::now() < deadline, "{parts:?} is never logged");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A connection with a small receive buffer.
pub(crate) fn narrow(address: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(4 << 10).unwrap();
    socket.connect(&address.into()).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

/// A connection from this address of the loopback.
pub(crate) fn connect_from(last: u8, address: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, last], 0)).into()).unwrap();
    socket.connect(&address.into()).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}
