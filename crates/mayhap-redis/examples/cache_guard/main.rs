//! An attack on a shop with keys that exist nowhere, without a guard and with one, and the
//! behaviour of a guard when its server is killed midway.
//!
//!     cargo run --release -p mayhap-redis --example cache_guard
//!
//! Starts a Redis and a `PostgreSQL` of its own (Debian's packages `redis-server` and
//! `postgresql`). Ends with 1 if more reads reached the database than the filter's rate explains.

mod attack;
mod scene;
mod shop;

use attack::Outcome;
use mayhap_redis::guard::Failing;
use scene::{Error, Scene};
use shop::Shop;
use std::process::ExitCode;
use test_servers::{Postgres, missing};

const ROWS: u32 = 20_000;
const ABSENT: u32 = 200_000;

#[tokio::main]
async fn main() -> Result<ExitCode, Error> {
    if let Some(what) = missing(&["redis-server", "initdb", "postgres", "pg_isready"]) {
        eprintln!("{what}");
        return Ok(ExitCode::from(2));
    }
    let postgres = Postgres::start()?;
    let shop = Shop::open(&postgres.url(), ROWS).await?;
    println!("{ROWS} products; an attack of {ABSENT} keys that exist nowhere, each product once\n");
    println!(
        "{:<24}{:>9}{:>22}{:>9}{:>9}{:>9}",
        "", "requests", "reached the database", "wrong", "refused", "wall"
    );

    let scene = Scene::start(&shop).await?;
    let (outcome, reads) = scene.unguarded(ABSENT).await?;
    row("without a guard", &outcome, reads);
    // A new server: the cache has all products now.
    let scene = Scene::start(&shop).await?;
    let seen = scene.guarded(ABSENT, Failing::Open, false).await?;
    row("with a guard", &seen.outcome, seen.reads);
    let (p, bound) = scene.bound(ABSENT).await?;
    let guarded = seen;

    println!("\nRedis is killed in the middle\n");
    let mut is_right = guarded.outcome.wrong == 0 && guarded.reads as f64 <= bound;
    for (name, failing) in [("fails open", Failing::Open), ("fails closed", Failing::Closed)] {
        let scene = Scene::start(&shop).await?;
        let seen = scene.guarded(ABSENT / 10, failing, true).await?;
        row(name, &seen.outcome, seen.reads);
        is_right &= seen.outcome.wrong == 0;
    }
    println!(
        "\nThe filter's rate is {p:.2e}, so at most {ROWS} + {:.0} reads: {} of {ABSENT} keys were \
         false positives.",
        bound - f64::from(ROWS),
        guarded.counts.false_positives,
    );
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn row(name: &str, outcome: &Outcome, reads: i64) {
    let Outcome { requests, wrong, refused, wall } = outcome;
    let wall = format!("{:.1} s", wall.as_secs_f64());
    println!("{name:<24}{requests:>9}{reads:>22}{wrong:>9}{refused:>9}{wall:>9}");
}
