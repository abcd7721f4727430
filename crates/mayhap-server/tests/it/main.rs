//! The server as clients see it.

mod support;
mod wire;
