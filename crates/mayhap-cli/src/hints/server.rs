//! The next step where a filter on a server cannot be used.

use mayhap_redis::{Error as Redis, Trouble};
use mayhap_sets::server::{Error, Wanted};

const FILTER_EXAMPLE: &str = "for example: redis://127.0.0.1:6379/0/seen";
const SERVER_EXAMPLE: &str = "for example: redis://127.0.0.1:6379";

/// The message, with options as they are typed.
pub fn message(error: &Error) -> String {
    match error {
        Error::TooManyBits { num_bits } => {
            format!("--bits {num_bits} is above the limit of {}", i32::MAX)
        }
        Error::Redis { url, source } => match source {
            Redis::OneValue { bytes, max_bytes, most_bytes } => format!(
                "{url}: the filter does not fit: the layout standard has to be in one value, and \
                 {bytes} bytes are more than {max_bytes}: take --layout blocked, or allow a larger \
                 shard, up to {most_bytes}"
            ),
            Redis::Unsupported { name, scheme, what: what @ "emptied", .. } => format!(
                "{url}: {name} is a filter of {scheme} and cannot be {what}: delete it and create \
                 it again: mayhap delete, mayhap create"
            ),
            Redis::Unsupported { scheme: "a cluster", what: what @ "renamed", .. } => format!(
                "{url}: a filter in a cluster cannot be {what}: its keys would change their slots"
            ),
            _ => error.to_string(),
        },
        error => error.to_string(),
    }
}

/// The next step, if there is one.
pub fn hint(error: &Error) -> Option<String> {
    let hint = match error {
        Error::Redis { source, .. } | Error::Url(source) => of_redis(source),
        Error::NotText { wanted, .. } | Error::NotAUrl { wanted, .. } => match wanted {
            Wanted::Filter => FILTER_EXAMPLE,
            Wanted::Server => SERVER_EXAMPLE,
        },
        Error::NoName { .. } => {
            return Some(format!("append the name of the filter; {FILTER_EXAMPLE}"));
        }
        Error::HasName { .. } => SERVER_EXAMPLE,
        Error::FilesOnly { .. } => {
            "servers can have redisbloom, redisson and magnuss-redis; without --format the format \
             is detected"
        }
        Error::BareBitmap { .. } => {
            "for one of Java-BloomFilter: --format magnuss-redis --bits M --hashes K; one of \
             Redisson lacks its config"
        }
        Error::NoShape => "give --bits M --hashes K; the class has 12118639 and 14 by default",
        Error::TooManyBits { .. } => {
            "a larger filter is spread over several bitmaps: --bitmaps COUNT"
        }
        Error::KeyType { .. } => "choose one of these with --key-type",
        Error::ServerHashes { .. } => "omit it: mayhap serve has a secret key of its own",
        Error::Exists { .. } => "replace it with --force, or use another name",
        _ => "",
    };
    (!hint.is_empty()).then(|| hint.into())
}

/// The next step for an error of the client.
fn of_redis(error: &Redis) -> &'static str {
    match error {
        Redis::NotFound { .. } => {
            "create it with mayhap create URL -n COUNT, or send a file: mayhap push FILE URL"
        }
        Redis::Unauthorized { .. } => {
            "give the password in the environment, REDISCLI_AUTH, or in the URL: \
             redis://user:password@host"
        }
        Redis::Unavailable { trouble, .. } => way_out(trouble),
        Redis::Certificates { .. } => {
            "--tls-ca FILE, --tls-cert FILE and --tls-key FILE are PEM, for rediss:// URLs"
        }
        Redis::Busy { .. } => {
            "wait for the other push or move to end; what a killed one left behind expires after a \
             minute or more, or delete it: mayhap push, or mayhap move, --discard-unfinished"
        }
        Redis::Unsupported { scheme: "a cluster", what: "renamed", .. } => {
            "use mayhap move FROM TO while it is in use; let all clients use the new name, run it \
             again, then mayhap delete --force FROM"
        }
        Redis::NotReplicated { .. } => "wait for fewer replicas, or wait longer: --timeout TIME",
        Redis::Filter(mayhap::Error::WrongKey { .. }) => "give its key with --key-file FILE",
        Redis::Refused { reason, .. } if reason.contains("cluster support disabled") => {
            "this server is not part of a cluster: use redis:// or rediss://"
        }
        Redis::Filter(mayhap::Error::NotKeyed) => {
            "omit the key; a filter that keys from strangers must not attack gets its key when it \
             is created: --new-key-file FILE"
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
             cluster; wait longer with --timeout TIME"
        }
        Trouble::Closed => {
            "servers that require TLS (rediss://) or a certificate (--tls-cert FILE --tls-key \
             FILE), or have too many clients, do this; try for longer with --timeout TIME"
        }
        Trouble::OtherProtocol => "is that the port of a web server or of another service?",
        Trouble::NeedsTls => "use rediss:// instead of redis://",
        Trouble::Tls { reason } if reason.contains("CertificateRequired") => {
            "it requires a certificate of its clients: --tls-cert FILE --tls-key FILE"
        }
        Trouble::Tls { .. } => {
            "certificates are checked against those of this machine, or of --tls-ca FILE; without \
             TLS use redis://"
        }
        Trouble::Replica { .. } => {
            "give the URL of the master, or wait longer for a failover with --timeout TIME"
        }
        Trouble::Other { reason } => way_out_of(reason),
        _ => "wait longer with --timeout TIME",
    }
}

/// The hint for a server that kept answering with an error, by its first word.
fn way_out_of(reason: &str) -> &'static str {
    match reason.split(' ').next().unwrap_or_default() {
        "READONLY" => {
            "this server is a replica, which takes no writes: give the URL of its master, or wait \
             longer for a failover with --timeout TIME"
        }
        "LOADING" => "it is loading its data: wait longer with --timeout TIME",
        "MASTERDOWN" => "this server is a replica that has lost its master: give another URL",
        "NOREPLICAS" => {
            "its master has fewer replicas than its min-replicas-to-write: start them, or wait \
             longer with --timeout TIME"
        }
        "BUSY" => "a script keeps it busy: end it with SCRIPT KILL, or wait with --timeout TIME",
        "CLUSTERDOWN" => {
            "its cluster lacks nodes: see CLUSTER INFO, or wait longer with --timeout TIME"
        }
        _ => "is it a cluster (redis+cluster://)? Wait longer with --timeout TIME",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_answers_is_not_taken_for_a_cluster() {
        let hint = |reason: &str| {
            let trouble = Trouble::Other { reason: reason.into() };
            way_out(&trouble)
        };
        for (reason, part) in [
            ("READONLY You can't write against a read only replica.", "is a replica"),
            ("LOADING Redis is loading the dataset in memory", "loading its data"),
            ("MASTERDOWN Link with MASTER is down", "lost its master"),
            ("NOREPLICAS Not enough good replicas to write.", "min-replicas-to-write"),
            ("BUSY Redis is busy running a script.", "SCRIPT KILL"),
            ("CLUSTERDOWN Hash slot not served", "lacks nodes"),
        ] {
            let hint = hint(reason);
            assert!(hint.contains(part) && !hint.contains("is it a cluster"), "{reason}: {hint}");
        }
        assert!(hint("connection reset").contains("is it a cluster"));
    }
}
