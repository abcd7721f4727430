//! Many tasks that request keys, most of which exist nowhere.

use super::shop::{sku, title};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// The number of requests in flight at once.
const TASKS: usize = 64;

/// The outcome of an attack.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Outcome {
    pub(crate) requests: u32,
    /// Answers that differ from the database.
    pub(crate) wrong: u32,
    /// Errors in place of answers.
    pub(crate) refused: u32,
    pub(crate) wall: Duration,
}

/// Requests each of `rows` products once, and `absent` keys that exist nowhere, mixed; calls
/// `middle` when half of it is done.
pub(crate) async fn attack<T, E>(
    rows: u32,
    absent: u32,
    get: impl Fn(Vec<u8>) -> T + Clone + Send + 'static,
    middle: impl Fn() + Clone + Send + 'static,
) -> Outcome
where
    T: Future<Output = Result<Option<Vec<u8>>, E>> + Send,
    E: Send,
{
    let requests = rows + absent;
    let every = requests / rows;
    let (started, next) = (Instant::now(), Arc::new(AtomicU32::new(0)));
    let mut tasks = JoinSet::new();
    for _ in 0..TASKS {
        let (next, get, middle) = (next.clone(), get.clone(), middle.clone());
        tasks.spawn(async move {
            let mut own = Outcome::default();
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                if i >= requests {
                    return own;
                }
                if i == requests / 2 {
                    tokio::task::block_in_place(&middle);
                }
                let product = (i % every == 0 && i / every < rows).then_some(i / every);
                let answer = get(sku(product.unwrap_or(rows + i)).into_bytes()).await;
                own.requests += 1;
                match answer {
                    Ok(value) if value == product.map(|i| title(i).into_bytes()) => {}
                    Ok(_) => own.wrong += 1,
                    Err(_) => own.refused += 1,
                }
            }
        });
    }
    let mut sum = Outcome::default();
    for own in tasks.join_all().await {
        sum.requests += own.requests;
        sum.wrong += own.wrong;
        sum.refused += own.refused;
    }
    Outcome { wall: started.elapsed(), ..sum }
}
