//! Memory of an iteration, and the division of its images into batches. A pure function from limits to a plan.

use std::fmt;
use std::ops::Range;

use crate::dims::{FEATURES, WIDTH, image_values, tokens};

/// Requirements of a plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    /// Number of images in an iteration.
    pub(crate) images: usize,
    /// Edge of an image in pixels.
    pub(crate) size: usize,
    /// Size of one value of the pixels and tokens in bytes.
    pub(crate) value_bytes: u64,
    /// Number of images that the case wants in a batch.
    pub(crate) batch: usize,
    /// Device memory that may be used, in bytes.
    pub(crate) budget: u64,
    /// Largest binding of a shader in bytes.
    pub(crate) max_binding: u64,
}

/// A memory plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    images: usize,
    size: usize,
    value_bytes: u64,
    /// Number of images in each batch but the last.
    pub(crate) batch: usize,
    /// Whether all pixels stay on the device; otherwise each pass uploads them again.
    pub(crate) resident: bool,
}

/// Makes a plan. It never fails because of size: pixels that do not fit are streamed, if necessary image by image.
pub(crate) fn plan(need: &Need) -> Plan {
    let pixels = image_values(need.size) as u64 * need.value_bytes;
    // Two sets of tokens of the batch, and mean and deviation of each feature of the image.
    let tokens = 2 * (tokens(need.size) * WIDTH) as u64 * need.value_bytes;
    let moments = 8 * FEATURES as u64;
    let images = need.images as u64;
    // Once on the device, and in two readbacks of at most three snapshots each.
    let left = need.budget.saturating_sub(7 * images * moments);
    let bound = (need.max_binding / pixels).min(need.batch as u64).min(images).max(1);
    // Two staging slots of a batch each: the host fills one while the device reads the other.
    let resident = (images + 2 * bound) * pixels + bound * tokens <= left;
    // Streaming also takes two batches of pixels on the device.
    let streamed = (left / (4 * pixels + tokens)).max(1);
    let batch = if resident { bound } else { bound.min(streamed) } as usize;
    Plan { images: need.images, size: need.size, value_bytes: need.value_bytes, batch, resident }
}

impl Plan {
    /// Size of the pixels of one image in bytes.
    pub(crate) fn image_bytes(&self) -> u64 {
        image_values(self.size) as u64 * self.value_bytes
    }

    /// Size of the pixels of all images in bytes.
    pub(crate) fn tensor_bytes(&self) -> u64 {
        self.images as u64 * self.image_bytes()
    }

    /// Returns the images of each batch.
    pub(crate) fn batches(&self) -> Vec<Range<usize>> {
        (0..self.images).step_by(self.batch).map(|at| at..(at + self.batch).min(self.images)).collect()
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { images, size, value_bytes, batch, resident } = self;
        let megabytes = self.tensor_bytes() as f64 / 1e6;
        let fits = if *resident { "fits the budget whole" } else { "is streamed in every pass" };
        let batches = match self.batches().len() {
            1 => "1 batch".to_owned(),
            n => format!("{n} batches of up to {batch} images"),
        };
        write!(
            f,
            "{images} x 3 x {size} x {size} x {value_bytes} bytes = {megabytes:.1} MB of pixels, which {fits}; {batches}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEED: Need =
        Need { images: 500, size: 224, value_bytes: 4, batch: 64, budget: 16 << 30, max_binding: 128 << 20 };

    #[test]
    fn the_document_s_table_of_memory() {
        // Columns: images, pixels, megabytes, and whether they fit the document's 16 GB and 128 GB.
        for (images, size, megabytes, fits_16, fits_128) in [
            (500, 224, 301, true, true),
            (500, 384, 885, true, true),
            (5000, 224, 3011, true, true),
            (5000, 384, 8847, true, true),
            (10_000, 384, 17_695, false, true),
        ] {
            let fit = |budget| plan(&Need { images, size, budget, ..NEED });
            assert_eq!((fit(16 << 30).tensor_bytes() + 500_000) / 1_000_000, megabytes);
            assert_eq!(fit(16 << 30).resident, fits_16, "{images} {size}");
            assert_eq!(fit(128 << 30).resident, fits_128, "{images} {size}");
        }
        assert_eq!(
            plan(&NEED).to_string(),
            "500 x 3 x 224 x 224 x 4 bytes = 301.1 MB of pixels, which fits the budget whole; \
             8 batches of up to 64 images"
        );
    }

    #[test]
    fn batches_cover_all_images_once_and_fit_the_binding() {
        for images in [1, 7, 20, 500] {
            for batch in [1, 8, 64, 500] {
                for max_binding in [1 << 20, 16 << 20, 128 << 20] {
                    for budget in [0, 8 << 20, 64 << 20, 1 << 40] {
                        let plan = plan(&Need { images, batch, budget, max_binding, ..NEED });
                        let batches = plan.batches();
                        assert!(batches.iter().flat_map(Clone::clone).eq(0..images));
                        assert!(plan.batch as u64 * plan.image_bytes() <= max_binding);
                        assert!(plan.batch <= batch);
                    }
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_streamed_within_the_budget() {
        let plan = plan(&Need { budget: 64 << 20, ..NEED });
        assert!(!plan.resident);
        assert!(4 * plan.batch as u64 * plan.image_bytes() <= 64 << 20);
        assert!(plan.batch > 20, "{plan}");
    }
}
