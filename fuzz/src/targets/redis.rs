//! Text → the address of a server; pairs of bytes → the parameters of a filter there.
//!
//! Oracles: the displayed form of an address is read again as the same without its password, which
//! no message has; parameters that were read are written, and read again as the same.
use mayhap_fuzz::limited_to;
use mayhap_redis::{Address, Meta};

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

pub(super) fn run(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        address(text);
    }
    // Lines of name and value, as `HGETALL` has them.
    let lines = data.split(|&byte| byte == b'\n');
    let pairs: Pairs = lines
        .filter_map(|line| {
            let at = line.iter().position(|&byte| byte == b'=')?;
            Some((line[..at].to_vec(), line[at + 1..].to_vec()))
        })
        .collect();
    parameters(&pairs);
}

fn address(text: &str) {
    let Ok(address) = Address::parse(text) else { return };
    let said = address.to_string();
    let authority = text.split_once("://").and_then(|(_, rest)| rest.split('/').next());
    if let Some((user, _)) = authority.and_then(|authority| authority.rsplit_once('@')) {
        let password = user.rsplit_once(':').map_or("", |(_, password)| password);
        // Short ones occur in any text.
        assert!(
            password.len() < 8 || text.matches(password).count() > 1 || !said.contains(password)
        );
    }
}

fn parameters(pairs: &Pairs) {
    let size: usize = pairs.iter().map(|(name, value)| name.len() + value.len()).sum();
    let Ok(meta) = limited_to((1 << 16) + 4 * size, || Meta::parse(pairs)) else { return };
    let state = pairs.iter().filter(|(name, _)| name == b"state" || name == b"expires_at_ms");
    let fields = meta.fields().into_iter();
    let fields = fields.map(|(name, value)| (name.as_bytes().to_vec(), value.into_bytes()));
    let again: Pairs = fields.chain(state.cloned()).collect();
    assert_eq!(Meta::parse(&again).unwrap(), meta, "{pairs:?}");
}
