//! Header text → key options → keys of arbitrary lines → header text again.
//!
//! The input up to the first NUL is the text of the header, the rest is lines. Oracles: options
//! that were read are written and read again as the same, and agree with themselves; a line without
//! a key leaves earlier keys alone; a key in normal form is its own normal form, and so is each of
//! its expressions; the table has the keys that the cutter cut, in runs that cover all lines.
//! Records of CSV end in the same places however their text is cut.
use mayhap_keys::{CsvRecords, Cutter, Fields, KeyOptions, KeyTable, for_each_expression};

pub(super) fn run(data: &[u8]) {
    let (text, lines) = match data.iter().position(|&byte| byte == 0) {
        Some(at) => (&data[..at], &data[at + 1..]),
        None => (data, &b""[..]),
    };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let options = match KeyOptions::from_header("f", text) {
        Ok(options) => options,
        Err(error) => {
            let message = error.to_string();
            assert!(!message.chars().any(char::is_control), "{message:?} would reach a terminal");
            return;
        }
    };
    let header = options.to_header();
    assert!(header.len() <= 2048, "{} bytes", header.len());
    let again = KeyOptions::from_header("f", &header).expect("a header that was written");
    assert!(again == options, "{options:?} became {again:?}");
    assert!(again.to_header() == header && again.cuts_like(&options));
    assert!(options.clone().agree("f", &options).is_ok());
    assert!(!options.describe().chars().any(char::is_control));
    if options.csv {
        check_records(&options, lines);
    }
    if let Some(cutter) = Cutter::new(&options) {
        check(&options, cutter, lines.split(|&byte| byte == options.separator()));
    }
}

/// Cut in two at a place that the text itself decides.
fn check_records(options: &KeyOptions, text: &[u8]) {
    let cut = text.first().map_or(0, |first| usize::from(*first).min(text.len()));
    let records = || CsvRecords::new(options.delim(), options.separator());
    let (mut whole, mut pieces) = (Vec::new(), Vec::new());
    records().ends(text, 0, &mut whole);
    let mut in_pieces = records();
    in_pieces.ends(&text[..cut], 0, &mut pieces);
    in_pieces.ends(text, cut, &mut pieces);
    assert!(whole == pieces, "{whole:?} became {pieces:?}");
    // Each record ends nowhere before its end.
    let mut start = 0;
    for end in whole {
        let mut ends = Vec::new();
        records().ends(&text[start..end], 0, &mut ends);
        assert!(ends == [end - start], "{ends:?} in {}", text[start..end].escape_ascii());
        start = end;
    }
}

/// Whether the host of an expression can be one of the web, so that its suffixes are hosts, too:
/// `a.1.2` is none, but `1.2` is an address; bytes that are no text are escaped, and spoil the
/// international names beside them.
fn is_of_the_web(expression: &[u8]) -> bool {
    let host = expression.split(|byte| *byte == b'/').next().unwrap_or_default();
    let last = host.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._".contains(byte);
    host.iter().all(is_plain) && !last.first().is_some_and(u8::is_ascii_digit)
}

fn check<'a>(
    options: &KeyOptions,
    mut cutter: Cutter,
    lines: impl Iterator<Item = &'a [u8]> + Clone,
) {
    let form = KeyOptions {
        trim: options.trim,
        lower: options.lower,
        upper: options.upper,
        fold: options.fold,
        normalize_url: options.normalize_url,
        domain: options.domain,
        url_prefixes: options.url_prefixes,
        ..KeyOptions::default()
    };
    let mut normal = Cutter::new(&form);
    let are_several = options.field.as_ref().is_some_and(Fields::are_several);
    let mut keys = Vec::new();
    let mut cut = Vec::new();
    for line in lines.clone() {
        let start = keys.len();
        if cutter.cut(line, &mut keys).is_err() {
            assert_eq!(keys.len(), start, "a key that is none");
            cut.push(None);
            continue;
        }
        let key = keys[start..].to_vec();
        // The bytes of hex digits are arbitrary, a hash has no form, and each field has its own.
        let has_form = !options.hex && !options.sha1 && !are_several;
        if let Some(normal) = normal.as_mut().filter(|_| has_form) {
            let mut is_normal = |key: &[u8]| {
                let mut again = Vec::new();
                normal.cut(key, &mut again).expect("a key in normal form");
                assert!(again == key, "{:?} became {:?}", key.escape_ascii(), again.escape_ascii());
            };
            is_normal(&key);
            if options.url_prefixes && is_of_the_web(&key) {
                for_each_expression(&key, is_normal);
            }
        }
        cut.push(Some(key));
    }
    let mut table = KeyTable::default();
    table.cut(&mut cutter, lines);
    let mut at = 0;
    while at < cut.len() {
        let (run, why) = table.run_from(at..cut.len());
        assert!(run.start == at && run.end > at);
        if why.is_none() {
            let wanted = cut[run.clone()].iter().flatten();
            assert!(table.keys(run.clone()).eq(wanted.map(Vec::as_slice)));
        } else {
            assert!(cut[run.clone()].iter().all(Option::is_none));
        }
        at = run.end;
    }
}
