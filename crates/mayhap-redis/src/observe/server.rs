//! The calls of a server for its contents.

use super::list::{Found, of_native, of_parameters};
use super::people::{clients, slow_request};
use super::{Client, FilterScheme, Listed, SlowRequest, Status};
use crate::replies::{lossy, text};
use crate::server::{Command, words};
use crate::{Error, Server};
use redis::{Cmd, Value, cmd};
use std::time::Instant;

/// The number of keys that a server visits for one reply: about 0.3 ms.
const COUNT: u32 = 1_000;
/// The pause between replies, as a multiple of the time of the last one.
const REST: u32 = 4;
/// The types of values behind `BF.*`: of `RedisBloom` and `mayhap serve`, and of valkey-bloom.
const BF_TYPES: [&str; 2] = ["MBbloom--", "bloomfltr"];
/// `{name}:meta` and `{name}:config`, and little else: the ends are checked here.
const PARAMETERS: &str = "{*}*:[cm][oe][nt][fa]*";
/// The same of mayhap's own layout alone.
const NATIVE: &str = "{*}:meta";

impl Server {
    /// Lists the filters by `SCAN`, on all masters of a cluster: up to `max` of them.
    ///
    /// The server visits each of its keys three times, in steps of a thousand, and rests for four
    /// times as long as a step takes. Bitmaps that record no parameters (Java-BloomFilter) are not
    /// found. A filter that is created meanwhile may be missing.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if the user may not `SCAN`; the errors of a call.
    pub async fn filters(&self, max: usize) -> Result<Listed, Error> {
        let mut found = Found::new(max);
        for slot in self.masters() {
            for kind in BF_TYPES {
                self.scan(slot, kind, None, &mut |key| {
                    found.put(key, |name| Some((name, FilterScheme::Bf)));
                })
                .await?;
            }
            self.scan(slot, "hash", Some(PARAMETERS), &mut |key| found.put(key, of_parameters))
                .await?;
        }
        Ok(found.listed())
    }

    /// Lists the filters in mayhap's own layout, as [`Server::filters`] does, with a third of its
    /// work for the server.
    ///
    /// # Errors
    ///
    /// As [`Server::filters`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use mayhap_redis::*;
    /// # use test_servers::{RedisOptions, RedisServer, ready};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # if !ready(&["redis-server"]) {
    /// #     return Ok(());
    /// # }
    /// # let redis = RedisServer::start(&RedisOptions::default())?;
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// # let address = Address::parse(&redis.url())?;
    /// # let server = Server::connect(&address, ServerOptions::default()).await?;
    /// let options = NativeOptions::for_items(1_000, 0.01)?;
    /// NativeFilter::create(&server, "seen", &options).await?;
    /// let listed = server.native_filters(1_000).await?;
    /// assert_eq!((&*listed.filters[0].name, listed.is_cut), ("seen", false));
    /// # Ok(())
    /// # })
    /// # }
    /// ```
    pub async fn native_filters(&self, max: usize) -> Result<Listed, Error> {
        let mut found = Found::new(max);
        for slot in self.masters() {
            self.scan(slot, "hash", Some(NATIVE), &mut |key| found.put(key, of_native)).await?;
        }
        Ok(found.listed())
    }

    /// Hands over all keys of a type.
    pub(crate) async fn scan(
        &self,
        slot: u16,
        kind: &str,
        pattern: Option<&str>,
        take: &mut (dyn FnMut(&Value) + Send),
    ) -> Result<(), Error> {
        let mut cursor = "0".to_owned();
        loop {
            let mut scan = cmd("SCAN");
            scan.arg(&cursor).arg("COUNT").arg(COUNT).arg("TYPE").arg(kind);
            if let Some(pattern) = pattern {
                scan.arg("MATCH").arg(pattern);
            }
            let started = Instant::now();
            let mut replies = self.run_unconfirmed(vec![Command::write_to(slot, scan)]).await?;
            let reply = match replies.pop().map(|reply| reply.of("SCAN", "SCAN")) {
                Some(Ok(value)) => value,
                // Newer servers refuse the names of types that they do not have.
                Some(Err(Error::Refused { reason, .. })) if reason.contains("type") => {
                    return Ok(());
                }
                Some(Err(error)) => return Err(error),
                None => return Err(Error::strange("SCAN", &Value::Nil)),
            };
            let Value::Array(pair) = &reply else { return Err(Error::strange("SCAN", &reply)) };
            let [next, Value::Array(keys)] = &pair[..] else {
                return Err(Error::strange("SCAN", &reply));
            };
            keys.iter().for_each(&mut *take);
            match text(next) {
                Some("0") => return Ok(()),
                Some(next) => next.clone_into(&mut cursor),
                None => return Err(Error::strange("SCAN", &reply)),
            }
            tokio::time::sleep(started.elapsed() * REST).await;
        }
    }

    /// The clients of all masters.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if the user may not call `CLIENT LIST`; the errors of a call.
    pub async fn clients(&self) -> Result<Vec<Client>, Error> {
        let pages = self.of_masters(&words(&["CLIENT", "LIST"]), "CLIENT LIST").await?;
        Ok(pages.iter().flat_map(|page| clients(&lossy(page))).collect())
    }

    /// The newest slow requests of all masters, at most `max` of each.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if the user may not call `SLOWLOG`; the errors of a call.
    pub async fn slow_requests(&self, max: u32) -> Result<Vec<SlowRequest>, Error> {
        let get = words(&["SLOWLOG", "GET", &max.to_string()]);
        let lists = self.of_masters(&get, "SLOWLOG GET").await?;
        let mut slow = Vec::new();
        for list in &lists {
            let Value::Array(rows) = list else { return Err(Error::strange("SLOWLOG GET", list)) };
            slow.extend(rows.iter().filter_map(slow_request));
        }
        slow.sort_by_key(|request| std::cmp::Reverse(request.at));
        Ok(slow)
    }

    /// Reads the numbers of the server, in a cluster of all masters.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if the user may not call `INFO`; the errors of a call.
    pub async fn status(&self) -> Result<Status, Error> {
        let replies = self.of_masters(&cmd("INFO"), "INFO").await?;
        let pages: Vec<String> = replies.iter().map(lossy).collect();
        Ok(Status::of(&pages))
    }

    /// Whether this server, or a master of this cluster, is one of those of another connection, or
    /// the master or a replica of one, whatever addresses were used: whether `INFO` of both names
    /// one process or one replication.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if a user may not call `INFO`; the errors of a call.
    pub async fn is_also(&self, other: &Self) -> Result<bool, Error> {
        let theirs = other.identities().await?;
        Ok(self.identities().await?.iter().any(|it| theirs.contains(it)))
    }

    /// The lines of `INFO` that name a process, and the history that it has in common with its
    /// replicas.
    async fn identities(&self) -> Result<Vec<String>, Error> {
        let pages = self.of_masters(&cmd("INFO"), "INFO").await?;
        let names = |line: &str| {
            let (name, id) = line.split_once(':')?;
            (matches!(name, "run_id" | "master_replid") && !id.is_empty()).then(|| line.to_owned())
        };
        Ok(pages
            .iter()
            .flat_map(|page| lossy(page).lines().filter_map(names).collect::<Vec<_>>())
            .collect())
    }

    /// The replies of all masters to one command that writes nothing.
    ///
    /// # Errors
    ///
    /// The errors of a call, and the first refusal.
    async fn of_masters(&self, cmd: &Cmd, what: &str) -> Result<Vec<Value>, Error> {
        let masters = self.masters();
        let commands = masters.iter().map(|&slot| Command::write_to(slot, cmd.clone()));
        let replies = self.run_unconfirmed(commands.collect()).await?;
        replies.into_iter().map(|reply| reply.of(what, what)).collect()
    }
}
