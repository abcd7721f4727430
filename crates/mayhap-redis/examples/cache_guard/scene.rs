//! A Redis with the filter and the cache, in front of the shop.

use super::attack::{Outcome, attack};
use super::shop::{Shop, sku};
use mayhap::{DigestFunction, SecretKey};
use mayhap_redis::guard::{
    Cache, CacheError, Failing, Guard, GuardCounts, GuardOptions, Loader, RedisCache,
};
use mayhap_redis::{Address, NativeFilter, NativeOptions, RemoteFilter, Server, ServerOptions};
use std::sync::Arc;
use std::time::Duration;
use test_servers::{RedisOptions, RedisServer};

pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;

const TARGET_FPP: f64 = 0.001;
/// Untrusted clients choose the keys, so the digest has a key. In production it is random, and kept
/// with the passwords; with a fixed one the figures are the same in every run.
const SECRET: SecretKey = SecretKey::new(*b"of this example.");

/// A server, and the products' keys in a filter on it.
pub(crate) struct Scene {
    pub(crate) redis: Arc<RedisServer>,
    pub(crate) filter: NativeFilter,
    pub(crate) cache: RedisCache,
    pub(crate) shop: Shop,
}

/// An attack, seen by the guard and by the database.
pub(crate) struct Seen {
    pub(crate) outcome: Outcome,
    pub(crate) counts: GuardCounts,
    pub(crate) reads: i64,
}

impl Scene {
    pub(crate) async fn start(shop: &Shop) -> Result<Self, Error> {
        let redis = RedisServer::start(&RedisOptions::default())?;
        let address = Address::parse(&redis.url())?;
        // Insertions by owners are retried for 5 s; the guard itself is less patient.
        let options =
            ServerOptions { deadline: Duration::from_secs(5), ..ServerOptions::default() };
        let server = Server::connect(&address, options).await?;
        let usual = NativeOptions::for_items(shop.rows().into(), TARGET_FPP)?;
        let digest_function = DigestFunction::sip13(SECRET);
        let options = NativeOptions { digest_function, ..usual };
        let filter = NativeFilter::create(&server, "products", &options).await?;
        let skus: Vec<String> = (0..shop.rows()).map(sku).collect();
        let skus: Vec<&[u8]> = skus.iter().map(String::as_bytes).collect();
        for skus in skus.chunks(1000) {
            filter.insert_batch(skus).await?;
        }
        let cache = RedisCache::new(server, "product:");
        Ok(Self { redis: Arc::new(redis), filter, cache, shop: shop.clone() })
    }

    pub(crate) fn guard(&self, failing: Failing) -> Guard<NativeFilter, RedisCache, Shop> {
        let options = GuardOptions { failing, ..GuardOptions::default() };
        let (filter, cache) = (self.filter.clone(), self.cache.clone());
        let guard = Guard::new(filter, cache, self.shop.clone(), options);
        guard.warmed();
        guard
    }

    /// The usual way: query the cache, then the database, and cache only values.
    pub(crate) async fn unguarded(&self, absent: u32) -> Result<(Outcome, i64), Error> {
        let (cache, shop) = (self.cache.clone(), self.shop.clone());
        let get = move |key: Vec<u8>| {
            let (cache, shop) = (cache.clone(), shop.clone());
            async move {
                if let Some(value) = cache.get(&key).await? {
                    return Ok(Some(value));
                }
                let value = shop.load(key.clone()).await?;
                if let Some(value) = &value {
                    cache.set(&key, value, Duration::from_secs(600)).await?;
                }
                Ok::<_, CacheError>(value)
            }
        };
        let before = self.shop.reads().await?;
        let outcome = attack(self.shop.rows(), absent, get, || {}).await;
        Ok((outcome, self.shop.reads().await? - before))
    }

    /// Attacks a guard; with `dies`, the server is killed in the middle.
    pub(crate) async fn guarded(
        &self,
        absent: u32,
        failing: Failing,
        dies: bool,
    ) -> Result<Seen, Error> {
        let guard = self.guard(failing);
        let get = {
            let guard = guard.clone();
            move |key: Vec<u8>| {
                let guard = guard.clone();
                async move { guard.get(&key).await }
            }
        };
        let redis = self.redis.clone();
        let middle = move || {
            if dies {
                redis.kill();
            }
        };
        let before = self.shop.reads().await?;
        let outcome = attack(self.shop.rows(), absent, get, middle).await;
        let reads = self.shop.reads().await? - before;
        Ok(Seen { outcome, counts: guard.counts(), reads })
    }

    /// p of the filter as it is now, and the number of reads that an attack may cost: one for each
    /// row, and the false positives.
    ///
    /// Each absent key is one with probability p by itself, so their mean is a p and their variance
    /// a p (1 - p); three standard deviations more happen once in 700 runs.
    pub(crate) async fn bound(&self, absent: u32) -> Result<(f64, f64), Error> {
        let p = self.filter.info().await?.estimated_fpp;
        let absent = f64::from(absent);
        let positives = absent * p + 3.0 * (absent * p * (1.0 - p)).sqrt();
        Ok((p, f64::from(self.shop.rows()) + positives))
    }
}
