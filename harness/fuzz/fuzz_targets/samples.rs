#![no_main]
//! Fuzzes `perfharness::inputs::samples`.

libfuzzer_sys::fuzz_target!(
    init: {
        // The decoding library panics on some damage, and the panic is caught; libFuzzer would end at each panic.
        drop(std::panic::take_hook());
    },
    |content: &[u8]| {
        perfharness::inputs::samples(content);
    }
);
