//! `perfharness doctor`

use super::Terminal;
use crate::args::DoctorOpts;
use crate::config::Config;
use crate::doctor::{Diagnosis, Facts, render_diagnosis};
use crate::exit::CommandResult;

/// Says what this machine can measure.
pub(super) fn doctor(opts: &DoctorOpts, config: &Config, terminal: &Terminal) -> CommandResult {
    let device = opts.device.as_ref().or(config.run.device.as_ref()).map_or("auto", String::as_str);
    let diagnosis = Diagnosis::of(Facts::gather(device, config.machine.class.as_deref()));
    if opts.json {
        return terminal.print_json(&diagnosis);
    }
    terminal.print_styled(&render_diagnosis(&diagnosis, Terminal::layout()))
}
