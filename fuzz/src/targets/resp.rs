//! A byte that determines the cuts, then bytes → requests.
//!
//! Oracles: bytes mean the same requests, or the same error after the same requests, whether they
//! arrive at once, cut in two, in pieces of one size, or byte by byte; consumed bytes had arrived;
//! words lie inside the bytes and within the limits; memory is bounded by the bytes that arrived,
//! not by announced lengths; requests that were read mean the same when they are written as arrays.
use mayhap_fuzz::limited_to;
use mayhap_server::resp::{Limits, Malformed, Parser, Reply};

type Request = Vec<Vec<u8>>;

pub(super) fn run(data: &[u8]) {
    let Some((&cut, input)) = data.split_first() else { return };
    for limits in [Limits::default(), Limits::UNAUTHENTICATED] {
        let whole = parse(input, input.len().max(1), 0, &limits);
        let cut = usize::from(cut);
        for (piece, first) in [(1, 0), (cut.max(1), 0), (input.len().max(1), cut)] {
            assert_eq!(parse(input, piece, first, &limits), whole, "{piece} {first}");
        }
        again(&whole.0, &limits);
    }
}

/// The requests of `input` given in pieces of this size, after a first one of another, and how it
/// ended: the bytes that were used, or an error.
fn parse(
    input: &[u8],
    piece: usize,
    first: usize,
    limits: &Limits,
) -> (Vec<Request>, Result<usize, Malformed>) {
    let (mut parser, mut places, mut requests) = (Parser::new(), Vec::new(), Vec::new());
    let (mut start, mut there) = (0, first.min(input.len()));
    loop {
        let rest = &input[start..there];
        let was_skipping = parser.is_skipping();
        // A place takes 8 bytes and a word of an array 5 at least, in a line 2; vectors double.
        let found = limited_to(4096 + 16 * rest.len(), || parser.parse(rest, &mut places, limits));
        match found {
            Ok(Some(used)) => {
                assert!(used > 0 && used <= rest.len(), "{used} of {}", rest.len());
                assert!(used <= limits.max_request_bytes as usize);
                assert!(places.len() <= limits.max_words as usize);
                let words = parser.words(rest, &places);
                assert!((0..places.len()).all(|index| words.get(index).is_some()));
                let words: Request = words.iter().map(<[u8]>::to_vec).collect();
                assert!(
                    words.iter().all(|word| word.len() <= limits.max_chunk_bytes as usize + 65536)
                );
                let refusal = parser.take_refusal();
                assert!(refusal.is_none() || (words.is_empty() && !was_skipping));
                // Skipped bytes have no answer, in however many pieces they arrive.
                if !was_skipping {
                    requests.push(words);
                }
                start += used;
            }
            Ok(None) if there == input.len() => return (requests, Ok(start)),
            Ok(None) => there = (there + piece).min(input.len()),
            Err(error) => {
                assert!(error.0.len() < 200 && !error.0.contains(['\r', '\n']));
                return (requests, Err(error));
            }
        }
    }
}

/// Requests written as a client writes them are read as the same.
fn again(requests: &[Request], limits: &Limits) {
    let mut bytes = Vec::new();
    let mut reply = Reply::new(&mut bytes, false);
    for request in requests {
        reply.array(request.len());
        request.iter().for_each(|word| reply.bulk(word));
    }
    // A word of a line may be longer than one of an array.
    let long = |word: &Vec<u8>| word.len() > limits.max_word_bytes as usize;
    if requests.iter().flatten().any(long) {
        return;
    }
    let (read, end) = parse(&bytes, bytes.len().max(1), 0, limits);
    assert_eq!((&read[..], end), (requests, Ok(bytes.len())));
}
