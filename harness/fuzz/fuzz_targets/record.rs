#![no_main]
//! Fuzzes `perfharness::inputs::record`.

libfuzzer_sys::fuzz_target!(|content: &[u8]| {
    perfharness::inputs::record(content);
});
