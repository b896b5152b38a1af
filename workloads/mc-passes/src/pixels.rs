//! Conversion of a file to the values that the encoder takes.

use std::path::{Path, PathBuf};

use half::f16;
use image::imageops::FilterType;
use image::{DynamicImage, ImageError, ImageReader};
use perfharness_contract::{Counter, Failure, Setup};

use crate::dims::COLORS;

/// Number of files decoded. This is work of which the variants do unequal amounts.
pub(crate) const DECODES: &str = "decodes";
/// Number of images resized and normalised.
pub(crate) const RESIZES: &str = "resizes";

/// Mean and standard deviation of the colours, as in CLIP's image processor.
const MEAN: [f32; COLORS] = [0.481_454_66, 0.457_827_5, 0.408_210_73];
const DEVIATION: [f32; COLORS] = [0.268_629_54, 0.261_302_6, 0.275_777_1];

/// Decodes a file by its contents and not by its name.
///
/// # Errors
/// Returns an error if the file cannot be read or is not an image of a known format.
pub(crate) fn decode(path: &Path) -> Result<DynamicImage, ImageError> {
    ImageReader::open(path)?.with_guessed_format()?.decode()
}

/// A number type in which pixels are stored.
pub(crate) trait Value {
    fn of(value: f32) -> Self;
}

impl Value for f32 {
    fn of(value: f32) -> Self {
        value
    }
}

impl Value for f16 {
    fn of(value: f32) -> Self {
        Self::from_f32(value)
    }
}

/// Loads files as the document's program does: open, decode, convert to RGB, resize, normalise.
#[derive(Clone, Debug)]
pub(crate) struct Loader {
    pub(crate) files: Vec<PathBuf>,
    size: usize,
    decodes: Counter,
    resizes: Counter,
}

impl Loader {
    pub(crate) fn new(files: Vec<PathBuf>, size: usize, setup: &Setup) -> Self {
        Self { files, size, decodes: setup.counter(DECODES), resizes: setup.counter(RESIZES) }
    }

    /// Appends the values of file `at`, one colour after the other, row by row.
    ///
    /// # Errors
    /// Returns an error if the file, which could be decoded before, no longer can.
    pub(crate) fn load<T: Value>(&self, at: usize, values: &mut Vec<T>) -> Result<(), Failure> {
        let path = &self.files[at];
        let decoded =
            decode(path).map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))?;
        self.decodes.add(1);
        let size = self.size as u32;
        let resized = image::imageops::resize(&decoded.into_rgb8(), size, size, FilterType::Triangle);
        self.resizes.add(1);
        for color in 0..COLORS {
            let normalise = |value: u8| (f32::from(value) / 255.0 - MEAN[color]) / DEVIATION[color];
            values.extend(resized.pixels().map(|pixel| T::of(normalise(pixel.0[color]))));
        }
        Ok(())
    }

    /// Returns the values of several files, one after the other.
    ///
    /// # Errors
    /// See [`load`](Self::load).
    pub(crate) fn load_all<T: Value>(&self, files: &[usize]) -> Result<Vec<T>, Failure> {
        let mut values = Vec::with_capacity(files.len() * crate::dims::image_values(self.size));
        self.load_into(files, &mut values)?;
        Ok(values)
    }

    /// As [`load_all`](Self::load_all), but replaces the contents of `values`.
    ///
    /// # Errors
    /// See [`load`](Self::load).
    pub(crate) fn load_into<T: Value>(&self, files: &[usize], values: &mut Vec<T>) -> Result<(), Failure> {
        values.clear();
        files.iter().try_for_each(|at| self.load(*at, values))
    }
}
