//! A client that renames, expires and grows filters, and remembers the acknowledged operations.

use crate::client::{Answer, Client, is_end};
use crate::load::{Random, has, with_keys};
use crate::server::ok;
use std::io::{Error, Read, Write};
use std::time::{Duration, Instant};

/// A server that has not ended after this time counts as hanging.
const LIMIT: Duration = Duration::from_secs(20);
const NAMES: [&str; 2] = ["moving-0", "moving-1"];
/// In 2100, in milliseconds.
const LATER: &str = "4102444800000";

/// One client, with a filter that has two names in turn and one of each round that grows.
pub(crate) struct Mover {
    random: Random,
    /// Keys of the filter that moves, and which name it has.
    keys: Vec<u64>,
    name: usize,
    renaming: bool,
    expires: bool,
    changing: bool,
    rounds: u64,
    grown: Vec<u64>,
    /// Keys of all rounds.
    pub(crate) acknowledged: usize,
}

impl Mover {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            random: Random(seed ^ 0x6D6F_7665),
            keys: Vec::new(),
            name: 0,
            renaming: false,
            expires: false,
            changing: false,
            rounds: 0,
            grown: Vec::new(),
            acknowledged: 0,
        }
    }

    fn growing(&self) -> String {
        format!("grown-{}", self.rounds)
    }

    /// Until the connection ends, or for too long.
    pub(crate) fn run<S: Read + Write>(&mut self, mut client: Client<S>) {
        let begun = Instant::now();
        let mut result = Ok(());
        while result.is_ok() && begun.elapsed() < LIMIT {
            result = self.turn(&mut client);
        }
        assert!(result.as_ref().err().is_none_or(is_end), "{result:?}");
    }

    fn turn<S: Read + Write>(&mut self, client: &mut Client<S>) -> Result<(), Error> {
        let keys: Vec<u64> = (0..700).map(|_| self.random.next()).collect();
        client.send(&with_keys("BF.MADD", &self.growing(), &keys))?;
        let answer = client.answer()?;
        assert!(matches!(&answer, Answer::List(all) if all.len() == keys.len()), "{answer:?}");
        self.grown.extend(keys);

        let key = self.random.next();
        client.send(&with_keys("BF.ADD", NAMES[self.name], &[key]))?;
        assert_eq!(client.answer()?, Answer::Number(1));
        self.keys.push(key);

        self.renaming = true;
        let (from, to) = (NAMES[self.name], NAMES[1 - self.name]);
        assert_eq!(client.call(&format!("RENAME {from} {to}"))?, ok());
        (self.name, self.renaming) = (1 - self.name, false);

        self.changing = true;
        let words =
            if self.expires { format!("PERSIST {to}") } else { format!("PEXPIREAT {to} {LATER}") };
        assert_eq!(client.call(&words)?, Answer::Number(1), "{words}");
        (self.expires, self.changing) = (!self.expires, false);
        if self.random.below(4) == 0 {
            client.call("BGSAVE")?;
        }
        Ok(())
    }

    /// Checks that all is as acknowledged; the client continues from the state found.
    pub(crate) fn check<S: Read + Write>(&mut self, client: &mut Client<S>) -> Result<(), String> {
        if has(client, &self.growing(), &self.grown).contains(&false) {
            return Err(format!("{} has lost a key", self.growing()));
        }
        // A filter whose creation was never acknowledged may or may not exist.
        client.ask(&format!("DEL {}", self.growing()));
        self.acknowledged += self.grown.len();
        self.grown.clear();
        self.rounds += 1;
        let there = NAMES.map(|name| client.ask(&format!("EXISTS {name}")) == Answer::Number(1));
        match there {
            [false, false] if self.keys.is_empty() => return Ok(()),
            [a, b] if a == b => return Err(format!("names of what moves: {there:?}")),
            [_, second] => {
                let name = usize::from(second);
                if name != self.name && !self.renaming {
                    return Err(format!("it is {}, which it was not", NAMES[name]));
                }
                (self.name, self.renaming) = (name, false);
            }
        }
        let name = NAMES[self.name];
        if has(client, name, &self.keys).contains(&false) {
            return Err(format!("{name} has lost a key"));
        }
        let expires = client.ask(&format!("TTL {name}")) != Answer::Number(-1);
        if expires != self.expires && !self.changing {
            return Err(format!("{name} expires: {expires}, which it was not told"));
        }
        (self.expires, self.changing) = (expires, false);
        Ok(())
    }
}
