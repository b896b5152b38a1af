//! Flame graphs as SVG.

use std::io;

use inferno::flamegraph::color::MultiPalette;
use inferno::flamegraph::{Options, Palette, from_lines};
use perfharness_contract::protocol::ProfileClock;
use perfharness_record::{INSTRUCTIONS, Misses, StackProfile, fold, units};

use super::difference::UnitScale;
use super::{Difference, Widths};

/// Names of the two sides of a differential graph.
#[derive(Clone, Copy, Debug)]
pub(super) struct SideNames<'a> {
    pub(super) reference: &'a str,
    pub(super) candidate: &'a str,
}

/// Draws the flame graph of one benchmark; the widths are amounts per iteration.
pub(super) fn flame_graph(profile: &StackProfile, benchmark: &str) -> io::Result<Vec<u8>> {
    let scale = UnitScale::of(&profile.unit, profile.per_iteration());
    let lines = fold(benchmark, scale.weights(profile).map(|(frames, weight)| (frames.as_slice(), weight)));
    let waiting = match profile.clock {
        ProfileClock::Cpu => "; excludes waiting",
        ProfileClock::Wall => "",
    };
    let iterations = units::counted(profile.iterations as usize, "iteration");
    let subtitle = if profile.unit == INSTRUCTIONS {
        let misses = profile.simulated.map(misses).unwrap_or_default();
        format!("{} per iteration, counted over {iterations}{waiting}{misses}", amount(profile))
    } else {
        format!(
            "{} of {} per iteration: {} over {iterations}{waiting}",
            amount(profile),
            profile.quantity(),
            units::counted(profile.samples() as usize, "sample"),
        )
    };
    let mut options = options(benchmark, subtitle, scale.unit);
    draw(&mut options, &lines)
}

/// Says what the simulated processor missed in an iteration.
fn misses(misses: Misses) -> String {
    let [first, last, branches] =
        [misses.first_cache, misses.last_cache, misses.branches].map(|count| units::count(count.round()));
    format!("; simulated misses: {first} of 32 KiB, {last} of 8 MiB, {branches} branches")
}

/// Draws a differential flame graph: red where the candidate spends more than the reference, blue where it spends
/// less.
pub(super) fn differential(
    difference: &Difference,
    profiles: (&StackProfile, &StackProfile),
    sides: SideNames<'_>,
    case: &str,
    widths: Widths,
) -> io::Result<Vec<u8>> {
    let SideNames { reference, candidate } = sides;
    let of = match widths {
        Widths::Reference => reference,
        Widths::Candidate => candidate,
    };
    let subtitle = format!(
        "{} per iteration: {} {reference}, {} {candidate}; widths of {of}; red: {candidate} spends more in the function itself, blue: less",
        profiles.0.quantity(),
        amount(profiles.0),
        amount(profiles.1),
    );
    let title = format!("{case}: {reference} against {candidate}");
    let mut options = options(&title, subtitle, difference.unit.clone());
    options.negate_differentials = widths == Widths::Reference;
    draw(&mut options, &difference.lines(widths))
}

fn amount(profile: &StackProfile) -> String {
    units::value(&profile.unit, profile.per_iteration())
}

fn options(title: &str, subtitle: String, unit: String) -> Options<'static> {
    let mut options = Options::default();
    title.clone_into(&mut options.title);
    options.subtitle = Some(subtitle);
    options.count_name = unit;
    // Colours follow the kind and name of a function, so that they are the same in every graph.
    options.colors = Palette::Multi(MultiPalette::Rust);
    options.deterministic = true;
    options
}

fn draw(options: &mut Options<'_>, lines: &str) -> io::Result<Vec<u8>> {
    let mut svg = Vec::new();
    from_lines(options, lines.lines(), &mut svg)?;
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use perfharness_record::testing::profile;

    use super::*;

    fn text(svg: io::Result<Vec<u8>>) -> String {
        String::from_utf8(svg.unwrap()).unwrap()
    }

    #[test]
    fn a_graph_names_its_benchmark_its_functions_and_its_unit() {
        let mut profile = profile(10, 1e6, &[("my::run;write", 3), ("my::run", 1)]);
        let stack = vec!["my::run".to_owned(), "<[u8; 4] as my::Write>::write".to_owned()];
        profile.stacks = [(stack, 3), (vec!["my::run".to_owned()], 1)].into();
        let svg = text(flame_graph(&profile, "w/c/slow"));
        for part in [
            "<title>w/c/slow (400,000 ns per iteration, 100.00%)</title>",
            "<title>&lt;[u8, 4] as my::Write&gt;::write (300,000 ns per iteration, 75.00%)</title>",
            "400 µs of CPU time per iteration: 4 samples over 10 iterations; excludes waiting",
        ] {
            assert!(svg.contains(part), "{part} is not in {svg}");
        }
        assert_eq!(svg, text(flame_graph(&profile, "w/c/slow")), "the same profile gives the same file");
    }

    #[test]
    fn a_graph_needs_no_other_file() {
        let svg = text(flame_graph(&profile(1, 1e6, &[("run", 1)]), "w/c/v"));
        let outside = ["href=\"http", "src=\"http", "@import", "url(http"];
        assert!(outside.iter().all(|mark| !svg.contains(mark)), "{svg}");
    }

    #[test]
    fn what_a_worker_calls_its_functions_is_text_and_nothing_else() {
        let name = "</title><script>alert(1)</script>\u{ffff}";
        let svg = text(flame_graph(&profile(1, 1e6, &[(name, 1)]), "w/<b>c</b>/v"));
        assert!(!svg.contains("<script>alert") && !svg.contains("<b>") && !svg.contains('\u{ffff}'), "{svg}");
        assert!(svg.contains("&lt;script&gt;alert(1)"), "{svg}");
    }

    #[test]
    fn a_differential_graph_shows_what_went_and_what_came() {
        let slow = profile(10, 1e6, &[("run;open", 3), ("run;write", 1)]);
        let fast = profile(10, 1e6, &[("run;write", 1), ("run;batch", 1)]);
        let difference = Difference::new(&slow, &fast, "w/c").unwrap();
        let sides = SideNames { reference: "slow", candidate: "fast" };
        let graph = |widths| text(differential(&difference, (&slow, &fast), sides, "w/c", widths));
        let removed = graph(Widths::Reference);
        assert!(removed.contains("open (300,000 ns per iteration, 75.00%; -75.00%)"), "{removed}");
        assert!(removed.contains("write (100,000 ns per iteration, 25.00%; 0.00%)"), "{removed}");
        assert!(removed.contains("400 µs slow, 200 µs fast; widths of slow"), "{removed}");
        assert!(!removed.contains("batch ("), "{removed}");
        let added = graph(Widths::Candidate);
        assert!(added.contains("batch (100,000 ns per iteration, 50.00%; +50.00%)"), "{added}");
        assert!(!added.contains("open ("), "{added}");
    }
}
