//! Distinct image files, made once from a few photographs and kept for all processes.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use image::imageops::{self, FilterType};
use image::{ImageError, ImageFormat, RgbImage};
use perfharness_contract::{Digest, Failure, input_rng};
use rand_pcg::rand_core::Rng as _;

/// Version of the files, which is a part of the folder's name. It changes whenever the files would.
const VERSION: u32 = 1;
/// Size of the files, which is that of the photographs.
const FILE_SIZE: (u32, u32) = (320, 240);

const PHOTOGRAPHS: [&[u8]; 3] = [
    include_bytes!("../photographs/astronaut.png"),
    include_bytes!("../photographs/cat.png"),
    include_bytes!("../photographs/rocket.png"),
];

/// Returns the folder for the image files.
pub(crate) fn cache_folder() -> PathBuf {
    perfharness_platform::cache_folder().join(format!("mc-passes-images-{VERSION}"))
}

/// Digests of the first `n` files together, for the numbers of images that cases have.
const DIGESTS: [(usize, &str); 4] = [
    (1, "369f3b9d4d46bb5cb0cbc06378982a85"),
    (20, "41332d9dd43e933f9632a2444d0b183b"),
    (64, "0d12301dbfabc29e3047377e47e5cf71"),
    (500, "7967b20cf714286180282bc3af46ffd9"),
];

/// Returns the known digest of the first `count` files, if a case has that many.
pub(crate) fn known_digest(count: usize) -> Option<Digest> {
    DIGESTS.iter().find(|(known, _)| *known == count).map(|(_, digest)| Digest((*digest).to_owned()))
}

/// Returns the digest of the contents of files.
///
/// # Errors
/// Returns an error if one of them cannot be read.
pub(crate) fn digest(files: &[PathBuf]) -> Result<Digest, Failure> {
    let digests = files.iter().map(|file| Ok(Digest::of(&std::fs::read(file)?).0));
    let digests: Vec<String> = digests.collect::<Result<_, Failure>>()?;
    Ok(Digest::of_parts(digests.iter().map(String::as_bytes)))
}

/// Ensures that the first `count` files exist with the right contents, and returns their paths. Several processes may
/// do so at once: each file appears complete or not at all, and is the same whoever writes it.
///
/// # Errors
/// Returns an error if a file cannot be written.
pub(crate) fn make_files(folder: &Path, count: usize) -> Result<Vec<PathBuf>, Failure> {
    let paths: Vec<PathBuf> = (0..count).map(|i| folder.join(format!("{i:05}.png"))).collect();
    let due = known_digest(count);
    let is_right = || match &due {
        Some(due) => digest(&paths).is_ok_and(|found| found == *due),
        None => paths.iter().all(|path| is_complete(path)),
    };
    // Complete files with other contents, left by an earlier version or by somebody else, are all written again.
    for again in [false, true] {
        if is_right() {
            break;
        }
        let wrong = paths.iter().enumerate().filter(|(_, path)| again || !is_complete(path));
        make(folder, wrong)?;
    }
    Ok(paths)
}

/// Writes files by their numbers.
fn make<'a>(folder: &Path, files: impl Iterator<Item = (usize, &'a PathBuf)>) -> Result<(), Failure> {
    let failed = |error: ImageError| Failure::Failed(format!("images in {}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(|error| {
        let folder = folder.display();
        Failure::Failed(format!(
            "cannot make the folder {folder}: {error}; name another in PERFHARNESS_CACHE"
        ))
    })?;
    let decode = |bytes| image::load_from_memory(bytes).map(|image| image.to_rgb8());
    let photographs = PHOTOGRAPHS.map(decode).into_iter().collect::<Result<Vec<_>, _>>().map_err(failed)?;
    for (i, path) in files {
        let made = vary(&photographs[i % photographs.len()], i as u64);
        write_at_once(folder, path, &made).map_err(failed)?;
    }
    Ok(())
}

/// Returns a crop of a photograph, with its own colours and brightness.
fn vary(photograph: &RgbImage, number: u64) -> RgbImage {
    let mut rng = input_rng(0, "mc-passes images", number);
    let mut draw =
        |least: f64, most: f64| least + (most - least) * f64::from(rng.next_u32()) / 4_294_967_296.0;
    let (width, height) = FILE_SIZE;
    let share = draw(0.7, 1.0);
    let part = |length: u32| (f64::from(length) * share) as u32;
    let (w, h) = (part(width), part(height));
    let (left, top) = (draw(0.0, f64::from(width - w)) as u32, draw(0.0, f64::from(height - h)) as u32);
    let cut = imageops::crop_imm(photograph, left, top, w, h).to_image();
    let mut made = imageops::resize(&cut, width, height, FilterType::Triangle);
    let gains = [draw(0.7, 1.2), draw(0.7, 1.2), draw(0.7, 1.2)];
    let lift = draw(-20.0, 20.0);
    for pixel in made.pixels_mut() {
        for (value, gain) in pixel.0.iter_mut().zip(gains) {
            *value = (f64::from(*value) * gain + lift).clamp(0.0, 255.0) as u8;
        }
    }
    made
}

/// Whether a file exists and is complete: a PNG file ends with a chunk that says so.
fn is_complete(path: &Path) -> bool {
    const END: &[u8] = b"IEND\xAE\x42\x60\x82";
    std::fs::read(path).is_ok_and(|bytes| bytes.ends_with(END))
}

/// Writes under a temporary name first, which is unique to this call. An ordinary temporary file could not be read by
/// other users, and the folder may be shared.
fn write_at_once(folder: &Path, path: &Path, image: &RgbImage) -> Result<(), ImageError> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let draft = folder.join(format!("draft-{}-{number}.tmp", std::process::id()));
    let mut bytes = io::Cursor::new(Vec::new());
    image.write_to(&mut bytes, ImageFormat::Png)?;
    std::fs::write(&draft, bytes.get_ref())?;
    match std::fs::rename(&draft, path) {
        // An open file may not be replaceable; then another process was faster.
        Err(_) if is_complete(path) => Ok(std::fs::remove_file(&draft)?),
        renamed => Ok(renamed?),
    }
}
