//! Variables that Kubernetes puts into every container of a namespace for each of its Services.
//!
//! A Service named `mayhap` gives `MAYHAP_SERVICE_HOST=10.96.0.12`, `MAYHAP_SERVICE_PORT=6380`,
//! `MAYHAP_PORT=tcp://10.96.0.12:6380`, `MAYHAP_PORT_6380_TCP=tcp://…`, and with more of these
//! `…_PROTO`, `…_PORT` and `…_ADDR`; one named `mayhap-tls` gives `MAYHAP_TLS_SERVICE_HOST` and so
//! on. None of them is meant for the server, though two have the names of settings.

/// The suffix of the first of a Service's variables.
const HOST: &str = "_SERVICE_HOST";
/// How to stop them.
pub(super) const HINT: &str = "if Kubernetes has set it for a Service, set enableServiceLinks: \
                               false for the pod, or give the setting as a flag";

/// The Services that have variables in the environment, by the prefix of their names, `MAYHAP`.
#[derive(Debug)]
pub(super) struct Services<'a>(Vec<&'a str>);

impl<'a> Services<'a> {
    pub(super) fn of(environment: &'a [(String, String)]) -> Self {
        let hosts = environment.iter().filter_map(|(name, _)| name.strip_suffix(HOST));
        Self(hosts.collect())
    }

    /// Whether a variable belongs to one of them. A variable with the name of a setting does so
    /// only if its value is the URL of a Service.
    pub(super) fn have(&self, name: &str, value: &str) -> bool {
        self.0.iter().any(|service| match name.strip_prefix(service) {
            Some("_PORT") => value.contains("://"),
            Some(rest) => rest.starts_with("_SERVICE_") || is_of_port(rest),
            None => false,
        })
    }
}

/// `_PORT_6380_TCP`, or the same with `_PROTO`, `_PORT` or `_ADDR`.
fn is_of_port(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("_PORT_") else { return false };
    let mut words = rest.split('_');
    let number = words.next().unwrap_or_default();
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number
        && matches!(words.next(), Some("TCP" | "UDP" | "SCTP"))
        && matches!(words.next(), None | Some("PROTO" | "PORT" | "ADDR"))
        && words.next().is_none()
}
