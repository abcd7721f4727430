//! Addresses to listen on: one, or a list as Redis takes it.

use super::ValueError;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};

/// Addresses to listen on, at least one.
///
/// `::` takes IPv4 too, unless the list has `0.0.0.0`; it means the same for the Redis protocol and
/// for HTTP.
///
/// # Examples
///
/// ```
/// use mayhap_server::config::Addresses;
///
/// let list = Addresses::parse("127.0.0.1, -::1")?;
/// assert_eq!(list.to_string(), "127.0.0.1,-::1");
/// assert_eq!(Addresses::parse("*")?.to_string(), "0.0.0.0,-::");
/// # Ok::<(), mayhap_server::config::ValueError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addresses(Vec<Address>);

/// An address of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Address {
    ip: IpAddr,
    /// It may be an address that this machine does not have: `-::1`.
    is_optional: bool,
}

impl Addresses {
    /// Parses addresses separated by commas or spaces; `*` is every address of the machine, and an
    /// address after a `-` is skipped if the machine does not have it.
    ///
    /// # Errors
    ///
    /// [`ValueError::NotAddress`] if an entry is not an address, or there is none.
    pub fn parse(text: &str) -> Result<Self, ValueError> {
        let mut list = Vec::new();
        for word in text.split([',', ' ']).filter(|word| !word.is_empty()) {
            let optional = word.strip_prefix('-');
            let name = optional.unwrap_or(word);
            let is_optional = optional.is_some();
            match name {
                "*" => {
                    list.push(Address { ip: Ipv4Addr::UNSPECIFIED.into(), is_optional });
                    list.push(Address { ip: Ipv6Addr::UNSPECIFIED.into(), is_optional: true });
                }
                "localhost" => list.push(Address { ip: Ipv4Addr::LOCALHOST.into(), is_optional }),
                _ => {
                    let ip = name.parse().map_err(|_| ValueError::NotAddress)?;
                    list.push(Address { ip, is_optional });
                }
            }
        }
        let mut seen = Vec::new();
        list.retain(|address| {
            let is_new = !seen.contains(&address.ip);
            seen.push(address.ip);
            is_new
        });
        if list.is_empty() { Err(ValueError::NotAddress) } else { Ok(Self(list)) }
    }

    /// All of them, including those that the machine may not have.
    pub fn iter(&self) -> impl Iterator<Item = IpAddr> {
        self.0.iter().map(|address| address.ip)
    }

    /// The addresses to listen on: without optional ones that this machine does not have.
    pub fn present(&self) -> Vec<IpAddr> {
        let is_present =
            |address: &&Address| !address.is_optional || TcpListener::bind((address.ip, 0)).is_ok();
        self.0.iter().filter(is_present).map(|address| address.ip).collect()
    }
}

impl From<IpAddr> for Addresses {
    fn from(ip: IpAddr) -> Self {
        Self(vec![Address { ip, is_optional: false }])
    }
}

impl fmt::Display for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |it: &Address| format!("{}{}", if it.is_optional { "-" } else { "" }, it.ip);
        f.write_str(&self.0.iter().map(text).collect::<Vec<_>>().join(","))
    }
}
