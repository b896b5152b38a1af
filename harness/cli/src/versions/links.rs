//! Further links of the workers' programs: the same code in another order.
//!
//! While a version is built, a script stands in for the linker. It links as it was asked to, and then, for the programs of
//! the workers, again with each seed, into files beside the output. A link that fails leaves its reason there. The objects that
//! were linked stay beside it too, until the digests of their functions are made.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use perfharness_contract::Digest;
use perfharness_engine::functions::FunctionDigests;

/// The links of a program when `[gate] layouts` does not say otherwise.
const DEFAULT_LAYOUTS: u32 = 4;
/// The system whose linkers are asked.
const SYSTEM: &str = "linux";
/// End of the name of the folder with the objects that a program was linked from.
const OBJECTS: &str = ".layout-objects";
/// Permissions of a script: those of the shell that runs it.
const SHELL: &str = "/bin/sh";

/// Programs that are linked several times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Links {
    /// Links of each program, the one as built included.
    count: u32,
    /// File names of the programs.
    programs: BTreeSet<String>,
}

impl Links {
    /// Links `programs` so often; the default number where none is given.
    pub(super) fn new(layouts: Option<u32>, programs: impl IntoIterator<Item = String>) -> Self {
        let programs = programs.into_iter().collect();
        Self { count: layouts.unwrap_or(DEFAULT_LAYOUTS).max(1), programs }
    }

    /// Whether there is anything to link again.
    pub(super) fn are_wanted(&self) -> bool {
        self.count > 1 && !self.programs.is_empty() && std::env::consts::OS == SYSTEM
    }

    /// Writes a script that links by `linker`, and returns its path. The path is a function of the contents, because Cargo
    /// builds everything anew for another linker. The file name is that of the linker, because rustc tells by it which
    /// options it takes.
    pub(super) fn script(&self, folder: &Path, linker: &[String]) -> io::Result<PathBuf> {
        let text = self.script_text(linker);
        let key: String = Digest::of(text.as_bytes()).0.chars().take(16).collect();
        let name = linker.last().and_then(|word| Path::new(word).file_name());
        let path = folder.join(key).join(name.unwrap_or("cc".as_ref()));
        let within = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(within)?;
        // Always anew: the builds of an earlier change could reach it.
        let mut file = tempfile::NamedTempFile::new_in(within)?;
        file.write_all(text.as_bytes())?;
        file.as_file().set_permissions(std::fs::metadata(SHELL)?.permissions())?;
        file.into_temp_path().persist(&path)?;
        Ok(path)
    }

    fn script_text(&self, linker: &[String]) -> String {
        let quoted = |word: &str| shlex::try_quote(word).map_or_else(|_| "''".to_owned(), Into::into);
        let mut programs = String::new();
        for program in &self.programs {
            let _ = write!(programs, " {}", quoted(&plain(program)));
        }
        let real: Vec<String> = linker.iter().map(|word| quoted(word)).collect();
        SCRIPT
            .replace("@LINKER@", &real.join(" "))
            .replace("@PROGRAMS@", programs.trim_start())
            .replace("@COUNT@", &self.count.to_string())
            .replace("@OBJECTS@", OBJECTS)
    }

    /// Puts the further links of a built program beside it. Cargo links into a file with a name of its own, and copies that
    /// one to the program; the links lie beside the former.
    pub(super) fn gather(&self, program: &Path) -> io::Result<()> {
        let linked = linked_file(program)?;
        digest_functions(linked.as_deref().unwrap_or(program))?;
        if let Some(linked) = linked {
            copy_over(&functions_of(&linked), &functions_of(program))?;
            for number in 1..self.count {
                copy_over(&link_of(&linked, number), &link_of(program, number))?;
            }
            copy_over(&error_of(&linked), &error_of(program))?;
        }
        // All layouts have names of one length, because the length of a path can move a process's stack.
        if link_of(program, 1).is_file() { copy_over(program, &link_of(program, 0)) } else { Ok(()) }
    }

    /// Returns the layouts of a program: its links, the one as built first.
    ///
    /// # Errors
    /// With the reason that there is one only, as a clause.
    pub(super) fn of(&self, program: &Path) -> Result<Vec<String>, String> {
        if self.count == 1 {
            return Err("[gate] has `layouts = 1`".to_owned());
        }
        if std::env::consts::OS != SYSTEM {
            return Err("only linkers on Linux shuffle sections".to_owned());
        }
        let links: Vec<PathBuf> = (0..self.count).map(|number| link_of(program, number)).collect();
        if links.iter().all(|link| link.is_file()) {
            return Ok(links.iter().map(|link| link.to_string_lossy().into_owned()).collect());
        }
        Err(match std::fs::read_to_string(error_of(program)) {
            Ok(text) => format!(
                "its linker shuffles no sections, as lld and mold do: {}",
                text.lines().next().unwrap_or_default()
            ),
            Err(_) => "its build did not call $PERFHARNESS_LINKER to link it".to_owned(),
        })
    }
}

/// Replaces the objects that a program was just linked from by the digests of their functions. Without them, the program is
/// measured all the same.
fn digest_functions(program: &Path) -> io::Result<()> {
    let objects = with_suffix(program, OBJECTS);
    let Ok(entries) = std::fs::read_dir(&objects) else { return Ok(()) };
    let mut inputs: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    inputs.sort();
    FunctionDigests::write(&FunctionDigests::of(program, &inputs), &functions_of(program))?;
    std::fs::remove_dir_all(objects)
}

/// The file with the digests of the functions of a program.
pub(super) fn functions_of(program: &Path) -> PathBuf {
    with_suffix(program, ".layout-functions")
}

/// The file of a further link of a program.
fn link_of(program: &Path, number: u32) -> PathBuf {
    with_suffix(program, &format!(".layout-{number:02}"))
}

/// The file with the reason that a program could not be linked again.
fn error_of(program: &Path) -> PathBuf {
    with_suffix(program, ".layout-error")
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// A file name as Cargo writes it in `deps`.
fn plain(name: &str) -> String {
    name.replace('-', "_")
}

/// Returns the file that a linker wrote and Cargo copied to `program`: the one with equal contents in its folder or in
/// `deps`. `None` if there is none, or if the links lie beside the program already.
fn linked_file(program: &Path) -> io::Result<Option<PathBuf>> {
    let (Some(folder), Some(name)) = (program.parent(), program.file_name().and_then(|name| name.to_str()))
    else {
        return Ok(None);
    };
    if !program.is_file() {
        return Ok(None);
    }
    let begins = plain(&format!("{name}-"));
    let mut contents = None;
    for folder in [folder.join("deps"), folder.to_path_buf()] {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_one = entry.file_name().to_str().is_some_and(|name| plain(name).starts_with(&begins));
            let was_linked = || error_of(&path).exists() || link_of(&path, 1).exists();
            if !is_one || !was_linked() || entry.metadata()?.len() != program.metadata()?.len() {
                continue;
            }
            let contents: &Vec<u8> = match &contents {
                Some(contents) => contents,
                None => contents.insert(std::fs::read(program)?),
            };
            if std::fs::read(&path)? == *contents {
                return Ok(Some(path));
            }
        }
    }
    Ok(None)
}

fn copy_over(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_file() {
        return Ok(());
    }
    match std::fs::remove_file(to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    std::fs::hard_link(from, to).or_else(|_| std::fs::copy(from, to).map(drop))
}

/// The script that stands in for a linker. It never fails where the linker does not.
const SCRIPT: &str = r#"#!/bin/sh
# Links as asked, and then the programs of the workers again with their sections in other orders.
link() { @LINKER@ "$@"; }
link "$@" || exit

output=
previous=
for word; do
  case $word in -c | -S | -E | -M | -MM | -r | -shared) exit 0 ;; esac
  if [ "$previous" = -o ]; then output=$word; fi
  previous=$word
done
# Cargo links `my-program` into `my_program-HASH`.
name=$(printf '%s\n' "${output##*/}" | sed -e 's/-[0-9a-f]\{16\}$//' -e 'y/-/_/')
wanted=
for program in @PROGRAMS@; do
  if [ "$name" = "$program" ]; then wanted=yes; fi
done
[ -n "$wanted" ] && [ -f "$output" ] || exit 0
rm -rf "$output".layout-*

# Objects may be gone when the build ends. Archives stay.
objects=$output@OBJECTS@ input=0
mkdir "$objects"
for word; do
  input=$((input + 1))
  case $word in
    *.o) cp -- "$word" "$objects/$input.o" ;;
    /*.rlib | /*.a) ln -s -- "$word" "$objects/$input.a" ;;
    *.rlib | *.a) ln -s -- "$PWD/$word" "$objects/$input.a" ;;
  esac
done 2> /dev/null

# Links into the file $1 with the option $2; the rest is the command as it was.
again() (
  file=$1 option=$2
  shift 2
  previous=
  for word; do
    shift
    if [ "$previous" = -o ]; then word=$file; fi
    previous=$word
    set -- "$@" "$word"
  done
  link "$@" "$option" 2>&1
)

number=1
while [ "$number" -lt @COUNT@ ]; do
  linked= first= file=$output.layout-$(printf %02d "$number")
  # The form of lld and that of mold, by way of a compiler's driver and to the linker itself.
  for option in "-Wl,--shuffle-sections=*=$number" "-Wl,--shuffle-sections=$number" \
    "--shuffle-sections=*=$number" "--shuffle-sections=$number"; do
    if said=$(again "$file" "$option" "$@") && [ -f "$file" ]; then
      linked=yes
      break
    fi
    first=${first:-$said}
  done
  if [ -z "$linked" ]; then
    rm -f "$output".layout-[0-9]*
    printf '%s\n' "$first" | grep -m 1 shuffle > "$output.layout-error" ||
      printf '%s\n' "$first" | head -n 1 > "$output.layout-error"
    break
  fi
  number=$((number + 1))
done
exit 0
"#;

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// A folder with a linker that writes its arguments into its output.
    struct Bench {
        folder: tempfile::TempDir,
    }

    impl Bench {
        fn new(linker: &str) -> Self {
            let bench = Self { folder: tempfile::tempdir().unwrap() };
            std::fs::write(bench.path("real"), format!("#!/bin/sh\n{linker}\n")).unwrap();
            let permissions = std::fs::metadata(SHELL).unwrap().permissions();
            std::fs::set_permissions(bench.path("real"), permissions).unwrap();
            bench
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        /// Links by way of the script, and returns the exit code.
        fn link(&self, links: &Links, arguments: &[&str]) -> Option<i32> {
            let linker = self.path("real").to_string_lossy().into_owned();
            let script = links.script(&self.path("scripts"), &[linker]).unwrap();
            assert_eq!(script.file_name().unwrap(), "real");
            let status = Command::new(script).args(arguments).current_dir(self.folder.path()).status();
            status.unwrap().code()
        }

        fn files(&self, of: &str) -> Vec<String> {
            let entries = std::fs::read_dir(self.folder.path()).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let mut names: Vec<String> = names.filter(|name| name.starts_with(of)).collect();
            names.sort();
            names
        }
    }

    fn links(count: u32) -> Links {
        Links::new(Some(count), ["my-worker".to_owned()])
    }

    /// Writes its arguments to the file behind `-o`, and refuses arguments with a pattern.
    fn refusing(pattern: &str) -> String {
        format!(
            "for word; do\ncase $word in {pattern}) echo \"unrecognized option $word\" >&2; exit 1 ;; esac\n\
             if [ \"$previous\" = -o ]; then out=$word; fi\nprevious=$word\ndone\n\
             printf '%s\\n' \"$@\" > \"$out\""
        )
    }

    #[test]
    fn a_program_of_a_worker_is_linked_with_every_seed_and_other_files_are_not() {
        if std::env::consts::OS != SYSTEM {
            return;
        }
        let bench = Bench::new(&refusing("never"));
        let output = "my_worker-0123456789abcdef";
        assert_eq!(bench.link(&links(3), &["a b.o", "-o", output, "-lc"]), Some(0));
        let read = |name: String| std::fs::read_to_string(bench.path(&name)).unwrap();
        assert_eq!(read(output.into()), format!("a b.o\n-o\n{output}\n-lc\n"));
        for seed in 1..3 {
            let link = format!("{output}.layout-0{seed}");
            let due = format!("a b.o\n-o\n{link}\n-lc\n-Wl,--shuffle-sections=*={seed}\n");
            assert_eq!(read(link), due);
        }
        for (arguments, name) in [
            (["x.o", "-o", "other"], "other"),
            (["x.o", "-o", "libmy_worker.so"], "libmy_worker.so"),
            (["-c", "-o", "my-worker"], "my-worker"),
            (["-shared", "-o", "my-worker"], "my-worker"),
        ] {
            bench.link(&links(3), &arguments);
            assert_eq!(bench.files(name), [name]);
        }
        // Copied as Cargo does, the links are found; beside them lies the program as built.
        std::fs::copy(bench.path(output), bench.path("my-worker")).unwrap();
        links(3).gather(&bench.path("my-worker")).unwrap();
        let found = links(3).of(&bench.path("my-worker")).unwrap();
        let due =
            ["00", "01", "02"].map(|number| format!("{}.layout-{number}", bench.path("my-worker").display()));
        assert_eq!(found, due);
        assert_eq!(read("my-worker.layout-00".into()), read("my-worker".into()));
    }

    #[test]
    fn a_program_of_c_is_linked_by_the_driver_that_a_build_is_given() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        // The driver of a C compiler can call the lld that rustc brings.
        let out = Command::new("rustc").args(["--print", "target-libdir"]).output();
        let libraries = out.ok().and_then(|out| String::from_utf8(out.stdout).ok()).unwrap_or_default();
        let folder = Path::new(libraries.trim()).with_file_name("bin").join("gcc-ld");
        if std::env::consts::OS != SYSTEM || !folder.join("ld.lld").is_file() || which::which("cc").is_err() {
            let required = perfharness_platform::env::is_set_nonempty("PERFHARNESS_REQUIRE_TOOLS");
            assert!(!required || std::env::consts::OS != SYSTEM, "there is no cc with an lld");
            crate::terminal::say("SKIPPED: there is no cc with an lld");
            return;
        }
        let bench = Bench::new("");
        let function = |name: &str, value: u32| format!("int {name}(void) {{ return {value}; }}\n");
        let main = "int main(void) { printf(\"%d\\n\", one() + 2 * two() + 4 * three()); return 0; }\n";
        let source =
            ["#include <stdio.h>\n", &function("one", 1), &function("two", 2), &function("three", 3), main];
        std::fs::write(bench.path("main.c"), source.concat()).unwrap();
        let script = links(4).script(&bench.path("scripts"), &words(&["cc"])).unwrap();
        let link = |with: &str| {
            let flags = [
                "-O1",
                "-fno-inline",
                "-ffunction-sections",
                with,
                "-fuse-ld=lld",
                "main.c",
                "-o",
                "my-worker",
            ];
            let out = Command::new(&script).args(flags).current_dir(bench.folder.path()).output().unwrap();
            assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        };
        link(&format!("-B{}", folder.display()));
        links(4).gather(&bench.path("my-worker")).unwrap();
        let programs = links(4).of(&bench.path("my-worker")).unwrap();
        let contents: Vec<Vec<u8>> = programs.iter().map(|path| std::fs::read(path).unwrap()).collect();
        for (program, content) in programs.iter().zip(&contents) {
            let out = Command::new(program).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&out.stdout), "17\n", "{program}");
            assert_eq!(contents.iter().filter(|other| *other == content).count(), 1, "{program}");
        }
    }

    #[test]
    fn a_linker_that_does_not_shuffle_links_once_and_its_reason_is_kept() {
        if std::env::consts::OS != SYSTEM {
            return;
        }
        let program = |bench: &Bench| bench.path("my-worker");
        let bench = Bench::new(&refusing("*shuffle*"));
        assert_eq!(bench.link(&links(4), &["-o", "my-worker"]), Some(0));
        links(4).gather(&program(&bench)).unwrap();
        let reason = links(4).of(&program(&bench)).unwrap_err();
        assert!(reason.contains("unrecognized option -Wl,--shuffle-sections=*=1"), "{reason}");
        // The objects are gone, and why they say nothing is kept as well.
        let files = ["my-worker", "my-worker.layout-error", "my-worker.layout-functions"];
        assert_eq!(bench.files("my-worker"), files);
        let digests = FunctionDigests::read(&functions_of(&program(&bench)));
        assert!(digests.is_err_and(|why| why.contains("my-worker cannot be read")));
        // The linker itself takes another form than the driver of a compiler, and mold another than lld.
        let bench = Bench::new(&refusing("-Wl,* | *=\\**"));
        assert_eq!(bench.link(&links(2), &["-o", "my-worker"]), Some(0));
        let link = std::fs::read_to_string(bench.path("my-worker.layout-01")).unwrap();
        assert!(link.ends_with("\n--shuffle-sections=1\n"), "{link}");
        // A link that fails fails as it would, and one that was never asked for says so.
        let bench = Bench::new("exit 7");
        assert_eq!(bench.link(&links(2), &["-o", "my-worker"]), Some(7));
        assert!(links(2).of(&program(&bench)).unwrap_err().contains("PERFHARNESS_LINKER"));
        assert!(links(1).of(&program(&bench)).unwrap_err().contains("layouts = 1"));
    }
}
