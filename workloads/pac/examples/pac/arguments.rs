//! The command line.

use std::path::PathBuf;

use perfharness_pac::Normalisation;

const USAGE: &str = "usage: pac X.npy META.json MI.npy [--normalisation textbook|tensorpac] [--precision f32|f64] \
                     [--device cpu|gpu] [--threads N] [--repeat N]";

/// What the index is computed in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Precision {
    F32,
    F64,
}

/// What it is computed on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Device {
    Cpu,
    Gpu,
}

pub(crate) struct Arguments {
    pub(crate) x: PathBuf,
    pub(crate) meta: PathBuf,
    pub(crate) index: PathBuf,
    pub(crate) normalisation: Normalisation,
    pub(crate) precision: Precision,
    pub(crate) device: Device,
    /// 0 for all that there are.
    pub(crate) threads: usize,
    /// At least 1.
    pub(crate) repeat: usize,
}

impl Arguments {
    pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut files = Vec::new();
        let mut normalisation = Normalisation::Textbook;
        let (mut precision, mut device) = (Precision::F32, Device::Cpu);
        let (mut threads, mut repeat) = (0, 1);
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            if !argument.starts_with("--") {
                files.push(PathBuf::from(argument));
                continue;
            }
            let value = arguments.next().ok_or_else(|| format!("{argument} takes a value; {USAGE}"))?;
            let number = || value.parse().map_err(|_| format!("{argument}: `{value}` is no number; {USAGE}"));
            match (argument.as_str(), value.as_str()) {
                ("--normalisation", "textbook") => normalisation = Normalisation::Textbook,
                ("--normalisation", "tensorpac") => normalisation = Normalisation::Tensorpac,
                ("--precision", "f32") => precision = Precision::F32,
                ("--precision", "f64") => precision = Precision::F64,
                ("--device", "cpu") => device = Device::Cpu,
                ("--device", "gpu") => device = Device::Gpu,
                ("--threads", _) => threads = number()?,
                ("--repeat", _) => repeat = number()?.max(1),
                _ => return Err(format!("{argument} {value} is not known; {USAGE}")),
            }
        }
        let [x, meta, index] = files.try_into().map_err(|_| USAGE.to_owned())?;
        Ok(Self { x, meta, index, normalisation, precision, device, threads, repeat })
    }
}
