//! The process that compiles.

use std::path::Path;

use perfharness_contract::protocol::Kernel;
use perfharness_platform::env;
use perfharness_record::file::read_text;
use perfharness_record::{Compiler, KernelCode};
use serde::{Deserialize, Serialize};

use super::radv::Radv;
use super::spirv::Shader;

/// Variable by which RADV compiles for a family of GPUs.
pub(super) const FAMILY: &str = "RADV_FORCE_FAMILY";
/// Most bytes of a file with kernels.
const MOST_BYTES: u64 = 16 << 20;

/// Answer of the process: the code of each kernel, in the order of the files and of their entry points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FamilyCode {
    /// The compiler, or why there is none.
    pub compiler: Compiler,
    /// Kernels; empty if there is no compiler.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<NamedCode>,
}

/// Code of a kernel with its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedCode {
    /// Label of its pipeline, or name of its file.
    pub label: String,
    /// Entry point; empty if the file could not be read.
    pub entry_point: String,
    /// Its code.
    #[serde(flatten)]
    pub code: KernelCode,
}

impl FamilyCode {
    pub(super) fn absent(reason: impl Into<String>) -> Self {
        Self { compiler: Compiler::Absent { absent: reason.into() }, kernels: Vec::new() }
    }
}

/// Compiles the kernels of files for the family that `RADV_FORCE_FAMILY` names. A file in JSON has a list of kernels as a metered
/// sample reports them; every other file is a shader in WGSL, whose compute entry points are all compiled.
pub fn compile(files: &[&str]) -> FamilyCode {
    let Some(family) = env::var(FAMILY).filter(|family| !family.is_empty()) else {
        return FamilyCode::absent(format!("{FAMILY} is not set; set it to a family such as navi21"));
    };
    let radv = match Radv::open(&family) {
        Ok(radv) => radv,
        Err(reason) => return FamilyCode::absent(reason),
    };
    let kernels = files.iter().flat_map(|file| of_file(&radv, Path::new(file))).collect();
    let compiler = Compiler::By { driver: radv.driver.clone(), device: radv.name.clone() };
    FamilyCode { compiler, kernels }
}

fn of_file(radv: &Radv, path: &Path) -> Vec<NamedCode> {
    let file = path.display().to_string();
    let unread = |absent: String| {
        let code = KernelCode::Absent { absent };
        vec![NamedCode { label: file.clone(), entry_point: String::new(), code }]
    };
    let text = match read_text(path, MOST_BYTES) {
        Ok(text) => text,
        Err(error) => return unread(error.to_string()),
    };
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    if is_json {
        return match serde_json::from_str::<Vec<Kernel>>(&text) {
            Ok(kernels) => kernels.iter().map(|kernel| of_kernel(radv, kernel)).collect(),
            Err(error) => unread(format!("it is not a list of kernels: {error}")),
        };
    }
    match Shader::read(&text, radv.target.capabilities) {
        Ok(shader) => {
            let names: Vec<String> = shader.entry_points().map(str::to_owned).collect();
            let named = |name: String| {
                let code = code(radv, &shader, &name);
                NamedCode { label: file.clone(), entry_point: name, code }
            };
            names.into_iter().map(named).collect()
        }
        Err(reason) => unread(reason),
    }
}

fn of_kernel(radv: &Radv, kernel: &Kernel) -> NamedCode {
    let code = match Shader::read(&kernel.wgsl, radv.target.capabilities) {
        Ok(shader) => code(radv, &shader, &kernel.entry_point),
        Err(absent) => KernelCode::Absent { absent },
    };
    NamedCode { label: kernel.label.clone(), entry_point: kernel.entry_point.clone(), code }
}

fn code(radv: &Radv, shader: &Shader, entry_point: &str) -> KernelCode {
    let translated = shader.translate(entry_point, &radv.target);
    match translated.and_then(|spirv| radv.compile(&spirv, entry_point)) {
        Ok(described) => KernelCode::Compiled(described.compiled()),
        Err(absent) => KernelCode::Absent { absent },
    }
}
