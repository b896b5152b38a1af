//! Computes the modulation index of a file, so that other programs can be compared on equal input.
//!
//! `pac X.npy META.json MI.npy [--normalisation textbook|tensorpac] [--precision f32|f64] [--device cpu|gpu]
//! [--threads N] [--repeat N]` reads the signal (float32, channels x samples) and its parameters, writes the index
//! (float64, amplitude x phase x channel), and prints one line of JSON: the median seconds of a whole call, which
//! include the design of the filters and the planning of the transforms, and the number of threads.

mod arguments;

use std::error::Error;
use std::fmt::Display;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use perfharness_contract::Failure;
use perfharness_gpu::{Gpu, GpuOptions};
use perfharness_pac::npy::{self, Array};
use perfharness_pac::{Band, GpuPlan, PacError, Plan, Scalar, Settings, Shape};
use perfharness_platform::clock;

use arguments::{Arguments, Asked, Device, Precision};

fn main() -> ExitCode {
    let Err(error) = run(std::env::args().skip(1)) else { return ExitCode::SUCCESS };
    // If this write fails, too, nothing is left to report it to.
    let _ = writeln!(std::io::stderr(), "pac: {error}");
    ExitCode::FAILURE
}

fn run(arguments: impl Iterator<Item = String>) -> Result<(), Box<dyn Error>> {
    let arguments = match Asked::parse(arguments)? {
        Asked::Help(usage) => {
            print(usage);
            return Ok(());
        }
        Asked::Index(arguments) => arguments,
    };
    let of = |path: &Path, error: &dyn Display| format!("{}: {error}", path.display());
    let Array { shape, values } = npy::read::<f32>(&arguments.x).map_err(|e| of(&arguments.x, &e))?;
    let &[channels, samples] = &shape[..] else {
        return Err(format!(
            "{}: the signal has the shape {shape:?}, not channels x samples",
            arguments.x.display()
        )
        .into());
    };
    let shape = Shape::new(channels, samples);
    let settings = settings(&arguments)?;
    let index = match (arguments.device, arguments.precision) {
        (Device::Cpu, Precision::F32) => on_cpu(&arguments, &settings, shape, &values)?,
        (Device::Cpu, Precision::F64) => {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            on_cpu(&arguments, &settings, shape, &values)?
        }
        (Device::Gpu, _) => on_gpu(&arguments, &settings, shape, &values)?,
    };
    let shape = vec![settings.amplitude.len(), settings.phase.len(), channels];
    npy::write(&arguments.index, &Array { shape, values: index }).map_err(|e| of(&arguments.index, &e))?;
    Ok(())
}

fn settings(arguments: &Arguments) -> Result<Settings, Box<dyn Error>> {
    let of = |error: &dyn Display| format!("{}: {error}", arguments.meta.display());
    let meta = std::fs::read(&arguments.meta).map_err(|e| of(&e))?;
    let meta: serde_json::Value = serde_json::from_slice(&meta).map_err(|e| of(&e))?;
    let lacks = |key: &str| format!("{}: there is no valid {key}", arguments.meta.display());
    let band = |band: &serde_json::Value| Some(Band::new(band.get(0)?.as_f64()?, band.get(1)?.as_f64()?));
    let bands = |key: &str| -> Result<Vec<Band>, String> {
        let bands = meta[key].as_array().ok_or_else(|| lacks(key))?;
        bands.iter().map(|b| band(b).ok_or_else(|| lacks(key))).collect()
    };
    Ok(Settings {
        sf_hz: meta["sf_hz"].as_f64().ok_or_else(|| lacks("sf_hz"))?,
        phase: bands("f_pha_hz")?,
        amplitude: bands("f_amp_hz")?,
        bins: meta["n_bins"].as_u64().ok_or_else(|| lacks("n_bins"))? as usize,
        normalisation: arguments.normalisation,
    })
}

fn on_cpu<T: Scalar>(
    arguments: &Arguments,
    settings: &Settings,
    shape: Shape,
    x: &[T],
) -> Result<Vec<f64>, PacError> {
    let mut index = vec![0.0; settings.indexes(shape.channels)];
    let mut threads = 0;
    let seconds = median_seconds(arguments.repeat, || {
        let mut plan = Plan::new(settings, shape, arguments.threads)?;
        threads = plan.threads();
        plan.index(x, &mut index)
    })?;
    report(seconds, threads);
    Ok(index)
}

/// The device is opened beforehand; a call plans, uploads and waits for the index. One thread of the host takes part.
fn on_gpu(arguments: &Arguments, settings: &Settings, shape: Shape, x: &[f32]) -> Result<Vec<f64>, Failure> {
    const BUDGET: u64 = 64 << 20;
    let gpu = Gpu::new("auto", &GpuOptions::default())?;
    let mut index = vec![0.0; settings.indexes(shape.channels)];
    let seconds = median_seconds(arguments.repeat, || {
        let input = gpu.upload("signal", x)?;
        GpuPlan::new(&gpu, settings, shape, &[input], BUDGET)?.index(0, &mut index)?;
        Ok::<_, Failure>(())
    })?;
    report(seconds, 1);
    Ok(index)
}

fn median_seconds<E>(repeat: usize, mut call: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    let mut seconds = Vec::with_capacity(repeat);
    for _ in 0..repeat {
        let start = clock::now();
        call()?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    Ok(f64::midpoint(seconds[(repeat - 1) / 2], seconds[repeat / 2]))
}

fn report(seconds: f64, threads: usize) {
    print(&serde_json::json!({ "seconds": seconds, "threads": threads }).to_string());
}

#[expect(clippy::print_stdout, reason = "this line is the result of the program")]
fn print(line: &str) {
    println!("{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: &str) -> Result<(), String> {
        super::run(line.split_whitespace().map(str::to_owned)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/absent_bins");
        let x = golden.join("x.npy");
        let x = x.display();
        assert!(run("nowhere.npy meta.json mi.npy").unwrap_err().starts_with("nowhere.npy: "));
        assert!(run(&format!("{x} nowhere.json mi.npy")).unwrap_err().starts_with("nowhere.json: "));
        let told = run(&format!("{x} {} nowhere/mi.npy", golden.join("meta.json").display())).unwrap_err();
        assert!(told.starts_with("nowhere/mi.npy: "), "{told}");
        assert!(run(&format!("{x} {x} mi.npy")).unwrap_err().contains("x.npy: "));
        assert_eq!(run("--help"), Ok(()));
    }
}
