//! URLs of servers and of the filters on them.

use crate::Error;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::fmt;

/// The address of a server or cluster, and the name of a filter on it.
///
/// | URL | meaning |
/// |---|---|
/// | `redis://host:port/db/name` | one server; port 6379 and database 0 if left out |
/// | `redis+cluster://host:port,host:port/name` | a cluster: one or more of its nodes |
/// | `redis+sentinel://host:port,host:port/master/name` | a master, by the name it has for sentinels |
/// | `rediss://`, `rediss+cluster://`, `rediss+sentinel://` | the same with TLS |
/// | `valkey` and `valkeys` for `redis` and `rediss` | the same |
///
/// Sentinels have port 26379 if left out, and a database may precede the name behind them too.
/// User and password precede the host (`redis://user:password@host`), percent-encoded as in any
/// URL. The name is everything after the database, percent-decoded. [`fmt::Display`] and
/// [`fmt::Debug`] omit the password.
///
/// # Examples
///
/// ```
/// use mayhap_redis::Address;
///
/// let address = Address::parse("redis://:secret@127.0.0.1:6380/2/seen%20urls")?;
/// assert_eq!(address.name(), Some("seen urls"));
/// assert_eq!(address.to_string(), "redis://127.0.0.1:6380/2/seen urls");
/// let cluster = Address::parse("redis+cluster://10.0.0.1:7000,10.0.0.2:7000/seen")?;
/// assert!(cluster.is_cluster());
/// assert!(Address::parse("http://127.0.0.1/").is_err());
/// # Ok::<(), mayhap_redis::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    tls: bool,
    kind: Kind,
    /// The name that sentinels have for the master.
    master: Option<String>,
    /// `user:password@`, as it was given.
    user: String,
    hosts: Vec<String>,
    database: u32,
    name: Option<String>,
}

/// The role of the hosts of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// One server.
    Single,
    /// Nodes of a cluster.
    Cluster,
    /// Sentinels.
    Sentinel,
}

/// Scheme, and whether it uses TLS.
const SCHEMES: [(&str, bool, Kind); 12] = [
    ("redis://", false, Kind::Single),
    ("rediss://", true, Kind::Single),
    ("redis+cluster://", false, Kind::Cluster),
    ("rediss+cluster://", true, Kind::Cluster),
    ("redis+sentinel://", false, Kind::Sentinel),
    ("rediss+sentinel://", true, Kind::Sentinel),
    ("valkey://", false, Kind::Single),
    ("valkeys://", true, Kind::Single),
    ("valkey+cluster://", false, Kind::Cluster),
    ("valkeys+cluster://", true, Kind::Cluster),
    ("valkey+sentinel://", false, Kind::Sentinel),
    ("valkeys+sentinel://", true, Kind::Sentinel),
];

impl Address {
    /// Reads a URL.
    ///
    /// # Errors
    ///
    /// [`Error::BadUrl`], without the password.
    pub fn parse(url: &str) -> Result<Self, Error> {
        let bad = |reason: &str| Error::BadUrl { url: redacted(url), reason: reason.into() };
        let found = SCHEMES.iter().find_map(|&(scheme, tls, kind)| {
            let (first, rest) = url.split_at_checked(scheme.len())?;
            first.eq_ignore_ascii_case(scheme).then_some((rest, tls, kind))
        });
        let Some((rest, tls, kind)) = found else {
            return Err(bad("it begins with none of redis://, redis+cluster:// and \
                            redis+sentinel://, nor with rediss, valkey or valkeys for redis"));
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, hosts)) => (format!("{user}@"), hosts),
            None => (String::new(), authority),
        };
        // The next host would be taken for a part of the password.
        if user.split_once('@').is_some_and(|(_, more)| more.contains(',')) {
            return Err(bad("user and password are given once, before the first host; @ in a \
                            password is written %40"));
        }
        let hosts: Vec<String> = hosts.split(',').map(str::to_owned).collect();
        if hosts.iter().any(String::is_empty) {
            return Err(bad("a host is missing"));
        }
        if kind == Kind::Single && hosts.len() > 1 {
            return Err(bad("several hosts are for redis+cluster:// and redis+sentinel://"));
        }
        // Text such as ?protocol=resp3 would end up in the name.
        if path.contains(['?', '#']) {
            return Err(bad("? and # in a name are written %3F and %23"));
        }
        let decoded = |text: &str| match percent_decode_str(text).decode_utf8() {
            Ok(text) => Ok((!text.is_empty()).then(|| text.into_owned())),
            Err(_) => Err(bad("it is no UTF-8")),
        };
        let (master, path) = match (kind, path.split_once('/')) {
            (Kind::Sentinel, Some((master, path))) => (decoded(master)?, path),
            (Kind::Sentinel, None) => (decoded(path)?, ""),
            _ => (None, path),
        };
        if kind == Kind::Sentinel && master.is_none() {
            return Err(bad("the name of the master follows the sentinels: /master/name"));
        }
        let (database, name) = split_path(path, kind).map_err(bad)?;
        let name = decoded(name)?;
        let address = Self { tls, kind, master, user, hosts, database, name };
        for node in address.node_names() {
            // URLs that the client would reject are rejected here, before anything is connected.
            let url = address.node_url(&node);
            redis::Client::open(url).map_err(|error| bad(error.detail().unwrap_or("bad host")))?;
        }
        Ok(address)
    }

    /// Whether it is a cluster.
    pub fn is_cluster(&self) -> bool {
        self.kind == Kind::Cluster
    }

    /// The name that sentinels have for the master, if the hosts are sentinels.
    ///
    /// ```
    /// use mayhap_redis::Address;
    ///
    /// let address = Address::parse("redis+sentinel://10.0.0.1,10.0.0.2/main/seen")?;
    /// assert_eq!((address.master(), address.name()), (Some("main"), Some("seen")));
    /// # Ok::<(), mayhap_redis::Error>(())
    /// ```
    pub fn master(&self) -> Option<&str> {
        self.master.as_deref()
    }

    /// Whether the connection uses TLS.
    pub fn is_tls(&self) -> bool {
        self.tls
    }

    /// The name of the filter, if there is one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The server without the database, the name and the password, as errors have it.
    ///
    /// ```
    /// use mayhap_redis::Address;
    ///
    /// let address = Address::parse("redis://user:secret@10.0.0.1:7000/2/seen")?;
    /// assert_eq!(address.server(), "redis://10.0.0.1:7000");
    /// # Ok::<(), mayhap_redis::Error>(())
    /// ```
    pub fn server(&self) -> String {
        let scheme = SCHEMES.iter().find(|scheme| (scheme.1, scheme.2) == (self.tls, self.kind));
        let master = self.master.as_ref().map(|master| format!("/{master}")).unwrap_or_default();
        format!("{}{}{master}", scheme.map_or("", |scheme| scheme.0), self.hosts.join(","))
    }

    /// The same with this password, unless it has one.
    ///
    /// ```
    /// use mayhap_redis::Address;
    ///
    /// let address = Address::parse("redis://10.0.0.1/0/seen")?;
    /// let with_password = address.clone().or_password("secret");
    /// assert_ne!(with_password, address);
    /// assert_eq!(with_password.to_string(), address.to_string()); // never shown
    /// assert_eq!(with_password.clone().or_password("other"), with_password);
    /// # Ok::<(), mayhap_redis::Error>(())
    /// ```
    #[must_use]
    pub fn or_password(mut self, password: &str) -> Self {
        let user = self.user.strip_suffix('@').unwrap_or_default();
        if !user.contains(':') {
            // Redis' own clients treat an empty name as a user of that name.
            let user = if user.is_empty() { "default" } else { user };
            self.user = format!("{user}:{}@", utf8_percent_encode(password, NON_ALPHANUMERIC));
        }
        self
    }

    /// The address of another filter on the same server.
    ///
    /// ```
    /// use mayhap_redis::Address;
    ///
    /// let address = Address::parse("redis://:secret@10.0.0.1/2/seen")?;
    /// let other = address.beside("other");
    /// assert_eq!(other.to_string(), "redis://10.0.0.1/2/other");
    /// assert!(other.is_beside(&address) && other != address);
    /// # Ok::<(), mayhap_redis::Error>(())
    /// ```
    #[must_use]
    pub fn beside(&self, name: &str) -> Self {
        Self { name: Some(name.into()), ..self.clone() }
    }

    /// The number of the database; 0 in a cluster.
    ///
    /// ```
    /// let address = mayhap_redis::Address::parse("redis://10.0.0.1/2/seen")?;
    /// assert_eq!(address.database(), 2);
    /// # Ok::<(), mayhap_redis::Error>(())
    /// ```
    pub const fn database(&self) -> u32 {
        self.database
    }

    /// Whether both are on the same server, in the same database, as far as their texts say.
    ///
    /// ```
    /// use mayhap_redis::Address;
    ///
    /// let address = |url| Address::parse(url);
    /// let seen = address("redis://:secret@10.0.0.1/2/seen")?;
    /// assert!(seen.is_beside(&address("valkey://10.0.0.1/2/other")?));
    /// for other in ["redis://10.0.0.1/3/seen", "redis://10.0.0.2/2/seen"] {
    ///     assert!(!seen.is_beside(&address(other)?));
    /// }
    /// # Ok::<(), mayhap_redis::Error>(())
    /// ```
    pub fn is_beside(&self, other: &Self) -> bool {
        let place = |it: &Self| Self { user: String::new(), name: None, ..it.clone() };
        place(self) == place(other)
    }

    /// The nodes, as `host:port`.
    pub(crate) fn node_names(&self) -> impl Iterator<Item = String> {
        self.hosts.iter().map(|host| {
            // For [::1] the port follows the bracket.
            let after = host.rfind(']').unwrap_or(0);
            let port = match self.kind {
                _ if host[after..].contains(':') => "",
                Kind::Sentinel => ":26379",
                Kind::Single | Kind::Cluster => ":6379",
            };
            format!("{host}{port}")
        })
    }

    /// The URL of a node, as the client takes it, with the password.
    pub(crate) fn node_url(&self, name: &str) -> String {
        let scheme = if self.tls { "rediss" } else { "redis" };
        format!("{scheme}://{}{name}/{}", self.user, self.database)
    }

    /// The URL of a sentinel, which has users and databases of its own.
    pub(crate) fn sentinel_url(&self, name: &str) -> String {
        format!("{}://{name}", if self.tls { "rediss" } else { "redis" })
    }
}

/// Database and name: `/2/name`, or `/name` for a cluster, which has no databases; behind sentinels
/// either.
fn split_path(path: &str, kind: Kind) -> Result<(u32, &str), &'static str> {
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    let is_number = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
    match (kind, is_number) {
        (Kind::Cluster, true) if first == "0" => Ok((0, rest)),
        (Kind::Cluster, _) | (Kind::Sentinel, false) => Ok((0, path)),
        (_, true) => Ok((first.parse().map_err(|_| "no server has that database")?, rest)),
        (Kind::Single, false) if path.is_empty() => Ok((0, "")),
        (Kind::Single, false) => Err("the database comes before the name: /0/name"),
    }
}

/// The URL without the part before the host.
fn redacted(url: &str) -> String {
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if scheme + 3 <= at => {
            format!("{}***{}", &url[..scheme + 3], &url[at..])
        }
        _ => url.into(),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.server())?;
        if self.kind == Kind::Single || self.kind == Kind::Sentinel && self.database > 0 {
            write!(f, "/{}", self.database)?;
        }
        self.name.as_ref().map_or(Ok(()), |name| write!(f, "/{name}"))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_say_server_database_and_name() {
        let parse = |url| Address::parse(url).unwrap();
        let all = parse("rediss://user:p%40ss@host:7000/3/a/b%20c");
        assert_eq!((all.is_tls(), all.database, all.name()), (true, 3, Some("a/b c")));
        let urls = |address: Address| -> Vec<String> {
            address.node_names().map(|name| address.node_url(&name)).collect()
        };
        assert_eq!(urls(all), ["rediss://user:p%40ss@host:7000/3"]);
        assert_eq!(urls(parse("redis://host")), ["redis://host:6379/0"]);
        assert_eq!(urls(parse("redis://[::1]")), ["redis://[::1]:6379/0"]);
        assert_eq!(urls(parse("redis://[::1]:7")), ["redis://[::1]:7/0"]);
        assert_eq!(parse("redis://host").to_string(), "redis://host/0");
        assert_eq!(parse("redis://host/").name(), None);
        let cluster = parse("redis+cluster://:pw@a:1,b:2,c:3/name");
        assert_eq!(cluster.to_string(), "redis+cluster://a:1,b:2,c:3/name");
        let nodes = ["redis://:pw@a:1/0", "redis://:pw@b:2/0", "redis://:pw@c:3/0"];
        assert_eq!(urls(cluster), nodes);
        assert_eq!(parse("redis+cluster://a/0/name"), parse("redis+cluster://a/name"));
        assert_eq!(parse("redis+cluster://a/7").name(), Some("7"));
    }

    #[test]
    fn schemes_of_valkey_are_those_of_redis_in_letters_of_any_case() {
        for (url, same) in [
            ("valkey://host/2/a", "redis://host/2/a"),
            ("VALKEYS://host/2/a", "rediss://host/2/a"),
            ("valkey+cluster://a,b/n", "redis+cluster://a,b/n"),
            ("Valkeys+Cluster://a,b/n", "rediss+cluster://a,b/n"),
            ("REDIS://host/2/a", "redis://host/2/a"),
        ] {
            assert_eq!(Address::parse(url).unwrap(), Address::parse(same).unwrap(), "{url}");
        }
        for url in ["unix:///tmp/redis.sock", "http://host/", "redis:/host/", "é://", "redis"] {
            let error = Address::parse(url).unwrap_err().to_string();
            assert!(error.contains("begins with none of redis://"), "{url}: {error}");
        }
    }

    #[test]
    fn the_master_behind_sentinels_precedes_database_and_name() {
        for (url, parts, shown) in [
            ("redis+sentinel://a,b:7/m/n", (0, "m", Some("n")), "redis+sentinel://a,b:7/m/n"),
            ("redis+sentinel://a/m/2/n", (2, "m", Some("n")), "redis+sentinel://a/m/2/n"),
            ("valkeys+sentinel://u:pw@a/m%20x", (0, "m x", None), "rediss+sentinel://a/m x"),
        ] {
            let address = Address::parse(url).unwrap();
            let (database, master, name) = parts;
            assert_eq!((address.database, address.master()), (database, Some(master)), "{url}");
            assert_eq!((address.name(), &*address.to_string()), (name, shown));
        }
        let address = Address::parse("redis+sentinel://u:pw@a,b:7/m/n").unwrap();
        assert!(address.node_names().eq(["a:26379", "b:7"]));
        assert_eq!(address.sentinel_url("b:7"), "redis://b:7");
        assert!(Address::parse("redis+sentinel://a").is_err());
        assert!(Address::parse("redis+sentinel://a//n").is_err());
    }

    #[test]
    fn a_password_for_each_host_is_refused() {
        for url in ["redis+cluster://u:pw@a,u:pw@b/x", "redis+cluster://u:pw@a:1,b:2,u:pw@c/x"] {
            let error = Address::parse(url).unwrap_err().to_string();
            assert!(error.contains("once, before the first host"), "{error}");
            assert!(!error.contains("pw"), "{error}");
        }
        assert!(Address::parse("redis://u:p%40w@a/0/x").is_ok());
    }

    #[test]
    fn a_password_is_added_where_there_is_none() {
        let user = |url| Address::parse(url).unwrap().or_password("p@:/s").user;
        assert_eq!(user("redis://host"), "default:p%40%3A%2Fs@");
        assert_eq!(user("redis://alice@host"), "alice:p%40%3A%2Fs@");
        assert_eq!(user("redis://alice:own@host"), "alice:own@");
        assert_eq!(user("redis+cluster://:own@a,b/name"), ":own@");
        let address = Address::parse("redis://host").unwrap().or_password("p@:/s");
        assert_eq!(
            address.node_url(&address.node_names().next().unwrap()),
            "redis://default:p%40%3A%2Fs@host:6379/0"
        );
    }

    #[test]
    fn no_message_has_the_password() {
        for url in [
            "http://user:secret@host/",
            "redis://user:secret@host/name",
            "redis://user:secret@a,b/0/name",
            "redis://user:sec@ret@/0",
            "redis://:secret@host/99999999999/name",
            "redis://:secret@host:notaport/0/name",
            "redis://:secret@host/0/a?b",
        ] {
            let error = Address::parse(url).unwrap_err();
            for text in [error.to_string(), format!("{error:?}")] {
                assert!(!text.contains("sec"), "{url}: {text}");
            }
        }
        let address = Address::parse("redis://user:secret@host/0/name").unwrap();
        assert!(!format!("{address:?} {address}").contains("secret"));
    }
}
