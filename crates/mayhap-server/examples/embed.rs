//! A server embedded in another program: it serves, sweeps expired filters, stops and keeps the
//! rest.
//!
//! `cargo run -p mayhap-server --example embed -- FOLDER`

use mayhap_server::{Config, Running, Server};
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    embed(std::env::args_os().nth(1).ok_or("name a folder for the filters")?.into())
}

pub(crate) fn embed(folder: PathBuf) -> Result<(), Box<dyn Error>> {
    // Port 0 means any free port.
    let config = Config { data: Some(folder), port: 0, ..Config::default() };
    let running = Server::start(config.clone())?;
    assert_eq!(send(&running, "BF.ADD kept alice")?, ":1");
    assert_eq!(send(&running, "BF.ADD expiring bob")?, ":1");
    assert_eq!(send(&running, "PEXPIRE expiring 1")?, ":1");
    while running.shared().keyspace.len() > 1 {
        std::thread::yield_now();
    }
    running.shut_down()?;

    let running = Server::start(config)?;
    assert_eq!(send(&running, "BF.EXISTS kept alice")?, ":1");
    assert_eq!(send(&running, "BF.EXISTS expiring bob")?, ":0");
    Ok(running.shut_down()?)
}

fn send(running: &Running, request: &str) -> Result<String, Box<dyn Error>> {
    let mut socket = TcpStream::connect(running.address().ok_or("no TCP port")?)?;
    writeln!(socket, "{request}\r")?;
    let mut line = String::new();
    BufReader::new(socket).read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}
