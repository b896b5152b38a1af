//! The progress output of a long loop: document 002, optimization 6.
//!
//! The loop adds the features of each image in each pass to their mean and variance, as Monte Carlo dropout does on the
//! host. The document turns on a line for each pass; it costs a write.

mod moments;
mod report;
#[cfg(test)]
mod tests;

use perfharness_contract::{
    Case, Check, ClaimDef, Counter, Digest, Effort, Failure, Measured, MetricDef, Promise, Role, Setup,
    Tolerance, VariantDef, Workload, standard,
};
use serde::Serialize;

use crate::draw::uniform;
use crate::{DOCUMENTED, OPTIMIZED, POOL, SLOW, input_of};
use moments::{FEATURES, Moments, reference};
use report::{EVERY, Report, When, metrics};

const EACH_ITEM: &str = "each-item";
const ITEMS: &str = "items";

/// Mean and variance of 640 numbers below 1 in float64, in another order than the reference.
const TOLERANCE: Tolerance = Tolerance::Absolute(1e-12);

/// Parameters of a case.
#[derive(Clone, Copy, Debug, Serialize)]
struct Params {
    /// Images in one pass, with 512 features each.
    images: usize,
    passes: usize,
}

/// A placement.
struct Passes {
    params: Params,
    seed: u64,
    /// Features of all images of each input.
    pool: Vec<Vec<f32>>,
    moments: Moments,
    report: Report,
    items: Counter,
}

impl Passes {
    fn new(when: When, params: &Params, setup: &Setup) -> Result<Self, Failure> {
        Ok(Self {
            params: *params,
            seed: setup.seed(),
            pool: Vec::new(),
            moments: Moments::new(params.images),
            report: Report::new(when, setup)?,
            items: setup.counter(ITEMS),
        })
    }
}

impl Measured for Passes {
    fn load(&mut self, round: u64) -> Result<(), Failure> {
        let mut draw = uniform(self.seed, "features", round);
        let mut features = || (0..self.params.images * FEATURES).map(|_| draw()).collect();
        self.pool = (0..POOL).map(|_| features()).collect();
        Ok(self.report.clear()?)
    }

    fn run(&mut self, index: u64) -> Result<(), Failure> {
        let Params { images, passes } = self.params;
        let features = &self.pool[input_of(index)];
        self.moments.clear();
        for pass in 1..=passes {
            for image in 0..images {
                self.moments.add(features, image);
                self.report.item(pass, passes, image + 1, images)?;
            }
            self.moments.end_pass();
            self.report.pass(pass, passes)?;
        }
        self.items.add((passes * images) as u64);
        Ok(())
    }

    fn check(&mut self, index: u64) -> Result<Check, Failure> {
        let features = &self.pool[input_of(index)];
        let due = reference(features, self.params.passes);
        let input = Digest::of_f64(features.iter().copied().map(f64::from));
        Ok(Check::compare(&due, &self.moments.results(), TOLERANCE).with_input(input))
    }
}

/// Returns the workload `progress`.
pub fn workload() -> Workload {
    use Effort::{Quick, Standard, Thorough};
    // Without a floor: no line is needed, and the moments of 20 images stay in the processor's caches.
    let case = |images: usize, passes: usize, efforts: &[Effort]| {
        Case::new(&format!("n{images}-p{passes}"), Params { images, passes })
            .items((images * passes) as u64, "items")
            .efforts(efforts)
    };
    let slow = VariantDef::new(SLOW, Role::Slow, "without progress output: the program before the change");
    let documented = VariantDef::new(DOCUMENTED, Role::Documented, "writes a line for each pass");
    let each_item =
        VariantDef::new(EACH_ITEM, Role::Other, "writes a line for each image of each pass").reference(SLOW);
    let optimized =
        VariantDef::new(OPTIMIZED, Role::Optimized, "writes a line for every 50th pass and for the last")
            .caveat("The output stands still for up to 49 passes.");
    let memory = |params: &Params| {
        (params.images * FEATURES) as u64 * (POOL * size_of::<f32>() as u64 + 2 * size_of::<f64>() as u64)
    };
    let mut builder = Workload::builder("progress", 1, "The progress output of a long loop")
        .source("002", "Optimization 6")
        .cases([
            case(20, 64, &[Quick, Standard, Thorough]),
            case(20, 640, &[Standard, Thorough]),
            case(500, 64, &[Standard, Thorough]),
            case(500, 640, &[Thorough]),
        ])
        .metric(MetricDef::work(ITEMS, "items added"))
        .metrics(metrics())
        .claims(claims())
        .variant_with(slow, |params, setup| Passes::new(When::Never, params, setup))
        .variant_with(documented, |params, setup| Passes::new(When::EachPass, params, setup))
        .variant_with(each_item, |params, setup| Passes::new(When::EachItem, params, setup))
        .variant_with(optimized, |params, setup| Passes::new(When::Every(EVERY), params, setup));
    for variant in [SLOW, DOCUMENTED, EACH_ITEM, OPTIMIZED] {
        builder = builder.memory(variant, memory);
    }
    builder.build()
}

/// Claims of the document about this hot path, in its own words.
fn claims() -> Vec<ClaimDef> {
    const SECTION: &str = "002, Implementation Priority";
    const STATEMENT: &str = "Enable progress bars — Zero cost, huge UX improvement";
    let free = |id, variant| {
        let promise = Promise::Factor { at_least: 0.99, at_most: None };
        ClaimDef::new(id, SECTION, STATEMENT, standard::WALL_TIME, promise).between(SLOW, variant).note(
            "The limit of 1 % is ours. A pass is the sums on the host alone, without the encoder, whose time \
             would make the share of a line smaller; a line goes to a file, which costs less than a terminal.",
        )
    };
    vec![
        free("zero-cost", DOCUMENTED),
        free("zero-cost-every-50th", OPTIMIZED),
        ClaimDef::new(
            "user-experience",
            SECTION,
            STATEMENT,
            standard::WALL_TIME,
            Promise::NotMeasurable { reason: "No number, and no quantity of a program.".into() },
        ),
    ]
}
