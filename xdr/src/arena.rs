//! Memory for what decoding cannot borrow from the frame: lists, and values behind references.
//!
//! An arena hands out memory until it is rewound; rewinding takes `&mut self`, so the compiler refuses it while anything decoded is alive.
//! A budget per unit of work turns hostile input into an error. Rewinding keeps the largest chunk, unless that is over the retained bytes.
//! The only unsafe code of the workspace is here: writing a list element by element into memory that was reserved for it.

#![allow(unsafe_code)]

use std::alloc::Layout;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError};

use bumpalo::Bump;

use crate::{Cursor, Stop};

/// Bytes of the first chunk.
const FIRST_CHUNK_BYTES: usize = 16 * 1024;
/// Default budget between two rewinds.
pub const BUDGET_BYTES: usize = 64 * 1024 * 1024;
/// Default bytes kept by a rewind.
pub const RETAINED_BYTES: usize = 8 * 1024 * 1024;

/// Memory for one value that is not written yet.
///
/// The brand `'f` is invariant and chosen anew for every slot, so a [`Filled`] can only come from the slot that was handed out with it.
#[derive(Debug)]
pub struct Slot<'f, T> {
    memory: &'f mut MaybeUninit<T>,
    brand: PhantomData<fn(&'f ()) -> &'f ()>,
}

/// Proof that the slot of the same brand was written.
#[derive(Debug)]
pub struct Filled<'f> {
    brand: PhantomData<fn(&'f ()) -> &'f ()>,
}

impl<'f, T> Slot<'f, T> {
    /// Writes the value.
    #[inline(always)]
    pub fn fill(self, value: T) -> Filled<'f> {
        self.memory.write(value);
        Filled { brand: PhantomData }
    }
}

/// A value written by `fill` into a slot of its own, by value.
#[inline(always)]
pub(crate) fn by_value<T: Copy>(fill: impl for<'f> FnOnce(Slot<'f, T>) -> Result<Filled<'f>, Stop>) -> Result<T, Stop> {
    let mut memory = MaybeUninit::uninit();
    let _filled = fill(Slot { memory: &mut memory, brand: PhantomData })?;
    // SAFETY: a `Filled` of the slot's brand exists, so the memory was written.
    Ok(unsafe { memory.assume_init() })
}

/// A bump allocator with a budget.
#[derive(Debug)]
pub struct Arena {
    bump: Bump,
    budget_bytes: usize,
    retained_bytes_max: usize,
}

impl Default for Arena {
    fn default() -> Self {
        Self::new(BUDGET_BYTES, RETAINED_BYTES)
    }
}

impl Arena {
    /// An arena that gives out at most about `budget_bytes` between rewinds and keeps at most `retained_bytes_max` over one.
    pub fn new(budget_bytes: usize, retained_bytes_max: usize) -> Self {
        let bump = Bump::with_capacity(FIRST_CHUNK_BYTES.min(budget_bytes));
        bump.set_allocation_limit(Some(budget_bytes));
        Self { bump, budget_bytes, retained_bytes_max }
    }

    /// The budget between two rewinds.
    pub fn budget_bytes(&self) -> usize {
        self.budget_bytes
    }

    /// Bytes of memory held now.
    pub fn held_bytes(&self) -> usize {
        self.bump.allocated_bytes()
    }

    /// Makes all memory free again. Cannot be called while anything decoded into this arena is alive.
    pub fn rewind(&mut self) {
        self.bump.reset();
        if self.bump.allocated_bytes() > self.retained_bytes_max {
            *self = Self::new(self.budget_bytes, self.retained_bytes_max);
        }
    }

    /// Keeps one value; `None` when the budget is used up.
    #[inline(always)]
    pub fn keep<T: Copy>(&self, value: T) -> Option<&T> {
        self.bump.try_alloc(value).ok().map(|kept| &*kept)
    }

    /// One value, written by `fill` where it stays.
    #[inline(always)]
    pub(crate) fn keep_with<'s, 'a, T: Copy>(
        &'s self,
        cursor: &mut Cursor<'a>,
        fill: impl for<'f> FnOnce(&mut Cursor<'a>, Slot<'f, T>) -> Result<Filled<'f>, Stop>,
    ) -> Result<&'s T, Stop> {
        let Ok(memory) = self.bump.try_alloc_layout(Layout::new::<T>()) else { return Err(cursor.over_budget(self)) };
        let mut memory = memory.cast::<MaybeUninit<T>>();
        // SAFETY: `memory` is aligned for a `T` and as large; nothing else knows it yet. `MaybeUninit` may hold anything.
        let slot = Slot { memory: unsafe { memory.as_mut() }, brand: PhantomData };
        let _filled = fill(cursor, slot)?;
        // SAFETY: a `Filled` of this slot's brand exists, so the slot was written; the memory lives as long as the borrow of `self`, since
        // rewinding takes `&mut self`.
        Ok(unsafe { memory.as_ref().assume_init_ref() })
    }

    /// Keeps a copy of a slice; `None` when the budget is used up.
    pub fn keep_slice<T: Copy>(&self, values: &[T]) -> Option<&[T]> {
        self.bump.try_alloc_slice_copy(values).ok().map(|kept| &*kept)
    }

    /// Keeps what an iterator yields, at most the first `n_max`; `Ok(None)` when the budget is used up.
    #[allow(clippy::mut_from_ref)] // As with every bump allocator: the memory handed out is new each time.
    pub fn try_collect<T: Copy, E>(&self, n_max: usize, values: impl Iterator<Item = Result<T, E>>) -> Result<Option<&mut [T]>, E> {
        let Ok(layout) = Layout::array::<T>(n_max) else { return Ok(None) };
        let Ok(memory) = self.bump.try_alloc_layout(layout) else { return Ok(None) };
        let first = memory.cast::<T>();
        let mut n = 0;
        for value in values.take(n_max) {
            let value = value?;
            // SAFETY: `first` points at memory for `n_max` values of `T`, aligned for it, and n < n_max. Nothing else knows this memory yet.
            unsafe { first.add(n).write(value) };
            n += 1;
        }
        // SAFETY: the first `n` elements are written, and only this borrow knows them; see `list` for how long the memory lives.
        Ok(Some(unsafe { std::slice::from_raw_parts_mut(first.as_ptr(), n) }))
    }

    /// `n` elements, each written by `element` where it stays.
    #[inline(always)]
    pub(crate) fn list<'s, 'a, T: Copy>(
        &'s self,
        n: usize,
        cursor: &mut Cursor<'a>,
        mut element: impl for<'f> FnMut(&mut Cursor<'a>, Slot<'f, T>) -> Result<Filled<'f>, Stop>,
    ) -> Result<&'s [T], Stop> {
        let Ok(layout) = Layout::array::<T>(n) else { return Err(cursor.over_budget(self)) };
        let Ok(memory) = self.bump.try_alloc_layout(layout) else { return Err(cursor.over_budget(self)) };
        let first = memory.cast::<T>();
        for i in 0..n {
            // SAFETY: `first` points at memory for `n` values of `T`, aligned for it, and i < n. Nothing else knows this memory yet.
            let slot = Slot { memory: unsafe { first.add(i).cast::<MaybeUninit<T>>().as_mut() }, brand: PhantomData };
            let _filled = element(cursor, slot)?;
        }
        // SAFETY: for each slot a `Filled` of its brand existed, so all `n` elements are written; the memory lives as long as the borrow of `self`, since rewinding takes `&mut self`. An error
        // above leaves the memory unused until then; `T: Copy` has nothing to drop.
        Ok(unsafe { std::slice::from_raw_parts(first.as_ptr(), n) })
    }
}

/// Arenas for workers, at most `idle_max` of them kept when nobody uses them.
#[derive(Debug)]
pub struct ArenaPool {
    idle: Mutex<Vec<Arena>>,
    idle_max: usize,
    budget_bytes: usize,
    retained_bytes_max: usize,
}

impl ArenaPool {
    /// A pool of arenas with the default budget.
    pub fn new(idle_max: usize) -> Self {
        Self { idle: Mutex::new(Vec::new()), idle_max, budget_bytes: BUDGET_BYTES, retained_bytes_max: RETAINED_BYTES }
    }

    /// Takes an idle arena or makes one. It goes back, rewound, when the lease is dropped, also on unwind.
    pub fn lease(&self) -> Lease<'_> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Lease { arena: Some(idle.unwrap_or_else(|| Arena::new(self.budget_bytes, self.retained_bytes_max))), pool: self }
    }

    /// How many arenas are idle.
    pub fn idle(&self) -> usize {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// An arena on loan from a pool.
#[derive(Debug)]
pub struct Lease<'p> {
    arena: Option<Arena>,
    pool: &'p ArenaPool,
}

impl std::ops::Deref for Lease<'_> {
    type Target = Arena;
    fn deref(&self) -> &Arena {
        self.arena.as_ref().expect("a lease holds its arena until it is dropped")
    }
}

impl std::ops::DerefMut for Lease<'_> {
    fn deref_mut(&mut self) -> &mut Arena {
        self.arena.as_mut().expect("a lease holds its arena until it is dropped")
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        if let Some(mut arena) = self.arena.take() {
            arena.rewind();
            let mut idle = self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() < self.pool.idle_max {
                idle.push(arena);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rewind_keeps_one_chunk_and_gives_back_a_giant() {
        let mut arena = Arena::new(64 << 20, 1 << 20);
        for _ in 0..100 {
            arena.keep([1u8; 10_000]).unwrap();
        }
        assert!(arena.held_bytes() >= 1_000_000);
        arena.rewind();
        let kept = arena.held_bytes();
        assert!(kept > 0 && kept <= 1 << 20, "{kept}");
        arena.keep_slice(&vec![7u8; 4 << 20]).unwrap();
        arena.rewind();
        assert!(arena.held_bytes() <= 2 * FIRST_CHUNK_BYTES, "{}", arena.held_bytes());
    }

    #[test]
    fn the_budget_is_an_error_not_an_allocation() {
        let arena = Arena::new(1 << 20, 1 << 20);
        assert!(arena.keep_slice(&vec![0u8; 2 << 20]).is_none());
        assert!(arena.held_bytes() <= 1 << 20);
    }

    #[test]
    fn the_pool_gives_back_on_drop_and_on_unwind() {
        let pool = ArenaPool::new(1);
        {
            let _one = pool.lease();
            let _two = pool.lease();
            assert_eq!(pool.idle(), 0);
        }
        assert_eq!(pool.idle(), 1);
        let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _lease = pool.lease();
            panic!("in the middle of work");
        }));
        assert!(unwound.is_err());
        assert_eq!(pool.idle(), 1);
    }
}
