//! Scalars on the host.

use perfharness_contract::Counter;

use crate::batch::SCALARS;

/// Every scalar of every step that was delivered to the host, in order.
#[derive(Debug)]
pub(crate) struct History {
    pub(crate) scalars: [Vec<f32>; SCALARS],
    /// Number of values, counted on arrival.
    delivered: Counter,
}

impl History {
    pub(crate) fn new(steps: u64, delivered: Counter) -> Self {
        let scalars = std::array::from_fn(|_| Vec::with_capacity(steps as usize));
        Self { scalars, delivered }
    }

    pub(crate) fn clear(&mut self) {
        self.scalars.iter_mut().for_each(Vec::clear);
    }

    /// Appends the next values of one scalar.
    pub(crate) fn extend(&mut self, scalar: usize, values: &[f32]) {
        self.scalars[scalar].extend_from_slice(values);
        self.delivered.add(values.len() as u64);
    }
}
