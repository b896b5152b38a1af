//! The change of each metric that matters: the configuration's rules over the defaults.

use std::collections::BTreeMap;
use std::str::FromStr;

use perfharness_contract::{BenchmarkId, Effort, MetricKind, WorkloadDef, standard};
use perfharness_verdict::judge::{
    Bounds, ExactPolicy, Limit, RowTerms, SPEED_UP, SizePolicy, Subject, TimePolicy,
};
use serde::{Deserialize, Deserializer, de};

use crate::Pattern;

/// The `[gate]` section of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct GatePolicy {
    /// The effort that a gate measures with.
    pub effort: Option<Effort>,
    /// The share by which a time has to change to matter.
    pub time: Option<Limit>,
    /// The same for times of GPU workloads on a software adapter.
    pub software_time: Option<Limit>,
    /// The share by which a slowdown must be visible in a time of each benchmark: one that could only have shown a larger
    /// slowdown stays open.
    pub must_see: Option<Limit>,
    /// The share by which a size has to change to matter.
    pub size: Option<Limit>,
    /// The bytes by which a size has to change to matter.
    #[serde(alias = "size-floor")]
    pub size_margin: Option<Bytes>,
    /// Rules for some benchmarks and metrics; later ones win.
    pub limit: Vec<LimitRule>,
    /// Regressions that somebody accepted.
    pub acknowledged: Vec<Acknowledgement>,
    /// Command that builds the worker of a source tree; Cargo, by default.
    pub build: Option<Vec<String>>,
    /// Command that starts the worker that was built.
    pub worker: Option<Vec<String>>,
    /// True, the default, if workers read files of the sources when they run. Where they do not, builds that are
    /// the same to the byte need no measuring.
    pub reads_sources: Option<bool>,
    /// Links of each side that are measured: the program as built, and others with the same code in another order. 1 to 16;
    /// 4 by default.
    #[serde(deserialize_with = "layouts")]
    pub layouts: Option<u32>,
}

/// The most links of a side.
const MOST_LAYOUTS: u32 = 16;

fn layouts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let number = u32::deserialize(deserializer)?;
    if (1..=MOST_LAYOUTS).contains(&number) {
        return Ok(Some(number));
    }
    let message =
        format!("`layouts` is {number}; write a number from 1, the program as built, to {MOST_LAYOUTS}");
    Err(de::Error::custom(message))
}

/// A rule for some benchmarks and metrics. Whatever it leaves out stays as it is.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LimitRule {
    /// The benchmarks, `WORKLOAD[/CASE[/VARIANT]]` with globs.
    pub benchmark: Glob,
    /// The metric; every metric where absent.
    pub metric: Option<String>,
    /// For times: the share that does not matter yet.
    pub threshold: Option<Limit>,
    /// For times: the share of a slowdown that must be visible.
    pub must_see: Option<Limit>,
    /// For exact figures: the change that does not matter yet, in the metric's unit.
    pub slack: Option<Limit>,
    /// For sizes: the share that does not matter yet.
    pub relative: Option<Limit>,
    /// For sizes: the change that does not matter yet, in the metric's unit.
    #[serde(alias = "floor")]
    pub margin: Option<Limit>,
}

/// A bound that a rule can set, each for metrics of some kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    Threshold,
    MustSee,
    Slack,
    Relative,
    Margin,
}

impl Bound {
    const ALL: [Self; 5] = [Self::Threshold, Self::MustSee, Self::Slack, Self::Relative, Self::Margin];

    fn as_str(self) -> &'static str {
        match self {
            Self::Threshold => "threshold",
            Self::MustSee => "must-see",
            Self::Slack => "slack",
            Self::Relative => "relative",
            Self::Margin => "margin",
        }
    }

    fn is_set(self, rule: &LimitRule) -> bool {
        match self {
            Self::Threshold => rule.threshold.is_some(),
            Self::MustSee => rule.must_see.is_some(),
            Self::Slack => rule.slack.is_some(),
            Self::Relative => rule.relative.is_some(),
            Self::Margin => rule.margin.is_some(),
        }
    }

    /// Whether metrics of a kind are judged by it. An exact metric that varies is judged as a size, and a speed-up, which
    /// is derived, as a time.
    fn is_for(self, kind: MetricKind) -> bool {
        match self {
            Self::Threshold | Self::MustSee => matches!(kind, MetricKind::Time | MetricKind::Derived),
            Self::Slack => kind == MetricKind::Exact,
            Self::Relative | Self::Margin => matches!(kind, MetricKind::Exact | MetricKind::Size),
        }
    }
}

/// Reason why a rule of `[gate]` can never have an effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// The rule names a metric that its benchmarks lack.
    #[error(
        "[[gate.limit]] of `{benchmark}` names the metric `{metric}`, which its workloads do not have; they have {known}"
    )]
    Metric {
        /// The benchmarks of the rule.
        benchmark: String,
        /// The metric of the rule.
        metric: String,
        /// The metrics of the benchmarks, with commas between.
        known: String,
    },
    /// The rule sets a bound that the metric is not judged by.
    #[error(
        "[[gate.limit]] of `{benchmark}` sets `{bound}` for the metric `{metric}`, which is not judged by it; set {meant}"
    )]
    Bound {
        /// The benchmarks of the rule.
        benchmark: String,
        /// The metric of the rule.
        metric: String,
        /// The bound without an effect.
        bound: &'static str,
        /// The bounds that the metric is judged by.
        meant: String,
    },
}

/// A regression that somebody accepted, up to a bound, until the baseline is accepted anew.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Acknowledgement {
    /// The benchmarks.
    pub benchmark: Glob,
    /// The metric; `definition` for a change of the way in which it is measured and judged.
    pub metric: String,
    /// For figures without noise and sizes: the largest figure that is accepted (the smallest, where more is better); for
    /// the version of a definition: the latest.
    pub bound: Option<f64>,
    /// For times: the largest ratio to the baseline that is accepted, e.g. 1.2.
    pub ratio: Option<f64>,
    /// The reason.
    pub reason: String,
    /// The date, or the moment in RFC 3339, since when it counts, until later figures are accepted.
    pub since: Moment,
}

/// A pattern that remembers how it was written.
#[derive(Clone, Debug)]
pub struct Glob(Pattern);

impl PartialEq for Glob {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_string() == other.0.to_string()
    }
}

impl<'de> Deserialize<'de> for Glob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(de::Error::custom)
    }
}

/// A number of bytes, written as `"64 KiB"`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bytes(u64);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let size = bytesize::ByteSize::from_str(&text);
        size.map(|size| Self(size.as_u64()))
            .map_err(|_| de::Error::custom(format!("write a size such as \"64 KiB\", not {text:?}")))
    }
}

/// A moment, written as a date or as RFC 3339.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment(jiff::Timestamp);

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let date = || text.parse::<jiff::civil::Date>().ok()?.in_tz("UTC").ok().map(|day| day.timestamp());
        let moment = text.parse().ok().or_else(date);
        moment.map(Self).ok_or_else(|| {
            de::Error::custom(format!("write a date such as \"2026-01-31\" or RFC 3339, not {text:?}"))
        })
    }
}

impl GatePolicy {
    fn rules<'a>(&'a self, subject: &Subject<'a>) -> impl Iterator<Item = &'a LimitRule> + use<'a> {
        let (id, metric) = (subject.benchmark, subject.metric.id.as_str());
        self.limit
            .iter()
            .filter(move |rule| rule.benchmark.0.matches_id(id))
            .filter(move |rule| rule.metric.as_ref().is_none_or(|named| named == metric))
    }

    /// The policy without the commands that make the sides.
    #[must_use]
    pub fn without_commands(&self) -> Self {
        Self { build: None, worker: None, reads_sources: None, ..self.clone() }
    }

    /// Checks that each rule for a metric can have an effect. A rule whose workloads are all absent is passed over.
    ///
    /// # Errors
    /// Returns an error if no workload that a rule is about has its metric, or if the metric is not judged by its bounds.
    pub fn check_rules<'w>(
        &self,
        workloads: impl IntoIterator<Item = &'w WorkloadDef>,
    ) -> Result<(), RuleError> {
        let (of_harness, workloads) = (standard::harness_metrics(), Vec::from_iter(workloads));
        for rule in &self.limit {
            let Some(metric) = &rule.metric else { continue };
            let benchmark = rule.benchmark.0.to_string();
            let about = workloads.iter().filter(|w| rule.benchmark.0.matches_workload(w.id.as_str()));
            let mut known: BTreeMap<&str, Vec<MetricKind>> = BTreeMap::new();
            for workload in about {
                for metric in of_harness.iter().chain(&workload.metrics) {
                    known.entry(metric.id.as_str()).or_default().push(metric.kind);
                }
                known.entry(SPEED_UP).or_default().push(MetricKind::Derived);
            }
            if known.is_empty() {
                continue;
            }
            let Some(kinds) = known.get(metric.as_str()) else {
                let known = known.into_keys().collect::<Vec<_>>().join(", ");
                return Err(RuleError::Metric { benchmark, metric: metric.clone(), known });
            };
            let is_judged_by = |bound: &Bound| kinds.iter().any(|kind| bound.is_for(*kind));
            let mut set = Bound::ALL.into_iter().filter(|bound| bound.is_set(rule));
            if let Some(bound) = set.find(|bound| !is_judged_by(bound)) {
                let meant =
                    Bound::ALL.into_iter().filter(is_judged_by).map(|bound| format!("`{}`", bound.as_str()));
                let meant = meant.collect::<Vec<_>>().join(" or ");
                return Err(RuleError::Bound {
                    benchmark,
                    metric: metric.clone(),
                    bound: bound.as_str(),
                    meant,
                });
            }
        }
        Ok(())
    }

    /// The policy for a time where no rule says otherwise.
    pub fn time_default(&self) -> TimePolicy {
        let TimePolicy { threshold, must_see } = TimePolicy::HARDWARE;
        TimePolicy { threshold: self.time.unwrap_or(threshold), must_see: self.must_see.unwrap_or(must_see) }
    }

    /// The policy for a time.
    pub fn time(&self, subject: &Subject<'_>) -> TimePolicy {
        let default = subject.time_policy();
        let own = if subject.is_software() { self.software_time } else { self.time };
        let threshold = self.rules(subject).filter_map(|rule| rule.threshold).last();
        let must_see = self.rules(subject).filter_map(|rule| rule.must_see).last();
        TimePolicy {
            threshold: threshold.or(own).unwrap_or(default.threshold),
            must_see: must_see.or(self.must_see).unwrap_or(default.must_see),
        }
    }

    /// The terms that a time is judged by, with the standard deviation of launch values of identical sides, as a
    /// calibration found it, and the spread of times over layouts, 0 where it is not known; both are log-ratios.
    pub fn terms(&self, subject: &Subject<'_>, calibrated: Option<f64>, layout_spread: f64) -> RowTerms {
        RowTerms { calibrated, layout_spread, ..self.time(subject).terms() }
    }

    /// The policy for a figure with little noise.
    pub fn size(&self, subject: &Subject<'_>) -> SizePolicy {
        let default = subject.size_policy();
        let is_bytes = subject.metric.unit == "bytes";
        let own_margin = self.size_margin.filter(|_| is_bytes).and_then(|Bytes(b)| Limit::new(b as f64).ok());
        let relative = self.rules(subject).filter_map(|rule| rule.relative).last();
        let margin = self.rules(subject).filter_map(|rule| rule.margin).last();
        SizePolicy {
            relative: relative.or(self.size).unwrap_or(default.relative),
            margin: margin.or(own_margin).unwrap_or(default.margin),
        }
    }

    /// The policy for a figure without noise.
    pub fn exact(&self, subject: &Subject<'_>) -> ExactPolicy {
        let slack = self.rules(subject).filter_map(|rule| rule.slack).last();
        ExactPolicy { slack: slack.unwrap_or(Limit::ZERO), demoted: self.size(subject) }
    }
}

/// The name, in the place of a metric, of the way in which something is measured and judged.
const DEFINITION: &str = "definition";

impl Acknowledgement {
    /// The acknowledgement of every redefinition.
    pub fn of_redefinitions(reason: &str) -> Option<Self> {
        Some(Self {
            benchmark: Glob("*".parse().ok()?),
            metric: DEFINITION.into(),
            bound: Some(f64::INFINITY),
            ratio: None,
            reason: reason.into(),
            since: Moment(jiff::Timestamp::UNIX_EPOCH),
        })
    }

    /// Whether it is about the definition of something: a benchmark, a workload, or the configuration file.
    pub fn is_of(&self, subject: &str) -> bool {
        let is_it = match subject.parse() {
            Ok(id) => self.benchmark.0.matches_id(&id),
            Err(_) => self.benchmark.0.matches_workload(subject),
        };
        self.metric == DEFINITION && is_it
    }

    /// Whether it is about a metric of a benchmark.
    pub fn is_about(&self, id: &BenchmarkId, metric: &str) -> bool {
        self.benchmark.0.matches_id(id) && self.metric == metric
    }

    /// Whether figures were accepted since.
    pub fn is_expired(&self, accepted: &str) -> bool {
        accepted.parse::<jiff::Timestamp>().is_ok_and(|when| when > self.since.0)
    }

    /// The bounds up to which it holds.
    pub fn bounds(&self) -> Bounds {
        Bounds { figure: self.bound, ratio: self.ratio }
    }
}

#[cfg(test)]
mod tests {
    use perfharness_contract::{MetricDef, Role};
    use perfharness_verdict::judge::Adapter;

    use rstest::rstest;

    use super::*;

    fn policy(text: &str) -> GatePolicy {
        toml::from_str(text).unwrap()
    }

    fn subject<'a>(benchmark: &'a BenchmarkId, metric: &'a MetricDef) -> Subject<'a> {
        let (role, adapter) = (Role::Other, Adapter::Hardware);
        Subject { benchmark, metric, role, uses_gpu: false, reference_uses_gpu: false, adapter }
    }

    #[test]
    fn without_a_file_the_defaults_hold() {
        let id = "a/b/c".parse().unwrap();
        let policy = GatePolicy::default();
        let wall = MetricDef::time("wall-time", "");
        let time = subject(&id, &wall);
        let software = Subject { uses_gpu: true, adapter: Adapter::Software, ..time };
        assert_eq!(policy.time(&time).threshold.get(), 0.03);
        assert_eq!(policy.time(&software).threshold.get(), 0.5);
        assert_eq!(policy.time(&software).must_see.get(), 0.25);
        assert_eq!(policy.exact(&subject(&id, &MetricDef::count("syncs", ""))), ExactPolicy::COUNTS);
        assert_eq!(policy.exact(&subject(&id, &MetricDef::bytes("upload-bytes", ""))), ExactPolicy::BYTES);
        assert_eq!(policy.size(&subject(&id, &MetricDef::bytes("heap-peak", ""))), SizePolicy::BYTES);
        let growth = MetricDef::bytes("heap-growth", "");
        let growth = subject(&id, &growth);
        assert_eq!(policy.exact(&growth).slack, Limit::ZERO);
        assert_eq!(policy.size(&growth).margin.get(), 512.0);
    }

    #[test]
    fn later_rules_win_and_say_no_more_than_they_say() {
        let policy = policy(
            r#"
            time = 0.1
            size-margin = "1 MiB"
            [[limit]]
            benchmark = "a"
            threshold = 0.2
            relative = 0.5
            [[limit]]
            benchmark = "a/*/c"
            metric = "wall-time"
            threshold = 0.3
            "#,
        );
        let (ours, other) = ("a/b/c".parse().unwrap(), "x/b/c".parse().unwrap());
        assert_eq!(policy.time(&subject(&ours, &MetricDef::time("wall-time", ""))).threshold.get(), 0.3);
        assert_eq!(policy.time(&subject(&ours, &MetricDef::time("gpu-busy", ""))).threshold.get(), 0.2);
        assert_eq!(policy.time(&subject(&other, &MetricDef::time("wall-time", ""))).threshold.get(), 0.1);
        let size = policy.size(&subject(&ours, &MetricDef::bytes("heap-peak", "")));
        assert_eq!((size.relative.get(), size.margin.get()), (0.5, f64::from(1 << 20)));
    }

    #[test]
    fn the_terms_of_a_row_are_log_ratios_of_its_policy() {
        let policy = policy("must-see = 0.5\n[[limit]]\nbenchmark = \"a\"\nmust-see = 0.1");
        let (ours, other) = ("a/b/c".parse().unwrap(), "x/b/c".parse().unwrap());
        let wall = MetricDef::time("wall-time", "");
        let terms = policy.terms(&subject(&other, &wall), Some(0.04), 0.02);
        assert_eq!((terms.threshold, terms.must_see), (0.03_f64.ln_1p(), 0.5_f64.ln_1p()));
        assert_eq!((terms.calibrated, terms.layout_spread), (Some(0.04), 0.02));
        assert_eq!(policy.terms(&subject(&ours, &wall), None, 0.0).must_see, 0.1_f64.ln_1p());
    }

    #[test]
    fn a_margin_goes_by_its_former_name_as_well() {
        let former = policy("size-floor = \"1 MiB\"\n[[limit]]\nbenchmark = \"a\"\nfloor = 2");
        assert_eq!(former, policy("size-margin = \"1 MiB\"\n[[limit]]\nbenchmark = \"a\"\nmargin = 2"));
    }

    #[rstest]
    #[case::of_a_time("metric = \"wall-time\"\nthreshold = 0.1", "")]
    #[case::of_a_speed_up("metric = \"speed-up\"\nthreshold = 0.1", "")]
    #[case::of_a_count("metric = \"syncs\"\nslack = 1\nmargin = 2", "")]
    #[case::of_every_metric("slack = 1\nthreshold = 0.1", "")]
    #[case::of_what_is_absent("metric = \"wal-time\"\nthreshold = 0.1\nbenchmark = \"other\"", "")]
    #[case::misspelt(
        "metric = \"wal-time\"\nthreshold = 0.1",
        "`w` names the metric `wal-time`, which its workloads do not have; they have cpu-time, instructions, peak-rss, speed-up, syncs, wall-time"
    )]
    #[case::slack_of_a_time(
        "metric = \"wall-time\"\nslack = 1",
        "`w` sets `slack` for the metric `wall-time`, which is not judged by it; set `threshold` or `must-see`"
    )]
    #[case::sight_of_a_size(
        "metric = \"peak-rss\"\nmust-see = 0.1",
        "`w` sets `must-see` for the metric `peak-rss`"
    )]
    #[case::threshold_of_a_size("metric = \"peak-rss\"\nthreshold = 0.1", "set `relative` or `margin`")]
    #[case::threshold_of_a_count(
        "metric = \"syncs\"\nthreshold = 0.1",
        "set `slack` or `relative` or `margin`"
    )]
    fn a_rule_that_can_never_have_an_effect_is_refused_by_name(#[case] rule: &str, #[case] told: &str) {
        let workload = serde_json::json!({
            "id": "w", "version": 1, "title": "W", "summary": "does it", "cases": [], "variants": [],
            "metrics": [MetricDef::count("syncs", "")],
        });
        let workload: WorkloadDef = serde_json::from_value(workload).unwrap();
        let benchmark = if rule.contains("benchmark") { "" } else { "benchmark = \"w\"\n" };
        let checked = policy(&format!("[[limit]]\n{benchmark}{rule}")).check_rules([&workload]);
        match checked {
            Ok(()) => assert_eq!(told, ""),
            Err(error) => {
                let error = error.to_string();
                assert!(!told.is_empty() && error.contains(told), "{error}");
            }
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "time = -1.0",
            "time = nan",
            "tiem = 0.1",
            "size-margin = \"many\"",
            "[[limit]]\nbenchmark = \"a/b/c/d\"",
            "[[acknowledged]]\nbenchmark = \"a\"\nmetric = \"syncs\"\nreason = \"x\"\nsince = \"soon\"",
        ] {
            assert!(toml::from_str::<GatePolicy>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_acknowledgement_holds_up_to_its_bound_and_until_figures_are_accepted() {
        let policy = policy(
            r#"
            [[acknowledged]]
            benchmark = "a/b/c"
            metric = "syncs"
            bound = 4
            reason = "the new check needs it"
            since = "2026-03-01"
            "#,
        );
        let acknowledged = &policy.acknowledged[0];
        assert!(acknowledged.is_about(&"a/b/c".parse().unwrap(), "syncs"));
        assert!(!acknowledged.is_about(&"a/b/c".parse().unwrap(), "copies"));
        assert_eq!(acknowledged.bounds(), Bounds { figure: Some(4.0), ratio: None });
        assert!(!acknowledged.is_expired("2026-02-28T23:00:00Z"));
        assert!(acknowledged.is_expired("2026-03-01T08:00:00Z"));
    }
}
