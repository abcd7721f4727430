//! Filters on servers as sets: what a name holds, new ones, and whole ones there and back.
//!
//! `origin` connects, `stand_in.rs` has the tests of filters behind `BF.*`, with a stand-in in this
//! process, `redis.rs` those of the layouts that need a server with scripts.

mod redis;
mod stand_in;

use mayhap_redis::{Address, Server, ServerOptions};
use mayhap_sets::server::{Origin, wait};

fn origin(url: &str, name: &str) -> Origin {
    let address = Address::parse(url).unwrap();
    let server = wait(Server::connect(&address, ServerOptions::default())).unwrap().unwrap();
    Origin { server, url: format!("{url}/{name}"), name: name.into() }
}

/// The message of an error.
fn refused<T>(result: Result<T, impl ToString>) -> String {
    match result {
        Err(error) => error.to_string(),
        Ok(_) => panic!("it was not refused"),
    }
}
