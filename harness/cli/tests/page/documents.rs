//! The pages that are judged, and their addresses.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use perfharness_platform::env;

const PROGRAM: &str = env!("CARGO_BIN_EXE_perfharness");

/// Required parts of a page: a check that does not find them has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A filter with all its fields, tables that can be sorted, and plots with points.
    Report,
    /// The same, less the points.
    WithoutSamples,
    /// Nothing: it lists other pages, as many as there are.
    Index,
}

/// A page to judge.
pub(crate) struct Document {
    name: String,
    url: String,
    kind: Kind,
}

impl Document {
    pub(crate) fn new(name: &str, path: &Path, kind: Kind) -> Self {
        assert!(path.is_file(), "there is no page {}", path.display());
        Self { name: name.to_owned(), url: file_url(path), kind }
    }

    /// A name for findings and pictures.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Its address, without a fragment.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// The finding that something is not there, where it has to be.
    pub(crate) fn lacks(&self, what: &str) -> Vec<String> {
        if self.kind == Kind::Index {
            return Vec::new();
        }
        vec![format!("there is no {what}, so it was not checked")]
    }
}

/// Pages, with the folder that they lie in where that is a temporary one.
pub(crate) struct Documents {
    _folder: Option<tempfile::TempDir>,
    list: Vec<Document>,
}

impl Documents {
    pub(crate) fn list(&self) -> &[Document] {
        &self.list
    }
}

/// The page that `PERFHARNESS_TEST_PAGE` names, or else what `perfharness report` makes of the stored record and of a
/// short run.
pub(crate) fn documents() -> Documents {
    match env::var("PERFHARNESS_TEST_PAGE").filter(|path| !path.is_empty()) {
        Some(path) => {
            Documents { _folder: None, list: vec![Document::new("page", Path::new(&path), Kind::Report)] }
        }
        None => made_here(),
    }
}

/// The page of the stored record, which has every outcome; the page of a short run, which has samples; and the page
/// over both.
fn made_here() -> Documents {
    let guard = tempfile::Builder::new().prefix("perfharness-page-").tempdir().unwrap();
    let folder = guard.path();
    fs::create_dir(folder.join("stored")).unwrap();
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/record.json");
    fs::copy(stored, folder.join("stored/run.json")).unwrap();
    call(folder, "run known-work/spin/w100 known-work/spin/w200 --launches 1 --output short/run.json");
    call(folder, "report stored/run.json short/run.json --out pages");
    let page = |name| folder.join("pages").join(name);
    let list = vec![
        Document::new("stored", &page("0123456789ab/index.html"), Kind::WithoutSamples),
        // The folder is in no repository.
        Document::new("short", &page("no-commit/index.html"), Kind::Report),
        Document::new("index", &page("index.html"), Kind::Index),
    ];
    Documents { _folder: Some(guard), list }
}

/// A call of the program that goes well; `line` is its arguments, divided by spaces.
fn call(folder: &Path, line: &str) {
    let mut command = Command::new(PROGRAM);
    command.args(line.split(' ')).current_dir(folder);
    // A repository around the folder is none of its business.
    command.env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap());
    let done = command.output().unwrap();
    assert!(done.status.success(), "`{line}` failed: {}", String::from_utf8_lossy(&done.stderr));
}

/// A path as an address: absolute, with forward slashes, and with everything else but plain characters escaped.
fn file_url(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap();
    let text = path.to_str().expect("the path of a page is Unicode").replace('\\', "/");
    let mut url = String::from("file://");
    if !text.starts_with('/') {
        url.push('/');
    }
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"/:-._~".contains(&byte) {
            url.push(byte.into());
        } else {
            write!(url, "%{byte:02X}").unwrap();
        }
    }
    url
}
