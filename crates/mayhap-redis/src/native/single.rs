//! Calls with one key, over pipelines shared by keys of many tasks.

use super::coalesce::{Waiting, most};
use super::filter::NativeFilter;
use super::round::{Act, Answer};
use crate::{Error, Trouble};
use mayhap::Digest;
use std::time::Duration;
use tokio::sync::oneshot;

impl NativeFilter {
    /// The outcome for one digest. If the caller gives up, it may be executed nevertheless.
    pub(super) async fn answer(&self, digest: Digest, act: Act) -> Result<Answer, Error> {
        let (sender, receiver) = oneshot::channel();
        let is_driven = {
            let mut queue = self.inner.coalescer.queue(act);
            queue.waiting.push_back((digest, sender));
            let is_driven = queue.drivers >= most(act).0;
            queue.drivers += usize::from(!is_driven);
            is_driven
        };
        if !is_driven {
            let driver = Driver { filter: self.clone(), act, has_ended: false };
            tokio::spawn(driver.drive());
        }
        receiver.await.unwrap_or_else(|_| {
            // The runtime of the driving task has ended.
            let trouble = Trouble::from("the call was given up".to_owned());
            let server = self.server().name().into();
            Err(Error::Unavailable { server, node: None, after: Duration::ZERO, trouble })
        })
    }
}

/// Sends the waiting keys until none remains.
struct Driver {
    filter: NativeFilter,
    act: Act,
    has_ended: bool,
}

impl Driver {
    async fn drive(mut self) {
        loop {
            let batch: Vec<Waiting> = {
                let mut queue = self.filter.inner.coalescer.queue(self.act);
                let count = queue.waiting.len().min(most(self.act).1);
                if count == 0 {
                    // Under the lock: the next caller starts another driver.
                    queue.drivers -= 1;
                    self.has_ended = true;
                    return;
                }
                queue.waiting.drain(..count).collect()
            };
            let digests: Vec<Digest> = batch.iter().map(|(digest, _)| *digest).collect();
            let answers = self.filter.answers(&digests, self.act).await;
            for (i, (_, sender)) in batch.into_iter().enumerate() {
                // Callers that have given up no longer listen.
                let _ = sender.send(answers.as_ref().map(|all| all[i]).map_err(Clone::clone));
            }
        }
    }
}

impl Drop for Driver {
    /// Dropped in the middle, as by the end of its runtime: waiters get an error, unless another
    /// driver continues.
    fn drop(&mut self) {
        if !self.has_ended {
            let mut queue = self.filter.inner.coalescer.queue(self.act);
            queue.drivers -= 1;
            if queue.drivers == 0 {
                queue.waiting.clear();
            }
        }
    }
}
