//! Tests of every golden case: intermediate results and indexes. `tests/golden/README.md` states their source.

use std::path::{Path, PathBuf};

use crate::npy::{self, Number};
use crate::oracle::{Oracle, analytic, bin, filter, modulation_index, oracle};
use crate::{Band, Filters, Normalisation, Settings, Shape};

pub(super) const CASES: [&str; 5] = ["small", "small_wavelet", "medium", "empty_bins", "absent_bins"];
/// Allowed deviation of an index in float64.
pub(super) const F64_TOLERANCE: f64 = 1e-12;

/// A golden case with the contents of all its files.
pub(super) struct Golden {
    folder: PathBuf,
    pub(super) settings: Settings,
    pub(super) shape: Shape,
    pub(super) x: Vec<f32>,
}

impl Golden {
    pub(super) fn open(case: &str, normalisation: Normalisation) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(case);
        let meta = std::fs::read_to_string(folder.join("meta.json")).unwrap();
        let meta: serde_json::Value = serde_json::from_str(&meta).unwrap();
        let bands = |key: &str| {
            let band =
                |band: &serde_json::Value| Band::new(band[0].as_f64().unwrap(), band[1].as_f64().unwrap());
            meta[key].as_array().unwrap().iter().map(band).collect()
        };
        let settings = Settings {
            sf_hz: meta["sf_hz"].as_f64().unwrap(),
            phase: bands("f_pha_hz"),
            amplitude: bands("f_amp_hz"),
            bins: meta["n_bins"].as_u64().unwrap() as usize,
            normalisation,
        };
        let x = npy::read::<f32>(&folder.join("x.npy")).unwrap();
        Self { folder, settings, shape: Shape::new(x.shape[0], x.shape[1]), x: x.values }
    }

    pub(super) fn wide(&self) -> Vec<f64> {
        self.x.iter().map(|&x| f64::from(x)).collect()
    }

    pub(super) fn file<T: Number>(&self, name: &str) -> Vec<T> {
        npy::read(&self.folder.join(name)).unwrap().values
    }

    pub(super) fn oracle(&self) -> Oracle {
        oracle(&self.settings, self.shape, &self.wide()).unwrap()
    }
}

/// Compares numbers: NaN exactly where NaN is expected, all else within a tolerance.
#[track_caller]
pub(super) fn assert_close(what: &str, actual: &[f64], due: &[f64], tolerance: f64) {
    assert_eq!(actual.len(), due.len(), "{what}");
    for (i, (a, d)) in actual.iter().zip(due).enumerate() {
        let close = (a.is_nan() && d.is_nan()) || (a - d).abs() <= tolerance;
        assert!(close, "{what}: value {i} is {a} instead of {d}");
    }
}

#[test]
fn filters_are_the_golden_ones() {
    for case in CASES {
        let golden = Golden::open(case, Normalisation::Tensorpac);
        let filters = Filters::design(&golden.settings, golden.shape.samples);
        for (name, taps) in [("taps_pha.npy", &filters.phase), ("taps_amp.npy", &filters.amplitude)] {
            let longest = taps.iter().map(Vec::len).max().unwrap();
            let padded = |taps: &Vec<f64>| [&taps[..], &vec![0.0; longest - taps.len()]].concat();
            let padded: Vec<f64> = taps.iter().flat_map(padded).collect();
            assert_close(&format!("{case}/{name}"), &padded, &golden.file(name), 1e-15);
        }
    }
}

#[test]
fn signals_phases_and_amplitudes_are_the_golden_ones() {
    for case in CASES {
        let golden = Golden::open(case, Normalisation::Tensorpac);
        let filters = Filters::design(&golden.settings, golden.shape.samples);
        let x = golden.wide();
        let of_band = |taps: &[f64]| -> Vec<f64> {
            x.chunks(golden.shape.samples).flat_map(|row| filter(taps, row)).collect()
        };
        let filtered = [of_band(&filters.phase[0]), of_band(&filters.amplitude[0])];
        let largest = |values: &[f64]| values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        for (name, filtered) in ["filt_pha0.npy", "filt_amp0.npy"].iter().zip(&filtered) {
            assert_close(&format!("{case}/{name}"), filtered, &golden.file(name), 1e-13 * largest(filtered));
        }
        let analytic_of =
            |signal: &[f64]| signal.chunks(golden.shape.samples).flat_map(analytic).collect::<Vec<_>>();
        let phases: Vec<f64> = analytic_of(&filtered[0]).iter().map(|z| z.arg()).collect();
        for (i, (phase, due)) in phases.iter().zip(golden.file::<f64>("phase0.npy")).enumerate() {
            let turn = std::f64::consts::TAU;
            let off = (phase - due).abs().min(turn - (phase - due).abs());
            assert!(off < 1e-11, "{case}: phase {i} is {phase} instead of {due}");
        }
        let amplitudes: Vec<f64> = analytic_of(&filtered[1]).iter().map(|z| z.norm()).collect();
        let due = golden.file::<f64>("amplitude0.npy");
        assert_close(&format!("{case}/amplitude0"), &amplitudes, &due, 1e-13 * largest(&due));
    }
}

#[test]
fn bins_are_the_golden_ones() {
    for case in CASES {
        let golden = Golden::open(case, Normalisation::Tensorpac);
        let oracle = golden.oracle();
        let signals = oracle.phases[..golden.shape.channels].iter().flatten();
        let numbers: Vec<i32> = signals.map(|z| bin(z.arg(), golden.settings.bins) as i32).collect();
        assert_eq!(numbers, golden.file::<i32>("bin_index0.npy"), "{case}");
        let bins = golden.settings.bins;
        let in_call: Vec<i64> =
            (0..bins).map(|bin| oracle.counts.iter().skip(bin).step_by(bins).sum::<u64>() as i64).collect();
        assert_eq!(in_call, golden.file::<i64>("bin_counts.npy"), "{case}");
        let first_pair = &oracle.sums[..golden.shape.channels * bins];
        assert_close(case, first_pair, &golden.file("binned_amp_00.npy"), 1e-11);
    }
}

#[test]
fn the_oracle_gives_the_golden_indexes_and_their_nans() {
    let mut nans = 0;
    for case in CASES {
        let golden = Golden::open(case, Normalisation::Tensorpac);
        let due = golden.file::<f64>("mi.npy");
        nans += due.iter().filter(|index| index.is_nan()).count();
        assert_close(case, &golden.oracle().index, &due, F64_TOLERANCE);
    }
    assert_eq!(nans, 2, "the golden data have NaNs to be met");
}

#[test]
fn where_a_call_has_one_phase_band_and_channel_the_normalisations_agree() {
    let golden = Golden::open("absent_bins", Normalisation::Textbook);
    assert_close("absent_bins", &golden.oracle().index, &golden.file::<f64>("mi.npy"), F64_TOLERANCE);
}

#[test]
fn a_channel_has_the_textbook_index_that_tensorpac_gives_it_alone() {
    for case in CASES {
        let golden = Golden::open(case, Normalisation::Textbook);
        let together = golden.oracle().index;
        for phase in 0..golden.settings.phase.len() {
            for channel in 0..golden.shape.channels {
                let alone = Settings {
                    phase: vec![golden.settings.phase[phase]],
                    normalisation: Normalisation::Tensorpac,
                    ..golden.settings.clone()
                };
                let row = &golden.wide()[channel * golden.shape.samples..][..golden.shape.samples];
                let alone = oracle(&alone, Shape::new(1, golden.shape.samples), row).unwrap().index;
                let bands = golden.settings.phase.len() * golden.shape.channels;
                let due: Vec<f64> = together
                    .iter()
                    .skip(phase * golden.shape.channels + channel)
                    .step_by(bands)
                    .copied()
                    .collect();
                assert_close(case, &alone, &due, F64_TOLERANCE);
            }
        }
    }
}

/// Returns a signal that any language can make: a wave of 6 Hz that modulates one of 80 Hz, and noise of a congruential
/// generator.
fn portable_signal(seed: u32, samples: usize) -> Vec<f64> {
    let mut state = seed;
    let sample = |i: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let t = i as f64 / 512.0;
        let slow = (std::f64::consts::TAU * 6.0 * t).sin();
        let fast = (std::f64::consts::TAU * 80.0 * t).sin();
        slow + 0.25 * (1.0 + slow) * fast + 0.2 * (f64::from(state) / 4_294_967_296.0 - 0.5)
    };
    (0..samples).map(sample).collect()
}

#[test]
fn both_normalisations_give_their_known_figures() {
    let x = [portable_signal(1, 2048), portable_signal(2, 2048)].concat();
    let textbook = [
        0.003_467_583_249_00,
        0.055_988_228_412_6,
        0.056_102_084_960_9,
        0.055_964_295_645_8,
        0.054_020_798_793_8,
        0.017_174_631_419_0,
        0.000_381_663_818_84,
        0.000_079_535_733_8,
        0.000_084_918_625_6,
        0.000_111_835_460_708,
    ];
    let tensorpac = [
        0.005_103_898_378_77,
        0.056_194_368_368_6,
        0.056_058_316_482_8,
        0.055_710_978_703_5,
        0.054_972_678_712_6,
        0.022_779_198_199_4,
        0.000_277_742_458,
        0.000_287_519_344,
        0.000_406_809_501,
        0.000_390_943_775,
    ];
    for (normalisation, row, total) in [
        (Normalisation::Textbook, textbook, 1.487_759_260_809_82),
        (Normalisation::Tensorpac, tensorpac, 1.585_608_174_422_37),
    ] {
        let settings = Settings {
            sf_hz: 512.0,
            phase: Band::adjoining(2.0, 20.0, 10),
            amplitude: Band::adjoining(60.0, 160.0, 10),
            bins: 18,
            normalisation,
        };
        let index = oracle(&settings, Shape::new(2, 2048), &x).unwrap().index;
        let third_amplitude: Vec<f64> = index[2 * 20..3 * 20].iter().step_by(2).copied().collect();
        assert_close("amplitude band 2, channel 0", &third_amplitude, &row, 1e-12);
        let sum: f64 = index.iter().sum();
        assert!((sum - total).abs() < 1e-11, "{normalisation:?}: {sum}");
    }
}

#[test]
fn the_index_is_0_for_a_flat_and_1_for_a_concentrated_distribution() {
    assert!(modulation_index(&[3.0; 18], &[3; 18]).abs() < 1e-15);
    let mut one = [0.0; 18];
    let mut visits = [0; 18];
    (one[4], visits[4]) = (2.0, 7);
    assert_eq!(modulation_index(&one, &visits), 1.0);
    visits[5] = 1;
    assert!(modulation_index(&one, &visits).is_nan(), "a bin that only others visit");
}
