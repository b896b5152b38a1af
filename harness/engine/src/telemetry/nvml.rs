//! NVIDIA's GPUs, as their management library (NVML) reports them.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, Sampling, TemperatureSensor};
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use perfharness_contract::Number;
use perfharness_platform::{clock, env};
use perfharness_record::telemetry::{SeriesDef, quantity};

use super::energy::EnergyCounter;
use super::gpus::of_gpu;
use super::measured::{ListedGpu, MeasuredGpu, find};
use super::reading::{Tick, Watched};

/// Environment variable that names the library if the system does not find it.
const LIBRARY: &str = "PERFHARNESS_NVML";
/// Name that drivers install the library under; the one without a number comes with packages for developers.
const INSTALLED_AS: &str = "libnvidia-ml.so.1";
/// Share of the time from which a GPU counts as busy; below it, the GPU may lower its clock by itself.
const BUSY_SHARE: f64 = 0.5;
/// Stretch in ms that the driver's reading of power is a mean of, on everything newer than GA100 (documentation of
/// `nvmlDeviceGetPowerUsage`): longer than an interval, so that it also shows the variants that were measured before.
const POWER_WINDOW_MS: f64 = 1000.0;

/// Opens the library that `PERFHARNESS_NVML` names, else that of the system.
///
/// # Errors
/// When the library cannot be loaded, or its driver refuses.
pub(crate) fn open_nvml() -> Result<Nvml, NvmlError> {
    if let Some(path) = env::var(LIBRARY).filter(|path| !path.is_empty()) {
        return Nvml::builder().lib_path(OsStr::new(&path)).init();
    }
    Nvml::init().or_else(|error| match error {
        NvmlError::LibloadingError(_) => Nvml::builder().lib_path(OsStr::new(INSTALLED_AS)).init(),
        other => Err(other),
    })
}

/// Returns why the library could not be opened, in words.
pub(crate) fn why_not(error: &NvmlError) -> String {
    match error {
        NvmlError::LibloadingError(_) | NvmlError::LibraryNotFound => {
            "NVIDIA's driver library is not installed".into()
        }
        other => format!("NVIDIA's driver library is installed but does not answer: {other}"),
    }
}

/// NVIDIA's GPUs.
pub(super) struct NvidiaGpus {
    nvml: Nvml,
    gpus: Vec<Gpu>,
}

/// State of a GPU that is kept from one reading to the next.
struct Gpu {
    /// Whether this GPU is the one that is measured.
    is_measured: bool,
    /// Time of the latest utilization sample that was used, in µs of the driver.
    seen_us: u64,
    /// Energy counter, if there is one.
    energy: Option<EnergyCounter>,
}

impl NvidiaGpus {
    /// Finds out what the library reports, and adds it to `watched`. `adapter` is the GPU that is measured.
    ///
    /// # Errors
    /// When there is nothing to watch, with the reason.
    pub(super) fn open(adapter: Option<&MeasuredGpu>, watched: &mut Watched) -> Result<Self, String> {
        let nvml = open_nvml().map_err(|error| why_not(&error))?;
        let count = nvml.device_count().map_err(|error| why_not(&error))? as usize;
        if count == 0 {
            return Err("NVIDIA's driver library lists no GPU".into());
        }
        let (mut gpus, mut listed) = (Vec::new(), Vec::new());
        for number in 0..count {
            match nvml.device_by_index(number as u32) {
                Ok(device) => {
                    let name = device.name().unwrap_or_else(|_| format!("GPU {number}"));
                    Gpu::describe(&device, number, &name, watched);
                    gpus.push(Gpu::open(&device));
                    listed.push(ListedGpu { name, bus: device.pci_info().ok().map(|pci| pci.bus_id) });
                }
                Err(error) => {
                    let reason = format!("the driver does not describe GPU {number}: {error}");
                    watched.absent.insert(of_gpu(quantity::GPU_UTILIZATION, number), reason);
                    gpus.push(Gpu { is_measured: false, seen_us: 0, energy: None });
                    listed.push(ListedGpu { name: format!("GPU {number}"), bus: None });
                }
            }
        }
        match adapter.map(|adapter| find(adapter, &listed)) {
            Some(Ok(at)) => gpus[at].is_measured = true,
            Some(Err(reason)) => {
                let lack = format!("{reason}, so its heat and its clock contaminate nothing");
                watched.absent.insert(quantity::GPU_MEASURED.to_owned(), lack);
            }
            None => {}
        }
        Ok(Self { nvml, gpus })
    }

    /// Reads all of them.
    pub(super) fn read(&mut self, tick: &mut Tick) {
        let mut limits = BTreeSet::new();
        for (number, gpu) in self.gpus.iter_mut().enumerate() {
            // A GPU that fell off the bus reports nothing from then on, and its columns stay empty.
            if let Ok(device) = self.nvml.device_by_index(number as u32) {
                gpu.read(&device, number, tick, &mut limits);
            }
        }
        tick.limits.extend(limits);
    }
}

impl Gpu {
    fn open(device: &Device<'_>) -> Self {
        // Samples from before watching began belong to somebody else.
        let seen_us = utilization(device, 0).ok().and_then(|samples| samples.last().map(|(at, _)| *at));
        Self {
            is_measured: false,
            seen_us: seen_us.unwrap_or(0),
            energy: device
                .total_energy_consumption()
                .ok()
                .map(|mj| EnergyCounter::new(mj, clock::monotonic_ns())),
        }
    }

    /// Adds the quantities that a GPU reports to `watched`, and those that it does not report.
    fn describe(device: &Device<'_>, number: usize, name: &str, watched: &mut Watched) {
        let interval_ms = watched.interval_ms;
        let mut add = |quantity: &str, unit: &str, window_ms: Option<f64>, read: Result<(), NvmlError>| {
            let series = of_gpu(quantity, number);
            match read {
                Ok(()) => watched.series.push(SeriesDef {
                    name: series,
                    unit: unit.into(),
                    source: "NVML".into(),
                    gpu: Some(name.to_owned()),
                    window_ms: window_ms.map(Number),
                }),
                Err(error) => {
                    watched.absent.insert(series, format!("{name} does not report it: {error}"));
                }
            }
        };
        let sampled = utilization(device, 0);
        let window = sampled.as_deref().ok().and_then(window_ms);
        add(quantity::GPU_UTILIZATION, "share", window, sampled.map(|_| ()));
        add(quantity::GPU_MEMORY, "bytes", None, device.memory_info().map(|_| ()));
        add(quantity::GPU_CLOCK, "Hz", None, device.clock_info(Clock::SM).map(|_| ()));
        add(quantity::GPU_MEMORY_CLOCK, "Hz", None, device.clock_info(Clock::Memory).map(|_| ()));
        let energy = device.total_energy_consumption().map(|_| ());
        match &energy {
            Ok(()) => add(quantity::GPU_POWER, "W", Some(interval_ms as f64), Ok(())),
            Err(_) => add(quantity::GPU_POWER, "W", Some(POWER_WINDOW_MS), device.power_usage().map(|_| ())),
        }
        add(quantity::GPU_ENERGY, "J", None, energy);
        add(quantity::GPU_TEMPERATURE, "°C", None, device.temperature(TemperatureSensor::Gpu).map(|_| ()));
        if let Err(error) = device.current_throttle_reasons() {
            let reason = format!("{name} does not report what limits its clock: {error}");
            watched.absent.insert(of_gpu(quantity::GPU_THROTTLING, number), reason);
        }
    }

    fn read(&mut self, device: &Device<'_>, number: usize, tick: &mut Tick, limits: &mut BTreeSet<String>) {
        let mut put = |name: &str, value: Option<f64>| {
            if let Some(value) = value {
                tick.values.insert(of_gpu(name, number), Number(value));
            }
            value
        };
        let samples = utilization(device, self.seen_us).unwrap_or_default();
        // Some drivers return the sample at `seen_us` as well.
        let fresh: Vec<(u64, f64)> = samples.into_iter().filter(|(at, _)| *at > self.seen_us).collect();
        // The driver samples at a rate of its own, so a reading may have no new sample.
        let mean = (!fresh.is_empty())
            .then(|| fresh.iter().map(|(_, share)| share).sum::<f64>() / fresh.len() as f64);
        self.seen_us = fresh.iter().map(|(at, _)| *at).max().unwrap_or(self.seen_us);
        let busy = put(quantity::GPU_UTILIZATION, mean);
        put(quantity::GPU_MEMORY, device.memory_info().ok().map(|memory| memory.used as f64));
        let hz = |clock| device.clock_info(clock).ok().map(|mhz| f64::from(mhz) * 1e6);
        let clock_hz = put(quantity::GPU_CLOCK, hz(Clock::SM));
        put(quantity::GPU_MEMORY_CLOCK, hz(Clock::Memory));
        if let Some(energy) = &mut self.energy {
            let now_mj = device.total_energy_consumption().ok();
            let at_ns = clock::monotonic_ns();
            put(quantity::GPU_POWER, now_mj.and_then(|now_mj| energy.watts(now_mj, at_ns)));
            put(quantity::GPU_ENERGY, now_mj.map(|now_mj| energy.joules(now_mj)));
        } else {
            put(quantity::GPU_POWER, device.power_usage().ok().map(|mw| f64::from(mw) / 1e3));
        }
        let celsius = device.temperature(TemperatureSensor::Gpu).ok();
        put(quantity::GPU_TEMPERATURE, celsius.map(f64::from));
        let reasons = device.current_throttle_reasons().unwrap_or(ThrottleReasons::NONE);
        limits.extend(in_words(reasons).map(ToOwned::to_owned));
        if self.is_measured {
            tick.device.throttled |= is_throttled(reasons);
            tick.device.busy_clock_hz = clock_hz.filter(|_| busy.is_some_and(|share| share >= BUSY_SHARE));
        }
    }
}

/// Returns samples later than `after_us`, oldest first: time in µs of the driver, and the share in which a kernel ran.
fn utilization(device: &Device<'_>, after_us: u64) -> Result<Vec<(u64, f64)>, NvmlError> {
    let samples = match device.samples(Sampling::GpuUtilization, after_us) {
        // There is no new sample.
        Err(NvmlError::NotFound) => Vec::new(),
        other => other?,
    };
    let percent = |value: &SampleValue| match value {
        SampleValue::F64(value) => *value,
        SampleValue::U32(value) => f64::from(*value),
        SampleValue::U64(value) => *value as f64,
        SampleValue::I64(value) => *value as f64,
    };
    // Slots of the driver's buffer that were never filled have no time.
    let filled = samples.iter().filter(|sample| sample.timestamp > 0);
    let mut shares: Vec<(u64, f64)> = filled.map(|s| (s.timestamp, percent(&s.value) / 100.0)).collect();
    shares.sort_by_key(|(at, _)| *at);
    Ok(shares)
}

/// Returns the stretch that a sample of the driver covers, in ms: the median of the gaps between samples.
fn window_ms(samples: &[(u64, f64)]) -> Option<f64> {
    let gaps: Vec<f64> = samples.windows(2).map(|pair| (pair[1].0 - pair[0].0) as f64 / 1e3).collect();
    perfharness_verdict::median(&gaps)
}

/// Whether a cause slows the GPU down that no program can bring about by its work. A power cap does not count: heavier work
/// reaches it sooner, so that dropping the samples under it would hide a change.
fn is_throttled(reasons: ThrottleReasons) -> bool {
    let from_outside = ThrottleReasons::SW_THERMAL_SLOWDOWN
        | ThrottleReasons::HW_THERMAL_SLOWDOWN
        | ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN;
    reasons.intersects(from_outside)
}

fn in_words(reasons: ThrottleReasons) -> impl Iterator<Item = &'static str> {
    let words = [
        (ThrottleReasons::APPLICATIONS_CLOCKS_SETTING, "a setting of its clocks"),
        (ThrottleReasons::SW_POWER_CAP, "its power limit"),
        (ThrottleReasons::HW_SLOWDOWN, "a slowdown by hardware"),
        (ThrottleReasons::SYNC_BOOST, "another GPU of its group"),
        (ThrottleReasons::SW_THERMAL_SLOWDOWN, "its temperature, by software"),
        (ThrottleReasons::HW_THERMAL_SLOWDOWN, "its temperature, by hardware"),
        (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, "the power supply"),
        (ThrottleReasons::DISPLAY_CLOCK_SETTING, "a setting for displays"),
    ];
    words.into_iter().filter(move |(reason, _)| reasons.contains(*reason)).map(|(_, words)| words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heat_and_power_supply_throttle_and_a_power_limit_does_not() {
        assert!(is_throttled(ThrottleReasons::HW_THERMAL_SLOWDOWN | ThrottleReasons::HW_SLOWDOWN));
        assert!(is_throttled(ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN));
        assert!(!is_throttled(ThrottleReasons::SW_POWER_CAP));
        assert!(!is_throttled(ThrottleReasons::GPU_IDLE));
        let words: Vec<_> = in_words(ThrottleReasons::SW_POWER_CAP | ThrottleReasons::GPU_IDLE).collect();
        assert_eq!(words, ["its power limit"], "an idle GPU is held down by nothing");
    }

    #[test]
    fn a_window_is_what_lies_between_two_samples() {
        let at = |us: u64| (us, 0.5);
        assert_eq!(window_ms(&[at(1_000), at(168_000), at(334_000), at(900_000)]), Some(167.0));
        assert_eq!(window_ms(&[at(1_000)]), None);
    }
}
