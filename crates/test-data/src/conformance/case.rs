//! A request and its answers in both versions of the protocol.

/// A request and its answers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    pub(super) request: &'static str,
    pub(super) resp2: &'static str,
    pub(super) resp3: &'static str,
}

/// A request with the same answer in both versions.
pub(super) const fn both(request: &'static str, reply: &'static str) -> Case {
    Case { request, resp2: reply, resp3: reply }
}

/// A request whose answers differ.
pub(super) const fn each(request: &'static str, resp2: &'static str, resp3: &'static str) -> Case {
    Case { request, resp2, resp3 }
}
