//! `perfharness compare`

use perfharness_record::baseline::accept::{conditions_of, difference, of_record};
use perfharness_record::compare::{Terms, judge};
use perfharness_record::file;

use super::Terminal;
use super::gate::{check_places, finish};
use crate::args::CompareOpts;
use crate::config::Config;
use crate::exit::{CommandError, CommandResult};

/// Judges one record against another. Times are advisory: two runs of different times hold whatever changed in between.
pub(super) fn compare(opts: &CompareOpts, config: &Config, terminal: &Terminal) -> CommandResult {
    check_places(&opts.show, None, &[&opts.before, &opts.after])?;
    let before = file::read(&opts.before)?;
    let after = file::read(&opts.after)?;
    if let Some(what) = difference(&conditions_of(&before), &conditions_of(&after)) {
        return Err(CommandError::Usage(format!(
            "{} and {} were measured with another {what}, so that their figures mean different things",
            opts.before.display(),
            opts.after.display()
        )));
    }
    let baseline = of_record(&before);
    let command = format!("perfharness compare {} {}", opts.before.display(), opts.after.display());
    let terms = Terms {
        baseline: Some(&baseline),
        calibration: None,
        policy: &config.gate,
        command: &command,
        one_run: true,
    };
    finish(&judge(&after, &terms), &opts.show, None, terminal)
}
