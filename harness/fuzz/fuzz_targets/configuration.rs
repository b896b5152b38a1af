#![no_main]
//! Fuzzes `perfharness::inputs::configuration`.

libfuzzer_sys::fuzz_target!(|content: &[u8]| {
    perfharness::inputs::configuration(content);
});
