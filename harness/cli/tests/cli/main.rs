//! The program from its outside: started as a process, with workers that do right and workers that do not, and judged
//! by its exit code, its output and the files that it leaves.

#[cfg(test)]
mod arguments;
#[cfg(test)]
mod ci_gate;
#[cfg(test)]
mod comment;
#[cfg(test)]
mod counts;
#[cfg(test)]
mod doctor;
#[cfg(test)]
mod earlier;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod gate;
#[cfg(test)]
mod green_paths;
#[cfg(test)]
mod guide;
#[cfg(test)]
mod hostile_files;
#[cfg(test)]
mod instructions;
#[cfg(test)]
mod interruption;
#[cfg(test)]
mod kernels;
#[cfg(test)]
mod layouts;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod outcomes;
#[cfg(test)]
mod places;
#[cfg(test)]
mod profile;
#[cfg(test)]
mod protocol;
#[cfg(test)]
mod python;
#[cfg(test)]
mod record;
#[cfg(test)]
mod report;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod show;
#[cfg(test)]
mod telemetry;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod trace;
#[cfg(test)]
mod two_builds;
