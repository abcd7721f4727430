//! The operations of every filter here, whichever system created it.

use crate::Info;
use crate::keys::{Answers, Keys};

/// A filter.
#[cfg(not(feature = "write"))]
pub(crate) trait Contents {
    /// Sets byte i of `answers` to whether key i may be in it; it has as many as the batch.
    fn answer(&self, keys: &Keys<'_>, answers: &mut Answers);

    /// The info of the filter. Reads all bits.
    fn info(&self) -> Info;
}

/// A filter that may also be filled, united and written.
#[cfg(feature = "write")]
pub(crate) trait Contents: std::any::Any {
    /// Sets byte i of `answers` to whether key i may be in it; it has as many as the batch.
    fn answer(&self, keys: &Keys<'_>, answers: &mut Answers);

    /// The info of the filter. Reads all bits.
    fn info(&self) -> Info;

    /// Inserts keys; byte i of `answers` is whether key i was new.
    fn insert(&mut self, keys: &Keys<'_>, answers: &mut Answers) -> Result<(), crate::Fault> {
        let _ = (keys, answers);
        Err(crate::Fault::new("Unsupported", "insert"))
    }

    /// Removes keys; byte i of `answers` is whether key i was there.
    #[cfg(feature = "kinds")]
    fn remove(&mut self, keys: &Keys<'_>, answers: &mut Answers) -> Result<(), crate::Fault> {
        let _ = (keys, answers);
        Err(crate::Fault::new("Unsupported", "remove"))
    }

    /// Takes over the keys of another filter; changes nothing if they are unlike.
    fn union(&mut self, other: &dyn Contents) -> Result<(), crate::Fault> {
        let _ = other;
        Err(crate::Fault::new("Unsupported", "union"))
    }

    /// The file, with these key options, or its own.
    fn encode(&self, key_options: &str) -> Result<Vec<u8>, crate::Fault> {
        let _ = key_options;
        Err(crate::Fault::new("Unsupported", "encode"))
    }

    /// The positions of a key's bits; none where they are not known.
    fn positions(&self, key: &[u8]) -> Vec<f64> {
        let _ = key;
        Vec::new()
    }

    /// The bits as bytes, bit i being bit `i % 8` of byte `i / 8`; none where they are not known.
    fn bits(&self) -> &[u8] {
        &[]
    }
}
