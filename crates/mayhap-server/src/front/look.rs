//! What a filter in the store is like, from some of its bits or from all of them.

use super::{Error, Front, GRACE};
use crate::lock::lock;
use futures_util::stream::{self, StreamExt};
use mayhap::DigestFunction;
use mayhap_redis::{FilterInfo, NativeFilter, RemoteFilter, Status};

/// Bits of larger filters are sampled to estimate their number of keys: counting all of them would
/// hold up the other clients of the store.
const COUNTED_BYTES: u64 = 16 << 20;

/// Filters that are looked at together, in one pipeline.
const AT_ONCE: usize = 16;

/// Which bits of a filter are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bits {
    /// 16 KiB of them, which costs microseconds whatever the size.
    Sample,
    /// All of a filter that has few enough for other clients not to notice, else a sample.
    Few,
    /// All.
    All,
}

/// What a filter is like.
#[derive(Debug)]
pub(crate) struct Look {
    /// Its parameters, and the numbers of its bits.
    pub(crate) info: FilterInfo,
    /// How keys become digests.
    pub(crate) digest_function: DigestFunction,
}

impl Look {
    async fn at(filter: &NativeFilter, bits: Bits) -> Result<Self, mayhap_redis::Error> {
        let is_small = filter.params().num_bytes() <= COUNTED_BYTES;
        let info = match bits {
            Bits::All => Box::pin(filter.info()).await,
            Bits::Few if is_small => Box::pin(filter.info()).await,
            _ => Box::pin(filter.glance()).await,
        };
        Ok(Self { info: info?, digest_function: filter.digest_function() })
    }
}

impl Front {
    /// Looks at a filter.
    pub(crate) async fn look(&self, name: &str, bits: Bits) -> Result<Look, Error> {
        let kept = self.kept(name).await?;
        match Look::at(&kept, bits).await {
            Err(mayhap_redis::Error::Gone { .. }) => {
                Ok(Look::at(&self.attach(name).await?, bits).await?)
            }
            result => Ok(result?),
        }
    }

    /// The milliseconds until a filter expires, if it does; `None` if there is no such filter.
    pub(crate) async fn ttl(&self, name: &str) -> Result<Option<Option<u64>>, Error> {
        let Some(filter) = self.find(name).await? else { return Ok(None) };
        Ok(Some(Box::pin(filter.glance()).await?.ttl_ms))
    }

    /// Looks at some filters that were used lately, the first `most` names of those that `fits`
    /// accepts: none of them if they take longer than one request may.
    pub(crate) async fn look_at_known(
        &self,
        most: usize,
        fits: impl Fn(&str) -> bool,
    ) -> Vec<(String, FilterInfo)> {
        let mut names: Vec<String> =
            lock(&self.known).names().filter(|name| fits(name)).map(str::to_owned).collect();
        names.sort_unstable();
        names.truncate(most);
        // Later than each of them, which notes whether the store has answered.
        let most = self.store.deadline() + 2 * GRACE;
        let looks = tokio::time::timeout(most, self.looks(names)).await;
        let looks = looks.unwrap_or_default().into_iter();
        looks.filter_map(|(name, look)| Some((name, look.ok()?.info))).collect()
    }

    /// Looks at filters by a sample of their bits, some at a time.
    pub(crate) async fn looks(&self, names: Vec<String>) -> Vec<(String, Result<Look, Error>)> {
        let look = |name: String| async move {
            let look = self.ask(&name, self.look(&name, Bits::Sample)).await;
            (name, look)
        };
        stream::iter(names).map(look).buffered(AT_ONCE).collect().await
    }

    /// The numbers of the store itself.
    ///
    /// # Errors
    ///
    /// As [`Front::ask`]; [`mayhap_redis::Error::Refused`] if the user may not call `INFO`.
    pub(crate) async fn status(&self) -> Result<Status, Error> {
        // No filter has the empty name: in a cluster this circuit is that of all nodes.
        self.ask("", async { Ok(Box::pin(self.store.server()?.status()).await?) }).await
    }
}
