//! Names that come and go while a table grows, by one thread and by several.

use crate::keyspace::table::Table;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

fn name(number: u64) -> Arc<[u8]> {
    format!("name:{number}").into_bytes().into()
}

/// Removes names that existed before the table began to grow, which is when the map cannot free
/// them.
#[test]
fn removed_and_replaced_values_are_freed_while_the_table_grows() {
    let table = Table::with_room(0);
    let mut late = 0;
    for number in 0..30_000 {
        assert!(table.insert(name(number), Arc::new(number)).is_none());
        if number % 2 == 1 {
            continue;
        }
        let old = name(number / 2);
        let weak = Arc::downgrade(&table.get(&old).unwrap());
        let gone = match number % 4 {
            0 => table.insert(old, Arc::new(number)),
            _ => table.remove(&old),
        };
        drop(gone.unwrap());
        late += usize::from(weak.upgrade().is_some());
    }
    assert_eq!((late, table.len()), (0, 22_500));
}

#[test]
fn a_name_that_is_given_to_another_is_never_without_one() {
    type Get = fn(&Table<u64>, &[u8]) -> Option<Arc<u64>>;
    let with: Get = |table, name| table.with(name, |it| Arc::new(*it));
    let table = Table::with_room(0);
    table.insert(name(0), Arc::new(0));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for get in [Table::get as Get, with] {
            let (table, done) = (&table, &done);
            scope.spawn(move || {
                let (name, mut last) = (name(0), 0);
                while !done.load(Ordering::Relaxed) {
                    let now = *get(table, &name).expect("it has one at each moment");
                    assert!(now >= last, "{now} was replaced by {last}");
                    last = now;
                }
            });
        }
        for number in 1..200_000 {
            let replaced = table.insert(name(0), Arc::new(number));
            assert_eq!(replaced.as_deref(), Some(&(number - 1)));
            // So that it grows meanwhile.
            table.insert(name(number), Arc::new(number));
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(table.len(), 200_000);
}

/// Two threads assign one name, and one removes it concurrently: each value is returned once, or is
/// still there at the end.
#[test]
fn values_inserted_by_several_threads_are_removed_once() {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = 20_000;
    let table = Table::with_room(0);
    let out = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (table, out) = (&table, &out);
            scope.spawn(move || {
                let mut mine = Vec::new();
                for round in 0..ROUNDS {
                    // New names all the time, and each of them collides with those of other
                    // threads.
                    let place = name(round / 4 + round % 3);
                    let number = thread * ROUNDS + round;
                    mine.extend(table.insert(place.clone(), Arc::new(number)));
                    if (round + thread) % 2 == 0 {
                        mine.extend(table.remove(&place));
                    }
                }
                out.lock().unwrap().append(&mut mine);
            });
        }
    });
    let left: Vec<_> = (0..ROUNDS).filter_map(|number| table.remove(&name(number))).collect();
    assert_eq!(table.len(), 0);
    let mut all = out.into_inner().unwrap();
    all.extend(left);
    let mut all: Vec<u64> = all.into_iter().map(|it| *it).collect();
    all.sort_unstable();
    assert!(all.iter().copied().eq(0..THREADS * ROUNDS), "{} came out", all.len());
}
