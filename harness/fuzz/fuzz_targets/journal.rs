#![no_main]
//! Fuzzes `perfharness::inputs::journal`.

libfuzzer_sys::fuzz_target!(|content: &[u8]| {
    perfharness::inputs::journal(content);
});
