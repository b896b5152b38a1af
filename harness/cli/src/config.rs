//! `perfharness.toml`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use perfharness_contract::Effort;
use perfharness_record::WorkerCommand;
use perfharness_record::compare::GatePolicy;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// Name of the configuration file, looked for in the current folder and those above it.
pub const CONFIG_FILE: &str = "perfharness.toml";

/// The file that `perfharness init` writes.
pub const CONFIG_TEMPLATE: &str = include_str!("../templates/perfharness.toml");

/// The configuration. Unknown keys are errors: a misspelt one would silently do nothing.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// Programs that have something to measure.
    #[serde(default)]
    pub worker: Vec<WorkerConfig>,
    /// Defaults of `run`.
    #[serde(default)]
    pub run: RunConfig,
    /// What the workloads are told, by names that they choose, as it is written.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// The machine.
    #[serde(default)]
    pub machine: MachineConfig,
    /// Which change matters.
    #[serde(default)]
    pub gate: GatePolicy,
    /// The folder of the file, where relative paths in it start; empty where there is no file.
    #[serde(skip)]
    pub folder: PathBuf,
}

/// One worker.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WorkerConfig {
    /// What to call it; its program's name where absent.
    pub name: Option<String>,
    /// Program and arguments; relative programs, and files among the arguments, are looked for from the
    /// configuration's folder.
    pub command: Vec<String>,
    /// Environment variables set for it.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// Defaults of `run`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RunConfig {
    /// The effort.
    pub effort: Option<Effort>,
    /// The seed.
    pub seed: Option<u64>,
    /// The GPU to use.
    #[serde(default, deserialize_with = "device_name")]
    pub device: Option<String>,
    /// Whether the built-in workloads are there too; by default only where no worker is configured.
    pub built_in: Option<bool>,
}

/// Names are compared without regard to case, and nothing at all would be a part of every name.
pub(crate) fn device(text: &str) -> Result<String, String> {
    match text.trim().to_lowercase() {
        name if name.is_empty() => Err("write `auto`, `none`, or a part of an adapter's name".to_owned()),
        name => Ok(name),
    }
}

fn device_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(deserializer)?;
    device(&text).map(Some).map_err(D::Error::custom)
}

/// The machine.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MachineConfig {
    /// Key under which absolute figures of this machine are compared.
    #[serde(default, deserialize_with = "perfharness_record::file_name::class_to_set")]
    pub class: Option<String>,
}

/// Why the configuration could not be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("cannot read the configuration {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// It is wrong.
    #[error("the configuration {} is wrong: {source}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Where and how.
        source: toml::de::Error,
    },
    /// A worker has no command.
    #[error("the configuration {}: [[worker]] number {number} has an empty command", path.display())]
    EmptyCommand {
        /// The file.
        path: PathBuf,
        /// Which worker, from 1.
        number: usize,
    },
}

impl Config {
    /// Reads the file that the user names, or the one in the current folder or the nearest above it; the empty
    /// configuration where there is none.
    ///
    /// # Errors
    /// When the file cannot be read or is wrong.
    pub fn load(named: Option<&Path>) -> Result<Self, ConfigError> {
        match Self::find(named) {
            Some(path) => Self::read(&path),
            None => Ok(Self::default()),
        }
    }

    /// The file that [`load`](Self::load) reads.
    pub fn find(named: Option<&Path>) -> Option<PathBuf> {
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

    /// Reads a configuration from text; its relative paths are seen from the folder of `path`.
    ///
    /// # Errors
    /// When the text is wrong.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let mut config: Self =
            toml::from_str(text).map_err(|source| ConfigError::Parse { path: path.into(), source })?;
        config.folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        if let Some(number) = config.worker.iter().position(|worker| worker.command.is_empty()) {
            return Err(ConfigError::EmptyCommand { path: path.into(), number: number + 1 });
        }
        Ok(config)
    }

    /// The differences of another configuration in the objects and the ways of measuring, in words; its policy apart. `inside`
    /// tells where a folder lies in the repository.
    pub fn differences(&self, other: &Self, inside: &dyn Fn(&Path) -> Option<String>) -> Vec<String> {
        let (gate, theirs) = (&self.gate, &other.gate);
        let differs = [
            ("[[worker]]", self.worker != other.worker),
            ("[run]", self.run != other.run),
            ("[settings]", self.settings != other.settings),
            ("[machine]", self.machine != other.machine),
            ("`build` of [gate]", gate.build != theirs.build),
            ("`worker` of [gate]", gate.worker != theirs.worker),
            ("`reads-sources` of [gate]", gate.reads_sources != theirs.reads_sources),
            ("the folder that it lies in", inside(&self.folder) != inside(&other.folder)),
        ];
        let named = differs.into_iter().filter(|(_, differs)| *differs);
        named.map(|(what, _)| format!("{what} is another one than in the base")).collect()
    }

    /// The configured workers, as they are started from the current folder.
    pub fn workers(&self) -> Vec<WorkerCommand> {
        let from_here = |word: &str| self.folder.join(word).to_string_lossy().into_owned();
        let word = |(number, word): (usize, &String)| {
            let is_ours = if number == 0 {
                // A bare name is looked up by the system; a relative path belongs to the configuration.
                word.contains(['/', '\\'])
            } else {
                // So does a script that an interpreter is given.
                !Path::new(word).exists() && self.folder.join(word).is_file()
            };
            if is_ours { from_here(word) } else { word.clone() }
        };
        let command = |worker: &WorkerConfig| WorkerCommand {
            name: worker.name.clone().unwrap_or_else(|| program_name(&worker.command)),
            command: worker.command.iter().enumerate().map(word).collect(),
            env: worker.env.clone(),
            folder: None,
        };
        self.worker.iter().map(command).collect()
    }
}

/// What a worker is called where nobody named it: its program without folders.
pub fn program_name(command: &[String]) -> String {
    let program = command.first().map_or("", String::as_str);
    Path::new(program).file_name().map_or_else(|| program.into(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_that_init_writes_is_a_valid_configuration() {
        assert_eq!(toml::from_str::<Config>(CONFIG_TEMPLATE).unwrap(), Config::default());
        // Its examples are valid as well: with the comment marks taken away it still parses.
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
