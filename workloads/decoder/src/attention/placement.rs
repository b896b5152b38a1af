//! Parts that all variants share: queries, keys and values, the result, and its check.

use perfharness_contract::{Check, Counter, Digest, Failure, Measured, Setup, Tolerance, input_rng};
use perfharness_gpu::{Buffer, Gpu, GpuError};
use perfharness_layers::{Ready, host::attention_row};
use rand_pcg::rand_core::Rng as _;

use super::kernels::{Build, Kernels};
use super::{HEAD, Params, QUERIES, TILES};
use crate::POOL;

/// Rows that a check computes again, others in each round and iteration.
const CHECKED: u64 = 64;

/// The largest deviation seen is 3.4e-7, on a software adapter. WGSL allows `exp` many times the error that it has there.
const TOLERANCE: Tolerance = Tolerance::Absolute(5e-5);

/// Queries, keys and values of all heads, `[heads][positions][64]` each.
type Input = [Vec<f32>; 3];

/// A placement.
pub(crate) struct Layer {
    gpu: Gpu,
    params: Params,
    seed: u64,
    round: u64,
    pub(crate) pool: Vec<Input>,
    device: Vec<[Buffer; 3]>,
    y: Buffer,
    kernels: Vec<Kernels>,
    queries: Counter,
    tiles: Counter,
}

impl Layer {
    pub(crate) fn new(params: &Params, setup: &Setup, build: Build) -> Result<Self, Failure> {
        let gpu = Gpu::open(setup)?;
        let buffer = |label| gpu.buffer_for::<f32>(label, params.values());
        let input = || Ok([buffer("queries")?, buffer("keys")?, buffer("values")?]);
        let device = (0..POOL).map(|_| input()).collect::<Result<Vec<_>, GpuError>>()?;
        let y = buffer("result")?;
        let kernels = build(&gpu, params, &device, &y)?;
        Ok(Self {
            gpu,
            params: *params,
            seed: setup.seed(),
            round: 0,
            pool: Vec::new(),
            device,
            y,
            kernels,
            queries: setup.counter(QUERIES),
            tiles: setup.counter(TILES),
        })
    }

    /// Uploads the pool, and waits for the copies.
    pub(crate) fn upload(&self) -> Result<(), GpuError> {
        for (input, buffers) in self.pool.iter().zip(&self.device) {
            let mut commands = self.gpu.commands("load");
            for (values, buffer) in input.iter().zip(buffers) {
                commands.upload(buffer, values);
            }
            commands.submit()?;
        }
        self.gpu.fence()
    }

    /// Positions of the rows that are checked, among the queries of all heads.
    fn checked(&self, index: u64) -> Vec<usize> {
        let mut rng = input_rng(self.seed, &format!("attention checked {index}"), self.round);
        let queries = self.params.queries();
        (0..CHECKED.min(queries)).map(|_| ((u64::from(rng.next_u32()) * queries) >> 32) as usize).collect()
    }
}

impl Measured for Layer {
    fn load(&mut self, round: u64) -> Result<(), Failure> {
        self.round = round;
        let mut rng = input_rng(self.seed, "attention", round);
        // From -1 to 1, with the 24 bits of a float32's mantissa.
        let mut value = || (rng.next_u32() >> 8) as f32 / (1_u32 << 23) as f32 - 1.0;
        let count = self.params.values();
        let mut values = || (0..count).map(|_| value()).collect();
        self.pool = (0..POOL).map(|_| [values(), values(), values()]).collect();
        // Scores of such queries are close to each other; larger ones make the weights of a row differ.
        for [queries, ..] in &mut self.pool {
            for query in queries {
                *query *= 4.0;
            }
        }
        Ok(self.upload()?)
    }

    fn run(&mut self, index: u64) -> Result<(), Failure> {
        let Kernels { list, tiles } = &self.kernels[(index % POOL) as usize];
        let mut commands = self.gpu.commands("attention");
        Ready::record_all(list, &mut commands);
        commands.submit()?;
        self.queries.add(self.params.queries());
        self.tiles.add(*tiles);
        Ok(())
    }

    fn fence(&mut self) -> Result<(), Failure> {
        Ok(self.gpu.fence()?)
    }

    fn check(&mut self, index: u64) -> Result<Check, Failure> {
        let Some([queries, keys, values]) = self.pool.get((index % POOL) as usize) else {
            return Err(Failure::Failed("no round is loaded".into()));
        };
        let y = self.gpu.read::<f32>(&self.y)?;
        let wide = |row: &[f32]| -> Vec<f64> { row.iter().map(|v| f64::from(*v)).collect() };
        let (mut due, mut actual) = (Vec::new(), Vec::new());
        for row in self.checked(index) {
            let first = row - row % self.params.positions as usize;
            let seen = |of: &[f32]| -> Vec<Vec<f64>> {
                of[first * HEAD..(row + 1) * HEAD].chunks_exact(HEAD).map(wide).collect()
            };
            let (keys, values) = (seen(keys), seen(values));
            let query = wide(&queries[row * HEAD..][..HEAD]);
            due.extend(attention_row(
                &query,
                keys.iter().map(Vec::as_slice),
                values.iter().map(Vec::as_slice),
            ));
            actual.extend(wide(&y[row * HEAD..][..HEAD]));
        }
        let input = Digest::of_f64([queries, keys, values].into_iter().flatten().map(|v| f64::from(*v)));
        Ok(Check::compare(&due, &actual, TOLERANCE).with_input(input))
    }
}
