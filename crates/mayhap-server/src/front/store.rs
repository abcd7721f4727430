//! The connection to the store, which may come up after this server.

use super::{ConnectError, Error};
use crate::lock::lock;
use mayhap_redis::{Address, Server, ServerOptions, Trouble};
use std::mem::discriminant;
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use tokio::runtime::Handle;

/// Between two attempts to connect, each of which takes up to `store_timeout`.
const PAUSE: Duration = Duration::from_millis(500);

/// A store that is connected, or will be.
#[derive(Debug)]
pub(super) struct Store {
    name: String,
    deadline: Duration,
    connected: OnceLock<Server>,
    /// Why the last attempt to connect has failed.
    problem: Mutex<Option<mayhap_redis::Error>>,
}

impl Store {
    /// Connects on the thread of this handle. Where the store is away, the attempts go on and
    /// requests fail until one succeeds.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Store`] for what does not pass by itself.
    pub(super) fn connect(
        handle: &Handle,
        address: Address,
        options: ServerOptions,
    ) -> Result<Arc<Self>, ConnectError> {
        let store = Arc::new(Self {
            name: address.server(),
            deadline: options.deadline,
            connected: OnceLock::new(),
            problem: Mutex::default(),
        });
        let (sender, receiver) = mpsc::sync_channel(1);
        handle.spawn(Arc::clone(&store).attempts(address, options, sender));
        let ended = |_| ConnectError::Thread(std::io::Error::other("the thread has ended"));
        receiver.recv().map_err(ended)??;
        Ok(store)
    }

    /// The address without the password.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// How long a request waits for the store.
    pub(super) const fn deadline(&self) -> Duration {
        self.deadline
    }

    /// Whether it has ever been reached.
    pub(super) fn is_connected(&self) -> bool {
        self.connected.get().is_some()
    }

    /// The connection.
    ///
    /// # Errors
    ///
    /// Why the last attempt to connect has failed.
    pub(super) fn server(&self) -> Result<&Server, Error> {
        self.connected.get().ok_or_else(|| {
            let problem = lock(&self.problem).clone();
            let (server, after) = (self.name.clone(), Duration::ZERO);
            let trouble = Trouble::Silent;
            let silent = mayhap_redis::Error::Unavailable { server, node: None, after, trouble };
            problem.unwrap_or(silent).into()
        })
    }

    /// Connects, again and again until it succeeds, and sends the outcome of the first attempt:
    /// an error only if it is final.
    async fn attempts(
        self: Arc<Self>,
        address: Address,
        options: ServerOptions,
        first: SyncSender<Result<(), mayhap_redis::Error>>,
    ) {
        // The receiver waits for the first outcome, and takes no more.
        let send = |outcome| drop(first.try_send(outcome));
        loop {
            let error = match Server::connect(&address, options.clone()).await {
                Ok(server) => {
                    if lock(&self.problem).is_some() {
                        log::info!("{} is reached", self.name);
                    }
                    // Nobody else connects.
                    let _ = self.connected.set(server);
                    return send(Ok(()));
                }
                Err(error) => error,
            };
            let before = lock(&self.problem).replace(error.clone());
            if before.is_none() && !may_pass(&error) {
                return send(Err(error));
            }
            if before.is_none_or(|before| discriminant(&before) != discriminant(&error)) {
                log::warn!("{error}; requests fail until it is reached");
            }
            send(Ok(()));
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Whether a store may be reached later by the same settings: it has not started yet, or its name
/// is not known yet.
const fn may_pass(error: &mayhap_redis::Error) -> bool {
    use Trouble::{NeedsTls, OtherProtocol, Tls};
    match error {
        mayhap_redis::Error::Unavailable { trouble, .. } => {
            !matches!(trouble, NeedsTls | OtherProtocol | Tls { .. })
        }
        _ => false,
    }
}
