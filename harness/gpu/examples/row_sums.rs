//! A worker with one workload: the sum of each row of a matrix, on the host and on the device.

use perfharness_contract::{
    Case, Check, Counter, Digest, Failure, Measured, MetricDef, Role, Setup, Tolerance, Workload,
    counting_allocator, input_rng, serve,
};
use perfharness_gpu::{Bound, Buffer, Gpu, GpuError, Readback, Staging, gpu_meter};
use rand_pcg::rand_core::Rng as _;
use serde::Serialize;

counting_allocator!();

const POOL: u64 = 4;
const KERNEL: &str = "
    const SIZE: u32 = 64;
    @group(0) @binding(0) var<storage, read> matrix: array<f32>;
    @group(0) @binding(1) var<storage, read_write> sums: array<f32>;
    var<workgroup> partial: array<f32, SIZE>;
    @compute @workgroup_size(SIZE) fn main(
        @builtin(workgroup_id) group: vec3u,
        @builtin(local_invocation_index) lane: u32,
    ) {
        let cols = arrayLength(&matrix) / arrayLength(&sums);
        var sum = 0.0;
        for (var col = lane; col < cols; col += SIZE) { sum += matrix[group.x * cols + col]; }
        partial[lane] = sum;
        for (var width = SIZE / 2; width > 0; width /= 2) {
            workgroupBarrier();
            if lane < width { partial[lane] += partial[lane + width]; }
        }
        if lane == 0 { sums[group.x] = partial[0]; }
    }";

#[derive(Serialize)]
struct Params {
    rows: u64,
    cols: u64,
}

struct RowSums<V> {
    gpu: Gpu,
    seed: u64,
    host: Vec<Vec<f32>>,
    device: Vec<Buffer>,
    sums: Buffer,
    rows: Counter,
    variant: V,
}

trait Variant: Sized {
    fn new(gpu: &Gpu, inputs: &[Buffer], sums: &Buffer) -> Result<Self, GpuError>;
    fn sum(&mut self, at: usize) -> Result<(), GpuError>;
}

/// Returns the sums of rows in float64, for the reference and for the slow variant.
fn sums(matrix: &[f32], rows: u64) -> impl Iterator<Item = f64> {
    matrix.chunks_exact(matrix.len() / rows as usize).map(|row| row.iter().copied().map(f64::from).sum())
}

impl<V: Variant> RowSums<V> {
    fn new(params: &Params, setup: &Setup) -> Result<Self, Failure> {
        let gpu = Gpu::open(setup)?;
        let matrix = |_| gpu.buffer_for::<f32>("matrix", params.rows * params.cols);
        let device = (0..POOL).map(matrix).collect::<Result<Vec<_>, _>>()?;
        let sums = gpu.buffer_for::<f32>("sums", params.rows)?;
        let variant = V::new(&gpu, &device, &sums)?;
        let rows = setup.counter("rows");
        Ok(Self { gpu, seed: setup.seed(), host: Vec::new(), device, sums, rows, variant })
    }
}

impl<V: Variant> Measured for RowSums<V> {
    fn load(&mut self, round: u64) -> Result<(), Failure> {
        let mut rng = input_rng(self.seed, "row-sums", round);
        let mut number = || (rng.next_u32() >> 8) as f32 / 16_777_216.0; // In [0, 1): no sum cancels.
        self.host.clear();
        for buffer in &self.device {
            let matrix: Vec<f32> = (0..buffer.count::<f32>()).map(|_| number()).collect();
            self.gpu.commands("load").upload(buffer, &matrix).submit()?;
            self.host.push(matrix);
        }
        Ok(self.gpu.fence()?)
    }

    fn run(&mut self, index: u64) -> Result<(), Failure> {
        self.variant.sum((index % POOL) as usize)?;
        self.rows.add(self.sums.count::<f32>());
        Ok(())
    }

    fn fence(&mut self) -> Result<(), Failure> {
        Ok(self.gpu.fence()?)
    }

    fn check(&mut self, index: u64) -> Result<Check, Failure> {
        let matrix = &self.host[(index % POOL) as usize];
        let due: Vec<f64> = sums(matrix, self.sums.count::<f32>()).collect();
        let actual: Vec<f64> = self.gpu.read::<f32>(&self.sums)?.into_iter().map(f64::from).collect();
        // Each of 256 numbers passes through 3 additions in its lane and 6 in the tree: 9 roundings of 2^-24.
        let tolerance = Tolerance::Relative(1e-6);
        Ok(Check::compare(&due, &actual, tolerance).with_input(Digest::of(bytemuck::cast_slice(matrix))))
    }
}

struct Slow(Gpu, Vec<Buffer>, Buffer, Readback<f32>, Staging);

impl Variant for Slow {
    fn new(gpu: &Gpu, inputs: &[Buffer], output: &Buffer) -> Result<Self, GpuError> {
        let down = gpu.readback("matrix on the host", inputs[0].count::<f32>())?;
        let up = gpu.staging("sums from the host", output.bytes(), 1)?;
        Ok(Self(gpu.clone(), inputs.to_vec(), output.clone(), down, up))
    }

    fn sum(&mut self, at: usize) -> Result<(), GpuError> {
        let Self(gpu, inputs, output, down, up) = self;
        gpu.commands("down").download(&inputs[at], down).submit()?;
        let sums: Vec<f32> = sums(&down.wait()?, output.count::<f32>()).map(|sum| sum as f32).collect();
        gpu.commands("up").upload_through(up, &*output, &sums).submit()?;
        Ok(())
    }
}

struct Optimized(Gpu, Vec<Bound>, [u32; 3]);

impl Variant for Optimized {
    fn new(gpu: &Gpu, inputs: &[Buffer], output: &Buffer) -> Result<Self, GpuError> {
        let pipeline = gpu.pipeline("row sums", KERNEL, "main")?;
        let bind = |input| pipeline.bind([("matrix", input), ("sums", output)]);
        let kernels = inputs.iter().map(bind).collect::<Result<_, _>>()?;
        Ok(Self(gpu.clone(), kernels, [output.count::<f32>() as u32, 1, 1])) // A workgroup for each row.
    }

    fn sum(&mut self, at: usize) -> Result<(), GpuError> {
        self.0.commands("row sums").dispatch(&self.1[at], self.2).submit()?;
        Ok(())
    }
}

fn main() -> std::process::ExitCode {
    let case = |name, rows| Case::new(name, Params { rows, cols: 256 }).items(rows, "rows");
    let workload = Workload::builder("row-sums", 1, "Sums each row of a matrix of 256 columns")
        .cases([case("r64", 64), case("r4096", 4096)])
        .meter(gpu_meter())
        .metric(MetricDef::work("rows", "rows summed"))
        .variant("slow", Role::Slow, "reads back, sums on the host in float64, uploads", RowSums::<Slow>::new)
        .variant("optimized", Role::Optimized, "a workgroup for each row", RowSums::<Optimized>::new);
    serve(vec![workload.build()])
}
