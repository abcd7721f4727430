//! Errors of filters on servers in words, with the next step.

use mayhap_redis::{Error as Redis, Trouble};

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
            "others end soon; what a push that was killed has left expires, or is deleted by \
             mayhap push --discard-unfinished"
        }
        Redis::NotReplicated { .. } => "wait for fewer replicas, or give them more --timeout TIME",
        Redis::Filter(mayhap::Error::WrongKey { .. }) => "give its key with --key-file FILE",
        _ => "",
    };
    let message = match source {
        // They name the server.
        Redis::Unavailable { .. } | Redis::Unauthorized { .. } | Redis::BadUrl { .. } => {
            source.to_string()
        }
        _ => format!("{name}: {source}"),
    };
    (message, (!hint.is_empty()).then(|| hint.into()))
}

/// What to do when a server cannot be reached.
fn way_out(trouble: &Trouble) -> &'static str {
    match trouble {
        Trouble::Refused => "does it run there? Redis has the port 6379 unless another is named",
        Trouble::UnknownHost => "is the host spelled so? redis://host:port/database/name",
        Trouble::Silent => {
            "is the way to it open, and is it Redis? One with TLS has rediss:// and a cluster \
             redis+cluster://; --timeout TIME waits longer"
        }
        Trouble::Closed => {
            "servers with TLS (rediss://) do so, and those that have too many clients; --timeout \
             TIME tries longer"
        }
        Trouble::OtherProtocol => "is that the port of a web server or of another service?",
        Trouble::NeedsTls => "write rediss:// in place of redis://",
        Trouble::Tls { .. } => {
            "certificates are looked up in those of this machine; without TLS it is redis://"
        }
        _ => "is it not a cluster (redis+cluster://)? --timeout TIME waits longer",
    }
}

/// The error of a filter of this name, as sets report it.
pub(crate) fn failed(name: &str, source: &Redis) -> mayhap_sets::Error {
    let (message, hint) = problem(name, source);
    mayhap_sets::Error::Server { message, hint }
}
