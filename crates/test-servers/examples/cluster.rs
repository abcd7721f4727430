//! A cluster of three masters for scripts: prints the ports of its nodes on one line and runs until
//! its standard input ends.

use std::io::{Read, Write};
use test_servers::{ClusterOptions, RedisCluster, RedisServer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = ClusterOptions { replicas: 0, ..ClusterOptions::default() };
    let cluster = RedisCluster::start(&options)?;
    let ports = cluster.nodes().iter().map(RedisServer::port);
    let ports: Vec<String> = ports.map(|port| port.to_string()).collect();
    let mut out = std::io::stdout();
    writeln!(out, "{}", ports.join(" "))?;
    out.flush()?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
