//! Tests of folders as users have them.

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
fn whole_files_that_hold_something_else_are_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let made = made(folder.path(), 20);
    assert_eq!(photographs::digest(&made.files).ok(), photographs::known_digest(20));
    let before = fs::read(&made.files[0]).unwrap();
    fs::copy(&made.files[1], &made.files[0]).unwrap();
    fs::write(&made.files[7], "cut off").unwrap();
    photographs::make_files(folder.path(), 20).unwrap();
    assert_eq!(fs::read(&made.files[0]).unwrap(), before);
    assert_eq!(photographs::digest(&made.files).ok(), photographs::known_digest(20));
    assert_eq!(photographs::known_digest(1), Some(photographs::digest(&made.files[..1]).unwrap()));
}

#[test]
fn every_number_of_images_of_a_case_has_a_known_digest() {
    for case in &workload().definition().cases {
        let images = case.params["images"].as_u64().unwrap() as usize;
        assert!(photographs::known_digest(images).is_some(), "{}", case.id);
    }
}

#[test]
fn of_many_files_that_are_no_images_a_few_are_named_and_all_counted() {
    let folder = tempfile::tempdir().unwrap();
    made(folder.path(), 1);
    (0..40).for_each(|i| fs::write(folder.path().join(format!("{i:02}.txt")), "text").unwrap());
    let opened = Folder::open(folder.path(), 10).unwrap();
    let lines: Vec<String> = opened.skipped_files().collect();
    assert_eq!((opened.skipped.len(), lines.len()), (40, 6));
    assert_eq!(lines[5], "skipped 35 more files");
}

#[test]
fn too_few_files_are_told_with_how_often_each_is_used() {
    let of = |files: usize, images| {
        Folder { files: vec!["x".into(); files], skipped: Vec::new() }.shortage(images)
    };
    assert_eq!(of(2, 20).unwrap(), "2 files for 20 images: each is used 10 times in a pass");
    assert_eq!(of(1, 64).unwrap(), "1 file for 64 images: each is used 64 times in a pass");
    assert_eq!(of(3, 5).unwrap(), "3 files for 5 images: each is used 1 or 2 times in a pass");
    assert_eq!((of(20, 20), of(30, 20)), (None, None));
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
    for variant in VARIANTS {
        let Some(mut placed) = place_if_able(&gpu, variant, &params(3, 4, 1, 2), &three) else { continue };
        let whole = fs::read(&three.files[2]).unwrap();
        fs::write(&three.files[2], &whole[..100]).unwrap();
        placed.load(1).unwrap();
        let error = placed.run(0).unwrap_err().to_string();
        assert!(error.contains("00002.png"), "{variant}: {error}");
        // Commands that were recorded but not submitted do not disturb the next iteration.
        fs::write(&three.files[2], whole).unwrap();
        placed.run(1).unwrap();
        assert!(placed.check(1).unwrap().passed, "{variant}");
    }
}

#[test]
fn other_images_are_another_input() {
    let folder = tempfile::tempdir().unwrap();
    let made = made(folder.path(), 2);
    let digest = || photographs::digest(&made.files).unwrap();
    let before = digest();
    assert_eq!(digest(), before);
    fs::copy(&made.files[0], &made.files[1]).unwrap();
    assert_ne!(digest(), before);
}
