//! Budgets in bytes, and their origins.

use std::fmt;

use bytesize::ByteSize;
use perfharness_contract::{Failure, Setup};
use sysinfo::{MemoryRefreshKind, RefreshKind, System};

use crate::{Settings, Shape};

/// Name of the setting for the one-hot tensor.
pub(crate) const TENSOR_BUDGET: &str = "pac-budget";
/// Budget of the tensor without a setting.
pub(crate) const TENSOR_DEFAULT: u64 = 4 << 30;
/// Name of the setting for all data on the device beside the signals.
pub(crate) const DEVICE_BUDGET: &str = "pac-device-budget";
/// Budget of that data without a setting.
const DEVICE_DEFAULT: u64 = 64 << 20;

/// A number of bytes, and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    pub(crate) bytes: u64,
    whose: String,
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes ({:.1} GB), {}", self.bytes, self.bytes as f64 / 1e9, self.whose)
    }
}

/// Size of the tensor in bytes, (amplitude band, phase band, channel, sample, bin) of f32.
pub(crate) fn tensor_bytes(settings: &Settings, shape: Shape) -> u64 {
    (settings.indexes(shape.channels) * shape.samples * settings.bins * size_of::<f32>()) as u64
}

/// Checks that the one-hot tensor fits its budget.
///
/// # Errors
/// Returns [`Failure::OutOfMemory`] with both sizes.
pub(crate) fn check_tensor(setup: &Setup, settings: &Settings, shape: Shape) -> Result<(), Failure> {
    let bytes = tensor_bytes(settings, shape);
    let budget = of_tensor(setup)?;
    if bytes <= budget.bytes {
        return Ok(());
    }
    Err(Failure::OutOfMemory(format!(
        "the one-hot tensor of {} pairs, {} samples and {} bins would take {bytes} bytes ({:.1} GB), and the budget is \
         {budget}",
        settings.indexes(shape.channels),
        shape.samples,
        settings.bins,
        bytes as f64 / 1e9
    )))
}

/// Budget of the one-hot tensor: the setting, but not more than the memory of the machine, which holds the tensor.
fn of_tensor(setup: &Setup) -> Result<Budget, Failure> {
    let asked = asked(setup, TENSOR_BUDGET, TENSOR_DEFAULT)?;
    Ok(within(asked, memory()))
}

/// Budget of the device: that of the case, otherwise the setting.
pub(crate) fn of_device(setup: &Setup, of_case: Option<u64>) -> Result<u64, Failure> {
    let asked = asked(setup, DEVICE_BUDGET, DEVICE_DEFAULT)?;
    Ok(of_case.unwrap_or(asked.bytes))
}

fn asked(setup: &Setup, name: &str, default: u64) -> Result<Budget, Failure> {
    let Some(text) = setup.setting(name) else {
        return Ok(Budget { bytes: default, whose: format!("the default of {name}") });
    };
    match text.parse::<ByteSize>() {
        Ok(ByteSize(bytes)) if bytes > 0 => Ok(Budget { bytes, whose: format!("as {name} is set") }),
        _ => Err(Failure::Failed(format!(
            "{name} is set to `{text}`, which is not a size above 0; write e.g. 512MiB or 4GiB"
        ))),
    }
}

fn within(asked: Budget, memory: Option<u64>) -> Budget {
    match memory {
        Some(bytes) if bytes < asked.bytes => {
            Budget { bytes, whose: format!("the memory of the machine, which is less than {}", asked.bytes) }
        }
        _ => asked,
    }
}

/// Memory that this process can use, if the system reports it.
fn memory() -> Option<u64> {
    let kind = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(kind).ok()?;
    let of_container = system.cgroup_limits().map_or(u64::MAX, |limits| limits.total_memory);
    Some(system.total_memory().min(of_container)).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(name: &str, value: &str) -> Setup {
        Setup::new(1, "none", ".").with_settings([(name.to_owned(), value.to_owned())].into())
    }

    #[test]
    fn a_budget_is_what_is_set_and_not_more_than_the_memory() {
        let told = |memory| within(asked(&setup(TENSOR_BUDGET, "2GiB"), TENSOR_BUDGET, 1).unwrap(), memory);
        assert_eq!(told(Some(8 << 30)).to_string(), "2147483648 bytes (2.1 GB), as pac-budget is set");
        assert_eq!(told(None), told(Some(8 << 30)));
        let less = told(Some(1 << 30));
        assert_eq!(less.bytes, 1 << 30);
        assert!(
            less.to_string().ends_with("the memory of the machine, which is less than 2147483648"),
            "{less}"
        );
        let unset = Setup::new(1, "none", ".");
        assert!(of_tensor(&unset).unwrap().bytes <= TENSOR_DEFAULT);
        assert_eq!(of_device(&unset, None).unwrap(), DEVICE_DEFAULT);
        assert_eq!(of_device(&setup(DEVICE_BUDGET, "16 MiB"), None).unwrap(), 16 << 20);
        assert_eq!(of_device(&setup(DEVICE_BUDGET, "16 MiB"), Some(7)).unwrap(), 7);
    }

    #[test]
    fn what_is_no_size_is_told_with_its_setting() {
        for text in ["", "much", "-1GiB", "0", "4 GiBs"] {
            let Err(Failure::Failed(told)) = of_tensor(&setup(TENSOR_BUDGET, text)) else { panic!("{text}") };
            assert!(told.contains(&format!("pac-budget is set to `{text}`")), "{told}");
        }
    }
}
