//! Questions to a record: its sections, and what its workloads define.

use perfharness_contract::{BenchmarkId, CaseDef, MetricDef, Name, VariantDef, WorkloadDef};

use crate::{
    BaseRecord, BenchmarkRecord, CaseRecord, ComparedLayouts, ComparisonRecord, FreshRecord, LayoutFacts,
    RunRecord, SelectedRecord,
};

/// The launches of one purpose: a view of a part of a record, which is copied at no cost.
#[derive(Clone, Copy, Debug)]
pub struct Section<'r> {
    /// The cases, in the order of measuring.
    pub cases: &'r [CaseRecord],
    /// The benchmarks.
    pub benchmarks: &'r [BenchmarkRecord],
    /// The comparisons.
    pub comparisons: &'r [ComparisonRecord],
}

impl<'r> Section<'r> {
    /// Returns a benchmark by its id.
    pub fn benchmark(self, id: &BenchmarkId) -> Option<&'r BenchmarkRecord> {
        self.benchmarks.iter().find(|benchmark| benchmark.id == *id)
    }

    /// Returns the case that a benchmark was measured in.
    pub fn case_of(self, id: &BenchmarkId) -> Option<&'r CaseRecord> {
        self.cases.iter().find(|case| {
            case.workload == id.workload
                && case.case == id.case
                && case.variant.as_ref().is_none_or(|variant| *variant == id.variant)
        })
    }

    /// Returns the first comparison of a metric of a benchmark, whatever its reference.
    pub fn comparison(self, candidate: &BenchmarkId, metric: &str) -> Option<&'r ComparisonRecord> {
        self.comparisons_of(candidate, metric).next()
    }

    /// Returns the comparison of a metric of a benchmark with another benchmark of its case.
    pub fn comparison_of_variants(
        self,
        candidate: &BenchmarkId,
        metric: &str,
    ) -> Option<&'r ComparisonRecord> {
        self.comparisons_of(candidate, metric).find(|comparison| comparison.reference != *candidate)
    }

    /// Returns the comparison of a metric of two benchmarks. Head and base have one id.
    pub fn pair(
        self,
        candidate: &BenchmarkId,
        reference: &BenchmarkId,
        metric: &str,
    ) -> Option<&'r ComparisonRecord> {
        self.comparisons_of(candidate, metric).find(|comparison| comparison.reference == *reference)
    }

    fn comparisons_of(
        self,
        candidate: &BenchmarkId,
        metric: &str,
    ) -> impl Iterator<Item = &'r ComparisonRecord> {
        self.comparisons.iter().filter(move |c| c.candidate == *candidate && c.metric == *metric)
    }
}

impl BaseRecord {
    /// Returns a benchmark of the base that was measured.
    pub fn benchmark(&self, id: &BenchmarkId) -> Option<&BenchmarkRecord> {
        self.benchmarks.iter().find(|benchmark| benchmark.id == *id)
    }

    /// Returns the layouts in which a benchmark was measured.
    pub fn layouts(&self, id: &BenchmarkId) -> Option<&LayoutFacts> {
        self.layouts.iter().find(|record| record.benchmark == *id).map(|record| &record.layouts)
    }

    /// Returns a benchmark that the base has, measured or not.
    pub fn selected(&self, id: &BenchmarkId) -> Option<&SelectedRecord> {
        self.selected.iter().find(|selected| selected.id == *id)
    }
}

impl FreshRecord {
    /// Returns the fresh launches as a section.
    pub fn section(&self) -> Section<'_> {
        let Self { cases, benchmarks, comparisons } = self;
        Section { cases, benchmarks, comparisons }
    }
}

impl RunRecord {
    /// Returns the first launches of the measured code: variants against their references.
    pub fn section(&self) -> Section<'_> {
        let Self { cases, benchmarks, comparisons, .. } = self;
        Section { cases, benchmarks, comparisons }
    }

    /// Returns the benchmarks of the base, and the measured code against them; their cases are those of the first launches.
    pub fn base_section(&self) -> Option<Section<'_>> {
        let base = self.base.as_ref()?;
        Some(Section { cases: &self.cases, benchmarks: &base.benchmarks, comparisons: &base.comparisons })
    }

    /// Returns the comparison of the layouts of a benchmark, where they were compared.
    pub fn compared_layouts(&self, id: &BenchmarkId) -> Option<&ComparedLayouts> {
        match self.base.as_ref()?.layouts(id)? {
            LayoutFacts::Compared(compared) => Some(compared),
            LayoutFacts::Absent { .. } => None,
        }
    }

    /// Returns the log-ratio between the slowest and the fastest layout of a benchmark, 0 if they do not differ. `None` if
    /// they were not compared.
    pub fn layout_spread(&self, id: &BenchmarkId) -> Option<f64> {
        self.compared_layouts(id).filter(|compared| compared.launches > 0).map(ComparedLayouts::spread)
    }

    /// Returns the definition of a workload.
    pub fn workload(&self, id: &Name) -> Option<&WorkloadDef> {
        self.workloads.iter().find(|workload| workload.id == *id)
    }

    /// Returns the definition of the case of a benchmark.
    pub fn case_def(&self, id: &BenchmarkId) -> Option<&CaseDef> {
        self.workload(&id.workload)?.case(&id.case)
    }

    /// Returns the definition of the variant of a benchmark.
    pub fn variant_def(&self, id: &BenchmarkId) -> Option<&VariantDef> {
        self.workload(&id.workload)?.variant(&id.variant)
    }

    /// Returns the definitions of the metrics of a workload: those of the harness, then its own.
    pub fn metrics_of(&self, workload: &Name) -> impl Iterator<Item = &MetricDef> + Clone {
        let own = self.workload(workload).map(|workload| workload.metrics.as_slice()).unwrap_or_default();
        self.metrics.iter().chain(own)
    }

    /// Returns the definition of a metric of a workload.
    pub fn metric(&self, workload: &Name, id: &str) -> Option<&MetricDef> {
        self.metrics_of(workload).find(|metric| metric.id == *id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> RunRecord {
        let text = include_str!("../../fuzz/corpus/record/variants.json");
        crate::file::parse("variants.json".as_ref(), text).unwrap()
    }

    #[test]
    fn a_record_answers_by_the_id_of_a_benchmark() {
        let record = record();
        let section = record.section();
        for benchmark in &record.benchmarks {
            let id = &benchmark.id;
            assert!(std::ptr::eq(section.benchmark(id).unwrap(), benchmark));
            let case = section.case_of(id).unwrap();
            assert_eq!((&case.workload, &case.case), (&id.workload, &id.case));
            assert_eq!(record.case_def(id).unwrap().id, id.case);
            assert_eq!(record.variant_def(id).unwrap().id, id.variant);
        }
        for comparison in &record.comparisons {
            let (candidate, reference) = (&comparison.candidate, &comparison.reference);
            let metric = comparison.metric.as_str();
            assert!(std::ptr::eq(section.pair(candidate, reference, metric).unwrap(), comparison));
            assert!(section.pair(candidate, candidate, metric).is_none());
        }
        let unknown: BenchmarkId = "no/such/benchmark".parse().unwrap();
        assert!(section.benchmark(&unknown).is_none() && section.case_of(&unknown).is_none());
        assert!(record.variant_def(&unknown).is_none() && record.base_section().is_none());
    }

    #[test]
    fn versions_are_told_from_variants_and_each_benchmark_from_its_siblings() {
        let mut record = record();
        let of_variants = record.comparisons[0].clone();
        let id = of_variants.candidate.clone();
        let of_versions = ComparisonRecord { reference: id.clone(), ..of_variants.clone() };
        let case = record.section().case_of(&id).unwrap().clone();
        let of = |variant: &Name| CaseRecord { variant: Some(variant.clone()), ..case.clone() };
        let cases = vec![of(&of_variants.reference.variant), of(&id.variant)];
        record.confirmation = Some(FreshRecord {
            cases,
            benchmarks: record.benchmarks.clone(),
            comparisons: vec![of_versions, of_variants],
        });
        let fresh = record.confirmation.as_ref().unwrap().section();
        let metric = fresh.comparisons[0].metric.as_str();
        assert_eq!(fresh.case_of(&id).unwrap().variant.as_ref(), Some(&id.variant));
        assert_eq!(fresh.pair(&id, &id, metric), Some(&fresh.comparisons[0]));
        assert_eq!(fresh.comparison_of_variants(&id, metric), Some(&fresh.comparisons[1]));
    }

    #[test]
    fn the_metrics_of_a_workload_begin_with_those_of_the_harness() {
        let record = record();
        let workload = &record.workloads[0];
        let count = record.metrics.len() + workload.metrics.len();
        assert_eq!(record.metrics_of(&workload.id).count(), count);
        assert_eq!(record.metric(&workload.id, "wall-time").unwrap().id, *"wall-time");
        assert!(record.metric(&workload.id, "wal-time").is_none());
    }
}
