//! The words of proc(5) about a process or a thread.

/// The fields of `stat` that matter here, numbered as in proc(5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    /// Field 3.
    state: char,
    /// Field 9: the kernel's flags.
    flags: u64,
    /// Field 20.
    threads: u64,
    /// Field 22, as the reader's time namespace shows it.
    pub(super) start_ticks: u64,
    /// Field 28: where the program's stack began. 0: not told, as to a reader that may not trace the process.
    pub(super) stack_start: u64,
}

/// It has begun to exit.
const PF_EXITING: u64 = 1 << 2;
/// A signal is taking it down: set a moment before [`PF_EXITING`], and as long as it waits for its core to be dumped.
const PF_SIGNALED: u64 = 1 << 10;
/// SIGKILL's bit in a set of signals.
const SIGKILL: u64 = 1 << 8;

impl Stat {
    /// Field 2, the program's name, may contain anything, parentheses included, so the fields are counted from its last parenthesis.
    pub(super) fn parse(stat: &str) -> Option<Self> {
        let (_, from_state) = stat.rsplit_once(')')?;
        let mut fields = from_state.split_ascii_whitespace();
        Some(Self {
            state: fields.next()?.chars().next()?,
            flags: fields.nth(5)?.parse().ok()?,
            threads: fields.nth(10)?.parse().ok()?,
            start_ticks: fields.nth(1)?.parse().ok()?,
            stack_start: fields.nth(5)?.parse().ok()?,
        })
    }

    /// A zombie with more than one thread is a process of which only the main thread has ended.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x') && self.threads <= 1
    }

    /// Whether this thread runs no more of its program.
    pub(super) fn is_exiting(&self) -> bool {
        self.flags & (PF_EXITING | PF_SIGNALED) != 0
    }
}

/// Whether SIGKILL is pending, by a thread's `status`: then it runs no more of its program.
pub(super) fn is_killed(status: &str) -> bool {
    ["SigPnd", "ShdPnd"].into_iter().any(|key| {
        let set = value(status, key).and_then(|set| u64::from_str_radix(set, 16).ok());
        set.is_some_and(|set| set & SIGKILL != 0)
    })
}

/// The ids of a process in its PID namespaces, by its `status`: from that of the `/proc` that was asked to its own.
pub(super) fn ids(status: &str) -> Option<Vec<u32>> {
    let ids = value(status, "NSpid")?.split_ascii_whitespace();
    ids.map(|id| id.parse().ok()).collect()
}

/// The value of a line of `status`.
fn value<'status>(status: &'status str, key: &str) -> Option<&'status str> {
    let of_line = |line: &'status str| line.strip_prefix(key)?.strip_prefix(':');
    status.lines().find_map(of_line).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(name: &str, state: char, flags: u64, threads: u64) -> Option<Stat> {
        let stat = format!(
            "7 ({name}) {state} 1 7 7 0 -1 {flags} 100 0 0 0 1 2 0 0 20 0 {threads} 0 98765 10 20 30 40 50 1120"
        );
        Stat::parse(&stat)
    }

    #[test]
    fn stats() {
        let sleeping = Stat {
            state: 'S',
            flags: 4_194_560,
            threads: 3,
            start_ticks: 98765,
            stack_start: 1120,
        };
        assert_eq!(stat("cat", 'S', 4_194_560, 3), Some(sleeping));
        // A program may call itself anything.
        assert!(!stat(") Z 0 (", 'S', 0, 3).unwrap().is_gone());
        assert!(stat("cat", 'Z', 0, 1).unwrap().is_gone());
        assert!(stat("cat", 'X', 0, 0).unwrap().is_gone());
        assert!(!stat("cat", 'Z', 0, 2).unwrap().is_gone());
        assert_eq!(Stat::parse("7 (cat) S 1"), None);
        assert_eq!(Stat::parse(""), None);
    }

    #[test]
    fn threads_that_run_no_more() {
        let exiting = |flags| stat("cat", 'S', flags, 1).unwrap().is_exiting();
        // PF_FORKNOEXEC, PF_RANDOMIZE; then what `exit` and a fatal signal add.
        assert!(!exiting(0x40_0040));
        assert!(exiting(0x40_0044));
        assert!(exiting(0x40_0440));
        let status = |thread, process| {
            format!("Name:\tcat\nNSpid:\t29918\t17\nSigPnd:\t{thread}\nShdPnd:\t{process}\n")
        };
        let none = "0000000000000000";
        assert!(!is_killed(&status(none, none)));
        assert!(is_killed(&status("0000000000000100", none)));
        assert!(is_killed(&status(none, "0000000000000100")));
        // SIGTERM may be blocked for ever.
        assert!(!is_killed(&status("0000000000004000", none)));
        assert!(!is_killed(""));
        assert_eq!(ids(&status(none, none)), Some(vec![29918, 17]));
        assert_eq!(ids("Name:\tcat\n"), None);
    }
}
