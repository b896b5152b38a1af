#![no_main]
//! Fuzzes `perfharness::inputs::page`.

libfuzzer_sys::fuzz_target!(|content: &[u8]| {
    perfharness::inputs::page(content);
});
