//! What programs register before they use it: domains, strings and the names of categories. It belongs to the process and its forked children, and stays.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use hrx_trace::lane;

use crate::capture::Capture;
use crate::guest::as_guest;
use crate::names::Kept;
use crate::table::{self, Member, Table};
use crate::text::Text;

/// How many different texts name groups and categories.
const TEXTS_MAX: usize = 4_096;
/// How many strings are registered; further ones are one.
const STRINGS_MAX: usize = 65_536;
/// How many domains are open at a time; further ones are one.
const DOMAINS_MAX: u32 = 4_096;

/// The lane of a domain's regions that may end on other threads.
const RANGES: &str = "ranges";

/// A domain: the group that its names are in, and by its address whose stack is meant.
pub struct Domain {
    pub group: &'static str,
    is_open: AtomicBool,
    /// The lane of its ranges, with the serial of the capture that gave it in the upper half. 0: none yet.
    ranges: AtomicU64,
    next: AtomicPtr<Domain>,
}

impl Domain {
    /// A domain that is open.
    pub const fn new(group: &'static str) -> Self {
        Self {
            group,
            is_open: AtomicBool::new(true),
            ranges: AtomicU64::new(0),
            next: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// By what its stack is known.
    #[inline]
    pub fn address(&self) -> usize {
        ptr::from_ref(self).addr()
    }

    /// The lane in `capture` of regions that do not nest.
    pub fn ranges_in(&self, capture: &Capture) -> usize {
        let known = self.ranges.load(Ordering::Relaxed);
        if known >> 32 == u64::from(capture.serial) {
            return known as u32 as usize;
        }
        let given = as_guest(|| match self.group {
            "" => capture.recorder.lane(RANGES),
            group => capture.recorder.lane_in(group, RANGES),
        });
        let Some(lane) = given else {
            return lane::HOST;
        };
        let known = u64::from(capture.serial) << 32 | lane as u64;
        self.ranges.store(known, Ordering::Relaxed);
        lane
    }
}

/// The domain of those who name none.
pub static DEFAULT: Domain = Domain::new("");
/// The domain of those who come too late.
static OTHERS: Domain = Domain::new("other domains");
static DOMAINS: AtomicPtr<Domain> = AtomicPtr::new(ptr::null_mut());
static DOMAIN_COUNT: AtomicU32 = AtomicU32::new(0);

/// Opens a domain with the name `name`. It is another one than any that is open.
pub fn open_domain(name: &[u8]) -> &'static Domain {
    as_guest(|| {
        let group = text(name)?;
        let mut place = &DOMAINS;
        // SAFETY: domains are never freed.
        while let Some(domain) = unsafe { place.load(Ordering::Acquire).as_ref() } {
            let is_it = ptr::eq(domain.group, group);
            if is_it && !domain.is_open.swap(true, Ordering::AcqRel) {
                return Some(domain);
            }
            place = &domain.next;
        }
        if DOMAIN_COUNT.fetch_add(1, Ordering::Relaxed) >= DOMAINS_MAX {
            return None;
        }
        let new = Box::leak(Box::new(Domain::new(group)));
        let pointer = ptr::from_mut(new);
        // At the end, wherever that is by now.
        while let Err(there) = place.compare_exchange(
            ptr::null_mut(),
            pointer,
            Ordering::AcqRel,
            Ordering::Acquire,
        ) {
            // SAFETY: domains are never freed, and the one that was found is not null.
            place = unsafe { &(*there).next };
        }
        // SAFETY: it was leaked.
        unsafe { pointer.as_ref() }
    })
    .flatten()
    .unwrap_or(&OTHERS)
}

/// Closes a domain: the next one with its name may be it.
pub fn close_domain(domain: &Domain) {
    if !ptr::eq(domain, &DEFAULT) && !ptr::eq(domain, &OTHERS) {
        domain.is_open.store(false, Ordering::Release);
    }
}

/// The domain with the name `name` of those whose names say which is meant: the same one for the same name.
pub fn shared_domain(name: &[u8]) -> &'static Domain {
    let hash = table::hash(0, name);
    let is_it = |shared: &SharedDomain| *shared.name == *name;
    let found = SHARED_DOMAINS.find(hash, is_it).or_else(|| {
        as_guest(|| {
            let domain = Domain::new(text(name)?);
            let name = name.into();
            SHARED_DOMAINS.insert(SharedDomain { hash, name, domain }, is_it)
        })
        .flatten()
    });
    found.map_or(&OTHERS, |shared| &shared.domain)
}

struct SharedDomain {
    hash: u64,
    name: Box<[u8]>,
    domain: Domain,
}

impl Member for SharedDomain {
    fn hash(&self) -> u64 {
        self.hash
    }
}

static SHARED_DOMAINS: Table<SharedDomain> = Table::new(TEXTS_MAX);

/// A registered string.
pub struct Registered {
    hash: u64,
    pub kept: Kept,
}

impl Member for Registered {
    fn hash(&self) -> u64 {
        self.hash
    }
}

static STRINGS: Table<Registered> = Table::new(STRINGS_MAX);

/// Registers `string` with `group`: the same one for the same string. None: there is no room.
pub fn register(group: &'static str, string: &[u8]) -> Option<&'static Registered> {
    let hash = table::hash(group.as_ptr().addr(), string);
    let is_it =
        |known: &Registered| ptr::eq(known.kept.group, group) && *known.kept.text == *string;
    if let Some(known) = STRINGS.find(hash, is_it) {
        return Some(known);
    }
    as_guest(|| {
        let kept = Kept::new(group, string.into());
        STRINGS.insert(Registered { hash, kept }, is_it)
    })
    .flatten()
}

/// A text that is kept, and found again by its address.
struct KeptText {
    hash: u64,
    text: Box<str>,
}

impl Member for KeptText {
    fn hash(&self) -> u64 {
        self.hash
    }
}

static TEXTS: Table<KeptText> = Table::new(TEXTS_MAX);

/// `bytes` as a text whose address stands for it. None: there is no room.
fn text(bytes: &[u8]) -> Option<&'static str> {
    let text = Text::new(bytes);
    let hash = table::hash(0, text.as_str().as_bytes());
    let is_it = |known: &KeptText| *known.text == *text.as_str();
    let known = TEXTS.find(hash, is_it).or_else(|| {
        TEXTS.insert(
            KeptText {
                hash,
                text: text.as_str().into(),
            },
            is_it,
        )
    });
    known.map(|known| &*known.text)
}

struct Category {
    hash: u64,
    domain: usize,
    number: u32,
    name: &'static str,
}

impl Member for Category {
    fn hash(&self) -> u64 {
        self.hash
    }
}

static CATEGORIES: Table<Category> = Table::new(TEXTS_MAX);

/// Names a category of `domain`; its first name stays.
pub fn name_category(domain: &Domain, number: u32, name: &[u8]) {
    as_guest(|| {
        let (hash, domain) = (category_hash(domain, number), domain.address());
        let is_it = |known: &Category| known.domain == domain && known.number == number;
        if let Some(name) = text(name)
            && CATEGORIES.find(hash, is_it).is_none()
        {
            CATEGORIES.insert(
                Category {
                    hash,
                    domain,
                    number,
                    name,
                },
                is_it,
            );
        }
    });
}

/// The name of a category of `domain`.
pub fn category(domain: &Domain, number: u32) -> Option<&'static str> {
    let is_it = |known: &Category| known.domain == domain.address() && known.number == number;
    CATEGORIES
        .find(category_hash(domain, number), is_it)
        .map(|known| known.name)
}

fn category_hash(domain: &Domain, number: u32) -> u64 {
    table::hash(domain.address(), &number.to_ne_bytes())
}
