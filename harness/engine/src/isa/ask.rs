//! Codes of kernels, from processes that compile.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use perfharness_contract::Digest;
use perfharness_contract::protocol::Kernel;
use perfharness_record::{Compiler, KernelCode};

use super::answer::{FAMILY, FamilyCode};
use super::cache::Cache;
use crate::ask::{ProbeError, ask, question};

/// Families that kernels are compiled for: one of each of AMD's two architectures, with other instructions, registers and sizes of
/// a unit. RADV knows both since 2020; it decides on the size of a wave.
pub const FAMILIES: [&str; 2] = ["navi21", "vega10"];

/// Time that a process may take for all kernels, and for a single one.
const ALL: Duration = Duration::from_mins(2);
const ONE: Duration = Duration::from_secs(30);

/// Words by which RADV refuses a family.
const UNKNOWN_FAMILY: &str = "Unknown family";

/// Codes of kernels for each family.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Codes {
    /// Compilers by family.
    pub(crate) compilers: BTreeMap<String, Compiler>,
    /// Codes by family and digest of the source.
    codes: BTreeMap<(String, String), KernelCode>,
}

impl Codes {
    /// Returns that nothing is compiled, for this reason.
    pub(crate) fn absent(reason: &str) -> Self {
        let absent = |family: &str| (family.to_owned(), Compiler::Absent { absent: reason.to_owned() });
        Self { compilers: FAMILIES.map(absent).into(), codes: BTreeMap::new() }
    }

    /// Returns the codes of a kernel by family.
    pub(crate) fn of(&self, kernel: &Kernel) -> BTreeMap<String, KernelCode> {
        let source = source(kernel);
        let of_family = |(family, compiler): (&String, &Compiler)| {
            let code = match (self.codes.get(&(family.clone(), source.clone())), compiler) {
                (Some(code), _) => code.clone(),
                (None, Compiler::Absent { absent }) => KernelCode::Absent { absent: absent.clone() },
                (None, Compiler::By { .. }) => {
                    KernelCode::Absent { absent: "its code was not asked for".into() }
                }
            };
            (family.clone(), code)
        };
        self.compilers.iter().map(of_family).collect()
    }
}

/// Returns the digest of what a kernel is compiled from. Its label is not a part of that.
fn source(kernel: &Kernel) -> String {
    Digest::of_parts([kernel.wgsl.as_bytes(), kernel.entry_point.as_bytes()]).0
}

/// Compiles kernels for all families, as far as their codes are not kept from an earlier run.
pub(crate) fn codes<'a>(kernels: impl IntoIterator<Item = &'a Kernel>) -> Codes {
    let mut sources = BTreeSet::new();
    let kernels: Vec<&Kernel> = kernels.into_iter().filter(|kernel| sources.insert(source(kernel))).collect();
    let mut codes = Codes::default();
    for family in FAMILIES {
        // A question without kernels tells the version of the driver, under which codes are kept.
        let FamilyCode { compiler, .. } =
            compiled(family, &[], ONE).unwrap_or_else(|error| absent(family, &error));
        if let Compiler::By { driver, .. } = &compiler {
            let mut cache = Cache::open(family, driver);
            let of_family = |source: String| (family.to_owned(), source);
            let (known, missing): (Vec<&Kernel>, Vec<&Kernel>) =
                kernels.iter().partition(|kernel| cache.get(&source(kernel)).is_some());
            for kernel in known {
                let code = cache.get(&source(kernel)).cloned().map(KernelCode::Compiled);
                codes.codes.extend(code.map(|code| (of_family(source(kernel)), code)));
            }
            for (kernel, code) in missing.iter().zip(compile_all(family, &missing)) {
                if let KernelCode::Compiled(code) = &code {
                    cache.put(source(kernel), code.clone());
                }
                codes.codes.insert(of_family(source(kernel)), code);
            }
            cache.close();
        }
        codes.compilers.insert(family.to_owned(), compiler);
    }
    codes
}

/// Compiles kernels in one process. If that gives no answer, each has a process of its own, so that a kernel on which the
/// driver crashes takes no other with it.
fn compile_all(family: &str, kernels: &[&Kernel]) -> Vec<KernelCode> {
    let codes = |answer: FamilyCode| answer.kernels.into_iter().map(|kernel| kernel.code).collect::<Vec<_>>();
    if kernels.is_empty() {
        return Vec::new();
    }
    if let Ok(answer) = compiled(family, kernels, ALL)
        && answer.kernels.len() == kernels.len()
    {
        return codes(answer);
    }
    let alone = |kernel: &&Kernel| match compiled(family, &[kernel], ONE).map(codes) {
        Ok(mut codes) if codes.len() == 1 => codes.remove(0),
        Ok(_) => KernelCode::Absent { absent: "the process that compiles gave no code of it".into() },
        Err(error) => KernelCode::Absent { absent: format!("the process that compiles {error}") },
    };
    kernels.iter().map(alone).collect()
}

/// Asks a process to compile.
fn compiled(family: &str, kernels: &[&Kernel], timeout: Duration) -> Result<FamilyCode, ProbeError> {
    let fault = |error: std::io::Error| ProbeError::Start(format!("cannot be given the kernels: {error}"));
    let file = tempfile::Builder::new().suffix(".json").tempfile().map_err(fault)?;
    serde_json::to_writer(&file, kernels).map_err(|error| fault(error.into()))?;
    let path = file.path().to_string_lossy().into_owned();
    let mut command = question(&["isa", &path])?;
    command.env(FAMILY, family);
    ask(command, timeout)
}

fn absent(family: &str, error: &ProbeError) -> FamilyCode {
    FamilyCode::absent(match error {
        ProbeError::Crashed { last_words, .. } if last_words.contains(UNKNOWN_FAMILY) => {
            format!("this RADV does not know the family `{family}`")
        }
        error => format!("the process that compiles for `{family}` {error}"),
    })
}

#[cfg(test)]
mod tests {
    use perfharness_platform::Exit;

    use super::*;

    fn kernel(label: &str, wgsl: &str) -> Kernel {
        Kernel { label: label.into(), wgsl: wgsl.into(), entry_point: "main".into(), dispatches: 1 }
    }

    #[test]
    fn a_kernel_without_a_code_says_why_for_each_family() {
        let mut codes = Codes::default();
        let by = Compiler::By { driver: "radv 1".into(), device: "d".into() };
        codes.compilers.insert("navi21".into(), by);
        codes.compilers.insert("vega10".into(), Compiler::Absent { absent: "no RADV".into() });
        let known = KernelCode::Absent { absent: "no f16".into() };
        codes.codes.insert(("navi21".into(), source(&kernel("a", "x"))), known.clone());
        // The label is not a part of what is compiled.
        let of = codes.of(&kernel("b", "x"));
        assert_eq!(of["navi21"], known);
        assert_eq!(of["vega10"], KernelCode::Absent { absent: "no RADV".into() });
        assert!(matches!(&codes.of(&kernel("a", "y"))["navi21"], KernelCode::Absent { .. }));
    }

    #[test]
    fn a_family_that_the_driver_refuses_is_named() {
        let last_words = "radv: Unknown family: navi99".to_owned();
        let error = ProbeError::Crashed { exit: Exit::Code(1), last_words };
        let Compiler::Absent { absent } = absent("navi99", &error).compiler else { panic!("it is absent") };
        assert_eq!(absent, "this RADV does not know the family `navi99`");
    }
}
