//! `CLUSTER NODES`, as reported by one node.

use crate::Error;
use crate::redis::RedisServer;

/// One node's line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) id: String,
    pub(crate) port: u16,
    pub(crate) flags: Vec<String>,
    /// The id of its master, if it is a replica.
    pub(crate) master: Option<String>,
    /// First and last slot of each range.
    pub(crate) slots: Vec<(u16, u16)>,
    /// Whether a slot is being moved from or to it; only a node's own line has this.
    pub(crate) moving: bool,
}

impl Line {
    pub(crate) fn is(&self, flag: &str) -> bool {
        self.flags.iter().any(|own| own == flag)
    }

    fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [id, address, flags, master, _ping, _pong, _epoch, _link, slots @ ..] = &words[..]
        else {
            return None;
        };
        // 127.0.0.1:10000@20000,hostname
        let port = address.split('@').next()?.rsplit(':').next()?.parse().ok()?;
        let moving = |range: &&&str| range.starts_with('[');
        let range = |range: &&str| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            Some((first.parse().ok()?, last.parse().ok()?))
        };
        Some(Self {
            id: (*id).to_owned(),
            port,
            flags: flags.split(',').map(str::to_owned).collect(),
            master: (*master != "-").then(|| (*master).to_owned()),
            slots: slots.iter().filter(|s| !moving(s)).map(range).collect::<Option<_>>()?,
            moving: slots.iter().any(|s| moving(&s)),
        })
    }
}

/// A node's view of all nodes, in the order of their ports.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) text: String,
    pub(crate) lines: Vec<Line>,
}

impl View {
    pub(crate) fn ask(server: &RedisServer) -> Result<Self, Error> {
        let text = server.cli(&["CLUSTER", "NODES"])?;
        Self::parse(&text).ok_or_else(|| Error::Refused {
            command: "CLUSTER NODES".to_owned(),
            answer: format!("not understood:\n{text}"),
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines().map(Line::parse).collect::<Option<Vec<_>>>()?;
        lines.sort_by_key(|line| line.port);
        Some(Self { text: text.to_owned(), lines })
    }

    pub(crate) fn of_port(&self, port: u16) -> Option<&Line> {
        self.lines.iter().find(|line| line.port == port)
    }

    pub(crate) fn owner_of(&self, slot: u16) -> Option<&Line> {
        let holds = |line: &&Line| line.slots.iter().any(|&(a, b)| (a..=b).contains(&slot));
        self.lines.iter().find(holds)
    }

    /// Whether two nodes agree on the slots and the master of each node.
    pub(crate) fn agrees_with(&self, other: &Self) -> bool {
        self.lines.len() == other.lines.len()
            && self.lines.iter().zip(&other.lines).all(|(own, other)| {
                (own.port, &own.master, &own.slots) == (other.port, &other.master, &other.slots)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_slots_moves_and_masters() {
        let text = "\
aa 127.0.0.1:10002@20002,host myself,master - 0 0 1 connected 0-5 9 [93->-bb]
bb 127.0.0.1:10001@20001 slave,fail? aa 0 1 1 disconnected
";
        let view = View::parse(text).unwrap();
        assert_eq!(view.lines[0].master.as_deref(), Some("aa"));
        assert!(view.lines[0].is("fail?") && !view.lines[0].moving);
        assert_eq!(view.lines[1].slots, [(0, 5), (9, 9)]);
        assert!(view.lines[1].moving);
        assert_eq!(view.owner_of(9).unwrap().port, 10_002);
        assert!(view.owner_of(8).is_none());
        assert!(View::parse("too short").is_none());
    }
}
