//! Which layouts of a program are fast, and what that can explain.
//!
//! A linker may put the same functions into another order, and some code then runs faster or slower in every process. Both
//! versions of a program are therefore linked several times, and all links of both are measured in the same rounds. This
//! module says which links of a version are as fast as its fastest, and whether a difference between the versions' fastest
//! links is one that links of the same code show, too.

use crate::student;

/// Chance that links which do not differ are said to, for each version.
const ALPHA: f64 = 0.005;
/// Chance that a link which is as fast as the fastest is left out, for each link.
const ALPHA_KEPT: f64 = 0.01;
/// Chance that two links of equal speed are not taken for equal, where that would explain a difference. Small, because the
/// fastest of several links looks faster than it is.
const ALPHA_MET: f64 = 0.001;

/// Log-ratio by which a link may be slower than the fastest and still count as fast, however well it is known.
const NEAR: f64 = 0.005;

/// Links of one version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayoutChoice {
    /// Numbers of the links that are as fast as the fastest, as far as the noise lets see; all if none is known to be slower.
    pub kept: Vec<usize>,
    /// Log-ratio of the slowest and the fastest link; 0 unless noise is ruled out.
    pub spread: f64,
}

/// Links of both versions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layouts {
    /// Those of each version, in the order given.
    pub choices: [LayoutChoice; 2],
    /// The largest log-ratio between the versions that their links explain. 0 if they explain none: the fastest links differ
    /// in a way that links of one version do not.
    pub explained: f64,
}

/// Mean log-level of a link.
#[derive(Clone, Copy)]
struct Link {
    number: usize,
    mean: f64,
}

/// Judges the links of two versions. `levels` has a row for each link of a version, with a log-level for each launch; a link
/// that failed has an empty row. Rows are compared launch by launch: what slows all links of a launch does not count.
///
/// The noise of a launch is pooled over all links. Two links of a version differ if the slowest and the fastest do at 99.5 %
/// (Bonferroni over all pairs, Student's t). Nothing differs if there are fewer than two launches.
#[must_use]
pub fn judge_layouts(levels: [&[Vec<f64>]; 2]) -> Layouts {
    let all: Vec<&Vec<f64>> =
        levels.iter().flat_map(|rows| rows.iter()).filter(|row| !row.is_empty()).collect();
    let launches = all.iter().map(|row| row.len()).min().unwrap_or(0);
    let everything = |rows: &[Vec<f64>]| LayoutChoice {
        kept: (0..rows.len()).filter(|number| !rows[*number].is_empty()).collect(),
        spread: 0.0,
    };
    let unknown = || Layouts { choices: levels.map(everything), explained: 0.0 };
    let is_usable = all.iter().all(|row| row.iter().all(|level| level.is_finite()));
    if launches < 2 || all.len() < 2 || !is_usable {
        return unknown();
    }
    let of_launch = |launch: usize| all.iter().map(|row| row[launch]).sum::<f64>() / all.len() as f64;
    let centres: Vec<f64> = (0..launches).map(of_launch).collect();
    let centred =
        |row: &[f64]| -> Vec<f64> { row.iter().zip(&centres).map(|(level, c)| level - c).collect() };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let squares = all.iter().map(|row| {
        let values = centred(row);
        let mean = mean(&values);
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
    });
    let df = ((launches - 1) * (all.len() - 1)) as f64;
    let sd = (squares.sum::<f64>() / df).sqrt();
    let of_difference = sd * (2.0 / launches as f64).sqrt();
    let quantile =
        |alpha: f64| student::quantile(1.0 - alpha, df).map_or(f64::INFINITY, |t| t * of_difference);
    let margin = quantile(ALPHA_KEPT).max(NEAR);
    let ranked: [Vec<Link>; 2] = levels.map(|rows| {
        let link = |(number, row): (usize, &Vec<f64>)| {
            (!row.is_empty()).then(|| Link { number, mean: mean(&centred(row)) })
        };
        let mut links: Vec<Link> = rows.iter().enumerate().filter_map(link).collect();
        links.sort_by(|a, b| a.mean.total_cmp(&b.mean));
        links
    });
    let choice = |links: &Vec<Link>| {
        let (Some(first), Some(last)) = (links.first(), links.last()) else { return LayoutChoice::default() };
        let range = last.mean - first.mean;
        let pairs = (links.len() * (links.len() - 1)) as f64;
        let differ = range > quantile(ALPHA / pairs.max(1.0));
        let mut kept: Vec<usize> = links
            .iter()
            .filter(|link| !differ || link.mean - first.mean <= margin)
            .map(|link| link.number)
            .collect();
        kept.sort_unstable();
        LayoutChoice { kept, spread: if differ { range } else { 0.0 } }
    };
    let choices = [choice(&ranked[0]), choice(&ranked[1])];
    let explained = explained(&ranked, &choices, quantile(ALPHA_MET));
    Layouts { choices, explained }
}

/// Returns the largest log-ratio between the versions' fastest links that layout explains: where the fastest link of the
/// slower version is as fast as a slow link of the faster one, and none of its links is slower than all of those, it may
/// only have drawn no fast link. More work slows all links of a version, and hardly ever so that they meet those.
fn explained(ranked: &[Vec<Link>; 2], choices: &[LayoutChoice; 2], margin: f64) -> f64 {
    let ends = |links: &Vec<Link>| Some((links.first()?.mean, links.last()?.mean));
    let (Some(one), Some(other)) = (ends(&ranked[0]), ends(&ranked[1])) else { return 0.0 };
    let faster = usize::from(other.0 < one.0);
    let ((best, worst), (their_best, their_worst)) = if faster == 0 { (one, other) } else { (other, one) };
    let is_left_out = |link: &&Link| !choices[faster].kept.contains(&link.number);
    let meets = |link: &Link| (link.mean - their_best).abs() <= margin;
    if choices[faster].spread == 0.0 || their_worst > worst + margin {
        return 0.0;
    }
    let met = ranked[faster].iter().filter(is_left_out).filter(|link| meets(link));
    // A pair that is measured again has noise of its own.
    met.map(|link| link.mean - best + margin).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::Normal;

    const LAUNCHES: usize = 4;
    const LINKS: usize = 4;

    /// Levels of links with these true log-levels: noise of each link and launch, and more that all links of a launch share.
    fn levels(normal: &mut Normal, truth: [&[f64]; 2], sd: f64) -> [Vec<Vec<f64>>; 2] {
        let shared: Vec<f64> = (0..LAUNCHES).map(|_| 0.2 * normal.next()).collect();
        truth.map(|links| {
            let row = |link: &f64| shared.iter().map(|shared| shared + link + sd * normal.next()).collect();
            links.iter().map(row).collect()
        })
    }

    fn judged(levels: &[Vec<Vec<f64>>; 2]) -> Layouts {
        judge_layouts([&levels[0], &levels[1]])
    }

    /// Counts the outcomes of many simulated pairs of versions that `is_so`.
    fn count(
        draws: usize,
        mut truth: impl FnMut(&mut Normal) -> [Vec<f64>; 2],
        sd: f64,
        is_so: impl Fn(&Layouts) -> bool,
    ) -> usize {
        let mut normal = Normal::seeded(17);
        (0..draws)
            .filter(|_| {
                let [one, other] = truth(&mut normal);
                is_so(&judged(&levels(&mut normal, [&one, &other], sd)))
            })
            .count()
    }

    /// A link of a kernel that is 19 % slower in a third of its layouts, after so much more work.
    fn two_levels(normal: &mut Normal, work: f64) -> Vec<f64> {
        let slow = 1.19_f64.ln();
        (0..LINKS).map(|_| work + if normal.next() > 0.44 { slow } else { 0.0 }).collect()
    }

    #[test]
    fn noise_is_not_taken_for_layout() {
        let same = |_: &mut Normal| [vec![0.0; LINKS], vec![0.0; LINKS]];
        let spread = |judged: &Layouts| judged.choices.iter().any(|choice| choice.spread > 0.0);
        let found = count(2_000, same, 0.05, spread);
        assert!(found <= 25, "{found} of 2000");
        // A change is not layout either.
        let slower = |_: &mut Normal| [vec![0.0; LINKS], vec![0.05; LINKS]];
        let found = count(2_000, slower, 0.02, |judged| judged.explained > 0.0);
        assert!(found <= 5, "{found} of 2000");
    }

    #[test]
    fn a_layout_that_is_slower_by_a_fifth_is_found_and_left_out() {
        let slow = 1.19_f64.ln();
        let truth = |_: &mut Normal| [vec![slow, 0.0, 0.0, 0.0], vec![0.0, 0.0, slow, slow]];
        let is_right = |judged: &Layouts| {
            let [one, other] = &judged.choices;
            let is_near = |choice: &LayoutChoice| (choice.spread - slow).abs() < 0.06;
            is_near(one)
                && is_near(other)
                && !one.kept.contains(&0)
                && !other.kept.contains(&2)
                && !other.kept.contains(&3)
        };
        let found = count(1_000, truth, 0.02, is_right);
        assert!(found >= 990, "{found} of 1000");
        // With what the noise lets see, the fast ones stay.
        let all_fast =
            |judged: &Layouts| judged.choices[0].kept == [1, 2, 3] && judged.choices[1].kept == [0, 1];
        let found = count(1_000, truth, 0.02, all_fast);
        assert!(found >= 920, "{found} of 1000");
    }

    #[test]
    fn a_version_that_drew_no_fast_layout_is_explained_by_the_other_and_more_work_is_not() {
        let slow = 1.19_f64.ln();
        let unlucky = |_: &mut Normal| [vec![0.0, slow, 0.0, 0.0], vec![slow; LINKS]];
        let found = count(1_000, unlucky, 0.02, |judged| judged.explained >= slow);
        assert!(found >= 950, "{found} of 1000");
        let more_work = |normal: &mut Normal| [two_levels(normal, 0.0), two_levels(normal, 1.05_f64.ln())];
        let found = count(1_000, more_work, 0.01, |judged| judged.explained >= 1.05_f64.ln());
        assert!(found <= 20, "{found} of 1000");
    }

    #[test]
    fn the_fastest_links_of_equal_code_hardly_ever_differ_unexplained() {
        let same = |normal: &mut Normal| [two_levels(normal, 0.0), two_levels(normal, 0.0)];
        let mut normal = Normal::seeded(3);
        let mut differs = 0;
        for _ in 0..2_000 {
            let truth = same(&mut normal);
            let judged = judged(&levels(&mut normal, [&truth[0], &truth[1]], 0.01));
            let kept_mean = |version: usize| {
                let kept = &judged.choices[version].kept;
                kept.iter().map(|number| truth[version][*number]).sum::<f64>() / kept.len() as f64
            };
            let effect = (kept_mean(0) - kept_mean(1)).abs();
            differs += usize::from(effect > 0.03 && effect > judged.explained);
        }
        // One link of each would differ in 45 % of all draws.
        assert!(differs <= 20, "{differs} of 2000");
    }

    #[test]
    fn too_few_launches_and_failed_links_leave_what_is_there() {
        let choices = |levels: [&[Vec<f64>]; 2]| {
            judge_layouts(levels).choices.map(|choice| (choice.kept, choice.spread))
        };
        assert_eq!(choices([&[], &[]]), [(vec![], 0.0), (vec![], 0.0)]);
        let one_launch = [vec![0.0], vec![9.0]];
        assert_eq!(choices([&one_launch, &one_launch]), [(vec![0, 1], 0.0), (vec![0, 1], 0.0)]);
        let failed = [vec![], vec![1.0, 1.0, 1.0], vec![2.0, 2.0, 2.0]];
        // Links without any noise differ by whatever they differ.
        assert_eq!(choices([&failed, &[]]), [(vec![1], 1.0), (vec![], 0.0)]);
        let endless = [vec![f64::NAN, 0.0], vec![0.0, f64::INFINITY]];
        assert_eq!(choices([&endless, &endless]), [(vec![0, 1], 0.0), (vec![0, 1], 0.0)]);
    }
}
