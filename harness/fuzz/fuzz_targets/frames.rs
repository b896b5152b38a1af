#![no_main]
//! Fuzzes `perfharness::inputs::frames`.

libfuzzer_sys::fuzz_target!(|content: &[u8]| {
    perfharness::inputs::frames(content);
});
