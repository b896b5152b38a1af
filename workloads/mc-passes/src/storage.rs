//! Numbers as the device keeps them.

use std::borrow::Cow;

use half::f16;
use perfharness_gpu::{Buffer, Commands, Staging};

/// Form in which pixels, weights and tokens are stored. All sums are in float32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    Single,
    Half,
}

impl Storage {
    pub(crate) fn value_bytes(self) -> u64 {
        match self {
            Self::Single => 4,
            Self::Half => 2,
        }
    }

    /// The types `real` and `real4` of the shaders.
    pub(crate) fn prelude(self) -> &'static str {
        match self {
            Self::Single => "alias real = f32; alias real4 = vec4f;\n",
            Self::Half => "enable f16; alias real = f16; alias real4 = vec4<f16>;\n",
        }
    }

    /// Values in this form.
    pub(crate) fn bytes(self, values: &[f32]) -> Cow<'_, [u8]> {
        match self {
            Self::Single => Cow::Borrowed(bytemuck::cast_slice(values)),
            Self::Half => {
                let halves: Vec<f16> = values.iter().map(|v| f16::from_f32(*v)).collect();
                Cow::Owned(bytemuck::pod_collect_to_vec(&halves))
            }
        }
    }

    /// Records an upload of values in this form, to the start of a buffer.
    pub(crate) fn upload_through(
        self,
        commands: &mut Commands,
        staging: &mut Staging,
        to: &Buffer,
        values: &[f32],
    ) {
        let bytes = self.bytes(values);
        commands.upload_through(staging, to.range::<u8>(0..bytes.len() as u64), &bytes);
    }
}
