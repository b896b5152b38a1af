//! `ci/gate` beside a hostile change: what runs before the network and the secrets are gone is not the change's, and it is
//! the judge of the base that judges. A crate of the same name stands in for the program, because that builds in a second.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use perfharness_platform::env;
use rstest::rstest;

use crate::fixture::{Done, Harness, Running, has_tools, require_system, require_tool};

/// Prints whose judge it is, what it was built with, what it was called with and what it sees.
const STAND_IN: &str = r#"
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    println!("WHOSE: {}", arguments.join(" "));
    println!("built with {}", env!("BUILT_WITH"));
    for (name, value) in std::env::vars() {
        println!("sees {name}={value}");
    }
    let value = |name: &str| arguments.iter().position(|a| a == name).map(|at| arguments[at + 1].clone());
    if let (Some(record), Some(markdown)) = (value("--output"), value("--markdown")) {
        std::fs::write(record, "{}").unwrap();
        match arguments.iter().any(|a| a == "--as-a-link") {
            true => drop(std::process::Command::new("ln").args(["-s", "/etc/passwd", &markdown]).status()),
            false => std::fs::write(markdown, "what was found\n").unwrap(),
        }
        std::process::exit(3);
    }
}
"#;

/// Keeps the names of the variables that a build sees.
const BUILD_SCRIPT: &str = r#"
fn main() {
    let names: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
    println!("cargo::rustc-env=BUILT_WITH={}", names.join(" "));
}
"#;

/// Secrets in the environment of a job that no other program may see.
const SECRETS: [&str; 16] = [
    "GITHUB_ENV",
    "GITHUB_PATH",
    "GITHUB_OUTPUT",
    "GITHUB_STEP_SUMMARY",
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "ACTIONS_RUNTIME_TOKEN",
    "ACTIONS_ID_TOKEN_REQUEST_URL",
    "ACTIONS_CACHE_URL",
    "CI_JOB_TOKEN",
    "CI_REPOSITORY_URL",
    "CI_REGISTRY_PASSWORD",
    "CARGO_REGISTRY_TOKEN",
    "CARGO_REGISTRIES_MINE_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "WHAT_NOBODY_FORESAW",
];

/// A repository with the stand-in on `main`, and a change checked out.
struct Gated {
    harness: Harness,
}

impl Gated {
    /// `None` where the script does not run.
    fn new() -> Option<Self> {
        if !(require_system(&["linux", "macos"])
            && has_tools(&["bash"])
            && require_tool(&["git", "--version"]))
        {
            return None;
        }
        let gated = Self { harness: Harness::new() };
        let manifest = "[package]\nname = \"perfharness\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
        gated.harness.write("repo/Cargo.toml", manifest);
        let lock = "version = 4\n\n[[package]]\nname = \"perfharness\"\nversion = \"0.1.0\"\n";
        gated.harness.write("repo/Cargo.lock", lock);
        gated.harness.write("repo/build.rs", BUILD_SCRIPT);
        gated.harness.write("repo/src/main.rs", STAND_IN.replace("WHOSE", "the judge of the base"));
        for script in ["gate", "lib.sh"] {
            let text = fs::read(scripts().join(script)).unwrap();
            gated.harness.write(&format!("repo/ci/{script}"), text);
        }
        gated.bash("chmod +x ci/gate && git init --quiet --initial-branch main");
        gated.commit();
        gated.bash("git checkout --quiet -b change");
        Some(gated)
    }

    /// With a change that replaces all that can be replaced.
    fn hostile() -> Option<Self> {
        let gated = Self::new()?;
        let harness = &gated.harness;
        let marks = format!("#!/bin/sh\necho \"$0 $*\" >>'{}'\n", harness.path("marked").display());
        harness.write("repo/wrapper.sh", format!("{marks}exec \"$@\"\n"));
        harness.write("repo/.cargo/config.toml", "[build]\nrustc-wrapper = \"./wrapper.sh\"\n");
        harness.write("repo/rust-toolchain.toml", "[toolchain]\npath = \"./tools\"\n");
        for tool in ["cargo", "rustc"] {
            harness.write(&format!("repo/tools/bin/{tool}"), &marks);
        }
        harness.write("repo/target/judge/release/perfharness", format!("{marks}echo no regression\n"));
        harness.write("repo/src/main.rs", STAND_IN.replace("WHOSE", "the judge of the change"));
        harness.write("repo/ci/gate", format!("{marks}echo no regression\n"));
        // Programs that git would start, as what ran earlier in a clone can leave them.
        harness.write("hooks/post-checkout", &marks);
        harness.write("hooks/monitor", &marks);
        gated.bash("chmod -R +x wrapper.sh tools target/judge/release ci/gate ../hooks");
        gated.commit();
        let hooks = harness.path("hooks");
        gated.bash(&format!(
            "git config core.hooksPath '{0}' && git config core.fsmonitor '{0}/monitor'",
            hooks.display()
        ));
        Some(gated)
    }

    fn folder(&self) -> PathBuf {
        self.harness.path("repo")
    }

    fn bash(&self, script: &str) -> String {
        let out = Command::new("bash").args(["-ec", script]).current_dir(self.folder()).output().unwrap();
        assert!(out.status.success(), "{script}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap().trim().to_owned()
    }

    fn commit(&self) {
        self.bash("git add --all --force && git -c user.name=test -c user.email=test@localhost commit --quiet --message x");
    }

    /// A script in the environment of a job, with all that it has to hide.
    fn in_a_job(&self, program: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Done {
        let mut command =
            self.harness.command(Path::new("bash"), &[&[program.to_str().unwrap()], arguments].concat());
        command.current_dir(self.folder());
        for name in SECRETS {
            command.env(name, self.harness.path(&format!("of-the-runner-{name}")));
        }
        let wrapper = self.folder().join("wrapper.sh");
        for name in ["RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "CARGO_BUILD_RUSTC_WRAPPER", "RUSTC"] {
            command.env(name, &wrapper);
        }
        command.env("CARGO_TARGET_DIR", "elsewhere").env("PERFHARNESS_CACHE", self.harness.path("left-over"));
        command.env("GITHUB_ACTIONS", "true").env("CI", "true").env("RUSTFLAGS", "--cfg of_the_project");
        // The variable of these tests would take precedence over the file of the change.
        command.env_remove("RUSTUP_TOOLCHAIN");
        command.envs(variables.iter().copied());
        Running::start(&mut command).wait()
    }

    fn gate(&self, arguments: &[&str]) -> Done {
        self.in_a_job(&scripts().join("gate"), &[&["--base", "main"], arguments].concat(), &[])
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.harness.path(name)).unwrap_or_default()
    }

    /// A program that judges, outside of the repository.
    fn program(&self, name: &str) -> String {
        self.harness.write(name, "#!/bin/sh\necho \"judged by $0\"\nexit 4\n");
        let path = self.harness.path(name);
        self.bash(&format!("chmod +x '{}'", path.display()));
        path.to_str().unwrap().to_owned()
    }
}

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci").canonicalize().unwrap()
}

/// The variables that the judge saw.
fn seen(done: &Done) -> Vec<(&str, &str)> {
    done.stdout.lines().filter_map(|line| line.strip_prefix("sees ")?.split_once('=')).collect()
}

#[track_caller]
fn is_judged_by_the_base(gated: &Gated, done: &Done) {
    assert!(done.stdout.contains("the judge of the base: gate --base "), "{done:?}");
    assert!(
        !done.stdout.contains("the judge of the change") && !done.stdout.contains("no regression"),
        "{done:?}"
    );
    assert_eq!(gated.text("marked"), "", "this ran before the secrets were gone: {done:?}");
    let built_with = done.stdout.lines().find_map(|line| line.strip_prefix("built with ")).unwrap();
    let built_with: Vec<&str> = built_with.split(' ').collect();
    let seen = seen(done);
    assert!(seen.iter().any(|(name, _)| *name == "PATH") && built_with.contains(&"PATH"), "{done:?}");
    for name in SECRETS {
        assert!(!seen.iter().any(|(seen, _)| *seen == name), "{name}: {done:?}");
        assert!(!built_with.contains(&name), "{name}: {done:?}");
    }
    let hidden = seen.iter().find(|(_, value)| value.contains("of-the-runner"));
    assert_eq!(hidden, None);
}

#[test]
fn a_hostile_change_does_not_replace_its_judge_nor_see_secrets() {
    let Some(gated) = Gated::hostile() else { return };
    let done = gated.gate(&["--", "--launches", "2"]).code(3);
    is_judged_by_the_base(&gated, &done);
    assert!(done.stdout.contains("--format github --launches 2"), "{done:?}");
    // A fresh cache; the compiler of the project and no folder for what it makes.
    let seen = seen(&done);
    let value = |name: &str| seen.iter().find(|(seen, _)| *seen == name).map(|(_, value)| *value);
    let cache = value("PERFHARNESS_CACHE").unwrap();
    assert!(cache.starts_with(gated.harness.path("scratch").to_str().unwrap()), "{cache}");
    assert_eq!(value("RUSTFLAGS"), Some("--cfg of_the_project"));
    for name in ["CARGO_TARGET_DIR", "RUSTC", "RUSTC_WRAPPER", "CARGO_BUILD_RUSTC_WRAPPER"] {
        assert_eq!(value(name), None, "{name}");
    }
    // The page is made without them as well.
    assert!(done.stdout.contains("the judge of the base: report"), "{done:?}");
    // The result is where it was asked for, and nothing else is left.
    assert_eq!(gated.text("of-the-runner-GITHUB_STEP_SUMMARY"), "what was found\n");
    assert_eq!(fs::read_dir(gated.harness.path("scratch")).unwrap().count(), 0);
    gated.bash("git config core.fsmonitor false");
    assert_eq!(gated.bash("git status --porcelain"), "");
    assert_eq!(gated.bash("git worktree list | wc -l"), "1");
    // The measured code can replace a file that is shown later by a link.
    gated.harness.write("of-the-runner-GITHUB_STEP_SUMMARY", "");
    gated.gate(&["--", "--as-a-link"]).code(3);
    assert!(gated.folder().join("target/gate/gate.md").is_symlink());
    assert_eq!(gated.text("of-the-runner-GITHUB_STEP_SUMMARY"), "");
}

#[test]
fn a_change_that_begins_at_an_old_commit_is_judged_by_the_base_of_today() {
    let Some(gated) = Gated::new() else { return };
    let old = STAND_IN.replace("WHOSE", "a judge of old");
    gated.harness.write("repo/src/main.rs", &old);
    gated.bash("git checkout --quiet main");
    gated.commit();
    gated.bash("git checkout --quiet -B change");
    gated.harness.write("repo/src/main.rs", STAND_IN.replace("WHOSE", "the judge of the base"));
    gated.bash("git checkout --quiet main");
    gated.commit();
    gated.bash("git checkout --quiet change");
    let done = gated.gate(&[]).code(3);
    is_judged_by_the_base(&gated, &done);
}

#[test]
fn the_template_for_gitlab_runs_nothing_of_the_change_before_its_judge() {
    let Some(gated) = Gated::hostile() else { return };
    let base = gated.bash("git rev-parse main");
    let script = step(&scripts().join("gitlab.yml"), "bash -s <<'SCRIPT'", "SCRIPT");
    gated.harness.write("gitlab.sh", script);
    // The sources come from a host, as the base has them.
    gated.bash("git -c core.fsmonitor=false clone --quiet --bare --branch main . ../host.git");
    let source = format!("file://{}", gated.harness.path("host.git").display());
    let folder = gated.folder();
    let variables = [
        ("CI_PROJECT_DIR", folder.to_str().unwrap()),
        ("CI_MERGE_REQUEST_DIFF_BASE_SHA", &base),
        ("PERFHARNESS_SOURCE", &source),
        ("PERFHARNESS_COMMIT", &base),
        ("PERFHARNESS_FAIL_ON", "regressed"),
        ("PERFHARNESS_PATTERN", "a b"),
        ("PERFHARNESS_ENV", "CI_COMMIT_SHA"),
        ("CI_COMMIT_SHA", "c0ffee"),
        ("PERFHARNESS", ""),
        ("PERFHARNESS_DIGEST", ""),
        ("PERFHARNESS_TOOLCHAIN", ""),
        ("PERFHARNESS_NETWORK", "false"),
        ("PERFHARNESS_EFFORT", ""),
        ("PERFHARNESS_TIME_BUDGET", ""),
    ];
    let run = |variables: &[(&str, &str)]| gated.in_a_job(&gated.harness.path("gitlab.sh"), &[], variables);
    let done = run(&variables).code(3);
    is_judged_by_the_base(&gated, &done);
    assert!(done.stdout.contains(" a b --fail-on regressed\n"), "{done:?}");
    assert!(seen(&done).contains(&("CI_COMMIT_SHA", "c0ffee")), "{done:?}");
    assert!(folder.join("gate/run.json").is_file());
    // A short hash can be given to something else.
    run(&[&variables[..], &[("PERFHARNESS_COMMIT", &base[..12])]].concat()).code(2).says(&["full hash"]);
}

#[test]
fn the_action_runs_nothing_of_the_change_before_its_judge() {
    let Some(gated) = Gated::hostile() else { return };
    if !has_tools(&["jq"]) {
        return;
    }
    gated.bash("git -c core.fsmonitor=false clone --quiet --branch main . ../judge");
    gated.harness.write(
        "action.sh",
        step(&scripts().join("action.yml"), "      run: |", "    - name: Keep the result"),
    );
    let action = gated.harness.path("judge/ci");
    let names = ["PATTERN", "EFFORT", "TIME_BUDGET", "JUDGE", "DIGEST", "TOOLCHAIN", "PASSING"];
    let mut variables: Vec<(&str, &str)> = names.iter().map(|name| (*name, "")).collect();
    variables.extend([
        ("ACTION", action.to_str().unwrap()),
        ("BASE", "main"),
        ("FAIL_ON", "regressed,failed"),
    ]);
    variables.extend([("NETWORK", "false"), ("FOLDER", "target/gate")]);
    let done = gated.in_a_job(&gated.harness.path("action.sh"), &[], &variables).code(3);
    is_judged_by_the_base(&gated, &done);
    assert!(done.stdout.contains("--fail-on regressed,failed\n"), "{done:?}");
    assert_eq!(gated.text("of-the-runner-GITHUB_OUTPUT"), "outcome=\nexit-code=3\n");
}

/// The lines of a file between two others, as far to the left as they go.
fn step(path: &Path, from: &str, to: &str) -> String {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().skip_while(|line| !line.ends_with(from)).skip(1);
    let lines: Vec<&str> = lines.take_while(|line| line.trim() != to.trim()).collect();
    let indent =
        lines.iter().filter(|l| !l.is_empty()).map(|l| l.len() - l.trim_start().len()).min().unwrap();
    lines.iter().map(|line| format!("{}\n", line.get(indent..).unwrap_or(""))).collect()
}

#[test]
fn a_judge_is_taken_by_its_digest() {
    let Some(gated) = Gated::new() else { return };
    let program = gated.program("released");
    let digest = gated
        .bash(&format!("(sha256sum '{program}' || shasum -a 256 '{program}') 2>/dev/null | cut -c 1-64"));
    let judged = |program: &str, digest: &str| gated.gate(&["--judge", program, "--judge-digest", digest]);
    let done = judged(&program, &digest.to_uppercase()).code(4);
    assert!(done.stdout.contains("judged by "), "{done:?}");
    // The judge runs from a copy that nothing could change after the check.
    assert!(!done.stdout.contains(&format!("judged by {program}")), "{done:?}");
    let done =
        judged(&program, &digest.replace(&digest[..1], "x")).code(2).says(&[&digest, "--judge-digest"]);
    assert!(!done.stdout.contains("judged by"), "{done:?}");
    // In the repository only by its digest, because there it is the change's.
    let program = gated.program("repo/tools/perfharness");
    let done = gated.gate(&["--judge", &program]).code(2).says(&["lies in the repository", "--judge-digest"]);
    assert!(!done.stdout.contains("judged by"), "{done:?}");
    judged(&program, &digest).code(4);
}

#[rstest]
#[case::sources_of_the_change(&["--source", "."], &[], "lie in the repository")]
#[case::a_cache_of_the_change(&["--judge-cache", "target/cache"], &[], "lies in the repository")]
#[case::a_folder_by_way_of_a_link(&["--folder", "link/gate"], &[], "through a link")]
#[case::a_temporary_folder_of_the_change(&[], &[("TMPDIR", "tmp")], "lies in the repository")]
#[case::a_digest_of_nothing(&["--judge-digest", "00"], &[], "with --judge")]
#[case::a_base_that_is_an_option(&["--base", "--output=x"], &[], "is not a commit")]
#[case::two_judges(&["--judge", "true", "--source", ".."], &[], "not both")]
fn what_a_change_could_have_a_say_in_is_refused(
    #[case] arguments: &[&str],
    #[case] variables: &[(&str, &str)],
    #[case] says: &str,
) {
    let Some(gated) = Gated::new() else { return };
    gated.bash("mkdir tmp && ln -s .. link");
    let arguments = [&["--base", "main"], arguments].concat();
    gated.in_a_job(&scripts().join("gate"), &arguments, variables).code(2).says(&[says]);
    assert!(!gated.harness.path("gate/.gitignore").exists());
}

#[test]
fn what_lies_above_the_temporary_folder_has_no_say() {
    let Some(gated) = Gated::new() else { return };
    for name in [".cargo/config.toml", "rust-toolchain.toml"] {
        let name = format!("scratch/{name}");
        gated.harness.write(&name, "");
        gated.gate(&[]).code(2).says(&["influence the build of the judge", &name]);
        fs::remove_file(gated.harness.path(&name)).unwrap();
    }
}

#[test]
fn a_script_that_the_change_could_replace_says_so_and_a_cache_is_kept_where_it_is_named() {
    let Some(gated) = Gated::new() else { return };
    let cache = gated.harness.path("cache");
    let arguments =
        ["--base", "main", "--env", "WHAT_NOBODY_FORESAW", "--judge-cache", cache.to_str().unwrap()];
    let done = gated.in_a_job(&gated.folder().join("ci/gate"), &arguments, &[]).code(3);
    assert!(done.stderr.contains("call the script of the base"), "{done:?}");
    assert!(cache.join("release/perfharness").is_file());
    // Only what was named passes, to the gate and to the page.
    let mut passed: Vec<&str> = seen(&done).into_iter().map(|(name, _)| name).collect();
    passed.retain(|name| SECRETS.contains(name));
    assert_eq!(passed, ["WHAT_NOBODY_FORESAW"; 2]);
}

#[rstest]
#[case("PATH", "judge fetch measured")]
#[case("CARGO_HOME", "judge fetch measured")]
#[case("https_proxy", "judge fetch measured")]
#[case("CARGO_REGISTRIES_MINE_TOKEN", "fetch")]
#[case("CARGO_REGISTRIES_MINE_INDEX", "fetch measured")]
#[case("SSH_AUTH_SOCK", "fetch")]
#[case("RUSTFLAGS", "measured")]
#[case("PERFHARNESS_DEVICE", "measured")]
#[case("VK_ICD_FILENAMES", "measured")]
#[case("PERFHARNESS_API_TOKEN", "")]
#[case("PERFHARNESS_SOURCE", "")]
#[case("CARGO_TARGET_DIR", "")]
#[case("RUSTC_WRAPPER", "")]
#[case("CARGO_BUILD_RUSTC_WRAPPER", "")]
#[case("LD_PRELOAD", "")]
#[case("BASH_ENV", "")]
#[case("GITHUB_ENV", "")]
#[case("ACTIONS_RUNTIME_URL", "")]
#[case("CI_JOB_JWT", "")]
#[case("DATABASE_URL", "")]
fn each_kind_of_command_sees_what_it_needs(#[case] name: &str, #[case] kinds: &str) {
    if !(require_system(&["linux", "macos"]) && has_tools(&["bash"])) {
        return;
    }
    let script = "set -euo pipefail; . \"$0\"; for kind in trusted fetch measured; do environment_for $kind; printf '%s\\n' \"${environment[@]}\" | grep -q \"^$1=\" && echo $kind; done; true";
    let mut command = Command::new("bash");
    command.args(["-c", script, scripts().join("lib.sh").to_str().unwrap(), name]);
    if name != "PATH" {
        command.env(name, env::var("PATH").unwrap());
    }
    let out = command.output().unwrap();
    let found = String::from_utf8(out.stdout).unwrap().replace("trusted", "judge").replace('\n', " ");
    assert_eq!(found.trim(), kinds, "{}", String::from_utf8_lossy(&out.stderr));
}
