//! Errors of filters on servers in words, with the next step.

use mayhap_redis::{Error as Redis, Trouble};

/// The next step where a key is given for a filter without one.
const NOT_KEYED: &str = "omit the key; a filter that keys from strangers must not attack gets its \
                         key when it is created: --new-key-file FILE";

/// What is wrong with a filter of this name, and the next step.
pub fn problem(name: &str, source: &Redis) -> (String, Option<String>) {
    let hint = match source {
        Redis::NotFound { .. } => {
            "create it with mayhap create URL -n COUNT, or send a file: mayhap push FILE URL"
        }
        Redis::Unauthorized { .. } => {
            "give the password in the environment, REDISCLI_AUTH, or in the URL: \
             redis://user:password@host"
        }
        Redis::Unavailable { trouble, .. } => way_out(trouble),
        Redis::Busy { .. } => {
            "wait for the other push to end; what a killed push left behind expires, or delete it \
             with mayhap push --discard-unfinished"
        }
        Redis::NotReplicated { .. } => "wait for fewer replicas, or wait longer: --timeout TIME",
        Redis::Filter(mayhap::Error::WrongKey { .. }) => "give its key with --key-file FILE",
        Redis::Refused { reason, .. } if reason.contains("cluster support disabled") => {
            "this server is not part of a cluster: use redis:// or rediss://"
        }
        Redis::Filter(mayhap::Error::NotKeyed) => NOT_KEYED,
        _ => "",
    };
    let message = match source {
        // They name the server.
        Redis::Unavailable { .. }
        | Redis::Unauthorized { .. }
        | Redis::BadUrl { .. }
        | Redis::Broken { .. } => source.to_string(),
        _ => format!("{name}: {source}"),
    };
    (message, (!hint.is_empty()).then(|| hint.into()))
}

/// What to do when a server cannot be reached.
fn way_out(trouble: &Trouble) -> &'static str {
    match trouble {
        Trouble::Refused => "is it running there? The default port of Redis is 6379",
        Trouble::UnknownHost => "is the host name correct? redis://host:port/database/name",
        Trouble::Silent => {
            "is it reachable, and is it Redis? Use rediss:// with TLS and redis+cluster:// for a \
             cluster; wait longer with --timeout TIME"
        }
        Trouble::Closed => {
            "servers that require TLS (rediss://) or have too many clients do this; try for longer \
             with --timeout TIME"
        }
        Trouble::OtherProtocol => "is that the port of a web server or of another service?",
        Trouble::NeedsTls => "use rediss:// instead of redis://",
        Trouble::Tls { .. } => {
            "certificates are checked against those of this machine; without TLS use redis://"
        }
        Trouble::Other { reason } => way_out_of(reason),
        _ => "wait longer with --timeout TIME",
    }
}

/// What to do about what a server answered until the time was over, by its first word.
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

/// The error of a filter of this name, as sets report it.
pub(crate) fn failed(name: &str, source: &Redis) -> mayhap_sets::Error {
    let (message, hint) = problem(name, source);
    mayhap_sets::Error::Server { message, hint }
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
