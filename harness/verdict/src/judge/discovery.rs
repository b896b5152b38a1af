/// The share of false flags that is tolerated among those that stand. On a change without any regression it bounds the
/// chance that any flag of the gate stands.
pub const FALSE_DISCOVERY_RATE: f64 = 0.01;

/// Which of the p-values stand if at most the share `q` of those that do may be false: the procedure of Benjamini and
/// Hochberg.
///
/// Of `m` p-values in rising order, all up to the largest `k` with `p(k) <= k/m * q` stand. Equal p-values stand or
/// fall together. A value that is not a number from 0 to 1 counts among the `m` and never stands; nothing stands if `q` is not
/// a number.
///
/// Source: Y. Benjamini and Y. Hochberg, "Controlling the False Discovery Rate: A Practical and Powerful Approach to
/// Multiple Testing", Journal of the Royal Statistical Society B 57(1), 1995,
/// <https://doi.org/10.1111/j.2517-6161.1995.tb02031.x>.
pub fn benjamini_hochberg(p_values: &[f64], q: f64) -> Vec<bool> {
    let is_probability = |p: &f64| (0.0..=1.0).contains(p);
    let mut sorted: Vec<f64> = p_values.iter().copied().filter(is_probability).collect();
    sorted.sort_by(f64::total_cmp);
    let tests = p_values.len() as f64;
    let stands = |(index, p): &(usize, &f64)| **p <= (index + 1) as f64 / tests * q;
    let limit = sorted.iter().enumerate().rev().find(stands).map(|(_, p)| *p);
    p_values.iter().map(|p| is_probability(p) && limit.is_some_and(|limit| *p <= limit)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[test]
    fn the_example_of_benjamini_and_hochberg_is_reproduced() {
        // Section 4.1 of the paper: 15 p-values on thrombolysis, of which four stand at q = 5 %.
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
            0.6528, 0.7590, 1.0,
        ];
        let stand = benjamini_hochberg(&p, 0.05);
        assert_eq!(stand.iter().filter(|stands| **stands).count(), 4);
        assert_eq!(&stand[..5], [true, true, true, true, false]);
    }

    #[rstest]
    #[case::none(&[], &[])]
    #[case::one_small(&[0.01], &[true])]
    #[case::one_large(&[0.011], &[false])]
    #[case::zero(&[0.0, 1.0], &[true, false])]
    // 0.009 alone would have to be at most 0.005, but together with 0.0095 it stands.
    #[case::the_larger_carries_the_smaller(&[0.0095, 0.009], &[true, true])]
    #[case::ties_that_stand(&[0.01, 0.01, 0.01], &[true, true, true])]
    #[case::ties_that_fall(&[0.006, 0.006, 0.5, 0.5], &[false; 4])]
    #[case::not_a_number_counts_as_a_test(&[0.006, f64::NAN], &[false, false])]
    #[case::beside_not_a_number(&[f64::NAN, 0.004], &[false, true])]
    #[case::no_probabilities(&[-0.5, 1.5, f64::INFINITY, f64::NEG_INFINITY], &[false; 4])]
    fn at_one_percent_these_stand(#[case] p: &[f64], #[case] expected: &[bool]) {
        assert_eq!(benjamini_hochberg(p, 0.01), expected);
    }

    #[test]
    fn without_a_meaningful_q_nothing_stands() {
        assert_eq!(benjamini_hochberg(&[0.001], f64::NAN), [false]);
        assert_eq!(benjamini_hochberg(&[0.001], -1.0), [false]);
    }

    proptest! {
        #[test]
        fn order_makes_no_difference_and_a_smaller_p_value_stands_wherever_a_larger_one_does(
            p in prop::collection::vec(prop_oneof![0.0..0.02, 0.0..1.0], 0..30),
        ) {
            let stand = benjamini_hochberg(&p, 0.01);
            let reversed: Vec<f64> = p.iter().rev().copied().collect();
            let mut back = benjamini_hochberg(&reversed, 0.01);
            back.reverse();
            prop_assert_eq!(&back, &stand);
            for (a, a_stands) in p.iter().zip(&stand) {
                for (b, b_stands) in p.iter().zip(&stand) {
                    prop_assert!(a > b || *a_stands || !b_stands);
                }
            }
        }

        #[test]
        fn never_fewer_than_by_bonferroni_and_never_more_than_without_correction(
            p in prop::collection::vec(prop_oneof![0.0..0.02, 0.0..1.0], 1..30),
        ) {
            for (p_value, stands) in p.iter().zip(benjamini_hochberg(&p, 0.01)) {
                prop_assert!(stands || *p_value > 0.01 / p.len() as f64);
                prop_assert!(!stands || *p_value <= 0.01);
            }
        }
    }
}
