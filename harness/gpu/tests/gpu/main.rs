//! The device as a workload sees it. `noop` needs nothing; the other modules need an adapter, and say so where there
//! is none. With `PERFHARNESS_REQUIRE_ADAPTER` set they fail instead.

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
