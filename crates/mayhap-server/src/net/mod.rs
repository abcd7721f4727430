//! Loop threads: sockets, turns, limits.
