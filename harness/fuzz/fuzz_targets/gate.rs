#![no_main]
//! Fuzzes `perfharness::inputs::gate`.

libfuzzer_sys::fuzz_target!(|content: &[u8]| {
    perfharness::inputs::gate(content);
});
