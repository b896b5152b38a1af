//! The GPU that a run measures, among those that the driver's library lists.

/// GPU that a run measures, as its graphics driver reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasuredGpu {
    /// Name of the adapter.
    pub name: String,
    /// Place on the PCI bus, such as `0000:3b:00.0`, if the driver reports one.
    pub bus: Option<String>,
}

/// GPU that the library lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListedGpu {
    pub(super) name: String,
    pub(super) bus: Option<String>,
}

/// Returns the position of the measured GPU in the list: by its place on the bus, because several cards may have one name,
/// and without a place by its name, if only one has it.
///
/// # Errors
/// When none or several match, with the reason.
pub(super) fn find(measured: &MeasuredGpu, listed: &[ListedGpu]) -> Result<usize, String> {
    let name = &measured.name;
    let place = measured.bus.as_deref().and_then(place);
    if let Some(wanted) = place {
        let same = |gpu: &ListedGpu| gpu.bus.as_deref().and_then(self::place) == Some(wanted);
        if let Some(at) = listed.iter().position(same) {
            return Ok(at);
        }
        // A library in a virtual machine or a container may report no places at all.
        if listed.iter().any(|gpu| gpu.bus.is_some()) {
            let bus = measured.bus.as_deref().unwrap_or_default();
            return Err(format!("NVIDIA's driver library lists no GPU on the bus {bus} of {name}"));
        }
    }
    let named: Vec<usize> = (0..listed.len()).filter(|at| listed[*at].name == *name).collect();
    match *named {
        [at] => Ok(at),
        [] => Err(format!("NVIDIA's driver library lists no GPU of the name {name}")),
        _ => Err(format!(
            "NVIDIA's driver library lists {} GPUs of the name {name}, and the graphics driver does not report the bus",
            named.len()
        )),
    }
}

/// Reads a place on the bus as numbers. Vulkan writes a domain with four digits, NVML with eight, of either case.
fn place(text: &str) -> Option<[u32; 4]> {
    let (rest, function) = text.split_once('.')?;
    let parts: Vec<&str> = rest.split(':').collect();
    let [domain, bus, device] = parts[..] else { return None };
    let number = |digits| u32::from_str_radix(digits, 16).ok();
    Some([number(domain)?, number(bus)?, number(device)?, number(function)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(gpus: &[(&str, Option<&str>)]) -> Vec<ListedGpu> {
        let of = |(name, bus): &(&str, Option<&str>)| ListedGpu {
            name: (*name).to_owned(),
            bus: bus.map(str::to_owned),
        };
        gpus.iter().map(of).collect()
    }

    fn measured(name: &str, bus: Option<&str>) -> MeasuredGpu {
        MeasuredGpu { name: name.into(), bus: bus.map(str::to_owned) }
    }

    #[test]
    fn equal_cards_are_told_apart_by_their_place() {
        let cards = listed(&[
            ("H100", Some("00000000:3B:00.0")),
            ("H100", Some("00000000:AF:00.0")),
            ("H100", Some("00000001:3B:00.0")),
        ]);
        for (bus, at) in [("0000:3b:00.0", 0), ("0000:af:00.0", 1), ("0001:3b:00.0", 2)] {
            assert_eq!(find(&measured("H100", Some(bus)), &cards), Ok(at), "{bus}");
        }
        assert_eq!(find(&measured("another word for it", Some("0000:af:00.0")), &cards), Ok(1));
        let elsewhere = find(&measured("H100", Some("0000:01:00.0")), &cards).unwrap_err();
        assert!(elsewhere.contains("0000:01:00.0"), "{elsewhere}");
    }

    #[test]
    fn a_name_tells_which_only_if_one_card_has_it() {
        let cards = listed(&[("A", None), ("B", Some("00000000:01:00.0")), ("B", None)]);
        assert_eq!(find(&measured("A", None), &cards), Ok(0));
        assert!(find(&measured("B", None), &cards).unwrap_err().contains("2 GPUs"));
        assert!(find(&measured("A MIG 1g.10gb", None), &cards).unwrap_err().contains("A MIG 1g.10gb"));
        assert!(find(&measured("A", None), &[]).is_err());
        let nowhere = listed(&[("A", None)]);
        assert_eq!(find(&measured("A", Some("0000:01:00.0")), &nowhere), Ok(0), "no place to compare");
        assert_eq!(find(&measured("A", Some("PCI 1")), &cards), Ok(0), "a place that cannot be read");
    }
}
