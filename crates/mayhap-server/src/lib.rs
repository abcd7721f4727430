//! A server of Bloom filters: `BF.*` for every Redis client, HTTP for everyone else, nothing lost.
//!
//! ```text
//!  socket ─► net/ ─► resp/ ─► command/ ─► mayhap_engine
//!  bytes     loops   words    handlers    name → filter, log, images
//! ```
//!
//! [`Server::start`] runs all of it, from the settings to the shutdown.
//!
//! A loop thread reads its sockets, executes whole pipelines, writes their changes to the log with
//! one call, and only then sends the answers. [`net`] is that loop, [`command`] the handlers of
//! requests, [`http`] the same over HTTP, [`config`] the settings. The filters by name, and their
//! persistence, are [`mayhap_engine`]'s.

// | file | contents |
// |---|---|
// | `answer.rs` | size limits of answers, checked before one is built |
// | `command/` | the commands, a row of the table each |
// | `config/` | the settings: file, environment, options |
// | `front/` | filters on Redis, Valkey or a cluster instead of filters of this server's own |
// | `http/` | the same filters over HTTP, and metrics |
// | `lock.rs` | locks that ignore poisoning |
// | `log_lines.rs` | log lines, written without waiting for their reader |
// | `login_throttle.rs` | when a password may be tried, by address |
// | `metrics/` | counters, times and their page |
// | `net/` | loops, connections, long requests |
// | `reservation.rs` | the options of a new filter, checked together |
// | `resp/` | requests as words, replies |
// | `server/` | start, shutdown |
// | `session.rs` | the state of a connection: rights, names, transaction |
// | `shared.rs` | the state that all threads share, and reloading of settings |
// | `slow_log.rs` | slow requests |
// | `turn.rs` | the working state of a turn of a loop |

mod answer;
pub mod command;
pub mod config;
pub mod front;
pub mod http;
mod lock;
mod log_lines;
mod login_throttle;
pub mod metrics;
pub mod net;
mod reservation;
pub mod resp;
mod server;
mod session;
mod shared;
mod slow_log;
mod turn;

pub use config::Config;
pub use log_lines::{LogLines, dropped_lines};
pub use server::{Running, Server, ShutdownError, StartError};
pub use session::{ClientInfo, Session, Tracked};
pub use shared::{ReloadError, Shared};
pub use turn::Turn;
