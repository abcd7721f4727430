//! Which of several cache servers holds this page? Compares a router that keeps a Bloom filter for
//! each server, as the columns of a matrix, with one that uses only the hash of the URL.
//!
//! Three servers hold pages that they got in the past, so no hash says where a page is. The router
//! sends a request to a server that probably holds the page. If the filter was wrong, the server
//! reads the page from the origin, as after any other miss. Between both halves of the requests a
//! server restarts with half of its pages, and its column is replaced.
//!
//! `cargo run --release -p mayhap --example cache_router`; `docs/cookbook.md` shows its output.

use mayhap::{BloomMatrix, Digest, Error, native};
use std::collections::{BTreeSet, HashSet};

/// The promised rate of each server's filter.
const TARGET_FPP: f64 = 0.001;

/// The number of pages that each server has at first, and the number that its filter has room for.
const CACHED: u64 = 40_000;
const ROOM: u64 = 80_000;

const NAMES: [&str; 3] = ["east", "north", "west"];

/// Requests in each half; 1 in 5 is for a page that no server has at first.
const REQUESTS: u64 = 200_000;

/// Steele, Lea & Flood 2014: the same numbers on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % limit
    }
}

fn url(page: u64) -> String {
    format!("https://example.org/page/{page}")
}

/// A cache server: the pages that it has.
#[derive(Clone, Default)]
struct Server {
    pages: BTreeSet<u64>,
}

/// The outcome of the requests.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outcome {
    hits: u64,
    misroutes: u64,
    origin_reads: u64,
    /// Requests whose answer could be a false positive: a page that is routed to the wrong server
    /// is cached there afterwards, so only the first request for it in each half counts.
    trials: u64,
}

/// A router with a filter for each server.
struct Router {
    filters: BloomMatrix,
}

impl Router {
    fn new(servers: &[Server]) -> Result<Self, Error> {
        let builder = BloomMatrix::builder().num_sets(servers.len());
        let mut filters = builder.expected_items(ROOM).target_fpp(TARGET_FPP).build()?;
        filters.set_names(&NAMES)?;
        let mut router = Self { filters };
        for (number, server) in servers.iter().enumerate() {
            router.replace(number, server)?;
        }
        Ok(router)
    }

    /// Replaces the router's knowledge of a server, as after its restart.
    fn replace(&mut self, number: usize, server: &Server) -> Result<(), Error> {
        let digest = |page: &u64| self.filters.digest(&url(*page));
        let digests: Vec<Digest> = server.pages.iter().map(digest).collect();
        self.filters.replace_set(number, digests)
    }

    /// The same router from a stored matrix.
    fn stored_and_loaded(&self) -> Result<Self, Error> {
        let file = native::encode(&self.filters, "");
        let (filters, _) = native::decode_as::<BloomMatrix>(&file, None)?;
        Ok(Self { filters })
    }

    /// A server that probably has the page.
    fn route(&self, page: u64) -> Option<usize> {
        self.filters.which(&url(page)).iter().next()
    }
}

/// The server that a hash of the URL names.
fn home(page: u64) -> usize {
    mayhap::DigestFunction::default().digest(&url(page)).get() as usize % NAMES.len()
}

/// Sends a page's request to a server, which reads the page from the origin if it has to; returns
/// whether the server had it.
fn send(servers: &mut [Server], number: usize, page: u64, outcome: &mut Outcome) -> bool {
    let is_new = servers[number].pages.insert(page);
    if is_new {
        outcome.origin_reads += 1;
    } else {
        outcome.hits += 1;
    }
    !is_new
}

/// Pages of the past: each is on one server, whichever that was.
fn servers_of_the_past() -> Vec<Server> {
    let mut random = Random(8);
    let mut servers = vec![Server::default(); NAMES.len()];
    for page in 0..CACHED * NAMES.len() as u64 {
        let number = random.below(NAMES.len() as u64) as usize;
        servers[number].pages.insert(page);
    }
    servers
}

/// The pages of the requests of a half.
fn requests(seed: u64) -> impl Iterator<Item = u64> {
    let mut random = Random(seed);
    let cached = CACHED * NAMES.len() as u64;
    (0..REQUESTS).map(move |_| match random.below(5) {
        0 => cached + random.below(cached),
        _ => random.below(cached),
    })
}

/// A server loses half of its pages.
fn restart(server: &mut Server) {
    server.pages.retain(|page| page % 2 == 0);
}

fn with_filters() -> Result<Outcome, Error> {
    let (mut servers, mut outcome) = (servers_of_the_past(), Outcome::default());
    let mut router = Router::new(&servers)?;
    for half in 0..2 {
        let mut seen = HashSet::new();
        for page in requests(half) {
            outcome.trials += u64::from(seen.insert(page));
            let named = router.route(page);
            let number = named.unwrap_or_else(|| home(page));
            if !send(&mut servers, number, page, &mut outcome) {
                outcome.misroutes += u64::from(named.is_some());
                // The server now has the page.
                router.filters.insert(number, &url(page));
            }
        }
        if half == 0 {
            restart(&mut servers[2]);
            router.replace(2, &servers[2])?;
            router = router.stored_and_loaded()?;
            assert_eq!(router.filters.name(2), Some("west"));
        }
    }
    Ok(outcome)
}

fn without_filters() -> Outcome {
    let (mut servers, mut outcome) = (servers_of_the_past(), Outcome::default());
    for half in 0..2 {
        for page in requests(half) {
            send(&mut servers, home(page), page, &mut outcome);
        }
        if half == 0 {
            restart(&mut servers[2]);
        }
    }
    outcome
}

/// The most misroutes that the promise allows: each server is wrongly named at a rate of at most p,
/// independently, plus three standard deviations.
fn most_misroutes(trials: u64) -> f64 {
    let fpp = 1.0 - (1.0 - TARGET_FPP).powf(NAMES.len() as f64);
    let mean = trials as f64 * fpp;
    mean + 3.0 * (mean * (1.0 - fpp)).sqrt()
}

/// Routes all requests both ways, and compares.
pub(crate) fn report() -> Result<String, Error> {
    let (with, without) = (with_filters()?, without_filters());
    let most = most_misroutes(with.trials);
    assert!(with.misroutes as f64 <= most, "{} misroutes, at most {most}", with.misroutes);
    assert!(with.origin_reads < without.origin_reads);
    let row = |name: &str, outcome: &Outcome, misroutes: &str| {
        let Outcome { hits, origin_reads, .. } = outcome;
        format!("{name:<16}{hits:>8}{misroutes:>12}{origin_reads:>14}\n")
    };
    let misroutes = with.misroutes.to_string();
    Ok(format!("{:<16}{:>8}{:>12}{:>14}\n", "router", "hits", "misroutes", "origin reads")
        + &row("with filters", &with, &misroutes)
        + &row("by hash alone", &without, "-")
        + &format!("the promise allows at most {most:.0} misroutes (p + 3 sigma)\n"))
}

pub(crate) fn main() -> Result<(), Error> {
    print!("{}", report()?);
    Ok(())
}
