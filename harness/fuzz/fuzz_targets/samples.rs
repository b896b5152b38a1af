#![no_main]
//! Fuzzes `perfharness::inputs::samples`.

libfuzzer_sys::fuzz_target!(
    init: {
        // The library that decodes panics on some damage, which is caught; libFuzzer would end at each panic.
        drop(std::panic::take_hook());
    },
    |content: &[u8]| {
        perfharness::inputs::samples(content);
    }
);
