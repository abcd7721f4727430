//! The next step after an error of a library, in the words of Python: libraries know of no keyword
//! of this package.

use mayhap_redis::{Error as Redis, Trouble};
use mayhap_sets::file::Error as File;
use mayhap_sets::server::Error as Server;

const SECRET_KEY: &str = "give its key as secret_key=...";
const NO_SECRET_KEY: &str = "omit secret_key";
const LONGER: &str = "wait longer with timeout=SECONDS";

/// A message with its next step, if there is one.
pub(crate) fn with(message: String, hint: &str) -> String {
    if hint.is_empty() { message } else { format!("{message}; {hint}") }
}

/// The next step for a filter of mayhap's own; empty if there is none.
pub(crate) fn of_filter(error: &mayhap::Error) -> &'static str {
    match error {
        mayhap::Error::WrongKey { .. } => SECRET_KEY,
        mayhap::Error::NotKeyed => NO_SECRET_KEY,
        _ => "",
    }
}

/// The next step for a file of mayhap's own.
pub(crate) fn of_store(error: &mayhap_store::Error) -> &'static str {
    use mayhap_store::Error as Store;
    match error {
        Store::Format { source, .. } => of_filter(source),
        Store::Foreign { .. } => "name the format of another system, as format=\"guava\"",
        Store::UnreadLog { .. } => "State(path) opens both",
        Store::Locked { .. } => "try again when the other process is done",
        _ => "",
    }
}

/// The next step for a file of another system.
pub(crate) fn of_file(error: &File) -> &'static str {
    match error {
        File::Create { source, .. } | File::Format { source, .. } => of_format(source),
        File::TooLarge { .. } => "no option of Python allows more: use the command mayhap",
        File::Unread { .. } => "query it with its own system, or build a filter of the keys",
        File::NoTable { .. } => "omit column",
        File::NoFilter { .. } => "write it again with Bloom filters",
        File::Replaced { .. } => "open it again, and add the keys again",
        _ => "",
    }
}

/// The next step for a filter of another system.
pub(crate) fn of_format(error: &mayhap_formats::Error) -> &'static str {
    use mayhap_formats::Error as Format;
    match error {
        Format::Unsupported { operation: "opening it without m and k", .. } => {
            "give both, as in the system that wrote it: num_bits=M, num_hashes=K"
        }
        Format::NotThisFormat { .. }
        | Format::Truncated { .. }
        | Format::TrailingBytes { .. }
        | Format::BadField { .. }
        | Format::Zero { .. } => {
            "restore it from a backup, or name its format if it is another one: format=..."
        }
        Format::UnknownKeys { .. } => {
            "give the bytes that its system hashes as hex digits: key_type=\"hex\""
        }
        Format::WrongKeyType { .. } => "choose one of these as key_type=...",
        _ => "",
    }
}

/// The next step for a filter on a server.
pub(crate) fn of_server(error: &Server) -> &'static str {
    match error {
        Server::Redis { source, .. } | Server::Url(source) => of_redis(source),
        Server::NoName { .. } => {
            "append the name of the filter, as in redis://127.0.0.1:6379/0/seen"
        }
        Server::FilesOnly { .. } => {
            "servers can have redisbloom, redisson and magnuss-redis; without format it is detected"
        }
        Server::BareBitmap { .. } => {
            "for one of Java-BloomFilter: format=\"magnuss-redis\", num_bits=M, num_hashes=K; one \
             of Redisson lacks its config"
        }
        Server::NoShape => "give both, as its program has them: num_bits=M, num_hashes=K",
        Server::TooManyBits { .. } => {
            "a larger filter is spread over several bitmaps, which only the command mayhap opens"
        }
        Server::KeyType { .. } => "choose one of these as key_type=...",
        _ => "",
    }
}

fn of_redis(error: &Redis) -> &'static str {
    match error {
        Redis::Unauthorized { .. } => {
            "give the password in the environment, REDISCLI_AUTH, or in the URL: \
             redis://user:password@host"
        }
        Redis::Unavailable { trouble, .. } => way_out(trouble),
        Redis::Certificates { .. } => {
            "tls_ca, tls_cert and tls_key are files of PEM, for rediss:// URLs"
        }
        Redis::Busy { .. } => "try again; what a killed program left behind expires",
        Redis::Filter(source) => of_filter(source),
        Redis::Refused { reason, .. } if reason.contains("cluster support disabled") => {
            "this server is not part of a cluster: use redis:// or rediss://"
        }
        _ => "",
    }
}

/// The hint for a server that cannot be reached.
fn way_out(trouble: &Trouble) -> &'static str {
    match trouble {
        Trouble::Refused => "is it running there? The default port of Redis is 6379",
        Trouble::UnknownHost => "is the host name correct? redis://host:port/database/name",
        Trouble::Silent => {
            "is it reachable, and is it Redis? Use rediss:// with TLS and redis+cluster:// for a \
             cluster; wait longer with timeout=SECONDS"
        }
        Trouble::Closed => {
            "servers that require TLS (rediss://) or a certificate (tls_cert=..., tls_key=...), or \
             have too many clients, do this"
        }
        Trouble::OtherProtocol => "is that the port of a web server or of another service?",
        Trouble::NeedsTls => "use rediss:// instead of redis://",
        Trouble::Tls { reason } if reason.contains("CertificateRequired") => {
            "it requires a certificate of its clients: tls_cert=..., tls_key=..."
        }
        Trouble::Tls { .. } => {
            "certificates are checked against those of this machine, or of tls_ca=...; without TLS \
             use redis://"
        }
        Trouble::Other { reason } => way_out_of(reason),
        _ => LONGER,
    }
}

/// The hint for a server that kept answering with an error, by its first word.
fn way_out_of(reason: &str) -> &'static str {
    match reason.split(' ').next().unwrap_or_default() {
        "READONLY" => "this server is a replica, which takes no writes: give the URL of its master",
        "MASTERDOWN" => "this server is a replica that has lost its master: give another URL",
        "BUSY" => "a script keeps it busy: end it with SCRIPT KILL",
        _ => LONGER,
    }
}
