//! The keys of a filter apart from its shards.

/// The place of a filter: under its name, or where it is built before it replaces the one there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) name: &'a str,
    pub(super) is_next: bool,
}

impl<'a> Target<'a> {
    pub(super) fn live(name: &'a str) -> Self {
        Self { name, is_next: false }
    }

    pub(super) fn next(name: &'a str) -> Self {
        Self { name, is_next: true }
    }

    /// The key of the parameters.
    pub(super) fn meta_key(&self) -> String {
        format!("{{{}}}:{}", self.name, if self.is_next { "next" } else { "meta" })
    }

    /// The key that is held during a switch from one to the other.
    pub(super) fn swap_key(&self) -> String {
        format!("{{{}}}:swap", self.name)
    }
}
