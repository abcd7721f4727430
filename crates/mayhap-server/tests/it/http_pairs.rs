//! Requests that have the same answers as commands and over HTTP.

/// The common part of the answers to a request in both forms.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Same {
    /// The answer, which over HTTP is this member of the JSON.
    Answer(&'static str),
    /// A new filter: `OK`, and its description.
    Made,
    /// Success in both: 1 or `OK`, and this status.
    Done(u16),
    /// The error; over HTTP it has this status.
    Error(u16),
    /// Only that there is an error: the text is that of `RedisBloom`.
    Refusal(u16),
}
use Same::{Answer, Done, Error, Made, Refusal};

pub(crate) type Pair = (Same, &'static str, &'static str, &'static str);

/// Requests in order, each as a command and over HTTP, to servers with the filters that the test
/// creates.
pub(crate) const PAIRS: &[Pair] = &[
    (Answer("new"), "BF.MADD counts a b b", "POST counts/add", r#"{"items":["a","b","b"]}"#),
    (Answer("present"), "BF.MEXISTS counts a c", "POST counts/check", r#"{"items":["a","c"]}"#),
    (Refusal(404), "BF.INFO none", "GET none", ""),
    // Filters created by an insertion.
    (
        Answer("new"),
        "BF.INSERT made CAPACITY 100 ERROR 0.001 COUNTING ITEMS a a b",
        "POST made/add",
        r#"{"items":["a","a","b"],"create":{"capacity":100,"target_fpp":0.001,"counting":true}}"#,
    ),
    (
        Answer("new"),
        "BF.INSERT copies LAYOUT compact ITEMS a a b",
        "POST copies/add",
        r#"{"items":["a","a","b"],"create":{"layout":"compact"}}"#,
    ),
    (Answer("present"), "BF.REM copies a a a", "POST copies/remove", r#"{"items":["a","a","a"]}"#),
    (Answer("items"), "BF.CARD copies", "GET copies", ""),
    (
        Answer("new"),
        "BF.INSERT made NONSCALING ITEMS b c",
        "POST made/add",
        r#"{"items":["b","c"],"create":{"fixed":true}}"#,
    ),
    (Answer("present"), "BF.REM made a", "POST made/remove", r#"{"items":["a"]}"#),
    (Answer("new"), "BF.MADD more a", "POST more/add", r#"{"items":["a"],"create":{}}"#),
    (Done(204), "DEL more", "DELETE more", ""),
    (Refusal(404), "BF.INSERT more NOCREATE ITEMS a", "POST more/add", r#"{"items":["a"]}"#),
    (
        Refusal(400),
        "BF.INSERT more CAPACITY 0 ITEMS a",
        "POST more/add",
        r#"{"items":["a"],"create":{"capacity":0}}"#,
    ),
    (Refusal(404), "BF.INFO more", "GET more", ""),
    // Removals: each once, and only from counting filters.
    (
        Answer("present"),
        "BF.REM counts b c a b",
        "POST counts/remove",
        r#"{"items":["b","c","a","b"]}"#,
    ),
    (Answer("present"), "BF.MEXISTS counts a b", "POST counts/check", r#"{"items":["a","b"]}"#),
    (Error(409), "BF.REM plain a", "POST plain/remove", r#"{"items":["a"]}"#),
    (Error(409), "BF.REM fixed a", "POST fixed/remove", r#"{"items":["a"]}"#),
    (Error(409), "BF.REM recent a", "POST recent/remove", r#"{"items":["a"]}"#),
    (Refusal(404), "BF.REM none a", "POST none/remove", r#"{"items":["a"]}"#),
    // Ages, only of windows.
    (Answer("new"), "BF.MADD recent a b c", "POST recent/add", r#"{"items":["a","b","c"]}"#),
    (Answer("ages"), "BF.AGE recent a c x", "POST recent/age", r#"{"items":["a","c","x"]}"#),
    (Error(409), "BF.AGE plain a", "POST plain/age", r#"{"items":["a"]}"#),
    (Error(409), "BF.AGE counts a", "POST counts/age", r#"{"items":["a"]}"#),
    (Refusal(404), "BF.AGE none a", "POST none/age", r#"{"items":["a"]}"#),
    // Several filters; one that does not exist has nothing, one that is named twice has it twice.
    (Answer("new"), "BF.MADD plain a x", "POST plain/add", r#"{"items":["a","x"]}"#),
    (
        Answer("which"),
        "BF.WHICH 5 recent none plain counts plain a x z",
        "POST /v1/which",
        r#"{"names":["recent","none","plain","counts","plain"],"items":["a","x","z"]}"#,
    ),
    (
        Answer("which"),
        "BF.WHICH 3 fixed plain recent a b",
        "POST /v1/which",
        r#"{"match":"[fpr]*","items":["a","b"]}"#,
    ),
    // Expiry.
    (
        Done(200),
        "PEXPIREAT plain 4000000000000",
        "PUT plain/expiry",
        r#"{"expires_at":4000000000000}"#,
    ),
    (Answer("expires_at"), "PEXPIRETIME plain", "GET plain", ""),
    (Done(200), "EXPIRE counts 100", "PUT counts/expiry", r#"{"expires_in":"100s"}"#),
    (Done(200), "PERSIST counts", "DELETE counts/expiry", ""),
    (Done(204), "PEXPIREAT fixed 1", "PUT fixed/expiry", r#"{"expires_at":1}"#),
    (Refusal(404), "BF.INFO fixed", "GET fixed", ""),
    // Names.
    (Done(200), "RENAMENX counts other", "POST counts/rename", r#"{"to":"other"}"#),
    (Refusal(404), "RENAME counts other", "POST counts/rename", r#"{"to":"other"}"#),
    (Done(200), "RENAME recent other", "POST recent/rename", r#"{"to":"other","replace":true}"#),
    (Refusal(404), "BF.INFO recent", "GET recent", ""),
    (Answer("items"), "BF.CARD other", "GET other", ""),
];

/// Every option of a new filter, and all contradictory combinations.
pub(crate) const NEW: &[Pair] = &[
    (Made, "BF.RESERVE new 0.01 100", "PUT new", r#"{"target_fpp":0.01,"capacity":100}"#),
    (Error(409), "BF.RESERVE new 0.01 100", "PUT new", r#"{"target_fpp":0.01,"capacity":100}"#),
    (
        Made,
        "BF.RESERVE grow 0.001 5000 EXPANSION 4",
        "PUT grow",
        r#"{"target_fpp":0.001,"capacity":5000,"expansion":4}"#,
    ),
    (
        Made,
        "BF.RESERVE scale 0.01 100 VALIDATESCALETO 1000000",
        "PUT scale",
        r#"{"target_fpp":0.01,"capacity":100,"scale_to":1000000}"#,
    ),
    (
        Refusal(507),
        "BF.RESERVE no 0.01 100 VALIDATESCALETO 1000000000",
        "PUT no",
        r#"{"target_fpp":0.01,"capacity":100,"scale_to":1000000000}"#,
    ),
    (
        Made,
        "BF.RESERVE fix 0.01 100 NONSCALING",
        "PUT fix",
        r#"{"target_fpp":0.01,"capacity":100,"fixed":true}"#,
    ),
    (
        Made,
        "BF.RESERVE zero 0.01 100 EXPANSION 0",
        "PUT zero",
        r#"{"target_fpp":0.01,"capacity":100,"expansion":0}"#,
    ),
    (
        Made,
        "BF.RESERVE auto 0.01 100 NONSCALING LAYOUT auto",
        "PUT auto",
        r#"{"target_fpp":0.01,"capacity":100,"fixed":true,"layout":"auto"}"#,
    ),
    (
        Made,
        "BF.RESERVE blocked 0.01 100 NONSCALING LAYOUT blocked",
        "PUT blocked",
        r#"{"target_fpp":0.01,"capacity":100,"fixed":true,"layout":"blocked"}"#,
    ),
    (
        Made,
        "BF.RESERVE standard 0.01 100 EXPANSION 0 LAYOUT standard",
        "PUT standard",
        r#"{"target_fpp":0.01,"capacity":100,"expansion":0,"layout":"standard"}"#,
    ),
    (
        Made,
        "BF.RESERVE compact 0.01 100 LAYOUT compact",
        "PUT compact",
        r#"{"target_fpp":0.01,"capacity":100,"layout":"compact"}"#,
    ),
    (
        Made,
        "BF.RESERVE doubles 0.01 100 LAYOUT compact EXPANSION 2",
        "PUT doubles",
        r#"{"target_fpp":0.01,"capacity":100,"layout":"compact","expansion":2}"#,
    ),
    (
        Made,
        "BF.RESERVE count 0.01 100 COUNTING",
        "PUT count",
        r#"{"target_fpp":0.01,"capacity":100,"counting":true}"#,
    ),
    (
        Made,
        "BF.RESERVE last 0.01 100 WINDOW 1400",
        "PUT last",
        r#"{"target_fpp":0.01,"capacity":100,"window":1400}"#,
    ),
    (
        Made,
        "BF.RESERVE week 0.01 100 WINDOW 7d",
        "PUT week",
        r#"{"target_fpp":0.01,"capacity":100,"window":"7d"}"#,
    ),
    (
        Made,
        "BF.RESERVE first 0.01 100 WINDOW 7d NOREFRESH",
        "PUT first",
        r#"{"target_fpp":0.01,"capacity":100,"window":"7d","refresh":false}"#,
    ),
    (
        Made,
        "BF.RESERVE halves 0.01 100 CLEARAT 0.5",
        "PUT halves",
        r#"{"target_fpp":0.01,"capacity":100,"clear_at":0.5}"#,
    ),
    (
        Made,
        "BF.RESERVE tight 0.01 100 TIGHTENING 0.5",
        "PUT tight",
        r#"{"target_fpp":0.01,"capacity":100,"tightening":0.5}"#,
    ),
    (
        Made,
        "BF.RESERVE open 0.01 100 KEYED no",
        "PUT open",
        r#"{"target_fpp":0.01,"capacity":100,"keyed":false}"#,
    ),
    (
        Made,
        "BF.RESERVE seed 0.01 100 SEED 0123456789abcdef0123456789abcdef",
        "PUT seed",
        r#"{"target_fpp":0.01,"capacity":100,"seed":"0123456789abcdef0123456789abcdef"}"#,
    ),
    (
        Made,
        "BF.RESERVE seed64 0.01 100 SEED 0123456789abcdef0123456789abcdef KEYED no",
        "PUT seed64",
        r#"{"target_fpp":0.01,"capacity":100,"keyed":false,
            "seed_base64":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}"#,
    ),
    // Contradictions.
    (
        Refusal(400),
        "BF.RESERVE no 0.1 9 NONSCALING VALIDATESCALETO 10",
        "PUT no",
        r#"{"fixed":true,"scale_to":10}"#,
    ),
    (
        Refusal(400),
        "BF.RESERVE no 0.1 9 NONSCALING EXPANSION 2",
        "PUT no",
        r#"{"fixed":true,"expansion":2}"#,
    ),
    (
        Refusal(400),
        "BF.RESERVE no 0.1 9 KEYED yes SEED 0123456789abcdef0123456789abcdef",
        "PUT no",
        r#"{"keyed":true,"seed":"0123456789abcdef0123456789abcdef"}"#,
    ),
    (
        Refusal(400),
        "BF.RESERVE no 0.1 9 COUNTING WINDOW 5",
        "PUT no",
        r#"{"counting":true,"window":5}"#,
    ),
    (
        Refusal(400),
        "BF.RESERVE no 0.1 9 LAYOUT compact COUNTING",
        "PUT no",
        r#"{"layout":"compact","counting":true}"#,
    ),
    (
        Refusal(400),
        "BF.RESERVE no 0.1 9 COUNTING NONSCALING",
        "PUT no",
        r#"{"counting":true,"fixed":true}"#,
    ),
    (
        Refusal(400),
        "BF.RESERVE no 0.1 9 WINDOW 5 NONSCALING",
        "PUT no",
        r#"{"window":5,"fixed":true}"#,
    ),
    (
        Refusal(400),
        "BF.RESERVE no 0.1 9 WINDOW 5 CLEARAT 0.5",
        "PUT no",
        r#"{"window":5,"clear_at":0.5}"#,
    ),
    (Refusal(400), "BF.RESERVE no 0.1 9 NOREFRESH", "PUT no", r#"{"refresh":false}"#),
    (Refusal(400), "BF.RESERVE no 0.1 9 LAYOUT blocked", "PUT no", r#"{"layout":"blocked"}"#),
];
