//! Kernels of a benchmark, held against those of the base one by one. A total says how much, and the kernels where; a kernel that
//! got worse counts even if the total hides it.

use perfharness_contract::gpu_metric::{CODE_INSTRUCTIONS, CODE_SPILLS, CODE_WAVES, code_statistic};
use perfharness_contract::{MetricDef, MetricKind, Number};
use perfharness_verdict::judge::{Judgement, Spread, Verdict};

use super::Judging;
use crate::compare::{Against, ChangedKernel, GateRow, Remark};
use crate::{BenchmarkRecord, CompiledKernel, KernelCode, KernelRecord, KernelsRecord, RunRecord};

/// Judges each kernel by the policy of the metric: one that got worse makes a row `regressed` whose total did not, and is named.
pub(super) fn judge_kernels(rows: &mut [GateRow], judging: &Judging<'_>) {
    for row in rows.iter_mut().filter(|row| row.against == Against::Base) {
        let Some((statistic, family)) = row.metric.as_deref().and_then(code_statistic) else { continue };
        let Some(head) = judging.benchmark(&row.benchmark) else { continue };
        let Some(base) = judging.record.base_section().and_then(|base| base.benchmark(&head.id)) else {
            continue;
        };
        let definitions = judging.definitions(&head.id);
        let Some(metric) =
            definitions.into_iter().find(|metric| row.metric.as_deref() == Some(metric.id.as_str()))
        else {
            continue;
        };
        let figure = |kernel: &KernelRecord| {
            let KernelCode::Compiled(code) = kernel.code.get(family)? else { return None };
            of_statistic(statistic, code)
        };
        let mut worse: Vec<(Judgement, ChangedKernel)> = Vec::new();
        for kernel in kernels(head) {
            let Some(now) = figure(kernel) else { continue };
            let before = same_kernel(kernels(base), kernel).and_then(figure);
            let changed = ChangedKernel { name: kernel.name(), before: before.map(Number), now: Number(now) };
            match before.and_then(|before| judging.judge_kernel(head, metric, before, now)) {
                Some(judgement) if judgement.verdict == Verdict::Regressed => {
                    worse.push((judgement, changed));
                }
                None if before.is_none() && row.judgement.verdict == Verdict::Regressed => {
                    // A kernel that the base lacks explains a total that got worse, and proves nothing by itself.
                    row.kernels.push(changed);
                }
                _ => {}
            }
        }
        if row.judgement.verdict != Verdict::Regressed
            && let Some((judgement, _)) = worse.first()
        {
            row.judgement = judgement.clone();
        }
        row.kernels.splice(0..0, worse.into_iter().map(|(_, changed)| changed));
    }
}

impl Judging<'_> {
    fn judge_kernel(
        &self,
        head: &BenchmarkRecord,
        metric: &MetricDef,
        before: f64,
        now: f64,
    ) -> Option<Judgement> {
        let subject = self.subject(&head.id, head.role, metric);
        let [before, now] = [before, now].map(|value| Spread::over(value, [value], false));
        match metric.kind {
            MetricKind::Exact => subject.judge_exact(before, now, self.terms.policy.exact(&subject)),
            _ => subject.judge_size(before, now, self.terms.policy.size(&subject)),
        }
    }
}

fn of_statistic(statistic: &str, code: &CompiledKernel) -> Option<f64> {
    let value = match statistic {
        CODE_INSTRUCTIONS => code.instructions,
        CODE_SPILLS => code.spills,
        CODE_WAVES => code.waves,
        _ => None,
    };
    value.map(|value| value as f64)
}

fn kernels(benchmark: &BenchmarkRecord) -> &[KernelRecord] {
    match &benchmark.kernels {
        Some(KernelsRecord::Known(kernels)) => kernels,
        Some(KernelsRecord::Absent { .. }) | None => &[],
    }
}

/// Returns the kernel of the same label and entry point, if there is exactly one.
fn same_kernel<'k>(before: &'k [KernelRecord], now: &KernelRecord) -> Option<&'k KernelRecord> {
    let mut same =
        before.iter().filter(|known| (&known.label, &known.entry_point) == (&now.label, &now.entry_point));
    same.next().filter(|_| same.next().is_none())
}

/// Returns a remark on the benchmarks whose kernels are, instruction by instruction, those of the base.
pub(super) fn same_kernels(record: &RunRecord) -> Option<Remark> {
    let base = record.base_section()?;
    let with_kernels = record.benchmarks.iter().filter(|benchmark| !kernels(benchmark).is_empty());
    let is_same = |head: &&BenchmarkRecord| base.benchmark(&head.id).is_some_and(|base| equal(base, head));
    let (same, changed): (Vec<_>, Vec<_>) = with_kernels.partition(is_same);
    let benchmarks: Vec<String> = same.iter().map(|benchmark| benchmark.id.to_string()).collect();
    (!benchmarks.is_empty()).then_some(Remark::SameKernels { benchmarks, others: changed.len() })
}

/// True if two sides have the same kernels with equal code for every family.
fn equal(base: &BenchmarkRecord, head: &BenchmarkRecord) -> bool {
    let (before, now) = (kernels(base), kernels(head));
    let digests = |kernel: &KernelRecord| {
        let digest = |code: &KernelCode| match code {
            KernelCode::Compiled(code) => Some(code.digest.clone()),
            KernelCode::Absent { .. } => None,
        };
        kernel.code.values().map(digest).collect::<Option<Vec<_>>>().filter(|all| !all.is_empty())
    };
    let is_same = |kernel: &KernelRecord| {
        same_kernel(before, kernel).is_some_and(|known| {
            let (digest, known_digest) = (digests(kernel), digests(known));
            digest.is_some() && digest == known_digest && kernel.dispatches == known.dispatches
        })
    };
    before.len() == now.len() && now.iter().all(is_same)
}
