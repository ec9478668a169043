//! Entries of one kind, each with what its changes have come to so far.
//!
//! Changes are netted as they come, so that memory follows the number of entries and a chunk of a ledger is netted on its own thread. They
//! may come in any order: of two, the one of the higher `order` is later, and of two of the same order the one that came later. Rows come
//! out sorted by key; the table is only looked up, never walked, so its order reaches nothing.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;

use foldhash::fast::RandomState;

use crate::rows::{Entry, EntryOp};

/// The changes of one entry, netted.
#[derive(Clone, Copy, Debug)]
struct Net<R> {
    /// When the first change happened.
    first: u64,
    /// Whether the entry was there before that, or came back from the archive by it.
    existed: bool,
    /// When the last change but one happened, and what it did.
    before: Option<(u64, EntryOp)>,
    /// When the last change happened.
    last: u64,
    /// The entry after it.
    row: R,
}

/// The entries of one kind that a chunk, or a ledger, has changed. Buffers are kept.
#[derive(Debug)]
pub(super) struct Entries<R: Entry> {
    index: HashMap<R::Key, usize, RandomState>,
    nets: Vec<Net<R>>,
    /// Where the entries being written come by key: the first bytes of the key, and their index.
    places: Vec<(u64, u32)>,
}

impl<R: Entry> Default for Entries<R> {
    fn default() -> Self {
        Self { index: HashMap::default(), nets: Vec::new(), places: Vec::new() }
    }
}

impl<R: Entry> Entries<R> {
    /// Takes a change; tells whether it is the first of its entry.
    #[inline]
    pub(super) fn change(&mut self, order: u64, existed: bool, row: R) -> bool {
        self.take(Net { first: order, existed, before: None, last: order, row })
    }

    /// Takes over what a later chunk of the same ledger has, and empties it.
    pub(super) fn append(&mut self, later: &mut Self) {
        if self.nets.is_empty() {
            std::mem::swap(self, later);
            return;
        }
        later.index.clear();
        later.nets.drain(..).for_each(|net| _ = self.take(net));
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.index.clear();
        self.nets.clear();
    }

    /// Writes the entries in the order of their keys, and is empty again. Nothing for a removal right after the entry was made, if it was not
    /// there before the ledger.
    pub(super) fn fold(&mut self, mut write: impl FnMut(&R)) {
        self.places.clear();
        self.places.extend((0..).zip(&self.nets).map(|(index, net)| (net.row.prefix(), index)));
        let nets = &self.nets;
        let key = |place: &(u64, u32)| nets[place.1 as usize].row.key();
        // The first bytes decide nearly every comparison, so numbers are sorted; whole keys are compared where those are the same.
        self.places.sort_unstable();
        for alike in self.places.chunk_by_mut(|a, b| a.0 == b.0) {
            if alike.len() > 1 {
                alike.sort_unstable_by_key(key);
            }
            alike.iter().map(|place| &nets[place.1 as usize]).filter(|net| !net.is_nothing()).for_each(|net| write(&net.row));
        }
        self.clear();
    }

    fn take(&mut self, net: Net<R>) -> bool {
        match self.index.entry(net.row.key()) {
            Slot::Occupied(known) => {
                self.nets[*known.get()].join(net);
                false
            }
            Slot::Vacant(slot) => {
                slot.insert(self.nets.len());
                self.nets.push(net);
                true
            }
        }
    }
}

impl<R: Entry> Net<R> {
    /// Takes over what came after, to the same entry.
    fn join(&mut self, came: Self) {
        if came.first < self.first {
            (self.first, self.existed) = (came.first, came.existed);
        }
        if came.last < self.last {
            self.before = later(self.before, Some((came.last, came.row.op())));
        } else {
            self.before = later(Some((self.last, self.row.op())), came.before);
            (self.last, self.row) = (came.last, came.row);
        }
    }

    /// Whether the entry was made in this ledger and removed right after.
    fn is_nothing(&self) -> bool {
        !self.existed && self.row.op() == EntryOp::Remove && matches!(self.before, Some((_, EntryOp::Add)))
    }
}

/// The later of two changes; `b` if both happened at the same time.
fn later(a: Option<(u64, EntryOp)>, b: Option<(u64, EntryOp)>) -> Option<(u64, EntryOp)> {
    match (a, b) {
        (Some(first), Some(second)) if second.0 < first.0 => a,
        (_, Some(_)) => b,
        (_, None) => a,
    }
}
