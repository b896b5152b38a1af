//! Detection of data races: a shadow of each memory cell remembers who accessed it since when.
//!
//! Within a dispatch, two accesses of different invocations are ordered only by a barrier of the workgroup of both. All
//! atomic operations of WGSL are relaxed, so they order nothing else. It therefore suffices to count the barriers of each
//! workgroup, and to remember the latest accesses of each kind with that count.

use crate::memory::Trouble;

/// Kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
    /// An atomic operation that reads, and may write.
    Atomic,
    AtomicStore,
}

impl Access {
    fn is_atomic(self) -> bool {
        matches!(self, Self::Atomic | Self::AtomicStore)
    }
}

/// An access: by whom, when, and from where.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Who {
    /// Number of the workgroup, which no other workgroup of any dispatch has; from 1.
    pub(crate) workgroup: u32,
    /// Number of the invocation within its dispatch.
    pub(crate) invocation: u32,
    /// Number of barriers for this memory that the workgroup has passed.
    pub(crate) epoch: u32,
    /// Place in the source.
    pub(crate) place: u32,
}

/// Latest accesses of one kind. A default one has none.
#[derive(Clone, Copy, Debug, Default)]
struct Track {
    last: Who,
    /// Another invocation of the same workgroup and epoch.
    beside: Option<(u32, u32)>,
    /// An invocation of another workgroup of the same dispatch.
    abroad: Option<(u32, u32)>,
}

impl Track {
    /// Returns an access that is not ordered before this one: its invocation and its place. Workgroups before `first`
    /// belong to earlier dispatches.
    fn conflict(&self, who: Who, first: u32) -> Option<(u32, u32)> {
        let last = self.last;
        if last.workgroup < first {
            return None;
        }
        if last.workgroup != who.workgroup {
            return Some((last.invocation, last.place));
        }
        if last.epoch == who.epoch && last.invocation != who.invocation {
            return Some((last.invocation, last.place));
        }
        let beside = if last.epoch == who.epoch { self.beside } else { None };
        beside.filter(|(other, _)| *other != who.invocation).or(self.abroad)
    }

    fn record(&mut self, who: Who, first: u32) {
        let last = self.last;
        let known = (last.invocation, last.place);
        if last.workgroup < first {
            *self = Self { last: who, beside: None, abroad: None };
        } else if last.workgroup != who.workgroup {
            *self = Self { last: who, beside: None, abroad: Some(known) };
        } else if last.epoch != who.epoch {
            *self = Self { last: who, beside: None, abroad: self.abroad };
        } else if last.invocation != who.invocation {
            *self = Self { last: who, beside: Some(known), abroad: self.abroad };
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    reads: Track,
    writes: Track,
    atomics: Track,
    /// Latest workgroup that wrote.
    written_by: u32,
}

/// Accesses to a memory, cell by cell.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    cells: Vec<Cell>,
    /// Size of a cell in bytes: that of the smallest number that the kernel accesses.
    cell: u32,
    /// First workgroup of this dispatch.
    first: u32,
    /// Whether a read of a cell that this workgroup has not written is a mistake.
    must_be_written: bool,
}

impl Shadow {
    /// Prepares for the workgroups from `first` on, which forgets all others. The content of the memory is undefined until
    /// somebody writes it if `must_be_written`.
    pub(crate) fn prepare(&mut self, bytes: usize, cell: u32, first: u32, must_be_written: bool) {
        let cells = bytes.div_ceil(cell as usize);
        if (self.cell, self.cells.len()) != (cell, cells) {
            self.cells = vec![Cell::default(); cells];
        }
        (self.cell, self.first, self.must_be_written) = (cell, first, must_be_written);
    }

    /// Returns an access that contradicts this one, and remembers this one.
    pub(crate) fn record(&mut self, at: u32, bytes: u32, access: Access, who: Who) -> Option<Trouble> {
        let Self { cell, first, must_be_written, .. } = *self;
        let range = (at / cell) as usize..((at + bytes).div_ceil(cell)) as usize;
        let mut trouble = None;
        for cell in self.cells.get_mut(range).into_iter().flatten() {
            let found = [
                (&cell.writes, true),
                (&cell.reads, access != Access::Read),
                (&cell.atomics, !access.is_atomic()),
            ];
            let race = found
                .into_iter()
                .find_map(|(track, matters)| matters.then(|| track.conflict(who, first)).flatten());
            trouble = trouble.or(race.map(|(other, there)| Trouble::Race { other, there }));
            let reads = matches!(access, Access::Read | Access::Atomic);
            if must_be_written && reads && cell.written_by != who.workgroup {
                trouble = trouble.or(Some(Trouble::Unwritten));
            }
            match access {
                Access::Read => cell.reads.record(who, first),
                Access::Write => cell.writes.record(who, first),
                Access::Atomic | Access::AtomicStore => cell.atomics.record(who, first),
            }
            if access != Access::Read {
                cell.written_by = who.workgroup;
            }
        }
        trouble
    }
}
