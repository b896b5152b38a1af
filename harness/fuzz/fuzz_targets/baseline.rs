#![no_main]
//! Fuzzes `perfharness::inputs::baseline`.

libfuzzer_sys::fuzz_target!(|content: &[u8]| {
    perfharness::inputs::baseline(content);
});
