//! File names that are unique and safe on every file system.

use std::collections::BTreeSet;

use perfharness_contract::Digest;

/// Largest length of a name in bytes. File systems allow 255; a digest and an extension follow.
const LONGEST: usize = 160;

/// Generates unique file names, also for file systems that treat `a` and `A` as the same.
#[derive(Debug)]
pub(crate) struct FileNames {
    divider: &'static str,
    taken: BTreeSet<String>,
}

impl FileNames {
    /// Returns a generator that joins the parts of a name with `divider`.
    pub(crate) fn divided_by(divider: &'static str) -> Self {
        Self { divider, taken: BTreeSet::new() }
    }

    /// Marks these names, without their extensions, as taken.
    pub(crate) fn without<'a>(mut self, taken: impl IntoIterator<Item = &'a str>) -> Self {
        self.taken.extend(taken.into_iter().map(str::to_lowercase));
        self
    }

    /// Returns a name for these parts, joined by the divider. If another file has that name, or if characters had to
    /// be replaced, a digest of the parts follows, so that the name depends only on them.
    pub(crate) fn take(&mut self, parts: &[&str]) -> String {
        let joined = parts.join(self.divider);
        let name: String = joined.chars().map(|c| if is_safe(c) { c } else { '_' }).collect();
        if name == joined && name.len() <= LONGEST && self.taken.insert(name.to_lowercase()) {
            return name;
        }
        let digest = Digest::of_parts(parts.iter().map(|part| part.as_bytes())).0;
        // Only ASCII is left, so that every index is a character boundary.
        let short = format!("{}-{}", &name[..name.len().min(LONGEST)], &digest[..8]);
        let numbered = (2..).map(|number| format!("{short}-{number}"));
        let free = |name: &String| !self.taken.contains(&name.to_lowercase());
        let name = std::iter::once(short.clone()).chain(numbered).find(free).unwrap_or(short);
        self.taken.insert(name.to_lowercase());
        name
    }
}

fn is_safe(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_names_are_the_parts_themselves() {
        let mut names = FileNames::divided_by("-");
        assert_eq!(names.take(&["json-logging", "n1000", "slow"]), "json-logging-n1000-slow");
        assert_eq!(names.take(&["a", "b", "v1.5_x"]), "a-b-v1.5_x");
    }

    #[test]
    fn parts_that_join_to_the_same_get_different_names() {
        let mut names = FileNames::divided_by("-");
        let first = names.take(&["a-b", "c", "v"]);
        let second = names.take(&["a", "b-c", "v"]);
        let third = names.take(&["A-B", "c", "v"]);
        assert_eq!(first, "a-b-c-v");
        assert!(second.starts_with("a-b-c-v-") && second != first, "{second}");
        assert!(third.to_lowercase() != first && third.to_lowercase() != second, "{third}");
    }

    #[test]
    fn nothing_in_a_name_leads_out_of_its_folder() {
        let mut names = FileNames::divided_by("-");
        for part in ["..", "a b", "a:b", "ä", "<x>", "a\u{202e}b", "|"] {
            let name = names.take(&[part, part, part]);
            assert!(name.chars().all(is_safe) && !name.contains('/'), "{name}");
        }
        // Names with the same replacement stay distinct.
        assert_ne!(names.take(&["a b"]), names.take(&["a:b"]));
    }

    #[test]
    fn long_names_are_cut_and_told_apart() {
        let mut names = FileNames::divided_by("-");
        let part = "x".repeat(100);
        let (one, other) = (names.take(&[&part, &part, "a"]), names.take(&[&part, &part, "b"]));
        assert!(one != other && one.len() < 200 && other.len() < 200, "{one} {other}");
    }

    #[test]
    fn names_that_are_taken_are_not_given_out() {
        let mut names = FileNames::divided_by("-").without(["W-c-v"]);
        let first = names.take(&["w", "c", "v"]);
        assert!(first != "w-c-v" && first.starts_with("w-c-v-"), "{first}");
        assert_ne!(names.take(&["w", "c", "v"]), first);
    }
}
