#![no_main]
//! Fuzzes `perfharness::inputs::folder_index`.

libfuzzer_sys::fuzz_target!(|content: &[u8]| {
    perfharness::inputs::folder_index(content);
});
