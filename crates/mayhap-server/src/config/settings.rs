//! The settings: one declaration each, from which everything else about it is made: the field of
//! [`Config`], its default, the name in a file, in the environment and as a flag, its line of help,
//! its reader and its writer.

use super::form::{
    ADDRESSES, CAPACITY, COUNT, EXPANSION, FORMAT, FSYNC, LEVEL, MICROS, NAMES, NUMBER, PATH, PORT,
    RATE, SIZE, SMALL_SIZE, SOME_TIME, SWITCH, THREADS, TIME, URL,
};
use super::{Addresses, LogFormat, Users, ValueError};
use mayhap_engine::durable::Policy;
use mayhap_redis::Address;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;

/// A setting: its name, help, parser and getter.
///
/// `max_memory` is `max_memory` in a file, `MAYHAP_MAX_MEMORY` in the environment and
/// `--max-memory` on the command line.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// The placeholder for its value in help; empty for a switch.
    pub value: &'static str,
    /// The title of its section in help.
    pub heading: &'static str,
    /// Its description, one line, which names other settings as `<bind>`.
    pub help: &'static str,
    /// Parses a value.
    pub(super) set: fn(&mut Config, &str) -> Result<(), ValueError>,
    /// Its value as a text that `set` accepts, empty if it is not set.
    pub get: fn(&Config) -> String,
    /// Copies the value from another configuration.
    pub(super) copy: fn(&mut Config, &Config),
    /// Whether it can change while a server runs: by SIGHUP or `CONFIG SET`. Users can, too.
    pub is_live: bool,
}

/// Declares the settings, in the order of help: for each section its title, and for each setting
///
/// ```text
/// /// documentation
/// field as "name": Type = default, FORM "PLACEHOLDER" "help", live;
/// ```
///
/// The name is that of the field unless they differ; `live` if it can change while a server runs.
macro_rules! settings {
    ($($heading:literal { $(
        $(#[$doc:meta])+
        $field:ident $(as $name:literal)?: $type:ty = $default:expr,
        $form:ident $value:literal $help:literal $(, $live:ident)?;
    )+ })+) => {
        /// The settings of a server.
        ///
        /// Times are in milliseconds, 0 for never; sizes in bytes.
        #[derive(Debug, Clone)]
        pub struct Config {
            /// The users.
            pub users: Arc<Users>,
            $($( $(#[$doc])+ pub $field: $type, )+)+
        }

        impl Default for Config {
            fn default() -> Self {
                Self { users: Arc::default(), $($( $field: $default, )+)+ }
            }
        }

        /// All settings, in the order of help.
        pub const SETTINGS: &[Setting] = &[$($( Setting {
            name: settings!(@name $field $($name)?),
            value: $value,
            heading: $heading,
            help: $help,
            set: |config, text| {
                config.$field = ($form.read)(text)?.into();
                Ok(())
            },
            get: |config| $form.show(&config.$field),
            copy: |config, other| config.$field.clone_from(&other.$field),
            is_live: settings!(@is_live $($live)?),
        }, )+)+];
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
    (@is_live) => { false };
    (@is_live live) => { true };
}

settings! {
    "Listening" {
        /// The data folder; without one nothing is persisted.
        data: Option<PathBuf> = None,
            PATH "DIR" "Data folder; without one, filters are in memory only";
        /// Addresses of the Redis protocol.
        bind: Addresses = IpAddr::V4(Ipv4Addr::LOCALHOST).into(),
            ADDRESSES "ADDRESS" "Addresses of the Redis protocol, as a,b";
        /// Its port; 0 for any free one.
        port: u16 = 6380, PORT "PORT" "Port of the Redis protocol; 0 chooses a free one";
        /// An additional Unix socket, for this user of the machine alone.
        unix_socket: Option<PathBuf> = None, PATH "FILE" "Also listen on this Unix socket";
        /// Addresses of HTTP; `bind` by default.
        http_bind: Option<Addresses> = None, ADDRESSES "ADDRESS" "HTTP addresses [as <bind>]";
        /// HTTP port, off by default; 0 for any free one.
        http_port as "http": Option<u16> = None, PORT "PORT" "HTTP port, off by default";
        /// Host names that HTTP clients may use, in addition to addresses of loopback and
        /// `http_bind`.
        http_hosts: Vec<String> = Vec::new(),
            NAMES "NAMES" "Host names accepted over HTTP, as a,b", live;
        /// Loop threads; one per core by default.
        threads: Option<usize> = None, THREADS "N" "Loop threads [one per core]";
        /// Microseconds for which a loop polls before it sleeps.
        busy_poll_us: u32 = 20, MICROS "N" "Microseconds that a loop polls before it sleeps";
    }
    "Security" {
        /// Certificates in PEM, the server's own first. With them `port` speaks TLS unless
        /// `tls_port` is given.
        tls_cert: Option<PathBuf> = None, PATH "FILE" "Certificate chain in PEM", live;
        /// The certificate's private key in PEM.
        tls_key: Option<PathBuf> = None, PATH "FILE" "Private key in PEM", live;
        /// Port for TLS; `port` then has none.
        tls_port: Option<u16> = None, PORT "PORT" "TLS here and not on <port>";
        /// HTTP with TLS; by default if there is a certificate.
        http_tls: Option<bool> = None, SWITCH "BOOL" "TLS for HTTP [if <tls-cert>]";
        /// File of the secret key; by default `key` in the data folder.
        key_file: Option<PathBuf> = None, PATH "FILE" "Secret key of filters [DIR/key]";
        /// Anybody who can reach a port that is not loopback may do everything.
        insecure_no_password: bool = false, SWITCH "" "Allow any address without a password";
        /// The secret key may be in a file that every user of the machine can read.
        insecure_key_file: bool = false, SWITCH "" "Allow a secret key that all can read";
    }
    "Persistence" {
        /// When a write becomes safe from a power cut.
        appendfsync: Policy = Policy::default(), FSYNC "WHEN" "Sync: always, everysec or no";
        /// Log bytes after which a checkpoint is made.
        checkpoint_bytes: u64 = 64 << 20, SIZE "SIZE" "Log size that starts a checkpoint";
        /// Time after which a checkpoint is made if anything changed.
        checkpoint_interval_ms as "checkpoint_interval": u64 = 15 * 60 * 1000,
            TIME "TIME" "Longest time between checkpoints";
        /// Whether to make a checkpoint at the end.
        checkpoint_on_exit: bool = false, SWITCH "" "Checkpoint on SIGTERM";
        /// Not ready (`/readyz`) while a file of `import/` cannot be used.
        require_imports: bool = false,
            SWITCH "" "Not ready while a file in import/ cannot be used", live;
    }
    "Filters on a server" {
        /// The Redis, Valkey or cluster that has the filters, in mayhap's own layout; the data
        /// folder of this server is then not used.
        store: Option<Address> = None, URL "URL" "Redis, Valkey or cluster that has the filters";
        /// How long a request may wait for it.
        store_timeout_ms as "store_timeout": u64 = 5_000,
            SOME_TIME "TIME" "Time for a request to <store>";
        /// The replicas that must have a write before it is acknowledged.
        store_wait_replicas: Option<u32> = None, COUNT "N" "Replicas that must have a write";
        /// The authority that signs its certificate, in PEM; by default those of the machine.
        store_tls_ca: Option<PathBuf> = None, PATH "FILE" "Authority of <store>, for rediss://";
        /// The certificate to show it, in PEM.
        store_tls_cert: Option<PathBuf> = None, PATH "FILE" "Certificate to show to <store>";
        /// The private key of that certificate, in PEM.
        store_tls_key: Option<PathBuf> = None, PATH "FILE" "Its private key in PEM";
    }
    "Limits" {
        /// The most bytes of all filters together.
        max_memory: Option<u64> = None, SIZE "SIZE" "Memory of all filters", live;
        /// The most bytes of one filter.
        max_filter_bytes: Option<u64> = None, SIZE "SIZE" "Memory of one filter";
        /// The most bytes of a filter's name.
        max_name_bytes: u32 = 1 << 10, SMALL_SIZE "SIZE" "Length of a filter's name";
        /// The most connections at a time.
        max_clients: u32 = 10_000, COUNT "N" "Concurrent connections";
        /// The most bytes of one word of a request.
        max_word_bytes: u32 = 1 << 20, SMALL_SIZE "SIZE" "One word of a request";
        /// The most bytes of a chunk of `BF.LOADCHUNK`.
        max_chunk_bytes: u32 = (16 << 20) + (64 << 10), SMALL_SIZE "SIZE" "A chunk of BF.LOADCHUNK";
        /// The most words of a request.
        max_words: u32 = 1 << 20, COUNT "N" "Words of a request";
        /// The most bytes of a request.
        max_request_bytes: u32 = 64 << 20, SMALL_SIZE "SIZE" "One request";
        /// The most bytes of unfinished requests and unsent answers of all clients together.
        max_buffer_bytes: Option<u64> = None, SIZE "SIZE" "Buffers of all clients";
        /// A request has to be complete within this time.
        request_timeout_ms as "request_timeout": u64 = 30_000,
            TIME "TIME" "Time for a request to arrive";
        /// A client that reads none of its answers for this time is disconnected.
        output_timeout_ms as "output_timeout": u64 = 30_000,
            TIME "TIME" "Time for a client to read";
        /// Idle timeout; 0 is never.
        idle_timeout_ms as "idle_timeout": u64 = 0, TIME "TIME" "Idle timeout; 0s = never";
        /// How long an HTTP connection may be idle between two requests; 0 closes it after each.
        http_keep_alive_ms as "http_keep_alive": u64 = 75_000,
            TIME "TIME" "Idle HTTP connections; 0s = one request each";
        /// TCP keepalive: when the system probes whether a silent client is still there.
        keepalive_ms as "keepalive": u64 = 300_000, TIME "TIME" "Interval of TCP keepalive";
        /// The most filters that `/metrics` lists one by one.
        metrics_filters: usize = 100, NUMBER "N" "Filters listed in /metrics", live;
    }
    "Filters created by an add" {
        /// False-positive rate of filters that are created by an insertion.
        default_fpp: f64 = 0.01, RATE "P" "False-positive rate", live;
        /// Capacity of filters that are created by an insertion.
        default_capacity: u64 = 100, CAPACITY "N" "Initial capacity", live;
        /// Expansion of filters that are created by an insertion.
        default_expansion: u32 = 2, EXPANSION "N" "Growth factor; 0 = fixed size", live;
        /// Whether reading a filter that does not exist is an error instead of "surely not".
        strict_names: bool = false, SWITCH "" "Reading a name without a filter is an error", live;
    }
    "Messages" {
        /// The least important messages that are logged.
        log_level: log::LevelFilter = log::LevelFilter::Info,
            LEVEL "LEVEL" "error, warn, info, debug or trace", live;
        /// The format of log messages.
        log_format: LogFormat = LogFormat::default(), FORMAT "FORMAT" "text or json";
    }
}

/// Former names of settings, still read, and the present ones.
pub const FORMER_NAMES: [(&str, &str); 1] = [("default_error", "default_fpp")];

/// The setting of this name, or of this former name.
pub(crate) fn find(name: &str) -> Option<&'static Setting> {
    let former = FORMER_NAMES.iter().find(|(former, _)| *former == name);
    let name = former.map_or(name, |(_, present)| present);
    SETTINGS.iter().find(|setting| setting.name == name)
}
