//! Command line of the example.

use std::path::PathBuf;

use perfharness_pac::Normalisation;

const USAGE: &str = "usage: pac X.npy META.json MI.npy [--normalisation textbook|tensorpac] [--precision f32|f64] \
                     [--device cpu|gpu] [--threads N] [--repeat N]";

const FLAGS: [&str; 5] = ["--normalisation", "--precision", "--device", "--threads", "--repeat"];

/// A request of the user.
#[derive(Debug)]
pub(crate) enum Asked {
    /// Show how to use the program.
    Help(&'static str),
    Index(Arguments),
}

/// Precision of the computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    F32,
    F64,
}

/// Device of the computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Device {
    Cpu,
    Gpu,
}

#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) x: PathBuf,
    pub(crate) meta: PathBuf,
    pub(crate) index: PathBuf,
    pub(crate) normalisation: Normalisation,
    pub(crate) precision: Precision,
    pub(crate) device: Device,
    /// Number of threads; 0 for all processors.
    pub(crate) threads: usize,
    /// At least 1.
    pub(crate) repeat: usize,
}

impl Asked {
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut files = Vec::new();
        let mut normalisation = Normalisation::Textbook;
        let (mut precision, mut device) = (Precision::F32, Device::Cpu);
        let (mut threads, mut repeat) = (None, 1);
        while let Some(argument) = arguments.next() {
            if argument == "--help" || argument == "-h" {
                return Ok(Self::Help(USAGE));
            }
            if !argument.starts_with('-') {
                files.push(PathBuf::from(argument));
                continue;
            }
            if !FLAGS.contains(&argument.as_str()) {
                return Err(format!("unknown option {argument}; {USAGE}"));
            }
            let value = arguments.next().ok_or_else(|| format!("{argument} needs a value; {USAGE}"))?;
            let wrong = || format!("{argument} cannot be `{value}`; {USAGE}");
            match (argument.as_str(), value.as_str()) {
                ("--normalisation", "textbook") => normalisation = Normalisation::Textbook,
                ("--normalisation", "tensorpac") => normalisation = Normalisation::Tensorpac,
                ("--precision", "f32") => precision = Precision::F32,
                ("--precision", "f64") => precision = Precision::F64,
                ("--device", "cpu") => device = Device::Cpu,
                ("--device", "gpu") => device = Device::Gpu,
                ("--threads", _) => threads = Some(value.parse().map_err(|_| wrong())?),
                ("--repeat", _) => repeat = value.parse().ok().filter(|n| *n > 0).ok_or_else(wrong)?,
                _ => return Err(wrong()),
            }
        }
        if device == Device::Gpu && threads.is_some() {
            return Err("--threads applies only to --device cpu".into());
        }
        if device == Device::Gpu && precision == Precision::F64 {
            return Err("the GPU computes in f32; leave out --precision f64 or --device gpu".into());
        }
        let given = files.len();
        let [x, meta, index] =
            files.try_into().map_err(|_| format!("{given} files are given instead of three; {USAGE}"))?;
        let threads = threads.unwrap_or(0);
        Ok(Self::Index(Arguments { x, meta, index, normalisation, precision, device, threads, repeat }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Asked, String> {
        Asked::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn every_option_is_taken() {
        let Ok(Asked::Index(given)) = parse("x m --normalisation tensorpac --device gpu i --repeat 3") else {
            panic!()
        };
        assert_eq!((given.device, given.repeat, given.threads), (Device::Gpu, 3, 0));
        assert_eq!(given.normalisation, Normalisation::Tensorpac);
        assert_eq!(given.index, PathBuf::from("i"));
        let Ok(Asked::Index(given)) = parse("x m i --precision f64 --threads 2") else { panic!() };
        assert_eq!((given.precision, given.threads), (Precision::F64, 2));
        assert!(matches!(parse("--help"), Ok(Asked::Help(usage)) if usage.contains("--repeat")));
        assert!(matches!(parse("x -h"), Ok(Asked::Help(_))));
    }

    #[test]
    fn every_mistake_says_what_is_wrong() {
        for (line, what) in [
            ("", "0 files are given"),
            ("x m", "2 files are given"),
            ("x m i --fast", "unknown option --fast;"),
            ("x m i --repeat", "--repeat needs a value"),
            ("x m i --repeat 0", "--repeat cannot be `0`"),
            ("x m i --threads many", "--threads cannot be `many`"),
            ("x m i --precision f16", "--precision cannot be `f16`"),
            ("x m i --device gpu --threads 2", "--threads applies only to --device cpu"),
            ("x m i --device gpu --precision f64", "the GPU computes in f32"),
        ] {
            let told = parse(line).unwrap_err();
            assert!(told.contains(what), "{line}: {told}");
        }
    }
}
