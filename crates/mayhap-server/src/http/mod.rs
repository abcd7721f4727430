//! The same filters for people: REST, metrics, health.
