//! Tests of the device as a workload sees it. `noop` needs nothing; the other modules need an adapter, and report a
//! skip if there is none. If `PERFHARNESS_REQUIRE_ADAPTER` is set, they fail instead.

#[cfg(test)]
mod support;

#[cfg(test)]
mod ceilings;
#[cfg(test)]
mod counts;
#[cfg(test)]
mod failures;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod noop;
#[cfg(test)]
mod times;
#[cfg(test)]
mod traces;
