//! Durable concurrent Bloom filters by name: a write-ahead log, images, recovery, backup. The
//! engine of `mayhap serve`, without its network.
//!
//! ```
//! use mayhap_engine::{Engine, keyspace::Spec};
//!
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! let engine = Engine::open(folder)?;
//! engine.keyspace.create(b"seen", Spec::growing(1_000, 0.01, 2), 0, engine.log.as_deref())?;
//! std::thread::scope(|scope| {
//!     for keys in [0..500_u32, 500..1_000] {
//!         scope.spawn(|| {
//!             let mut work = engine.work();
//!             work.begin(); // before the filter to change is looked up
//!             let seen = engine.keyspace.get(b"seen", work.now).expect("created above");
//!             for key in keys {
//!                 seen.insert(&key.to_le_bytes(), &mut work).expect("it grows");
//!             }
//!             work.commit().expect("the disk takes it"); // kill -9 takes nothing from here on
//!         });
//!     }
//! });
//! engine.close(false)?; // nor does a power cut
//!
//! let engine = Engine::open(folder)?;
//! let seen = engine.keyspace.get(b"seen", 0).expect("it is kept");
//! assert!((0..1_000_u32).all(|key| seen.contains(&key.to_le_bytes(), 0)));
//! assert!(!seen.contains(b"never inserted", 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ```text
//!  words ─► keyspace/ ─► bits
//!  keys     name → filter
//!              └─► durable/ ─► log, images
//! ```
//!
//! An [`Engine`] (`engine/`) is all of it: it opens a folder, brings its filters back and looks
//! after them. [`keyspace`] is the filters by name, [`durable`] how they outlive the process. A
//! thread changes filters in turns, with a [`Work`] (`work.rs`) of its own: it begins a turn,
//! inserts and removes, and commits, which writes all of the turn with one call. Filters are shared
//! and lock-free, and names are looked up without a lock. [`durable::Policy`] says what survives
//! once a commit has returned. `words.rs` is keys as they stand in a request.
//!
//! `clock.rs`, `cores.rs`, `count.rs`, `times.rs`, `periodic.rs` and `fail_point.rs` are small
//! things that both need, and the server in front of them; what threads share in `durable/` comes
//! from `sync.rs`, so that loom and shuttle run the real log.

mod clock;
mod cores;
mod count;
pub mod durable;
mod engine;
mod fail_point;
pub mod keyspace;
mod periodic;
mod sync;
mod times;
mod words;
mod work;

pub use clock::unix_ms;
pub use cores::num_cores;
pub use count::Count;
pub use engine::{CloseError, Engine, Event, OpenError, Options};
pub use times::{CLASSES, Times, Took};
pub use words::Words;
pub use work::Work;

/// The example of the README of the crate, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
