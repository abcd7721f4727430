//! What a client can do that others would feel.

use mayhap_bench::process::Error;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A server to attack, with filters that are there already.
pub(crate) struct Target {
    port: u16,
    http: u16,
}

/// Goes on until then; errors are those of the attacker.
pub(crate) type Attack = fn(&Target, Instant) -> Result<(), Error>;

pub(crate) const ATTACKS: &[(&str, Attack)] = &[
    ("nobody", idle),
    ("names of 65 KB, 400 a pipeline", long_names),
    ("BF.WHICH of a million pairs", which_pairs),
    ("BF.WHICH with a name 8,000 times", which_names),
    ("KEYS * in pipelines of 200", keys),
    ("SCAN 0 COUNT 10000 MATCH, pipelined", scan),
    ("INFO all in pipelines of 200", info),
    ("BF.INFO FILL of a large filter, pipelined", fill),
    ("BF.MERGE onto a name that is taken, pipelined", merge),
    ("BF.SCANDUMP just below 1 MiB, pipelined", scandump),
    ("200 lists that nobody reads", unread),
    ("150 JSON bodies that never end", bodies),
    ("600 HTTP heads that never end", heads),
    ("520 uploads of a byte at a time", uploads),
    ("2,000 silent connections", silent),
    ("connections, as fast as they come", connections),
    ("wrong passwords, as fast as they come", passwords),
    ("arrays and words of absurd lengths", lengths),
    ("BF.RESERVE of all sizes", reserves),
    ("BF.ADD of new names until memory is full", fills_memory),
];

/// Filters that are there for KEYS, SCAN and INFO.
const FILTERS: usize = 5000;

impl Target {
    pub(crate) fn new(port: u16, http: u16) -> Result<Self, Error> {
        let target = Self { port, http };
        let mut setup =
            String::from("BF.RESERVE bystander 0.001 1000\r\nBF.ADD bystander there\r\n");
        // 24 MiB, and one whose dump is just below a MiB.
        setup += "BF.RESERVE large 0.001 12000000\r\nBF.ADD large x\r\n";
        setup += "BF.RESERVE dump 0.001 500000\r\nBF.RESERVE taken 0.001 1000\r\n";
        for filter in 0..FILTERS {
            setup += &format!("BF.ADD some-{filter} x\r\n");
        }
        let mut stream = target.connect()?;
        stream.write_all(setup.as_bytes())?;
        let answers = 6 + FILTERS;
        let mut lines = 0;
        let mut buffer = [0; 4096];
        while lines < answers {
            let found = stream.read(&mut buffer)?;
            if found == 0 || buffer[..found].contains(&b'-') {
                return Err(String::from_utf8_lossy(&buffer[..found]).into());
            }
            lines += buffer[..found].iter().filter(|&&byte| byte == b'\n').count();
        }
        Ok(target)
    }

    pub(crate) const fn ports(&self) -> (u16, u16) {
        (self.port, self.http)
    }

    fn connect(&self) -> Result<TcpStream, Error> {
        Ok(TcpStream::connect(("127.0.0.1", self.port))?)
    }

    /// Sends the same again and again over one connection, and reads what comes; a connection that
    /// the server ends is made anew.
    fn flood(&self, request: &[u8], until: Instant) -> Result<(), Error> {
        while Instant::now() < until {
            let mut stream = self.connect()?;
            let _ = flood_one(&mut stream, request, until);
        }
        Ok(())
    }
}

fn flood_one(stream: &mut TcpStream, request: &[u8], until: Instant) -> std::io::Result<()> {
    stream.set_nonblocking(true)?;
    let (mut sent, mut buffer) = (0, vec![0; 256 << 10]);
    while Instant::now() < until {
        let mut waits = true;
        match stream.write(&request[sent..]) {
            Ok(more) => {
                sent = (sent + more) % request.len();
                waits = false;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(_) => waits = false,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if waits {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
    Ok(())
}

fn wait(until: Instant) {
    std::thread::sleep(until.saturating_duration_since(Instant::now()));
}

/// A command as clients send it.
fn command<W: AsRef<[u8]>>(words: &[W]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        let word = word.as_ref();
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

fn idle(_: &Target, until: Instant) -> Result<(), Error> {
    wait(until);
    Ok(())
}

fn long_names(target: &Target, until: Instant) -> Result<(), Error> {
    let mut request = Vec::new();
    for i in 0..400 {
        let name = format!("{i}{}", "n".repeat(65_000));
        request.extend(command(&["BF.ADD", &name, "x"]));
    }
    target.flood(&request, until)
}

fn which_pairs(target: &Target, until: Instant) -> Result<(), Error> {
    let mut words = vec!["BF.WHICH".to_owned(), "1000".to_owned()];
    words.extend((0..1000).map(|i| format!("some-{i}")));
    words.extend((0..1000).map(|i| i.to_string()));
    target.flood(&command(&words), until)
}

fn which_names(target: &Target, until: Instant) -> Result<(), Error> {
    let mut words = vec!["BF.WHICH", "8000"];
    words.extend(vec!["some-1"; 8000]);
    words.extend(vec!["x"; 8000]);
    target.flood(&command(&words), until)
}

fn keys(target: &Target, until: Instant) -> Result<(), Error> {
    target.flood(&command(&["KEYS", "*"]).repeat(200), until)
}

fn scan(target: &Target, until: Instant) -> Result<(), Error> {
    let request = command(&["SCAN", "0", "COUNT", "10000", "MATCH", "*[ab]*?*[cd]*"]);
    target.flood(&request.repeat(200), until)
}

fn info(target: &Target, until: Instant) -> Result<(), Error> {
    target.flood(&command(&["INFO", "all"]).repeat(200), until)
}

fn fill(target: &Target, until: Instant) -> Result<(), Error> {
    target.flood(&command(&["BF.INFO", "large", "FILL"]).repeat(200), until)
}

fn merge(target: &Target, until: Instant) -> Result<(), Error> {
    target.flood(&command(&["BF.MERGE", "taken", "large", "large"]).repeat(200), until)
}

fn scandump(target: &Target, until: Instant) -> Result<(), Error> {
    target.flood(&command(&["BF.SCANDUMP", "dump", "0"]).repeat(200), until)
}

/// Answers pile up in the server until it takes no more requests.
fn unread(target: &Target, until: Instant) -> Result<(), Error> {
    let request = command(&["KEYS", "*"]).repeat(100);
    let mut streams = Vec::new();
    for _ in 0..200 {
        let mut stream = target.connect()?;
        stream.set_nonblocking(true)?;
        let _ = stream.write(&request);
        streams.push(stream);
    }
    wait(until);
    Ok(())
}

/// Connections to the HTTP port that begin so, and then send this now and then.
fn http(target: &Target, count: usize, begin: &[u8], more: &[u8], until: Instant) {
    let mut streams = Vec::new();
    for _ in 0..count {
        // Those that are not let in any more are the aim of the server, not of the attacker.
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", target.http)) else { continue };
        let _ = stream.set_nonblocking(true);
        let _ = stream.write(begin);
        streams.push(stream);
    }
    while Instant::now() < until {
        for stream in &mut streams {
            let _ = stream.write(more);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn bodies(target: &Target, until: Instant) -> Result<(), Error> {
    let mut begin = b"POST /v1/filters/bystander/check HTTP/1.1\r\nHost: localhost\r\n\
        Content-Type: application/json\r\nContent-Length: 8000000\r\n\r\n{\"items\": [\""
        .to_vec();
    begin.resize(begin.len() + (64 << 10), b'a');
    http(target, 150, &begin, &[b'a'; 64 << 10], until);
    Ok(())
}

fn heads(target: &Target, until: Instant) -> Result<(), Error> {
    http(target, 600, b"GET /healthz HTTP/1.1\r\nX: ", b"x", until);
    Ok(())
}

fn uploads(target: &Target, until: Instant) -> Result<(), Error> {
    let begin = b"PUT /v1/filters/upload/file HTTP/1.1\r\nHost: localhost\r\n\
        Content-Type: application/octet-stream\r\nContent-Length: 1000000\r\n\r\n";
    http(target, 520, begin, b"x", until);
    Ok(())
}

fn silent(target: &Target, until: Instant) -> Result<(), Error> {
    let streams: Vec<_> = (0..2000).map_while(|_| target.connect().ok()).collect();
    wait(until);
    drop(streams);
    Ok(())
}

fn connections(target: &Target, until: Instant) -> Result<(), Error> {
    while Instant::now() < until {
        let mut stream = target.connect()?;
        let _ = stream.write(b"PING\r\n");
    }
    Ok(())
}

fn passwords(target: &Target, until: Instant) -> Result<(), Error> {
    target.flood(&command(&["AUTH", "default", "wrong"]).repeat(100), until)
}

fn lengths(target: &Target, until: Instant) -> Result<(), Error> {
    let requests: [&[u8]; 5] = [
        b"*1000000000\r\n",
        b"*2\r\n$4\r\nPING\r\n$9000000000\r\n",
        b"*1000000\r\n$1\r\nx\r\n",
        b"*-7\r\n$99999999999999999999\r\n",
        b"*2\r\n$6\r\nBF.ADD\r\n$500000000\r\nxxxxxxxxxxxxxxxx",
    ];
    while Instant::now() < until {
        for request in requests {
            let mut stream = target.connect()?;
            let _ = stream.write(request);
            let _ = stream.set_read_timeout(Some(Duration::from_millis(1)));
            let _ = stream.read(&mut [0; 100]);
        }
    }
    Ok(())
}

fn reserves(target: &Target, until: Instant) -> Result<(), Error> {
    let mut request = Vec::new();
    for power in 0..60 {
        let (name, capacity) = (format!("r-{power}"), (1_u64 << power).to_string());
        request.extend(command(&["BF.RESERVE", &name, "1e-6", &capacity]));
        request.extend(command(&["DEL", &name]));
    }
    target.flood(&request, until)
}

/// The last one: the filters stay.
fn fills_memory(target: &Target, until: Instant) -> Result<(), Error> {
    let mut at = 0;
    while Instant::now() < until {
        let mut request = Vec::new();
        for _ in 0..500 {
            request.extend(command(&["BF.ADD", &format!("new-{at}"), "x"]));
            at += 1;
        }
        let mut stream = target.connect()?;
        stream.write_all(&request)?;
        let (mut lines, mut buffer) = (0, vec![0; 64 << 10]);
        while lines < 500 {
            let found = stream.read(&mut buffer)?;
            if found == 0 {
                break;
            }
            lines += buffer[..found].iter().filter(|&&byte| byte == b'\n').count();
        }
    }
    Ok(())
}
