//! The crate `redis`, in both versions of the protocol.

use crate::server::Server;
use redis::{Connection, ServerErrorKind, Value, cmd, pipe};

fn ask(connection: &mut Connection, line: &str) -> redis::RedisResult<Value> {
    let mut words = line.split(' ');
    let mut command = cmd(words.next().unwrap());
    for word in words {
        command.arg(word);
    }
    command.query(connection)
}

#[test]
fn the_rust_crate_reads_every_kind_of_answer() {
    let server = Server::start(&[]);
    for protocol in ["resp2", "resp3"] {
        let mut connection = server.connect(protocol);
        let is_new = protocol == "resp3";
        let yes = if is_new { Value::Boolean(true) } else { Value::Int(1) };
        let no = if is_new { Value::Boolean(false) } else { Value::Int(0) };
        let name = |name: &str| Value::SimpleString(name.into());
        assert_eq!(ask(&mut connection, "BF.RESERVE f 0.001 5000").unwrap(), Value::Okay);
        assert_eq!(ask(&mut connection, "BF.ADD f a").unwrap(), yes);
        let both = Value::Array(vec![no.clone(), yes.clone()]);
        assert_eq!(ask(&mut connection, "BF.MADD f a b").unwrap(), both);
        let info = vec![
            (name("Capacity"), Value::Int(5000)),
            (name("Size"), ask(&mut connection, "MEMORY USAGE f").unwrap()),
            (name("Number of filters"), Value::Int(1)),
            (name("Number of items inserted"), Value::Int(2)),
            (name("Expansion rate"), Value::Int(2)),
        ];
        let answer = ask(&mut connection, "BF.INFO f").unwrap();
        let read = |value: &Value| match value {
            Value::Map(pairs) if is_new => pairs.clone(),
            Value::Array(flat) if !is_new => {
                flat.as_chunks().0.iter().map(|[a, b]: &[_; 2]| (a.clone(), b.clone())).collect()
            }
            other => panic!("{other:?}"),
        };
        let told = read(&answer);
        assert_eq!(told.len(), info.len());
        for (told, wanted) in told.iter().zip(&info) {
            assert_eq!(told.0, wanted.0);
            assert!(told.1 == wanted.1 || told.0 == name("Size"), "{told:?} {wanted:?}");
        }
        let rate = read_field(&ask(&mut connection, "BF.INFO f ERROR").unwrap());
        let wanted = [Value::BulkString(b"0.001".to_vec()), Value::Double(0.001)];
        assert_eq!(rate, wanted[usize::from(is_new)]);

        // Bytes of any kind.
        let item = [0, b'\r', b'\n', 0xFF];
        let added: bool = cmd("BF.ADD").arg("f").arg(&item).query(&mut connection).unwrap();
        let found: bool = cmd("BF.EXISTS").arg("f").arg(&item).query(&mut connection).unwrap();
        assert!(added && found);

        let error = ask(&mut connection, "BF.RESERVE f 0.01 1").unwrap_err();
        assert_eq!(error.kind(), redis::ErrorKind::Server(ServerErrorKind::ResponseError));
        assert_eq!(error.detail(), Some("item exists"));
        assert_eq!(ask(&mut connection, "DEL f").unwrap(), Value::Int(1));
    }
}

/// The value of `BF.INFO name FIELD`.
fn read_field(answer: &Value) -> Value {
    match answer {
        Value::Array(one) => one[0].clone(),
        Value::Map(one) => one[0].1.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn pipelines_of_the_rust_crate_are_answered_with_and_without_a_transaction() {
    let server = Server::start(&[]);
    for protocol in ["resp2", "resp3"] {
        let mut connection = server.connect(protocol);
        for atomic in [false, true] {
            let mut pipeline = pipe();
            if atomic {
                pipeline.atomic();
            }
            for i in 0..10_000 {
                pipeline.cmd("BF.ADD").arg("f").arg(i);
            }
            let new: Vec<bool> = pipeline.query(&mut connection).unwrap();
            assert_eq!(new.len(), 10_000);
            // At most a hundred are false positives.
            assert!(new.iter().filter(|new| **new).count() > 9_800);
            let found: Vec<bool> = pipe()
                .cmd("BF.MEXISTS")
                .arg("f")
                .arg((0..10_000).collect::<Vec<_>>())
                .cmd("DEL")
                .arg("f")
                .ignore()
                .query::<(Vec<bool>,)>(&mut connection)
                .unwrap()
                .0;
            assert!(found.len() == 10_000 && found.iter().all(|found| *found));
        }
    }
}
