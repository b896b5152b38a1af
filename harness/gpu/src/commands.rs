//! Lists of commands.

use std::fmt;
use std::rc::Rc;

use bytemuck::{NoUninit, Pod};

use crate::buffer::{Buffer, Slice};
use crate::kernels::Shader;
use crate::ledger::Counts;
use crate::mapping::{Mapping, Turn};
use crate::pipeline::Bound;
use crate::queries::Slot;
use crate::spans::SpanKind;
use crate::trace::NO_MARK;
use crate::{Gpu, GpuError, Readback, Staging};

/// Commands in the order in which the device executes them after the submit.
///
/// [`submit`](Self::submit) reports an error in one of them, and then submits nothing. After a submit the list is empty
/// and can be filled again. Consecutive dispatches share a compute pass; each still sees the writes of those before it.
#[must_use = "commands do nothing unless submitted"]
pub struct Commands {
    gpu: Gpu,
    label: String,
    error: Option<GpuError>,
    encoder: Option<wgpu::CommandEncoder>,
    pass: Option<wgpu::ComputePass<'static>>,
    /// The run of copies or clears that is being recorded: its kind, and its slot if it is timed.
    run: Option<(SpanKind, Option<Slot>)>,
    slots: Vec<Slot>,
    /// Mark of the pass or the run that is being recorded, for a trace.
    mark: u32,
    counts: Counts,
    /// Shader of each dispatch that was recorded during a metered or traced sample.
    dispatched: Vec<Rc<Shader>>,
    mappings: Vec<Rc<Mapping>>,
    /// Staging buffers of single uploads, which live until the submit.
    staged: Vec<Buffer>,
}

/// Submitted commands.
#[derive(Clone, Debug)]
pub struct Submission {
    gpu: Gpu,
    index: wgpu::SubmissionIndex,
}

impl Submission {
    /// Waits until these commands, and all before them, are done: one sync.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub fn wait(&self) -> Result<(), GpuError> {
        self.gpu.count(|counts| counts.syncs += 1);
        self.gpu.wait_for(Some(self.index.clone()), "a submit")
    }
}

impl fmt::Debug for Commands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commands").field("label", &self.label).finish_non_exhaustive()
    }
}

impl Commands {
    pub(crate) fn new(gpu: Gpu, label: &str) -> Self {
        Self {
            gpu,
            label: label.to_owned(),
            error: None,
            encoder: None,
            pass: None,
            run: None,
            slots: Vec::new(),
            mark: NO_MARK,
            counts: Counts::default(),
            dispatched: Vec::new(),
            mappings: Vec::new(),
            staged: Vec::new(),
        }
    }

    /// Uploads data through a new staging buffer, which is filled now. A loop that uploads repeatedly should use
    /// [`upload_through`](Self::upload_through) instead.
    pub fn upload<'a, T: NoUninit>(&mut self, to: impl Into<Slice<'a>>, data: &[T]) -> &mut Self {
        let to = to.into();
        self.attempt(|commands| {
            let data: &[u8] = bytemuck::cast_slice(data);
            to.holds(data.len())?;
            let bytes = to.copy_bytes()?;
            let staging = commands.gpu.stage_once(data)?;
            commands.copy_up(&staging, &to, bytes);
            commands.staged.push(staging);
            Ok(())
        })
    }

    /// Uploads data through the next slot of a staging ring, which is filled now.
    pub fn upload_through<'a, T: NoUninit>(
        &mut self,
        staging: &mut Staging,
        to: impl Into<Slice<'a>>,
        data: &[T],
    ) -> &mut Self {
        let to = to.into();
        self.attempt(|commands| {
            let data: &[u8] = bytemuck::cast_slice(data);
            to.holds(data.len())?;
            let bytes = to.copy_bytes()?;
            let slot = staging.fill_next(data)?;
            commands.copy_up(&slot.buffer, &to, bytes);
            commands.mappings.push(slot);
            Ok(())
        })
    }

    fn copy_up(&mut self, staging: &Buffer, to: &Slice<'_>, bytes: u64) {
        self.uses([staging, to.buffer]);
        let encoder = self.transfer(SpanKind::Copy);
        encoder.copy_buffer_to_buffer(staging.raw(), 0, to.buffer.raw(), to.offset, bytes);
        self.name(&["upload ", to.buffer.label()]);
        self.counts.upload_copies += 1;
        self.counts.upload_bytes += bytes;
    }

    /// Copies on the device. Both sides have the same size and are in different buffers.
    pub fn copy<'a, 'b>(&mut self, from: impl Into<Slice<'a>>, to: impl Into<Slice<'b>>) -> &mut Self {
        let (from, to) = (from.into(), to.into());
        self.attempt(|commands| {
            to.holds(from.bytes as usize)?;
            let bytes = from.copy_bytes()?.min(to.copy_bytes()?);
            commands.uses([from.buffer, to.buffer]);
            let encoder = commands.transfer(SpanKind::Copy);
            encoder.copy_buffer_to_buffer(from.buffer.raw(), from.offset, to.buffer.raw(), to.offset, bytes);
            commands.name(&["copy ", from.buffer.label(), " to ", to.buffer.label()]);
            commands.counts.device_copies += 1;
            commands.counts.device_copy_bytes += bytes;
            Ok(())
        })
    }

    /// Sets a buffer or a part of it to zero.
    pub fn clear<'a>(&mut self, what: impl Into<Slice<'a>>) -> &mut Self {
        let what = what.into();
        self.attempt(|commands| {
            let bytes = what.copy_bytes()?;
            commands.uses([what.buffer]);
            commands.transfer(SpanKind::Clear).clear_buffer(what.buffer.raw(), what.offset, Some(bytes));
            commands.name(&["clear ", what.buffer.label()]);
            Ok(())
        })
    }

    /// Runs a pipeline. Zero workgroups do not count as a dispatch.
    pub fn dispatch(&mut self, bound: &Bound, workgroups: [u32; 3]) -> &mut Self {
        self.attempt(|commands| {
            bound.check(workgroups)?;
            if workgroups.contains(&0) {
                return Ok(());
            }
            commands.uses(&bound.buffers);
            commands.open_pass();
            if let Some(pass) = &mut commands.pass {
                bound.dispatch(pass, workgroups);
            }
            commands.name(&[bound.pipeline.label()]);
            commands.counts.dispatches += 1;
            if commands.gpu.inner.ledger.is_on() {
                commands.dispatched.push(bound.pipeline.shader());
            }
            Ok(())
        })
    }

    /// Copies to a readback buffer, after the data that these commands copied there before.
    pub fn download<'a, T: Pod>(&mut self, from: impl Into<Slice<'a>>, to: &mut Readback<T>) -> &mut Self {
        let from = from.into();
        self.attempt(|commands| {
            let bytes = from.copy_bytes()?;
            let mapping = &to.mapping;
            let known = commands.mappings.iter().any(|known| Rc::ptr_eq(known, mapping));
            if !known && mapping.turn() != Turn::Idle {
                return Err(mapping.invalid("still holds data that was not read yet"));
            }
            let at = if known { mapping.used.get() } else { 0 };
            if at + bytes > mapping.buffer.raw().size() {
                return Err(mapping.invalid(&format!("cannot take {bytes} bytes after byte {at}")));
            }
            commands.uses([from.buffer, &mapping.buffer]);
            let encoder = commands.transfer(SpanKind::Copy);
            encoder.copy_buffer_to_buffer(from.buffer.raw(), from.offset, mapping.buffer.raw(), at, bytes);
            commands.name(&["download ", from.buffer.label()]);
            mapping.used.set(at + bytes);
            if !known {
                mapping.set(Turn::Recorded);
                commands.mappings.push(Rc::clone(mapping));
            }
            commands.counts.download_copies += 1;
            commands.counts.download_bytes += bytes;
            Ok(())
        })
    }

    /// Sends the commands to the device in one submit, without waiting for them.
    ///
    /// # Errors
    /// Returns the first error in the commands, or another error of the device.
    pub fn submit(&mut self) -> Result<Submission, GpuError> {
        self.pass = None;
        self.end_run();
        let gpu = self.gpu.clone();
        let inner = &gpu.inner;
        let recorded = self.error.take().map_or_else(|| gpu.check_faults(), Err).and_then(|()| {
            self.encoder();
            let finished = self.encoder.take().map(wgpu::CommandEncoder::finish);
            gpu.check_faults().map(|()| finished)
        });
        let submitted = recorded.and_then(|finished| {
            let index = inner.queue.submit(finished);
            gpu.check_faults().map(|()| index)
        });
        let index = submitted.inspect_err(|_| self.give_up())?;
        inner.flights.submitted(&index);
        self.staged.clear();
        for mapping in self.mappings.drain(..) {
            mapping.submitted(Some(index.clone()));
        }
        let counts = std::mem::take(&mut self.counts);
        gpu.count(|total| {
            total.add(&counts);
            total.submits += 1;
        });
        inner.ledger.dispatched(self.dispatched.drain(..));
        if !self.slots.is_empty() {
            self.slots.drain(..).for_each(Slot::submitted);
            inner.ring.borrow().flush_full(&inner.device, &inner.queue);
        }
        gpu.check_faults()?;
        Ok(Submission { gpu, index })
    }

    /// Notes in metered and traced samples that the next submit uses these buffers.
    fn uses<'a>(&self, buffers: impl IntoIterator<Item = &'a Buffer>) {
        if let Some(submit) = self.gpu.inner.flights.next() {
            buffers.into_iter().for_each(|buffer| buffer.used_by(submit));
        }
    }

    /// Records a command, unless an earlier one failed.
    fn attempt(&mut self, record: impl FnOnce(&mut Self) -> Result<(), GpuError>) -> &mut Self {
        if self.error.is_none() {
            self.error = record(self).err();
        }
        self
    }

    fn encoder(&mut self) -> &mut wgpu::CommandEncoder {
        let device = &self.gpu.inner.device;
        let descriptor = wgpu::CommandEncoderDescriptor { label: Some(&self.label) };
        self.encoder.get_or_insert_with(|| device.create_command_encoder(&descriptor))
    }

    /// Reserves a slot for a span, if a metered or traced sample is running and the device can time such spans.
    fn reserve(&mut self, kind: SpanKind, needed: wgpu::Features) -> Option<Slot> {
        self.mark = NO_MARK;
        let inner = &self.gpu.inner;
        if !inner.ledger.is_on() || !inner.features.contains(needed) {
            return None;
        }
        let mut mark = NO_MARK;
        self.gpu.trace(|log| mark = log.mark(kind));
        let slot = inner.ring.borrow_mut().reserve(&inner.device, kind, mark);
        self.mark = mark;
        Some(slot)
    }

    /// Names the last recorded command in a trace.
    fn name(&self, parts: &[&str]) {
        if self.mark != NO_MARK {
            self.gpu.trace(|log| log.command(self.mark, parts));
        }
    }

    /// Returns the encoder, within a run of copies or clears.
    fn transfer(&mut self, kind: SpanKind) -> &mut wgpu::CommandEncoder {
        self.pass = None;
        if self.run.as_ref().is_some_and(|(running, _)| *running != kind) {
            self.end_run();
        }
        if self.run.is_none() {
            let slot = self.reserve(kind, wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS);
            match &slot {
                Some(slot) => slot.begin(self.encoder()),
                None => self.counts.untimed_copies += 1,
            }
            self.run = Some((kind, slot));
        }
        self.encoder()
    }

    fn end_run(&mut self) {
        if let Some((_, Some(slot))) = self.run.take() {
            slot.end(self.encoder());
            self.slots.push(slot);
        }
    }

    fn open_pass(&mut self) {
        self.end_run();
        if self.pass.is_some() {
            return;
        }
        let slot = self.reserve(SpanKind::Compute, wgpu::Features::TIMESTAMP_QUERY);
        if slot.is_none() {
            self.counts.untimed_passes += 1;
        }
        let descriptor = wgpu::ComputePassDescriptor {
            label: None,
            timestamp_writes: slot.as_ref().map(Slot::around_pass),
        };
        self.pass = Some(self.encoder().begin_compute_pass(&descriptor).forget_lifetime());
        self.slots.extend(slot);
    }

    /// Discards everything that was recorded.
    fn give_up(&mut self) {
        self.pass = None;
        self.run = None;
        self.slots.clear();
        self.counts = Counts::default();
        self.dispatched.clear();
        self.encoder = None;
        self.staged.clear();
        for mapping in self.mappings.drain(..) {
            mapping.abandoned();
        }
    }
}

impl Drop for Commands {
    fn drop(&mut self) {
        self.give_up();
    }
}
