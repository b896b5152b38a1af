//! Folders as users have them.

use std::fs;

use perfharness_gpu::testing::require_adapter;

use super::*;

#[test]
fn what_is_no_image_is_named_skipped_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let made = made(folder.path(), 3);
    let whole = fs::read(&made.files[1]).unwrap();
    fs::write(&made.files[1], &whole[..whole.len() / 2]).unwrap();
    fs::write(folder.path().join("00000-notes.txt"), "not an image").unwrap();
    fs::write(folder.path().join("empty.png"), "").unwrap();
    fs::create_dir(folder.path().join("folder.png")).unwrap();
    let opened = Folder::open(folder.path(), 10).unwrap();
    assert_eq!(opened.files, [made.files[0].clone(), made.files[2].clone()]);
    let lines: Vec<String> = opened.skipped_files().collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    for name in ["00000-notes.txt", "00001.png", "empty.png"] {
        assert!(lines.iter().any(|line| line.contains(name)), "{name}: {lines:?}");
    }
}

#[test]
fn an_image_is_known_by_what_it_holds() {
    let folder = tempfile::tempdir().unwrap();
    let made = made(folder.path(), 1);
    fs::rename(&made.files[0], folder.path().join("photograph.txt")).unwrap();
    assert_eq!(Folder::open(folder.path(), 1).unwrap().files.len(), 1);
}

#[test]
fn a_folder_without_images_is_an_error_that_says_what_was_tried() {
    let folder = tempfile::tempdir().unwrap();
    let open = |path: &Path| Folder::open(path, 5).unwrap_err().to_string();
    assert!(open(folder.path()).contains("there are no files"));
    fs::write(folder.path().join("broken.png"), b"\x89PNG\r\n\x1a\n and no more").unwrap();
    assert!(open(folder.path()).contains("broken.png"));
    assert!(open(&folder.path().join("missing")).contains("missing"));
}

#[test]
fn no_more_files_are_tried_than_are_wanted() {
    let folder = tempfile::tempdir().unwrap();
    made(folder.path(), 2);
    fs::write(folder.path().join("zzz.png"), "not an image").unwrap();
    let opened = Folder::open(folder.path(), 2).unwrap();
    assert_eq!((opened.files.len(), opened.skipped.len()), (2, 0));
}

#[test]
fn processes_that_make_the_files_at_once_all_find_them_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(move || {
                for file in made(path, 6).files {
                    pixels::decode(&file).unwrap();
                }
            });
        }
    });
    let files = made(path, 6).files;
    assert_eq!(fs::read_dir(path).unwrap().count(), 6, "a half-made file was left behind");
    let contents: std::collections::BTreeSet<Vec<u8>> =
        files.iter().map(|file| fs::read(file).unwrap()).collect();
    assert_eq!(contents.len(), 6, "the files are not distinct");
}

#[test]
fn fewer_images_than_the_case_has_are_taken_in_turns() {
    let Some(gpu) = require_adapter() else { return };
    let folder = tempfile::tempdir().unwrap();
    let two = made(folder.path(), 2);
    let mut placed = place(&gpu, OPTIMIZED, &params(5, 4, 1, 2), &two).unwrap();
    placed.load(1).unwrap();
    placed.run(0).unwrap();
    assert!(placed.check(0).unwrap().passed);
}

#[test]
fn a_file_that_goes_bad_between_is_named() {
    let Some(gpu) = require_adapter() else { return };
    let folder = tempfile::tempdir().unwrap();
    let three = made(folder.path(), 3);
    for variant in [SLOW, DOCUMENTED, OPTIMIZED] {
        let mut placed = place(&gpu, variant, &params(3, 4, 1, 2), &three).unwrap();
        let whole = fs::read(&three.files[2]).unwrap();
        fs::write(&three.files[2], &whole[..100]).unwrap();
        placed.load(1).unwrap();
        let error = placed.run(0).unwrap_err().to_string();
        assert!(error.contains("00002.png"), "{variant}: {error}");
        // What was recorded and not submitted is no obstacle to the next iteration.
        fs::write(&three.files[2], whole).unwrap();
        placed.run(1).unwrap();
        assert!(placed.check(1).unwrap().passed, "{variant}");
    }
}

#[test]
fn other_images_are_another_input() {
    let folder = tempfile::tempdir().unwrap();
    let made = made(folder.path(), 2);
    let before = made.digest().unwrap();
    assert_eq!(made.digest().unwrap(), before);
    fs::copy(&made.files[0], &made.files[1]).unwrap();
    assert_ne!(made.digest().unwrap(), before);
}
