//! Kernels that a metered sample dispatches.

use std::rc::Rc;

use perfharness_contract::protocol::{Kernel, Kernels};

/// Most bytes of sources that a sample reports: a third of what an answer of a worker may have, because JSON escapes each
/// line end.
const MOST_SOURCE_BYTES: usize = 80 << 10;

/// Everything that a pipeline was compiled from. The bindings and the size of a workgroup are in the source.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shader {
    pub(crate) label: String,
    pub(crate) wgsl: String,
    pub(crate) entry_point: String,
}

/// Shaders by number of dispatches.
#[derive(Debug, Default)]
pub(crate) struct Dispatched(Vec<(Rc<Shader>, u64)>);

impl Dispatched {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn add(&mut self, shader: Rc<Shader>) {
        match self.0.iter_mut().find(|(known, _)| Rc::ptr_eq(known, &shader)) {
            Some((_, dispatches)) => *dispatches += 1,
            None => self.0.push((shader, 1)),
        }
    }

    /// Returns the kernels, each once, if they account for all `dispatches` of the sample.
    pub(crate) fn kernels(&self, dispatches: u64) -> Kernels {
        let known: u64 = self.0.iter().map(|(_, dispatches)| dispatches).sum();
        if known != dispatches {
            let early = dispatches.abs_diff(known);
            return Kernels::Absent {
                absent: format!(
                    "{early} of {dispatches} dispatches were recorded before the sample that they ran in"
                ),
            };
        }
        let mut kernels: Vec<Kernel> = Vec::new();
        for (shader, dispatches) in &self.0 {
            // A hot path that creates its pipelines in each iteration has many equal ones.
            let same = |kernel: &&mut Kernel| {
                (&kernel.label, &kernel.wgsl, &kernel.entry_point)
                    == (&shader.label, &shader.wgsl, &shader.entry_point)
            };
            match kernels.iter_mut().find(same) {
                Some(kernel) => kernel.dispatches += dispatches,
                None => kernels.push(Kernel {
                    label: shader.label.clone(),
                    wgsl: shader.wgsl.clone(),
                    entry_point: shader.entry_point.clone(),
                    dispatches: *dispatches,
                }),
            }
        }
        let bytes: usize = kernels.iter().map(|kernel| kernel.wgsl.len()).sum();
        if bytes > MOST_SOURCE_BYTES {
            let count = kernels.len();
            return Kernels::Absent {
                absent: format!(
                    "the sources of its {count} kernels have {bytes} bytes, and {MOST_SOURCE_BYTES} can be reported"
                ),
            };
        }
        Kernels::Known(kernels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shader(label: &str) -> Rc<Shader> {
        of_source(label, "source")
    }

    fn of_source(label: &str, wgsl: &str) -> Rc<Shader> {
        Rc::new(Shader { label: label.into(), wgsl: wgsl.into(), entry_point: "main".into() })
    }

    #[test]
    fn equal_pipelines_are_one_kernel() {
        let (sort, scan) = (shader("sort"), shader("scan"));
        let mut dispatched = Dispatched::default();
        for shader in [&sort, &scan, &sort, &shader("sort")] {
            dispatched.add(Rc::clone(shader));
        }
        let Kernels::Known(kernels) = dispatched.kernels(4) else { panic!("all dispatches are known") };
        let counts: Vec<_> =
            kernels.iter().map(|kernel| (kernel.label.as_str(), kernel.dispatches)).collect();
        assert_eq!(counts, [("sort", 3), ("scan", 1)]);
    }

    #[test]
    fn sources_that_do_not_fit_into_an_answer_are_an_absence() {
        let mut dispatched = Dispatched::default();
        dispatched.add(of_source("sort", &" ".repeat(MOST_SOURCE_BYTES)));
        assert!(matches!(dispatched.kernels(1), Kernels::Known(_)));
        dispatched.add(shader("scan"));
        let Kernels::Absent { absent } = dispatched.kernels(2) else { panic!("they are too long") };
        assert!(absent.contains("its 2 kernels"), "{absent}");
    }

    #[test]
    fn dispatches_of_unknown_kernels_are_an_absence() {
        let mut dispatched = Dispatched::default();
        dispatched.add(shader("sort"));
        let Kernels::Absent { absent } = dispatched.kernels(3) else { panic!("two dispatches are unknown") };
        assert!(absent.starts_with("2 of 3 dispatches"), "{absent}");
    }
}
