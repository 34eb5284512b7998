//! A parent that steps through a child's calls, instruction by instruction, and judges the file after each.

use std::fmt::Debug;
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

use crate::crash::shared_words::SharedWords;
use crate::crash::tracee::Tracee;

/// The words that child and parent share.
pub mod word {
    /// 1 once the recorder exists.
    pub const CREATED: usize = 0;
    /// Number of calls that have begun.
    pub const STARTED: usize = 1;
    /// Number of calls that have returned.
    pub const RETURNED: usize = 2;
    /// Number of words.
    pub const COUNT: usize = 3;
}

/// What was stepped through.
#[derive(Debug)]
pub struct Followed {
    /// Instructions, after each of which the file was looked at.
    pub points: u64,
    /// How many different files were judged.
    pub images: u64,
    /// The file at the end.
    pub last: Vec<u8>,
}

/// Steps `child`, whose recorder exists, through `calls` calls. `call` returns the states that the file at `path` goes through in the call with this index, from the
/// one before it to the one after it; `read` says in which one a file is. A file that equals the last one is not judged again.
///
/// # Panics
/// If the file is in a state that the call in progress does not go through, or goes back to an earlier one.
pub fn follow<State: PartialEq + Debug>(
    child: &Tracee,
    path: &Path,
    words: &SharedWords,
    calls: usize,
    mut call: impl FnMut(usize) -> Vec<State>,
    mut read: impl FnMut(&[u8]) -> State,
) -> Followed {
    let word = |index| words.get(index).load(Ordering::SeqCst) as usize;
    let thread = child.process();
    let (mut points, mut images) = (0, 0);
    // Before the first call nothing is known of the states.
    let (mut begun, mut allowed, mut at) = (0, Vec::new(), 0);
    let mut last = Vec::new();
    while word(word::RETURNED) < calls {
        child.step(thread);
        points += 1;
        let (started, returned) = (word(word::STARTED), word(word::RETURNED));
        if started > begun {
            assert_eq!(returned, begun, "one call at a time");
            allowed = call(begun);
            (begun, at) = (started, 0);
            last.clear();
        }
        if started == 0 {
            continue;
        }
        if returned == begun && at + 1 < allowed.len() {
            // A call that has returned is in the file at that very instruction.
            last.clear();
        }
        let image = fs::read(path).expect("the file is there");
        if image == last {
            continue;
        }
        let state = read(&image);
        let from = if returned == begun {
            allowed.len() - 1
        } else {
            at
        };
        let ahead = &allowed[from..];
        at = from + ahead.iter().position(|allowed| *allowed == state).unwrap_or_else(|| {
            panic!("after {points} instructions, {returned} calls returned: found {state:#?}, expected one of {ahead:#?}")
        });
        images += 1;
        last = image;
    }
    assert_eq!(begun, calls);
    Followed {
        points,
        images,
        last,
    }
}
