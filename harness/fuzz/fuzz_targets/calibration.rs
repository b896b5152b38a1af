#![no_main]
//! Fuzzes `perfharness::inputs::calibration`.

libfuzzer_sys::fuzz_target!(|content: &[u8]| {
    perfharness::inputs::calibration(content);
});
