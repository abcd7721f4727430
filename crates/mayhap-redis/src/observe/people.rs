//! The clients of a server and its slow requests.

use crate::replies::lossy;
use redis::Value;

/// A client by `CLIENT LIST`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Client {
    /// Its number on its node.
    pub id: u64,
    /// Its address.
    pub address: String,
    /// The name that it gave itself.
    pub name: String,
    /// Its user.
    pub user: String,
    /// Seconds since it connected.
    pub connected_seconds: u64,
    /// Seconds since its last command.
    pub idle_seconds: u64,
    /// Bytes of its buffers, where the server reports them.
    pub num_bytes: u64,
    /// Its last command.
    pub last_command: String,
}

/// A request that took long, by `SLOWLOG GET`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SlowRequest {
    /// Its number on its node.
    pub id: u64,
    /// When, in seconds since 1970.
    pub at: u64,
    /// Microseconds that it took.
    pub took_us: u64,
    /// Its words, as far as the server keeps them.
    pub request: String,
    /// The address of the client.
    pub address: String,
    /// The name of the client.
    pub client: String,
}

/// `id=3 addr=127.0.0.1:52555 name=…`, a line each.
pub(super) fn clients(page: &str) -> Vec<Client> {
    let client = |line: &str| {
        let mut client = Client::default();
        for (name, value) in line.split(' ').filter_map(|field| field.split_once('=')) {
            let number = || value.parse().unwrap_or(0);
            match name {
                "id" => client.id = number(),
                "addr" => client.address = value.into(),
                "name" => client.name = value.into(),
                "user" => client.user = value.into(),
                "age" => client.connected_seconds = number(),
                "idle" => client.idle_seconds = number(),
                "tot-mem" => client.num_bytes = number(),
                "cmd" => client.last_command = value.into(),
                _ => {}
            }
        }
        client
    };
    page.lines().filter(|line| line.contains('=')).map(client).collect()
}

/// Number, time, microseconds, words, and from Redis 4 on the client's address and name.
pub(super) fn slow_request(row: &Value) -> Option<SlowRequest> {
    let Value::Array(row) = row else { return None };
    let number = |i: usize| match row.get(i) {
        Some(Value::Int(number)) => u64::try_from(*number).ok(),
        _ => None,
    };
    let Some(Value::Array(words)) = row.get(3) else { return None };
    let words: Vec<String> = words.iter().map(lossy).collect();
    let text = |i: usize| row.get(i).map(lossy).unwrap_or_default();
    Some(SlowRequest {
        id: number(0)?,
        at: number(1)?,
        took_us: number(2)?,
        request: words.join(" "),
        address: text(4),
        client: text(5),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_clients_are_read() {
        let page = "id=3 addr=127.0.0.1:52555 laddr=x fd=8 name=a age=855 idle=0 flags=N db=0 \
                    tot-mem=22426 cmd=client|list user=default resp=2\nid=x\n\nnothing\n";
        let found = clients(page);
        assert_eq!(found.len(), 2);
        let client = &found[0];
        assert_eq!((client.id, &*client.address, &*client.name), (3, "127.0.0.1:52555", "a"));
        assert_eq!((client.connected_seconds, client.num_bytes), (855, 22_426));
        assert_eq!((&*client.user, &*client.last_command), ("default", "client|list"));
        assert_eq!(found[1], Client::default());
    }

    #[test]
    fn rows_of_slow_requests_are_read_and_odd_ones_left_out() {
        let word = |text: &str| Value::BulkString(text.into());
        let words = Value::Array(vec![word("BF.ADD"), Value::BulkString(vec![0xff])]);
        let head = [Value::Int(4), Value::Int(1_700_000_000), Value::Int(12_345)];
        let row = [&head[..], &[words, word("a:1"), word("me")]].concat();
        let slow = slow_request(&Value::Array(row.clone())).unwrap();
        assert_eq!((slow.id, slow.at, slow.took_us), (4, 1_700_000_000, 12_345));
        assert_eq!((&*slow.request, &*slow.address), ("BF.ADD \u{fffd}", "a:1"));
        assert_eq!(slow_request(&Value::Array(row[..3].to_vec())), None);
        assert_eq!(slow_request(&Value::Nil), None);
    }
}
