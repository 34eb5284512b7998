//! Whether the kernel's out-of-memory killer ended a program: no status tells it, but counters do, taken before the program starts and after it ended.
//!
//! The memory controller counts for each cgroup, its descendants included: `oom_kill` in memory.events (cgroup v2, see the kernel's
//! admin-guide/cgroup-v2.rst) or in memory.oom_control (cgroup v1, since Linux 4.13). Else /proc/vmstat counts for the whole machine, and then
//! the victim may have been another program.

use std::fs;
use std::path::{Path, PathBuf};

use crate::ending::How;

/// A file with a counter `oom_kill` in it, and its value when the program had not started.
#[derive(Debug, PartialEq, Eq)]
struct Counter {
    path: PathBuf,
    before: u64,
}

impl Counter {
    fn read(path: PathBuf) -> Option<Self> {
        let before = value(&path)?;
        Some(Self { path, before })
    }

    /// How much it has grown. None: it cannot be read any more.
    fn kills(&self) -> Option<u64> {
        Some(value(&self.path)?.saturating_sub(self.before))
    }
}

fn value(path: &Path) -> Option<u64> {
    fs::read_to_string(path)
        .ok()?
        .lines()
        .find_map(|line| line.strip_prefix("oom_kill "))?
        .trim()
        .parse()
        .ok()
}

/// The counters, as they were before the program started.
#[derive(Debug)]
pub struct OomWatch {
    cgroup: Option<Counter>,
    machine: Option<Counter>,
}

/// What the counters say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Oom {
    /// That of the machine has not grown.
    No,
    /// That of the cgroup has not grown, or there are none. Killed may be a process that went to another cgroup.
    NotSeen,
    /// How many processes of the program's cgroup were killed, and the file that says so.
    InCgroup { kills: u64, file: PathBuf },
    /// How many processes of the machine were killed, and the file that says so.
    OnMachine { kills: u64, file: PathBuf },
}

impl OomWatch {
    /// Reads the counters of this process, which its children share. `root` is `/`, but for tests.
    pub fn begin(root: &Path) -> Self {
        Self {
            cgroup: cgroup_file(root).and_then(Counter::read),
            machine: Counter::read(root.join("proc/vmstat")),
        }
    }

    /// Reads them again.
    pub fn end(&self) -> Oom {
        let kills_of = |counter: &Option<Counter>| {
            let counter = counter.as_ref()?;
            let kills = counter.kills()?;
            (kills > 0).then(|| (kills, counter.path.clone()))
        };
        if let Some((kills, file)) = kills_of(&self.cgroup) {
            return Oom::InCgroup { kills, file };
        }
        // A cgroup's own counter knows better.
        match kills_of(&self.machine) {
            Some((kills, file)) if self.cgroup.is_none() => Oom::OnMachine { kills, file },
            None if self.machine.as_ref().and_then(Counter::kills) == Some(0) => Oom::No,
            _ => Oom::NotSeen,
        }
    }
}

impl Oom {
    /// Whether it killed a program that ended in that way. None: it cannot be told.
    pub fn killed(&self, how: How) -> Option<bool> {
        match (how, self) {
            (How::Killed(nix::libc::SIGKILL), Self::InCgroup { .. }) => Some(true),
            (How::Killed(nix::libc::SIGKILL), Self::NotSeen | Self::OnMachine { .. }) => None,
            // It kills by no other signal.
            _ => Some(false),
        }
    }

    /// What to say of it for a program that ended by that signal, if by any. None: nothing.
    pub fn text(&self, signal: Option<i32>) -> Option<String> {
        let by_its_signal = signal == Some(nix::libc::SIGKILL);
        let (kills, file) = match self {
            Self::No | Self::NotSeen => return None,
            Self::InCgroup { kills, file } | Self::OnMachine { kills, file } => (kills, file),
        };
        let processes = match kills {
            1 => "1 process".to_owned(),
            _ => format!("{kills} processes"),
        };
        let by = match (self, by_its_signal) {
            (Self::InCgroup { .. }, true) => "by the kernel's out-of-memory killer, which killed",
            (_, true) => "perhaps by the kernel's out-of-memory killer, which killed",
            (_, false) => "meanwhile the kernel's out-of-memory killer killed",
        };
        let of = match self {
            Self::InCgroup { .. } => "its cgroup",
            _ => "this machine",
        };
        Some(format!("{by} {processes} of {of} ({})", file.display()))
    }
}

/// The file of this process's cgroup that counts.
fn cgroup_file(root: &Path) -> Option<PathBuf> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).ok()?;
    let unified = || {
        let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
        let mount = mounts.lines().filter_map(Mount::parse);
        let mount = mount.into_iter().find(|mount| mount.kind == "cgroup2")?;
        Some(mount.folder(group)?.join("memory.events"))
    };
    let of_memory = || {
        let group = groups.lines().find_map(|line| {
            let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
            let of_memory = controllers.split(',').any(|name| name == "memory");
            of_memory.then_some(group)
        })?;
        let mut mounts = mounts.lines().filter_map(Mount::parse);
        let mount = mounts.find(|mount| mount.kind == "cgroup" && mount.of_memory)?;
        Some(mount.folder(group)?.join("memory.oom_control"))
    };
    let under_root = |path: PathBuf| root.join(path.strip_prefix("/").unwrap_or(&path));
    [unified(), of_memory()]
        .into_iter()
        .flatten()
        .map(under_root)
        .find(|path| path.exists())
}

/// A line of mountinfo, see proc_pid_mountinfo(5).
struct Mount<'line> {
    /// The part of the file system that is mounted.
    root: &'line str,
    point: &'line str,
    kind: &'line str,
    of_memory: bool,
}

impl<'line> Mount<'line> {
    fn parse(line: &'line str) -> Option<Self> {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(3);
        let mut after = after.split(' ');
        Some(Self {
            root: before.next()?,
            point: before.next()?,
            kind: after.next()?,
            of_memory: after.nth(1)?.split(',').any(|option| option == "memory"),
        })
    }

    /// Where that group of the file system is seen. A container may see but a part of it.
    fn folder(&self, group: &str) -> Option<PathBuf> {
        let below = Path::new(group).strip_prefix(self.root).ok()?;
        Some(Path::new(self.point).join(below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    /// Files below a root of the test's own.
    fn root(files: &[(&str, &str)]) -> TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            write(&root, path, text);
        }
        root
    }

    fn write(root: &TempDir, path: &str, text: &str) {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    const EVENTS: &str = "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n";
    const VMSTAT: &str = "nr_free_pages 7\noom_kill 5\nnuma_hit 1\n";
    const KILL: Option<i32> = Some(nix::libc::SIGKILL);

    #[test]
    fn version_2() {
        let root = root(&[
            ("proc/self/cgroup", "0::/user.slice/run.scope\n"),
            (
                "proc/self/mountinfo",
                "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
            ),
            ("sys/fs/cgroup/user.slice/run.scope/memory.events", EVENTS),
            ("proc/vmstat", VMSTAT),
        ]);
        let watch = OomWatch::begin(root.path());
        assert_eq!(watch.end(), Oom::No);
        // Another cgroup's victim.
        write(&root, "proc/vmstat", "oom_kill 6\n");
        assert_eq!(watch.end(), Oom::NotSeen);
        let file = "sys/fs/cgroup/user.slice/run.scope/memory.events";
        write(&root, file, &EVENTS.replace("oom_kill 2", "oom_kill 3"));
        let found = watch.end();
        let file = root.path().join(file);
        assert_eq!(
            found.text(KILL).unwrap(),
            format!(
                "by the kernel's out-of-memory killer, which killed 1 process of its cgroup ({})",
                file.display()
            )
        );
        let killed = How::Killed(nix::libc::SIGKILL);
        assert_eq!(found.killed(killed), Some(true));
        assert_eq!(found.killed(How::Killed(15)), Some(false));
        assert_eq!(found.killed(How::Exited(137)), Some(false));
        assert_eq!(Oom::No.killed(killed), Some(false));
        assert_eq!(Oom::NotSeen.killed(killed), None);
        assert_eq!(found, Oom::InCgroup { kills: 1, file });
        // A child of the program, perhaps.
        let text = found.text(None).unwrap();
        assert!(text.starts_with(
            "meanwhile the kernel's out-of-memory killer killed 1 process of its cgroup"
        ));
    }

    #[test]
    fn version_1() {
        let root = root(&[
            (
                "proc/self/cgroup",
                "9:name=systemd:/\n4:cpuset,memory:/docker/ab\n0::/\n",
            ),
            (
                "proc/self/mountinfo",
                "31 24 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
                 32 24 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
            ),
            (
                "sys/fs/cgroup/memory/docker/ab/memory.oom_control",
                "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n",
            ),
        ]);
        let watch = OomWatch::begin(root.path());
        let file = "sys/fs/cgroup/memory/docker/ab/memory.oom_control";
        write(&root, file, "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
        let file = root.path().join(file);
        assert_eq!(watch.end(), Oom::InCgroup { kills: 2, file });
    }

    #[test]
    fn a_container_that_sees_a_part_of_the_tree() {
        let root = root(&[
            ("proc/self/cgroup", "0::/machine/ab/job\n"),
            (
                "proc/self/mountinfo",
                "29 23 0:26 /machine/ab /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
            ),
            ("sys/fs/cgroup/job/memory.events", EVENTS),
        ]);
        let file = root.path().join("sys/fs/cgroup/job/memory.events");
        assert_eq!(cgroup_file(root.path()), Some(file));
    }

    #[test]
    fn only_the_machine() {
        let root = root(&[("proc/vmstat", VMSTAT)]);
        let watch = OomWatch::begin(root.path());
        write(&root, "proc/vmstat", "oom_kill 6\n");
        let found = watch.end();
        assert_eq!(found.killed(How::Killed(9)), None);
        let text = found.text(KILL).unwrap();
        assert!(text.starts_with(
            "perhaps by the kernel's out-of-memory killer, which killed 1 process of this machine"
        ));
    }

    #[test]
    fn nothing_to_read() {
        let root = root(&[
            ("proc/self/cgroup", "no colon\n4:memory\n0::\n"),
            ("proc/self/mountinfo", "\n - \n1 2 3 - cgroup2\n"),
            ("proc/vmstat", "oom_kill many\n"),
        ]);
        let watch = OomWatch::begin(root.path());
        assert_eq!((&watch.cgroup, &watch.machine), (&None, &None));
        assert_eq!(watch.end(), Oom::NotSeen);
    }
}
