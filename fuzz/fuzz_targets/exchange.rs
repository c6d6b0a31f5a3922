#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| r1_fuzz::exchange(data));
