//! File systems without locks, modes or synced folders; logs and digests cut short.
