//! Thresholds, acknowledgements and accepted figures are those of the base: ways to excuse oneself.

use super::table::{BOTH, GATED, ROW, Repo, Row, UNIX};

const LOOSE: &str = "\
time = 10.0
size = 10.0
[[gate.limit]]
benchmark = \"*\"
threshold = 10.0
slack = 10
[[gate.acknowledged]]
benchmark = \"*\"
metric = \"copies\"
reason = \"planted\"
since = \"2026-03-01\"
";

const OWN: Row = Row { base: |repo| repo.configure(GATED), ..ROW };

/// Makes the configuration one that accepts everything.
fn loosen(repo: &Repo) {
    repo.plant();
    repo.configure_also(LOOSE);
}

/// The change of a repository that has accepted figures: a copy more, in them as well.
fn accept_too(repo: &Repo) {
    repo.plant();
    let name = repo.baseline();
    repo.remove(&name);
    repo.accept();
}

rows! {
    a_policy_that_accepts_everything: Row { arrange: loosen, says: &["edits [gate]"], ..OWN };
    a_policy_that_is_not_committed: Row { arrange: loosen, is_committed: false, says: &["edits [gate]"], ..OWN };
    a_threshold: Row { arrange: |repo| { repo.plant(); repo.configure_also("time = 10.0\n"); }, says: &["edits [gate]"], ..OWN };
    a_limit_with_slack: Row {
        arrange: |repo| { repo.plant(); repo.configure_also("[[gate.limit]]\nbenchmark = \"*\"\nmetric = \"copies\"\nslack = 1\n"); },
        says: &["edits [gate]"],
        ..OWN
    };
    an_acknowledgement: Row {
        arrange: |repo| {
            repo.plant();
            repo.configure_also("[[gate.acknowledged]]\nbenchmark = \"gated\"\nmetric = \"copies\"\nbound = 2\nreason = \"x\"\nsince = \"2026-03-01\"\n");
        },
        says: &["edits [gate]"],
        ..OWN
    };
    an_acknowledgement_in_the_base_that_is_exceeded: Row {
        base: |repo| repo.configure(&format!("{GATED}[[gate.acknowledged]]\nbenchmark = \"gated\"\nmetric = \"copies\"\nbound = 1\nreason = \"x\"\nsince = \"2026-03-01\"\n")),
        says: &["beyond what was acknowledged"],
        ..ROW
    };
    an_acknowledgement_in_the_base_excuses_no_failure: Row {
        base: |repo| repo.configure(&format!("{GATED}[[gate.acknowledged]]\nbenchmark = \"gated\"\nmetric = \"copies\"\nreason = \"x\"\nsince = \"2026-03-01\"\n")),
        arrange: |repo| { repo.plant(); repo.code("OFFSET = 0", "OFFSET = 1"); },
        expect: &[5],
        ..ROW
    };
    a_configuration_that_is_wrong: Row {
        arrange: |repo| { repo.plant(); repo.configure_also("tiem = 10.0\n"); },
        expect: &[2],
        says: &["tiem"],
        ..OWN
    };
    a_configuration_of_the_base_that_is_wrong: Row {
        base: |repo| repo.configure(&format!("{GATED}tiem = 10.0\n")),
        arrange: |repo| { repo.plant(); repo.configure(GATED); },
        expect: &[2],
        says: &["tiem"],
        ..ROW
    };
    a_link_that_the_base_has_too: Row {
        base: |repo| {
            repo.configure(GATED);
            repo.rename("perfharness.toml", "conf/p.toml");
            repo.link("conf/p.toml", "perfharness.toml");
        },
        arrange: |repo| { repo.plant(); repo.write("conf/p.toml", &format!("{GATED}{LOOSE}")); },
        systems: UNIX,
        expect: &[2, 3],
        ..ROW
    };
    accepted_figures_of_the_change: Row {
        base: |repo| { repo.configure(BOTH); repo.accept(); },
        arrange: accept_too,
        says: &["they count once they are in the base"],
        ..ROW
    };
    accepted_figures_that_are_removed: Row {
        base: |repo| { repo.configure(BOTH); repo.accept(); },
        arrange: |repo| { repo.plant(); repo.remove(&repo.baseline()); },
        says: &["removes accepted figures"],
        ..ROW
    };
    a_trusted_head_that_is_worse: Row { line: "gate --base main gated/n1/work --trust-head", says: &["--trust-head"], ..OWN };
    a_trusted_head_that_fails: Row {
        arrange: |repo| { repo.plant(); repo.code("OFFSET = 0", "OFFSET = 1"); },
        line: "gate --base main gated/n1/work --trust-head",
        expect: &[5],
        ..OWN
    };
    a_trusted_head_that_acknowledges_less: Row {
        arrange: |repo| {
            repo.plant();
            repo.configure_also("[[gate.acknowledged]]\nbenchmark = \"gated\"\nmetric = \"copies\"\nbound = 1.5\nreason = \"x\"\nsince = \"2026-03-01\"\n");
        },
        line: "gate --base main gated/n1/work --trust-head",
        ..OWN
    };
    a_trusted_head_that_removes_the_benchmark: Row {
        arrange: |repo| { repo.plant(); repo.code(", {\"id\": \"work\", \"role\": \"other\"}", ""); },
        line: "gate --base main --trust-head",
        expect: &[5],
        ..OWN
    };
    trust_in_a_head_without_a_base: Row { line: "gate gated/n1/work --trust-head", expect: &[2], ..OWN };
    a_folder_of_the_configuration_that_becomes_a_link: Row {
        base: |repo| {
            repo.configure(GATED);
            repo.rename("perfharness.toml", "part/perfharness.toml");
            repo.rename("bench", "part/bench");
        },
        arrange: |repo| {
            repo.edit("part/bench/my_worker.py", "COPIES = 1", "COPIES = 2");
            repo.edit("part/perfharness.toml", GATED, &format!("{GATED}{LOOSE}"));
            repo.rename("part", "elsewhere");
            repo.link("elsewhere", "part");
        },
        line: "gate --base main gated/n1/work --config part/perfharness.toml",
        systems: UNIX,
        expect: &[2, 3, 5],
        ..ROW
    };
    a_configuration_that_becomes_a_link: Row {
        arrange: |repo| {
            loosen(repo);
            repo.rename("perfharness.toml", "conf/p.toml");
            repo.link("conf/p.toml", "perfharness.toml");
        },
        systems: UNIX,
        expect: &[2, 3],
        ..OWN
    };
    a_configuration_that_becomes_a_link_out_of_the_repository: Row {
        arrange: |repo| {
            loosen(repo);
            repo.rename("perfharness.toml", "../p.toml");
            repo.link("{above}/p.toml", "perfharness.toml");
        },
        systems: UNIX,
        expect: &[2, 3],
        ..OWN
    };
    accepted_figures_behind_a_link: Row {
        base: |repo| {
            repo.configure(BOTH);
            repo.accept();
            repo.write("docs/notes.txt", "nothing");
        },
        arrange: |repo| {
            repo.plant();
            repo.remove(&repo.baseline());
            repo.remove_folder("baselines");
            repo.link("docs", "baselines");
        },
        systems: UNIX,
        expect: &[2, 3],
        says: &["removes accepted figures"],
        ..ROW
    };
}

rows! {
    /// A record of the gate is judged by the configuration that lies here, which is that of the change.
    a_record_that_is_judged_again_by_the_policy_here: Row {
        arrange: |repo| {
            loosen(repo);
            repo.commit("the change");
            let first = Row { line: "gate --base main gated/n1/work", ..OWN };
            repo.call(&first).done().code(3);
        },
        line: "gate {above}/out/run.json --json-report {above}/out/gate.json",
        expect: &[2, 3, 4],
        ..OWN
    };
}
