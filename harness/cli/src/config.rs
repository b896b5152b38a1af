//! The configuration file, `perfharness.toml`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use perfharness_contract::Effort;
use perfharness_record::WorkerCommand;
use perfharness_record::compare::GatePolicy;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// Name of the configuration file; it lies in the current folder or one above it.
pub(crate) const CONFIG_FILE: &str = "perfharness.toml";

/// The file that `perfharness init` writes.
pub(crate) const CONFIG_TEMPLATE: &str = include_str!("../templates/perfharness.toml");

/// The configuration. Unknown keys are errors, because a misspelt key would silently have no effect.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Config {
    #[serde(default)]
    pub(crate) worker: Vec<WorkerConfig>,
    #[serde(default)]
    pub(crate) run: RunConfig,
    /// Settings of workloads: verbatim values by the names that the workloads declare.
    #[serde(default)]
    pub(crate) settings: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) machine: MachineConfig,
    #[serde(default)]
    pub(crate) meters: MetersConfig,
    #[serde(default)]
    pub(crate) gate: GatePolicy,
    /// The folder of the file, to which relative paths in it refer; empty if there is no file.
    #[serde(skip)]
    pub(crate) folder: PathBuf,
}

/// One worker.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct WorkerConfig {
    /// Its name; by default the name of its program.
    pub(crate) name: Option<String>,
    /// Program and arguments. A relative program, and an argument that names a file, refer to the folder of the
    /// configuration.
    pub(crate) command: Vec<String>,
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RunConfig {
    pub(crate) effort: Option<Effort>,
    pub(crate) seed: Option<u64>,
    #[serde(default, deserialize_with = "device_name")]
    pub(crate) device: Option<String>,
    /// Whether to include the built-in workloads; by default only if no worker is configured.
    pub(crate) built_in: Option<bool>,
}

/// Normalizes the name of a device. Names are compared without regard to case; an empty name would be a part of every
/// other.
pub(crate) fn device(text: &str) -> Result<String, String> {
    match text.trim().to_lowercase() {
        name if name.is_empty() => {
            Err("the name is empty: write `auto`, `none` or a part of an adapter's name".to_owned())
        }
        name => Ok(name),
    }
}

fn device_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(deserializer)?;
    device(&text).map(Some).map_err(D::Error::custom)
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct MachineConfig {
    #[serde(default, deserialize_with = "perfharness_record::file_name::class_to_set")]
    pub(crate) class: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct MetersConfig {
    #[serde(default)]
    pub(crate) instructions: InstructionMeter,
}

/// When instructions are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum InstructionMeter {
    /// Where the machine has what it takes.
    #[default]
    Auto,
    Off,
}

/// The reason that the configuration is unusable.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("cannot read the configuration {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("the configuration {} is not valid: {source}", path.display())]
    Parse { path: PathBuf, source: toml::de::Error },
    #[error("the configuration {}: [[worker]] number {number} has an empty command: write the program and its arguments", path.display())]
    EmptyCommand {
        path: PathBuf,
        /// Number of the worker, from 1.
        number: usize,
    },
}

impl Config {
    /// Reads the file that the user names, or the nearest one in the current folder and those above it. Returns the
    /// empty configuration if there is no file.
    pub(crate) fn load(named: Option<&Path>) -> Result<Self, ConfigError> {
        match Self::find(named) {
            Some(path) => Self::read(&path),
            None => Ok(Self::default()),
        }
    }

    /// Returns the path of the file that [`load`](Self::load) reads.
    pub(crate) fn find(named: Option<&Path>) -> Option<PathBuf> {
        let found = || {
            let start = std::env::current_dir().ok()?;
            start
                .ancestors()
                .map(|folder| folder.join(CONFIG_FILE))
                .find(|path| path.symlink_metadata().is_ok())
        };
        named.map(Path::to_path_buf).or_else(found)
    }

    fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = perfharness_record::file::read_text(path, 1 << 20)
            .map_err(|source| ConfigError::Read { path: path.into(), source })?;
        Self::parse(path, &text)
    }

    /// Reads a configuration from text; relative paths in it refer to the folder of `path`.
    pub(crate) fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let mut config: Self =
            toml::from_str(text).map_err(|source| ConfigError::Parse { path: path.into(), source })?;
        config.folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        if let Some(number) = config.worker.iter().position(|worker| worker.command.is_empty()) {
            return Err(ConfigError::EmptyCommand { path: path.into(), number: number + 1 });
        }
        Ok(config)
    }

    /// Describes the differences from another configuration in the subjects and the ways of measuring, apart from the
    /// policy. `inside` returns the position of a folder within the repository.
    pub(crate) fn differences(&self, other: &Self, inside: &dyn Fn(&Path) -> Option<String>) -> Vec<String> {
        let (gate, theirs) = (&self.gate, &other.gate);
        let differs = [
            ("[[worker]]", self.worker != other.worker),
            ("[run]", self.run != other.run),
            ("[settings]", self.settings != other.settings),
            ("[machine]", self.machine != other.machine),
            ("[meters]", self.meters != other.meters),
            ("`build` of [gate]", gate.build != theirs.build),
            ("`worker` of [gate]", gate.worker != theirs.worker),
            ("`reads-sources` of [gate]", gate.reads_sources != theirs.reads_sources),
            ("the folder of the configuration", inside(&self.folder) != inside(&other.folder)),
        ];
        let named = differs.into_iter().filter(|(_, differs)| *differs);
        named.map(|(what, _)| format!("{what} differs from the base")).collect()
    }

    /// Returns the configured workers, with paths relative to the current folder.
    pub(crate) fn workers(&self) -> Vec<WorkerCommand> {
        let from_here = |word: &str| self.folder.join(word).to_string_lossy().into_owned();
        let word = |(number, word): (usize, &String)| {
            let is_ours = if number == 0 {
                // The system looks up a bare name; a relative path refers to the configuration.
                word.contains(['/', '\\'])
            } else {
                // So does the path of a script for an interpreter.
                !Path::new(word).exists() && self.folder.join(word).is_file()
            };
            if is_ours { from_here(word) } else { word.clone() }
        };
        let command = |worker: &WorkerConfig| WorkerCommand {
            name: worker.name.clone().unwrap_or_else(|| program_name(&worker.command)),
            command: worker.command.iter().enumerate().map(word).collect(),
            env: worker.env.clone(),
            ..WorkerCommand::default()
        };
        self.worker.iter().map(command).collect()
    }
}

/// Returns the default name of a worker: its program without folders.
pub(crate) fn program_name(command: &[String]) -> String {
    let program = command.first().map_or("", String::as_str);
    Path::new(program).file_name().map_or_else(|| program.into(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_that_init_writes_is_a_valid_configuration() {
        assert_eq!(toml::from_str::<Config>(CONFIG_TEMPLATE).unwrap(), Config::default());
        // Its examples are valid, too: it still parses without the comment marks.
        let uncommented: Vec<&str> =
            CONFIG_TEMPLATE.lines().map(|line| line.strip_prefix("#: ").unwrap_or(line)).collect();
        let config: Config = toml::from_str(&uncommented.join("\n")).unwrap();
        assert_eq!(config.worker.len(), 1);
        assert!(config.machine.class.is_some() && config.settings.contains_key("images"));
    }

    #[test]
    fn misspelt_keys_are_errors_that_name_the_place() {
        let error = toml::from_str::<Config>("[run]\neffrot = \"quick\"\n").unwrap_err().to_string();
        assert!(error.contains("effrot"), "{error}");
    }
}
