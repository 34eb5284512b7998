//! The listener that was to be in this one's place: it hears all that this one hears, and its handles are the ones that the program gets.

use std::env;
use std::ffi::{CString, c_void};
use std::os::unix::ffi::OsStringExt;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use crate::capture::say;
use crate::guest::as_guest;
use crate::table::{self, Member, Table};

/// A library that may be there, loaded at most once.
pub struct Next {
    /// The variable that names it.
    variable: &'static str,
    /// Its initialiser.
    symbol: &'static std::ffi::CStr,
    state: AtomicU32,
    initialiser: AtomicPtr<c_void>,
}

const FRESH: u32 = 0;
const LOADED: u32 = 1;

impl Next {
    /// The library that `variable` names, which has the initialiser `symbol`.
    pub const fn new(variable: &'static str, symbol: &'static std::ffi::CStr) -> Self {
        Self {
            variable,
            symbol,
            state: AtomicU32::new(FRESH),
            initialiser: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Its initialiser, which is not `own`. None: no other listener was configured, or it cannot be loaded.
    pub fn initialiser(&self, own: *const c_void) -> Option<ptr::NonNull<c_void>> {
        if self.state.load(Ordering::Acquire) == FRESH {
            // Two threads may both load it: the loader gives both the same.
            if let Some(found) = as_guest(|| self.load(own)) {
                self.initialiser.store(found, Ordering::Release);
                self.state.store(LOADED, Ordering::Release);
            }
        }
        ptr::NonNull::new(self.initialiser.load(Ordering::Acquire))
    }

    fn load(&self, own: *const c_void) -> *mut c_void {
        let path = env::var_os(self.variable).filter(|path| !path.is_empty());
        let Some(path) = path.and_then(|path| CString::new(path.into_vec()).ok()) else {
            return ptr::null_mut();
        };
        // SAFETY: the path ends with a zero; what the library does as it is loaded is what it would have done without us.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY) };
        if library.is_null() {
            say(|| format!("cannot load {path:?}, which ${} names", self.variable));
            return ptr::null_mut();
        }
        // SAFETY: the library is loaded, and is never unloaded.
        let initialiser = unsafe { libc::dlsym(library, self.symbol.as_ptr()) };
        if ptr::eq(initialiser, own) {
            return ptr::null_mut();
        }
        initialiser
    }
}

/// The functions of the next listener, by their places in a table of ours.
pub struct Functions<const COUNT: usize>([AtomicPtr<c_void>; COUNT]);

impl<const COUNT: usize> Functions<COUNT> {
    /// None.
    pub const fn none() -> Self {
        Self([const { AtomicPtr::new(ptr::null_mut()) }; COUNT])
    }

    /// The next listener has `function` at `place`.
    pub fn set(&self, place: usize, function: *const c_void) {
        self.0[place].store(function.cast_mut(), Ordering::Release);
    }

    /// The function at `place`. Costs a load.
    #[inline(always)]
    pub fn get(&self, place: usize) -> Option<ptr::NonNull<c_void>> {
        ptr::NonNull::new(self.0[place].load(Ordering::Relaxed))
    }
}

/// Calls the next listener's function at a place of [`Functions`], if it has one there: its result, or None.
macro_rules! next {
    ($functions:expr, $place:expr, fn($($type:ty),*) $(-> $result:ty)?, $($argument:expr),*) => {
        $functions.get($place as usize).map(|function| {
            // SAFETY: the next listener put it into the slot of a function of this type.
            let function: unsafe extern "C" fn($($type),*) $(-> $result)? = unsafe { std::mem::transmute(function) };
            // SAFETY: the arguments are the program's own.
            unsafe { function($($argument),*) }
        })
    };
}
pub(crate) use next;

/// What stands here for a handle of the next listener.
struct Beside {
    hash: u64,
    handle: (u64, u64),
    ours: AtomicPtr<c_void>,
}

impl Member for Beside {
    fn hash(&self) -> u64 {
        self.hash
    }
}

static BESIDE: Table<Beside> = Table::new(65_536);

/// From now on `ours` stands for the handle `handle` of that kind.
pub fn put_beside<T>(kind: u64, handle: u64, ours: &'static T) {
    let handle = (kind, handle);
    let pointer = ptr::from_ref(ours).cast_mut().cast();
    let is_it = |beside: &Beside| beside.handle == handle;
    let hash = hash(handle);
    let found = BESIDE.find(hash, is_it).or_else(|| {
        as_guest(|| {
            let ours = AtomicPtr::new(pointer);
            BESIDE.insert(Beside { hash, handle, ours }, is_it)
        })
        .flatten()
    });
    if let Some(beside) = found {
        beside.ours.store(pointer, Ordering::Release);
    }
}

/// What stands for a handle of that kind.
///
/// # Safety
/// What was put beside handles of this kind are `T`s.
pub unsafe fn beside<T>(kind: u64, handle: u64) -> Option<&'static T> {
    let handle = (kind, handle);
    let found = BESIDE.find(hash(handle), |beside| beside.handle == handle)?;
    // SAFETY: the caller's promise, and what was put there is never freed.
    unsafe { found.ours.load(Ordering::Acquire).cast::<T>().as_ref() }
}

fn hash((kind, handle): (u64, u64)) -> u64 {
    table::hash(kind as usize, &handle.to_ne_bytes())
}
