//! Bytes → the three forms of bits-and-blooms.
//!
//! Oracles: a decoded filter is encoded to the same bytes (JSON: to bytes that decode to the same);
//! no large allocation; it keeps working without a panic.
use mayhap_formats::{BitsAndBloomsFilter, BitsAndBloomsForm, ForeignFilter};
use mayhap_fuzz::{LIMITS, go_on, open_foreign};

pub(super) fn run(data: &[u8]) {
    let Some(mut filter) = open_foreign(data, BitsAndBloomsFilter::decode) else { return };
    let bytes = filter.encode();
    if filter.form() == BitsAndBloomsForm::Json {
        let again = BitsAndBloomsFilter::decode(&bytes, &LIMITS).expect("the written bytes");
        assert!(again.encode() == bytes, "encoded otherwise");
    } else {
        assert!(bytes == data, "encoded otherwise");
    }
    go_on(&mut filter);
}
