//! A filter that was looked up.

use mayhap_redis::{
    Error, FilterInfo, Found, NativeFilter, RemoteBf, RemoteFilter, RemoteRedisson, Server,
};
use mayhap_sets::server::{Known, find_known};

/// Which bits of a filter are counted, where the server does not report its rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bits {
    Sample,
    All,
}

/// A filter that was looked up.
#[derive(Debug, Clone)]
pub(super) enum Attached {
    Native(NativeFilter),
    Bf(RemoteBf),
    Redisson(RemoteRedisson),
}

impl Attached {
    pub(super) async fn find(server: &Server, name: &str, known: &Known) -> Result<Self, Error> {
        match find_known(server, name, known).await? {
            Found::Native(filter) => Ok(Self::Native(filter)),
            Found::Bf(filter) => Ok(Self::Bf(filter)),
            Found::Redisson(filter) => Ok(Self::Redisson(filter)),
            _ => Err(Error::NotFound { name: name.into() }),
        }
    }

    /// Its numbers.
    pub(super) async fn info(&self, bits: Bits) -> Result<FilterInfo, Error> {
        match (self, bits) {
            (Self::Native(filter), Bits::Sample) => NativeFilter::glance(filter).await,
            (Self::Native(filter), Bits::All) => NativeFilter::info(filter).await,
            (Self::Bf(filter), _) => RemoteBf::info(filter).await,
            (Self::Redisson(filter), Bits::Sample) => RemoteRedisson::glance(filter).await,
            (Self::Redisson(filter), Bits::All) => RemoteRedisson::info(filter).await,
        }
    }

    pub(super) fn kind(&self, info: &FilterInfo) -> String {
        match self {
            Self::Native(_) => format!("mayhap {}", info.layout),
            Self::Bf(filter) => {
                filter.kind().map_or_else(|| "bf".into(), |kind| format!("bf {kind}"))
            }
            Self::Redisson(_) => "redisson".into(),
        }
    }
}
