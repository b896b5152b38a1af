//! Choice of the sides of a case that are alive at the same time.

use perfharness_record::Pairing;

/// Share of the machine's memory that workers which are alive together may declare.
const MEMORY_SHARE: f64 = 0.5;

/// Facts of a side that the pairing depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct SideNeeds {
    /// Reference among the sides.
    pub(super) reference: Option<usize>,
    /// Declared memory, 0 if none is declared.
    pub(super) memory_bytes: u64,
}

/// Returns the closest pairing that fits into the machine's memory.
pub(super) fn choose_pairing(sides: &[SideNeeds], total_memory: u64) -> Pairing {
    let room = total_memory as f64 * MEMORY_SHARE;
    let all: f64 = sides.iter().map(|s| s.memory_bytes as f64).sum();
    let pair =
        |s: &SideNeeds| s.memory_bytes as f64 + s.reference.map_or(0.0, |r| sides[r].memory_bytes as f64);
    if all <= room {
        Pairing::Together
    } else if sides.iter().map(pair).fold(0.0, f64::max) <= room {
        Pairing::Pairwise
    } else {
        Pairing::Alternating
    }
}

/// Returns the parts of a launch, each a set of sides that are alive together. `active` are the sides still to be measured.
pub(super) fn parts(pairing: Pairing, sides: &[SideNeeds], active: &[usize]) -> Vec<Vec<usize>> {
    match pairing {
        Pairing::Together => vec![active.to_vec()],
        Pairing::Alternating => active.iter().map(|side| vec![*side]).collect(),
        Pairing::Pairwise => {
            let with_reference = |side: &usize| {
                let reference = sides[*side].reference.filter(|r| active.contains(r));
                reference.map(|reference| vec![reference, *side])
            };
            let pairs: Vec<Vec<usize>> = active.iter().filter_map(with_reference).collect();
            let alone = active.iter().filter(|side| !pairs.iter().any(|pair| pair.contains(side)));
            let alone: Vec<Vec<usize>> = alone.map(|side| vec![*side]).collect();
            [pairs, alone].concat()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sides(memory: &[u64]) -> Vec<SideNeeds> {
        let reference = |i| (i > 0).then_some(0);
        memory
            .iter()
            .enumerate()
            .map(|(i, m)| SideNeeds { reference: reference(i), memory_bytes: *m })
            .collect()
    }

    #[test]
    fn memory_decides_who_is_alive_together() {
        assert_eq!(choose_pairing(&sides(&[0, 0, 0]), 100), Pairing::Together);
        assert_eq!(choose_pairing(&sides(&[10, 20, 20]), 100), Pairing::Together);
        assert_eq!(choose_pairing(&sides(&[10, 30, 40]), 100), Pairing::Pairwise);
        assert_eq!(choose_pairing(&sides(&[10, 30, 45]), 100), Pairing::Alternating);
    }

    #[test]
    fn every_active_side_has_a_part() {
        let sides = sides(&[0, 0, 0]);
        assert_eq!(parts(Pairing::Together, &sides, &[0, 1, 2]), [vec![0, 1, 2]]);
        assert_eq!(parts(Pairing::Pairwise, &sides, &[0, 1, 2]), [vec![0, 1], vec![0, 2]]);
        assert_eq!(parts(Pairing::Pairwise, &sides, &[1, 2]), [vec![1], vec![2]]);
        assert_eq!(parts(Pairing::Pairwise, &sides, &[0]), [vec![0]]);
        assert_eq!(parts(Pairing::Alternating, &sides, &[0, 2]), [vec![0], vec![2]]);
    }
}
