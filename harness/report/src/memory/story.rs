//! Findings about the memory of a benchmark, in words.

use perfharness_record::memory::{MemoryStory, Series, SeriesFinding, verdict};
use perfharness_record::units;
use perfharness_verdict::{GrowthTest, GrowthVerdict, MIN_GROWTH_POINTS};

/// Returns the findings in one sentence.
pub fn sentence(story: &MemoryStory, findings: &[SeriesFinding]) -> String {
    let iterations = units::count(story.iterations() as f64);
    let of = |verdict| findings.iter().filter(move |finding| finding.test.verdict == verdict);
    let said = match verdict(findings) {
        GrowthVerdict::Grows => {
            let growing: Vec<String> = of(GrowthVerdict::Grows).map(grows).collect();
            format!("{} over {iterations} iterations", growing.join("; "))
        }
        GrowthVerdict::Unclear if findings.is_empty() => {
            "unclear: no series of its memory was measured".to_owned()
        }
        GrowthVerdict::Unclear if story.points.len() < MIN_GROWTH_POINTS => {
            format!("unclear: {iterations} iterations are too few to decide")
        }
        GrowthVerdict::Unclear => {
            let steps: Vec<String> = of(GrowthVerdict::Unclear).map(steps).collect();
            format!("unclear: {}; measure more iterations to decide", steps.join("; "))
        }
        GrowthVerdict::Flat => format!("flat over {iterations} iterations: {}", flat(findings)),
    };
    let asked = story.asked;
    if story.iterations() < asked {
        let (asked, time) = (units::count(asked as f64), units::duration(story.iteration_ns));
        return format!("{said} (instead of {asked}, because one takes {time})");
    }
    said
}

/// "heap grows by 1,024 bytes per iteration (exact count)".
fn grows(finding: &SeriesFinding) -> String {
    let GrowthTest { per_iteration, interval, .. } = finding.test;
    let is_exact = finding.series != Series::Resident && interval.lower == interval.upper;
    let (lower, upper) = (units::count(interval.lower), units::count(interval.upper));
    let how_sure = if is_exact {
        " (exact count)".to_owned()
    } else if lower == upper {
        String::new()
    } else {
        format!(" (between {lower} and {upper})")
    };
    format!("{} grows by {} per iteration{how_sure}", finding.series.label(), bytes(per_iteration))
}

/// "heap grew by 32.8 kB in 5 steps, the last within 520 iterations".
fn steps(finding: &SeriesFinding) -> String {
    let GrowthTest { total, steps, last_step, .. } = finding.test;
    format!(
        "{} grew by {} in {}, the last after {} iterations",
        finding.series.label(),
        units::bytes(total),
        units::counted(steps, "step"),
        units::count(last_step)
    )
}

/// "heap +0 B, resident set +12.3 kB (detects leaks from 40 bytes per iteration)".
fn flat(findings: &[SeriesFinding]) -> String {
    let each = |finding: &SeriesFinding| {
        let GrowthTest { total, smallest, .. } = finding.test;
        let sign = if total < 0.0 { "" } else { "+" };
        let detects = smallest.map_or_else(String::new, |smallest: f64| match smallest {
            ..1.0 => " (detects any leak)".to_owned(),
            _ => format!(" (detects leaks from {} per iteration)", bytes(smallest.ceil())),
        });
        format!("{} {sign}{}{detects}", finding.series.label(), units::bytes(total))
    };
    findings.iter().map(each).collect::<Vec<_>>().join(", ")
}

/// Returns a verdict in a word.
pub(crate) fn word(verdict: GrowthVerdict) -> &'static str {
    match verdict {
        GrowthVerdict::Flat => "flat",
        GrowthVerdict::Grows => "grows",
        GrowthVerdict::Unclear => "unclear",
    }
}

fn bytes(value: f64) -> String {
    format!("{} byte{}", units::count(value), if value == 1.0 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use perfharness_record::memory::{MemoryPoint, findings};

    use super::*;

    fn story(points: u64, point: impl Fn(f64) -> MemoryPoint) -> MemoryStory {
        let point = |at: u64| MemoryPoint { iterations: at * 20, ..point(at as f64 * 20.0) };
        MemoryStory {
            asked: 1000,
            iteration_ns: 2e6,
            points: (0..=points).map(point).collect(),
            absent: BTreeMap::new(),
        }
    }

    fn verdict_and_sentence(story: &MemoryStory) -> (GrowthVerdict, String) {
        let findings = findings(story);
        (verdict(&findings), sentence(story, &findings))
    }

    #[test]
    fn a_leak_is_named_with_its_series_and_its_size() {
        let leak = story(50, |at| MemoryPoint {
            heap: Some(1024.0 * at),
            resident: Some(8e6 + 4096.0 * (at / 4.0).floor()),
            ..MemoryPoint::default()
        });
        let (verdict, sentence) = verdict_and_sentence(&leak);
        assert_eq!(verdict, GrowthVerdict::Grows);
        assert!(sentence.starts_with(
            "heap grows by 1,024 bytes per iteration (exact count); resident set grows by 1,02"
        ));
        assert!(sentence.ends_with("over 1,000 iterations"), "{sentence}");
    }

    #[test]
    fn a_flat_series_says_which_leaks_it_detects() {
        let still = story(50, |at| MemoryPoint {
            heap: Some(0.0),
            resident: Some(8e6 + if at > 100.0 { 12_288.0 } else { 0.0 }),
            ..MemoryPoint::default()
        });
        let (verdict, sentence) = verdict_and_sentence(&still);
        assert_eq!(verdict, GrowthVerdict::Flat);
        assert!(
            sentence.starts_with("flat over 1,000 iterations: heap +0 B (detects any leak), resident set +12.3 kB (detects leaks from "),
            "{sentence}"
        );
    }

    #[test]
    fn a_step_at_the_end_leaves_it_open_and_names_the_series() {
        let step = story(50, |at| MemoryPoint {
            device: Some(if at >= 900.0 { 4e6 } else { 3e6 }),
            ..MemoryPoint::default()
        });
        let due = "unclear: device memory in use grew by 1.00 MB in 1 step, the last after 900 iterations; measure more iterations to decide";
        assert_eq!(verdict_and_sentence(&step), (GrowthVerdict::Unclear, due.into()));
    }

    #[test]
    fn few_iterations_and_no_figures_say_so() {
        let few = story(5, |at| MemoryPoint { heap: Some(1024.0 * at), ..MemoryPoint::default() });
        let due =
            "unclear: 100 iterations are too few to decide (instead of 1,000, because one takes 2.00 ms)";
        assert_eq!(verdict_and_sentence(&few), (GrowthVerdict::Unclear, due.into()));
        let none = story(50, |_| MemoryPoint::default());
        assert_eq!(
            verdict_and_sentence(&none),
            (GrowthVerdict::Unclear, "unclear: no series of its memory was measured".into())
        );
    }

    #[test]
    fn a_series_with_gaps_is_left_out() {
        let part = story(50, |at| MemoryPoint {
            heap: (at < 500.0).then_some(0.0),
            resident: Some(8e6),
            ..MemoryPoint::default()
        });
        let series: Vec<Series> = findings(&part).iter().map(|finding| finding.series).collect();
        assert_eq!(series, [Series::Resident]);
    }
}
