//! Digests of the functions in relocatable objects: the bytes of each, the targets of its relocations by name, and the
//! constants that it refers to by content, because compilers number these.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use object::read::archive::ArchiveFile;
use object::{
    File, Object as _, ObjectSection as _, ObjectSymbol, Relocation, RelocationFlags, RelocationKind,
    RelocationTarget, SectionFlags, SectionIndex, SectionKind, SymbolIndex, SymbolKind, SymbolSection, elf,
};
use sha2::{Digest as _, Sha256};

/// Steps from a function to a constant, and from that to others, that are followed.
const DEEPEST: usize = 32;
/// Bytes of a digest that are kept.
const KEPT: usize = 8;

type Digests = BTreeMap<String, BTreeSet<String>>;

/// Returns the digests of the functions that a linked program has, by name.
///
/// # Errors
/// When a file cannot be read, as a clause.
pub(super) fn digests(program: &Path, inputs: &[PathBuf]) -> Result<Digests, String> {
    let wanted = functions_of(program)?;
    let files = inputs
        .iter()
        .map(|path| {
            std::fs::read(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let mut objects = Vec::new();
    for (content, path) in files.iter().zip(inputs) {
        add_objects(content, &mut objects)
            .map_err(|error| format!("{} is not an object or archive: {error}", path.display()))?;
    }
    let all = Objects::new(objects);
    let mut found = Digests::new();
    for (&(object, section, start, name), &size) in &all.functions {
        if !wanted.contains(name) {
            continue;
        }
        let digest =
            all.digest(Extent { object, section: SectionIndex(section), start, size }, &mut Vec::new());
        found.entry(name.to_owned()).or_default().insert(hex(&digest));
    }
    Ok(found)
}

/// Returns the names of the functions in a linked program.
fn functions_of(program: &Path) -> Result<BTreeSet<String>, String> {
    let clause = |what: &dyn std::fmt::Display| format!("{} cannot be read: {what}", program.display());
    let content = std::fs::read(program).map_err(|error| clause(&error))?;
    let file = File::parse(&*content).map_err(|error| clause(&error))?;
    let functions = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text);
    let names: BTreeSet<String> = functions.filter_map(|f| f.name().ok().map(str::to_owned)).collect();
    if names.is_empty() { Err("its program is stripped of symbols".into()) } else { Ok(names) }
}

/// Adds an object, or the members of an archive that are objects.
fn add_objects<'d>(content: &'d [u8], objects: &mut Vec<File<'d>>) -> object::Result<()> {
    let Ok(archive) = ArchiveFile::parse(content) else {
        objects.push(File::parse(content)?);
        return Ok(());
    };
    for member in archive.members() {
        // The metadata of a Rust library is not an object.
        if let Ok(object) = File::parse(member?.data(content)?) {
            objects.push(object);
        }
    }
    Ok(())
}

/// Bytes of a section of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    object: usize,
    section: SectionIndex,
    start: u64,
    size: u64,
}

struct Objects<'d> {
    files: Vec<File<'d>>,
    /// Size of each function, by object, section, place in it, and name. Functions of the same code may have one place.
    functions: BTreeMap<(usize, usize, u64, &'d str), u64>,
    /// Object and symbol of each constant or variable that other objects may name.
    globals: BTreeMap<&'d str, (usize, SymbolIndex)>,
}

impl<'d> Objects<'d> {
    fn new(objects: Vec<File<'d>>) -> Self {
        let mut all = Self { files: objects, functions: BTreeMap::new(), globals: BTreeMap::new() };
        for object in 0..all.files.len() {
            let symbols: Vec<_> = all.files[object].symbols().filter(ObjectSymbol::is_definition).collect();
            for symbol in symbols {
                let Ok(name) = symbol.name() else { continue };
                if symbol.kind() == SymbolKind::Text
                    && let Some(Extent { section, start, size, .. }) = all.extent(object, symbol.index())
                {
                    all.functions.insert((object, section.0, start, name), size);
                } else if symbol.kind() == SymbolKind::Data && symbol.is_global() {
                    all.globals.entry(name).or_insert((object, symbol.index()));
                }
            }
        }
        all
    }

    /// The bytes of a symbol. One without a size ends with its string, or with its section.
    fn extent(&self, object: usize, symbol: SymbolIndex) -> Option<Extent> {
        let file = &self.files[object];
        let symbol = file.symbol_by_index(symbol).ok()?;
        let SymbolSection::Section(section) = symbol.section() else { return None };
        let (start, size) = (symbol.address(), symbol.size());
        let rest = || self.rest_of(object, section, start);
        Some(Extent { object, section, start, size: if size > 0 { size } else { rest()? } })
    }

    /// Bytes from a place of a section to its end; in a section of strings or of constants of one size, which the linker
    /// merges, to the end of that one.
    fn rest_of(&self, object: usize, section: SectionIndex, start: u64) -> Option<u64> {
        let section = self.files[object].section_by_index(section).ok()?;
        let rest = section.size().saturating_sub(start);
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else { return Some(rest) };
        if !sh_flags.contains(elf::SHF_MERGE) {
            return Some(rest);
        }
        if !sh_flags.contains(elf::SHF_STRINGS) {
            // Constants of 4, 8, 16 or 32 bytes, by their section's alignment.
            return Some(rest.min(section.align().max(1)));
        }
        let content = section.data().ok()?.get(start as usize..)?;
        let length = content.iter().position(|byte| *byte == 0).map_or(content.len(), |end| end + 1);
        Some(length as u64)
    }

    /// Digests what lies somewhere, and what it refers to; `within` are the places on the way there.
    fn digest(&self, at: Extent, within: &mut Vec<Extent>) -> Vec<u8> {
        let mut hash = Sha256::new();
        if within.contains(&at) || within.len() >= DEEPEST {
            hash.update(at.size.to_le_bytes());
            return hash.finalize().to_vec();
        }
        within.push(at);
        let Extent { object, section, start, size } = at;
        if let Ok(section) = self.files[object].section_by_index(section) {
            let end = start.saturating_add(size);
            let content = section.data().unwrap_or_default();
            // A section without contents is zero.
            let bytes = content.get(start as usize..(end as usize).min(content.len())).unwrap_or_default();
            let mut relocations: Vec<(u64, Relocation)> =
                section.relocations().filter(|(offset, _)| (start..end).contains(offset)).collect();
            relocations.sort_by_key(|(offset, _)| *offset);
            hash.update(size.to_le_bytes());
            hash.update(self.without_line(object, bytes, start, &relocations).unwrap_or(bytes));
            for (offset, relocation) in relocations {
                let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
                hash.update((offset - start).to_le_bytes());
                hash.update(r_type.0.to_le_bytes());
                self.digest_target(object, &relocation, within, &mut hash);
            }
        }
        within.pop();
        hash.finalize().to_vec()
    }

    /// Returns the bytes of a place in a Rust source without its line and column; `None` for any other constant. A panic
    /// names its place, and every line that is added before moves it.
    fn without_line<'b>(
        &self,
        object: usize,
        bytes: &'b [u8],
        start: u64,
        relocations: &[(u64, Relocation)],
    ) -> Option<&'b [u8]> {
        // A pointer to the name of the file, its length, and the line and the column, of four bytes each.
        let length = u64::from_le_bytes(bytes.get(8..16)?.try_into().ok()?);
        let [(at, relocation)] = relocations else { return None };
        let RelocationTarget::Symbol(index) = relocation.target() else { return None };
        if bytes.len() != 24 || *at != start || relocation.kind() != RelocationKind::Absolute {
            return None;
        }
        let symbol = self.files[object].symbol_by_index(index).ok()?;
        let section = self.files[object].section_by_index(symbol.section_index()?).ok()?;
        let place = symbol.address().checked_add_signed(relocation.addend())?;
        let name = section.data().ok()?.get(place as usize..)?.get(..length as usize)?;
        name.ends_with(b".rs").then_some(&bytes[..16])
    }

    fn digest_target(
        &self,
        object: usize,
        relocation: &Relocation,
        within: &mut Vec<Extent>,
        hash: &mut Sha256,
    ) {
        let addend = relocation.addend();
        let RelocationTarget::Symbol(index) = relocation.target() else {
            return hash.update(addend.to_le_bytes());
        };
        let Ok(symbol) = self.files[object].symbol_by_index(index) else { return };
        let name = symbol.name().unwrap_or_default();
        if symbol.is_undefined() {
            hash.update(name.as_bytes());
            hash.update(addend.to_le_bytes());
            // A constant of another object; a function is compared where it is executed.
            let global = self.globals.get(name).and_then(|(object, symbol)| self.extent(*object, *symbol));
            return global.into_iter().for_each(|extent| hash.update(self.digest(extent, within)));
        }
        let SymbolSection::Section(section) = symbol.section() else {
            hash.update(name.as_bytes());
            return hash.update(addend.to_le_bytes());
        };
        let is_code =
            self.files[object].section_by_index(section).is_ok_and(|s| s.kind() == SectionKind::Text);
        // The name of a section stands for its beginning, and the addend says where in it.
        let is_section = symbol.kind() == SymbolKind::Section;
        if is_code {
            let place = symbol.address().saturating_add_signed(addend);
            let is_named = symbol.kind() == SymbolKind::Text;
            let (name, offset) = match self.function_at(object, section, place) {
                Some((name, start)) if !is_named => (name, place as i64 - start as i64),
                _ => (name, addend),
            };
            hash.update(name.as_bytes());
            return hash.update(offset.to_le_bytes());
        }
        if !is_section {
            hash.update(addend.to_le_bytes());
            let extent = self.extent(object, index);
            return extent.into_iter().for_each(|extent| hash.update(self.digest(extent, within)));
        }
        // The addend of a relative address is off by what follows it in the instruction: then the whole section counts.
        let is_exact = relocation.kind() == RelocationKind::Absolute;
        let start = if is_exact { addend.max(0) as u64 } else { 0 };
        if !is_exact {
            hash.update(addend.to_le_bytes());
        }
        let size = self.rest_of(object, section, start).filter(|_| is_exact);
        let whole = || self.files[object].section_by_index(section).map_or(0, |section| section.size());
        let extent = Extent { object, section, start, size: size.unwrap_or_else(whole) };
        hash.update(self.digest(extent, within));
    }

    /// The function that a place of a section lies in, and its start.
    fn function_at(&self, object: usize, section: SectionIndex, place: u64) -> Option<(&'d str, u64)> {
        let before = self.functions.range((object, section.0, 0, "")..(object, section.0, place + 1, ""));
        before.last().map(|((.., start, name), _)| (*name, *start))
    }
}

fn hex(digest: &[u8]) -> String {
    digest.iter().take(KEPT).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// A program in C, compiled into an object and a library, and linked.
    struct Built {
        folder: tempfile::TempDir,
    }

    /// The functions that the tests change, or do not.
    const SOURCE: &str = r#"
        #include <stdio.h>
        extern const int scale[4];
        static const char *names[] = {"one", "two", "three"};
        __attribute__((noinline)) int leaf(int x) { return x * 3; }
        __attribute__((noinline)) int caller(int x) { return leaf(x) + 1; }
        __attribute__((noinline)) int table(int x) { return scale[x & 3]; }
        __attribute__((noinline)) void name(int x) { puts(names[x % 3]); }
        __attribute__((noinline)) void text(void) { puts("a text"); }
        __attribute__((noinline)) double constant(double x) { return x * 1.5; }
        int main(int argc, char **argv) { text(); name(argc); return caller(argc) + table(argc) + (int)constant(argc); }
    "#;
    const LIBRARY: &str = "const int scale[4] = {1, 2, 3, 4};";

    fn has_compiler() -> bool {
        let is_there = which::which("cc").is_ok() && which::which("ar").is_ok();
        let required = perfharness_platform::env::is_set_nonempty("PERFHARNESS_REQUIRE_TOOLS");
        assert!(is_there || !required || std::env::consts::OS != "linux", "there is no cc or ar");
        is_there && std::env::consts::OS == "linux"
    }

    impl Built {
        fn new(source: &str, library: &str) -> Self {
            let built = Self { folder: tempfile::tempdir().unwrap() };
            std::fs::write(built.path("main.c"), source).unwrap();
            std::fs::write(built.path("scale.c"), library).unwrap();
            built.run(&["cc", "-O1", "-ffunction-sections", "-c", "main.c", "scale.c"]);
            built.run(&["ar", "rcs", "libscale.a", "scale.o"]);
            built.run(&["cc", "main.o", "libscale.a", "-o", "main"]);
            built
        }

        fn run(&self, words: &[&str]) {
            let status = Command::new(words[0]).args(&words[1..]).current_dir(self.folder.path()).status();
            assert!(status.unwrap().success(), "{words:?}");
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn digests(&self) -> Digests {
            digests(&self.path("main"), &[self.path("main.o"), self.path("libscale.a")]).unwrap()
        }
    }

    /// The functions that differ from those of the sources as they are.
    fn changed(before: &str, after: &str) -> Vec<String> {
        let source = format!("{SOURCE}{LIBRARY}").replace(before, after);
        let (source, library) = source.split_at(source.find("const int scale[4] =").unwrap());
        let (base, head) = (Built::new(SOURCE, LIBRARY).digests(), Built::new(source, library).digests());
        let names: BTreeSet<&String> = base.keys().chain(head.keys()).collect();
        names.into_iter().filter(|name| base.get(*name) != head.get(*name)).cloned().collect()
    }

    #[test]
    fn a_function_differs_by_its_code_and_by_the_constants_that_it_refers_to() {
        if !has_compiler() {
            return;
        }
        for (before, after, due) in [
            ("", "", &[][..]),
            ("x * 3", "x * 5", &["leaf"][..]),
            ("leaf(x) + 1", "leaf(x) + 2", &["caller"]),
            // A constant of another object.
            ("{1, 2, 3, 4}", "{1, 2, 9, 4}", &["table"]),
            // A text behind a pointer, and texts and numbers that the linker merges.
            ("\"two\"", "\"2\"", &["name"]),
            ("\"a text\"", "\"A text\"", &["text"]),
            ("x * 1.5", "x * 2.5", &["constant"]),
            // Nothing calls it, and it comes first: every address differs.
            ("extern", "int unused(int x) { puts(\"unused\"); return x * 1.25; }\nextern", &["unused"]),
            // Another function with the same code.
            ("return leaf(x) + 1", "return table(x) + 1", &["caller"]),
        ] {
            assert_eq!(changed(before, after), due, "{before} -> {after}");
        }
    }

    #[test]
    fn a_line_of_a_source_is_no_code() {
        if !has_compiler() {
            return;
        }
        let source = |line: u32, name: &str| {
            format!(
                "struct place {{ const char *file; unsigned long length; unsigned line, column; }};\n\
                 static const struct place place = {{\"{name}\", {}, {line}, 5}};\n\
                 __attribute__((noinline)) void fails(const struct place *place) {{ (void)*(volatile unsigned *)&place->line; }}\n\
                 int main(void) {{ fails(&place); return 0; }}\n",
                name.len()
            )
        };
        let digests = |source: &str| Built::new(source, LIBRARY).digests();
        let rust = digests(&source(7, "src/main.rs"));
        assert_eq!(digests(&source(8, "src/main.rs")), rust);
        assert_ne!(digests(&source(7, "src/walk.rs"))["main"], rust["main"]);
        assert_ne!(digests(&source(7, "main.c")), digests(&source(8, "main.c")));
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        if !has_compiler() {
            return;
        }
        let built = Built::new(SOURCE, LIBRARY);
        let why =
            |program: &str, input: &str| digests(&built.path(program), &[built.path(input)]).unwrap_err();
        assert!(why("main", "none.o").contains("none.o cannot be read"));
        assert!(why("main", "main.c").contains("main.c is not an object or archive"));
        assert!(why("none", "main.o").contains("none cannot be read"));
        built.run(&["strip", "main"]);
        assert_eq!(why("main", "main.o"), "its program is stripped of symbols");
    }
}
