//! Number formats of the device.

use std::borrow::Cow;

use half::f16;
use perfharness_contract::Failure;
use perfharness_gpu::{Buffer, Commands, Staging};

use crate::pixels::Loader;

/// Format of stored pixels, weights and tokens. All sums are in float32.
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

    /// Returns the types `real` and `real4` of the shaders.
    pub(crate) fn prelude(self) -> &'static str {
        match self {
            Self::Single => "alias real = f32; alias real4 = vec4f;\n",
            Self::Half => "enable f16; alias real = f16; alias real4 = vec4<f16>;\n",
        }
    }

    /// Returns the values in this format.
    pub(crate) fn bytes(self, values: &[f32]) -> Cow<'_, [u8]> {
        match self {
            Self::Single => Cow::Borrowed(bytemuck::cast_slice(values)),
            Self::Half => {
                let halves: Vec<f16> = values.iter().map(|v| f16::from_f32(*v)).collect();
                Cow::Owned(bytemuck::pod_collect_to_vec(&halves))
            }
        }
    }

    /// Loads files in this format, in which they go to the device without another copy.
    ///
    /// # Errors
    /// See [`Loader::load_all`].
    pub(crate) fn load(self, loader: &Loader, files: &[usize]) -> Result<Pixels, Failure> {
        Ok(match self {
            Self::Single => Pixels::Single(loader.load_all(files)?),
            Self::Half => Pixels::Half(loader.load_all(files)?),
        })
    }
}

/// Pixels on the host, in the format of the device.
#[derive(Debug)]
pub(crate) enum Pixels {
    Single(Vec<f32>),
    Half(Vec<f16>),
}

impl Pixels {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Single(values) => bytemuck::cast_slice(values),
            Self::Half(values) => bytemuck::cast_slice(values),
        }
    }
}

/// Records an upload of pixels to the start of a buffer.
pub(crate) fn upload(commands: &mut Commands, staging: &mut Staging, to: &Buffer, bytes: &[u8]) {
    commands.upload_through(staging, to.range::<u8>(0..bytes.len() as u64), bytes);
}
