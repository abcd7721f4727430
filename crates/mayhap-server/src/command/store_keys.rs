//! `BF.ADD` and `BF.EXISTS` on a filter in a store: those of several clients are executed together.

use super::call::Fault;
use super::store_answer::name;
use super::table;
use super::word::is;
use crate::Shared;
use crate::front::Front;
use crate::metrics::{Counter, Counts};
use crate::resp::Reply;
use mayhap_engine::Words;

/// The filter of requests for single keys, and whether they add them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OfKeys<'a> {
    pub(crate) adds: bool,
    pub(crate) name: &'a [u8],
}

/// A request for one key, or several of a client: the last words of the others follow that of the
/// first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyRequest<'a> {
    pub(crate) words: Words<'a>,
    pub(crate) requests: usize,
    pub(crate) is_resp3: bool,
}

/// The filter of a request for single keys; `None` for any other request.
pub(crate) fn of_keys(words: Words<'_>) -> Option<OfKeys<'_>> {
    let [command, name] = [words.get(0)?, words.get(1)?];
    let adds = is(command, "bf.add");
    (words.len() >= 3 && (adds || is(command, "bf.exists"))).then_some(OfKeys { adds, name })
}

/// Whether a request for one key, to which others may be joined already, and the next request are
/// the same but for the key: they are executed together then. Their order among themselves is
/// kept, and all other requests of the client wait for them.
pub(crate) fn are_joined(first: Words<'_>, next: Words<'_>) -> bool {
    let [Some(first), Some(second)] = [of_keys(first), of_keys(next)] else { return false };
    next.len() == 3 && first.adds == second.adds && first.name == second.name
}

/// Executes requests on this filter together, and returns the answers to each.
pub(crate) async fn on_keys(
    shared: &Shared,
    filter: OfKeys<'_>,
    requests: &[KeyRequest<'_>],
) -> Vec<Vec<u8>> {
    let answer = match shared.front() {
        Some(front) => ask(front, filter, requests).await,
        None => Err("ERR there is no store".into()),
    };
    let mut counts = Counts::default();
    if let Ok(yes) = &answer {
        if filter.adds {
            counts.add(Counter::ItemsAdded, yes.len() as u64);
        } else {
            counts.checked(yes.len(), yes.iter().filter(|&&yes| yes).count());
        }
    }
    write(shared, requests, (&answer, counts))
}

/// The answers to requests on this filter to which the store has not replied in time, or that were
/// not sent since it has not replied to those before them.
pub(crate) fn unanswered(
    shared: &Shared,
    filter: OfKeys<'_>,
    requests: &[KeyRequest<'_>],
) -> Vec<Vec<u8>> {
    let answer = match (shared.front(), name(filter.name)) {
        (Some(front), Ok(name)) => Err(front.note_silence(name, number(requests)).into()),
        (_, name) => Err(name.err().unwrap_or_else(|| "ERR there is no store".into())),
    };
    write(shared, requests, (&answer, Counts::default()))
}

fn number(requests: &[KeyRequest<'_>]) -> usize {
    requests.iter().map(|request| request.requests).sum()
}

async fn ask(
    front: &Front,
    filter: OfKeys<'_>,
    requests: &[KeyRequest<'_>],
) -> Result<Vec<bool>, Fault> {
    let name = name(filter.name)?;
    let keys: Vec<&[u8]> =
        requests.iter().flat_map(|request| request.words.from(2).iter()).collect();
    let number = number(requests);
    Ok(if filter.adds {
        front.ask_together(name, number, front.insert(name, &keys)).await?
    } else {
        front.ask_together(name, number, front.contains(name, &keys)).await?
    })
}

/// Writes the answers, one for each key, and counts them.
fn write(
    shared: &Shared,
    requests: &[KeyRequest<'_>],
    (answer, mut counts): (&Result<Vec<bool>, Fault>, Counts),
) -> Vec<Vec<u8>> {
    let mut yes = answer.iter().flatten();
    let answers = requests.iter().map(|request| {
        if let Some(command) = table::find(request.words.get(0).unwrap_or_default()) {
            // The first was counted where it was parsed.
            counts.add(command.right.family(), request.requests as u64 - 1);
        }
        let mut out = Vec::new();
        let mut reply = Reply::new(&mut out, request.is_resp3);
        match answer {
            Ok(_) => yes.by_ref().take(request.requests).for_each(|&yes| reply.boolean(yes)),
            Err(fault) => (0..request.requests).for_each(|_| reply.error(&fault.0)),
        }
        out
    });
    let answers = answers.collect();
    if answer.is_err() {
        counts.add(Counter::Errors, number(requests) as u64);
    }
    // Any lane counts correctly.
    shared.metrics.lane(0).take(&mut counts);
    answers
}
