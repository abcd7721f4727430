//! A plan as a link to the explorer page, which keeps its state behind the `#` of its URL.

use mayhap::plan::Needs;
use std::fmt::Write as _;

/// The link to the explorer at `page` with these needs: it uses the names of the page's inputs
/// (`web/explorer/state.js`), and its numbers are exact.
///
/// # Examples
///
/// ```
/// use mayhap::plan::Needs;
///
/// let needs = Needs { target_fpp: Some(0.001), ..Needs::for_items(10_000_000) };
/// let link = mayhap_plan::link("https://example.org/explorer/", &needs);
/// assert_eq!(link, "https://example.org/explorer/#n=10000000&p=1e-3");
/// ```
pub fn link(page: &str, needs: &Needs) -> String {
    let page = page.split_once('#').map_or(page, |(page, _)| page);
    let mut link = format!("{page}#");
    let mut set = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            let and = if link.ends_with('#') { "" } else { "&" };
            // Writing to a string does not fail.
            let _ = write!(link, "{and}{name}={value}");
        }
    };
    set("n", needs.items.map(|items| items.to_string()));
    set("p", needs.target_fpp.map(|fpp| format!("{fpp:e}")));
    set("m", needs.max_bytes.map(|bytes| bytes.to_string()));
    set("sets", (needs.sets != 1).then(|| needs.sets.to_string()));
    set("key", needs.key_bytes.map(|bytes| bytes.to_string()));
    for (name, flag) in [
        ("delete", needs.delete),
        ("forget", needs.forget),
        ("frozen", needs.frozen),
        ("grow", needs.unknown_items),
    ] {
        set(name, flag.then(|| "1".to_owned()));
    }
    if let Some(costs) = needs.costs {
        set("c1", Some(costs.without_disk.to_string()));
        set("c2", Some((costs.with_disk - costs.without_disk).to_string()));
        set("absent", Some(costs.absent_share.to_string()));
    }
    link
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap::plan::Costs;

    #[test]
    fn all_needs_are_in_the_link_and_an_old_state_is_not() {
        let needs = Needs {
            target_fpp: Some(2.5e-7),
            max_bytes: Some(1 << 31),
            sets: 3,
            delete: true,
            unknown_items: true,
            key_bytes: Some(50.0),
            costs: Some(Costs { without_disk: 0.5, with_disk: 10.5, absent_share: 0.9 }),
            ..Needs::default()
        };
        assert_eq!(
            link("index.html#n=1", &needs),
            "index.html#p=2.5e-7&m=2147483648&sets=3&key=50&delete=1&grow=1&c1=0.5&c2=10&absent=0.9"
        );
    }
}
