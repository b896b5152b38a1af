//! Bindings and limits of a shader, read from its source. Pure functions without a device.

use wgpu::naga;

use crate::GpuError;

/// Access of a shader to a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Uniform,
    Read,
    Write,
}

/// A binding of a shader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Binding {
    pub(crate) name: String,
    pub(crate) index: u32,
    pub(crate) access: Access,
    /// Size of its type; an array without a size counts with one element.
    pub(crate) min_bytes: u64,
}

/// An entry point and the bindings that it uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) bindings: Vec<Binding>,
    pub(crate) workgroup: [u32; 3],
    /// Size of the memory that a workgroup shares.
    pub(crate) workgroup_bytes: u64,
}

/// Reads the bindings that an entry point uses, in the order of their indices.
pub(crate) fn reflect(label: &str, source: &str, entry: &str) -> Result<Entry, GpuError> {
    let invalid = |what: String| GpuError::Invalid(format!("pipeline `{label}`: {what}"));
    let capabilities = naga::valid::Capabilities::all();
    let mut options = naga::front::wgsl::Options::new();
    options.capabilities = capabilities;
    let module = naga::front::wgsl::Frontend::new_with_options(options)
        .parse(source)
        .map_err(|error| invalid(error.emit_to_string(source)))?;
    let info = naga::valid::Validator::new(naga::valid::ValidationFlags::all(), capabilities)
        .validate(&module)
        .map_err(|error| invalid(error.emit_to_string(source)))?;
    let found =
        module.entry_points.iter().position(|e| e.name == entry && e.stage == naga::ShaderStage::Compute);
    let at = found.ok_or_else(|| {
        let names: Vec<&str> = module.entry_points.iter().map(|e| e.name.as_str()).collect();
        invalid(format!("compute entry point `{entry}` not found; the source has {names:?}"))
    })?;
    let uses = info.get_entry_point(at);
    let mut bindings = Vec::new();
    let mut workgroup_bytes = 0;
    for (_, global) in module.global_variables.iter().filter(|(handle, _)| !uses[*handle].is_empty()) {
        let min_bytes = u64::from(module.types[global.ty].inner.size(module.to_ctx()));
        if global.space == naga::AddressSpace::WorkGroup {
            workgroup_bytes += min_bytes.next_multiple_of(16);
        }
        let Some(place) = &global.binding else { continue };
        let name = global.name.clone().unwrap_or_default();
        if place.group != 0 {
            return Err(invalid(format!(
                "binding `{name}` is in group {}; only group 0 is used",
                place.group
            )));
        }
        let access = match global.space {
            naga::AddressSpace::Uniform => Access::Uniform,
            naga::AddressSpace::Storage { access } if access.contains(naga::StorageAccess::STORE) => {
                Access::Write
            }
            naga::AddressSpace::Storage { .. } => Access::Read,
            _ => return Err(invalid(format!("binding `{name}` is not a buffer"))),
        };
        bindings.push(Binding { name, index: place.binding, access, min_bytes });
    }
    bindings.sort_by_key(|binding| binding.index);
    Ok(Entry { bindings, workgroup: module.entry_points[at].workgroup_size, workgroup_bytes })
}

/// Returns the workgroups for `items` items along x, spread over y beyond the limit of x.
pub(crate) fn groups(items: u64, group_size: u32, limit: u32) -> [u32; 3] {
    let needed = items.div_ceil(u64::from(group_size.max(1)));
    if needed <= u64::from(limit) {
        return [needed as u32, 1, 1];
    }
    let rows = needed.div_ceil(u64::from(limit));
    // As even as possible, so that few workgroups of the last row are idle.
    [needed.div_ceil(rows) as u32, rows as u32, 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "
        struct Params { scale: f32, count: u32 }
        @group(0) @binding(3) var<uniform> params: Params;
        @group(0) @binding(0) var<storage, read> input: array<f32>;
        @group(0) @binding(1) var<storage, read_write> output: array<vec4f, 8>;
        @group(0) @binding(2) var<storage, read_write> unused: array<f32>;
        var<workgroup> shared_sum: array<f32, 64>;
        @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
            shared_sum[i] = input[i] * params.scale;
            output[0].x = shared_sum[0];
        }
        @compute @workgroup_size(8, 8) fn clear() { unused[0] = 0.0; }";

    #[test]
    fn an_entry_point_wants_what_it_uses() {
        let entry = reflect("p", SOURCE, "main").unwrap();
        let binding =
            |name: &str, index, access, min_bytes| Binding { name: name.into(), index, access, min_bytes };
        assert_eq!(
            entry.bindings,
            [
                binding("input", 0, Access::Read, 4),
                binding("output", 1, Access::Write, 128),
                binding("params", 3, Access::Uniform, 8),
            ]
        );
        assert_eq!((entry.workgroup, entry.workgroup_bytes), ([64, 1, 1], 256));
        let clear = reflect("p", SOURCE, "clear").unwrap();
        assert_eq!((clear.bindings.len(), clear.workgroup, clear.workgroup_bytes), (1, [8, 8, 1], 0));
    }

    #[test]
    fn mistakes_name_the_pipeline_and_the_place() {
        let error = |source, entry| reflect("remap", source, entry).unwrap_err().to_string();
        let text = error("@compute fn main() { let x = ; }", "main");
        assert!(text.contains("`remap`") && text.contains("1:30"), "{text}");
        let text = error(SOURCE, "missing");
        assert!(text.contains("`missing`") && text.contains("\"clear\""), "{text}");
        let text = error(
            "@group(1) @binding(0) var<storage, read_write> a: u32; @compute @workgroup_size(1) fn main() { a = 1; }",
            "main",
        );
        assert!(text.contains("`a` is in group 1"), "{text}");
        let text = error("@compute @workgroup_size(1) fn main() { var x: u32 = 1.5; }", "main");
        assert!(text.contains("`remap`"), "{text}");
    }

    #[test]
    fn half_precision_can_be_read() {
        let source = "enable f16; @group(0) @binding(0) var<storage, read_write> a: array<vec2<f16>>;
            @compute @workgroup_size(1) fn main() { a[0] = vec2<f16>(1.0h); }";
        assert_eq!(reflect("p", source, "main").unwrap().bindings[0].min_bytes, 4);
    }

    #[test]
    fn groups_cover_all_items() {
        assert_eq!(groups(0, 64, 65535), [0, 1, 1]);
        assert_eq!(groups(65, 64, 65535), [2, 1, 1]);
        assert_eq!(groups(65535 * 64, 64, 65535), [65535, 1, 1]);
        for items in [65_535 * 64 + 1, 33_554_432, 1 << 36] {
            let [x, y, z] = groups(items, 64, 65535);
            assert!(x <= 65535 && y <= 65535 && z == 1);
            let covered = u64::from(x) * u64::from(y) * 64;
            assert!(covered >= items && covered < items + u64::from(y) * 64, "{items}: {x} x {y}");
        }
    }
}
