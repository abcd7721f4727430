//! A lost page of a mapped file is an error of that map and does not end the process.
//!
//! Touching a page beyond the end of a truncated file, or one that the disk fails to read, raises
//! SIGBUS. A handler, installed once with the first map, looks for the address among the guarded
//! ranges. If it is in one, the handler replaces the whole range by zeros, records the loss, and
//! returns: the faulting read is repeated and finds zeros. The reader checks that record afterwards
//! and discards any results computed from zeros. A fault anywhere else goes to the previous
//! handler, or ends the process as it would have.
//!
//! A signal handler may do very little. This one takes no lock, allocates nothing, and calls
//! `mmap`, `sigaction` and `raise`: the latter two are async-signal-safe by POSIX, and `mmap` is so
//! on Linux, where the C library only passes it to the kernel. It preserves `errno`. The table is a
//! list of static and leaked chunks that only ever grows, so a handler can walk it at any moment;
//! an entry is read between two reads of its version.
#![expect(unsafe_code, reason = "a signal handler, and memory that it replaces")]

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::AtomicPtr;
use sync::{AtomicBool, AtomicUsize, Ordering, fence};

mod slot;
mod sync;
use slot::Slot;

/// A range of memory whose lost pages become zeros.
#[derive(Debug)]
pub(crate) struct Guard(&'static Slot);

const SLOTS: usize = 64;

/// Some entries, and a link to the next ones.
#[derive(Debug)]
struct Chunk {
    slots: [Slot; SLOTS],
    next: AtomicPtr<Chunk>,
}

static TABLE: Chunk = Chunk::new();
/// Whether our handler has been installed, or the system's error.
static INSTALLED: OnceLock<Result<(), i32>> = OnceLock::new();
/// The previous handler.
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

/// An unused entry.
const fn free_slot() -> Slot {
    Slot {
        version: AtomicUsize::new(0),
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        lost: AtomicBool::new(false),
    }
}

impl Chunk {
    const fn new() -> Self {
        Self { slots: [const { free_slot() }; SLOTS], next: AtomicPtr::new(ptr::null_mut()) }
    }

    fn following(&self) -> Option<&'static Self> {
        // ORDERING: Acquire, with the Release that published it: its contents are seen too.
        let next = self.next.load(Ordering::Acquire);
        // SAFETY: it is null, or was leaked by `grow` and is never freed or written to as a whole.
        unsafe { next.cast_const().as_ref() }
    }

    /// The next chunk, which is created if there is none.
    fn grow(&self) -> &'static Self {
        loop {
            if let Some(next) = self.following() {
                return next;
            }
            let made = Box::into_raw(Box::new(Self::new()));
            // ORDERING: Release, with the Acquire of `following`.
            let set = self.next.compare_exchange(
                ptr::null_mut(),
                made,
                Ordering::Release,
                Ordering::Relaxed,
            );
            if set.is_err() {
                // SAFETY: the pointer is from `Box::into_raw` above, and no other thread has seen
                // it.
                drop(unsafe { Box::from_raw(made) });
            }
        }
    }
}

impl Guard {
    /// Guards a range of whole pages, which must stay mapped until this is dropped.
    ///
    /// # Errors
    ///
    /// If the system rejects the handler.
    pub(crate) fn new(start: usize, bytes: usize) -> io::Result<Self> {
        if let Err(code) = INSTALLED.get_or_init(install) {
            return Err(io::Error::from_raw_os_error(*code));
        }
        let end = start.saturating_add(bytes);
        let mut chunk: &'static Chunk = &TABLE;
        loop {
            if let Some(slot) = chunk.slots.iter().find(|slot| slot.take(start, end)) {
                return Ok(Self(slot));
            }
            chunk = chunk.grow();
        }
    }

    /// Whether a page was lost, so that data read since may be zeros.
    pub(crate) fn is_lost(&self) -> bool {
        // ORDERING: Acquire. The handler records the loss before it replaces the pages. A thread
        // that has read one of its zeros faulted into the kernel after that and sees the record;
        // the fence keeps this load behind the reads.
        fence(Ordering::Acquire);
        self.0.lost.load(Ordering::Acquire)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.free();
    }
}

/// Installs the handler, once.
fn install() -> Result<(), i32> {
    let mut previous = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: `sigaction` is plain data, for which zeros are a value; the handler is a function
    // with the signature that SA_SIGINFO requires, and lives forever.
    unsafe {
        // Known before the handler can run.
        if libc::sigaction(libc::SIGBUS, ptr::null(), previous.as_mut_ptr()) != 0 {
            return Err(*libc::__errno_location());
        }
        PREVIOUS.get_or_init(|| previous.assume_init());
        let mut ours: libc::sigaction = MaybeUninit::zeroed().assume_init();
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_fault;
        ours.sa_sigaction = handler as usize;
        // On the alternate signal stack, if a thread has one.
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        libc::sigemptyset(&raw mut ours.sa_mask);
        if libc::sigaction(libc::SIGBUS, &raw const ours, ptr::null_mut()) != 0 {
            return Err(*libc::__errno_location());
        }
    }
    Ok(())
}

extern "C" fn on_fault(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the kernel hands over a valid `siginfo_t`, of a fault if the code is positive; errno
    // is this thread's own.
    let (address, is_fault, errno) =
        unsafe { ((*info).si_addr() as usize, (*info).si_code > 0, *libc::__errno_location()) };
    if !(is_fault && replace_range_of(address)) {
        hand_on(signal, info, context, is_fault);
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Replaces the guarded range that has this address by zeros; `false` if none has it.
fn replace_range_of(address: usize) -> bool {
    let mut chunk = Some(&TABLE);
    while let Some(all) = chunk {
        for slot in &all.slots {
            if let Some((start, end)) = slot.range_of(address) {
                // ORDERING: Release, before the pages are replaced: see `Guard::is_lost`.
                slot.lost.store(true, Ordering::Release);
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
                // SAFETY: the range is a map of ours, which the thread that faulted reads at this
                // moment and so keeps alive. Zeros replace bytes that are only ever read, as
                // numbers, for which zeros are valid. Threads that read it at the same time see the
                // old page or the new one.
                let zeros = unsafe {
                    libc::mmap(start as *mut _, end - start, libc::PROT_READ, flags, -1, 0)
                };
                return zeros != libc::MAP_FAILED;
            }
        }
        chunk = all.following();
    }
    false
}

/// Hands the fault on, as if this handler were not installed.
fn hand_on(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
    is_fault: bool,
) {
    // Set before this handler was installed.
    let Some(previous) = PREVIOUS.get() else { return };
    match previous.sa_sigaction {
        // An ignored fault would be raised endlessly.
        libc::SIG_IGN if !is_fault => {}
        libc::SIG_DFL | libc::SIG_IGN => {
            // SAFETY: plain data as above. With the default action the signal, which is pending
            // until we return, ends the process.
            unsafe {
                let default: libc::sigaction = MaybeUninit::zeroed().assume_init();
                libc::sigaction(signal, &raw const default, ptr::null_mut());
                libc::raise(signal);
            }
        }
        handler if previous.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: it was installed with SA_SIGINFO, so it is a function of this signature.
            let handler = unsafe {
                std::mem::transmute::<
                    usize,
                    extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void),
                >(handler)
            };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: it was installed without SA_SIGINFO, so it is a function of this signature.
            let handler =
                unsafe { std::mem::transmute::<usize, extern "C" fn(libc::c_int)>(handler) };
            handler(signal);
        }
    }
}

#[cfg(test)]
mod tests;
