//! Colours of plots, after Okabe and Ito, whose palette is distinguishable with any colour vision.

use plotters::style::RGBColor;

/// Text and axes.
pub(crate) const INK: RGBColor = RGBColor(0x1c, 0x21, 0x28);
/// Text that is less important.
pub(crate) const MUTED: RGBColor = RGBColor(0x59, 0x63, 0x6e);
/// Guide lines.
pub(crate) const GRID: RGBColor = RGBColor(0xd8, 0xde, 0xe4);
/// A change for the better.
pub(crate) const GOOD: RGBColor = RGBColor(0x1a, 0x7f, 0x37);
/// A change for the worse.
pub(crate) const BAD: RGBColor = RGBColor(0xc9, 0x25, 0x2d);
/// An open question.
pub(crate) const OPEN: RGBColor = RGBColor(0x95, 0x67, 0x00);

/// Variants and parts: slow, documented, optimized, five others, idle, and the rest.
const HUES: [RGBColor; 10] = [
    RGBColor(0xd5, 0x5e, 0x01),
    RGBColor(0x01, 0x72, 0xb2),
    RGBColor(0x01, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xe6, 0x9f, 0x01),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0x7f, 0x5a, 0xb6),
    RGBColor(0x8c, 0x6d, 0x46),
    RGBColor(0xc4, 0xcb, 0xd2),
    RGBColor(0x8b, 0x96, 0xa1),
];

/// Returns the colour at a position of the palette.
pub(crate) fn hue(at: usize) -> RGBColor {
    HUES[at % HUES.len()]
}

/// Returns all colours as SVG writes them.
#[cfg(test)]
pub(crate) fn all() -> Vec<String> {
    let named = [INK, MUTED, GRID, GOOD, BAD, OPEN];
    named.iter().chain(&HUES).map(|c| format!("#{:02X}{:02X}{:02X}", c.0, c.1, c.2)).collect()
}
