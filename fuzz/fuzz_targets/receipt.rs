//! Any bytes as a receipt: a verdict, the same one twice, and what is read is what is written.

#![no_main]

use r1_receipt::json::Value;
use r1_receipt::key::KnownKey;
use r1_receipt::{Options, Receipt, file, verify};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let keys = [KnownKey::bare([7; 32])];
    let options = Options { keys: &keys, ..Options::default() };
    let report = verify(data, &options);
    assert_eq!(report.failure, verify(data, &options).failure);
    if Receipt::read(data).is_ok() {
        let text = std::str::from_utf8(data).expect("a receipt is UTF-8");
        assert_eq!(Value::read(text).expect("a receipt is canonical").to_text(), text);
    }
    if let Ok(canonical) = file::canonicalise(data) {
        assert!(Receipt::read(&canonical).is_ok());
        assert_eq!(file::canonicalise(&canonical).as_deref(), Ok(&canonical[..]));
    }
});
