//! `perfharness init`

use std::path::Path;

use perfharness_record::file::write_atomically;

use super::Terminal;
use crate::config::{CONFIG_FILE, CONFIG_TEMPLATE};
use crate::exit::{CommandError, CommandResult, Exit};

/// Writes a commented configuration.
pub(super) fn init(terminal: &Terminal) -> CommandResult {
    let path = Path::new(CONFIG_FILE);
    if path.exists() {
        return Err(CommandError::Usage(format!("{CONFIG_FILE} is there already; it is left as it is")));
    }
    write_atomically(path, CONFIG_TEMPLATE.as_bytes())
        .map_err(|e| anyhow::Error::new(e).context(format!("cannot write {CONFIG_FILE}")))?;
    terminal.hint(&format!("wrote {CONFIG_FILE}; everything in it is a comment until you change it"));
    Ok(Exit::OK)
}
