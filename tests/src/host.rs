//! Drives the program `host`, here or in namespaces of its own: where disks are full, process ids begin at 1, and what is mounted is gone with the program.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::LazyLock;

/// The program runs.
#[derive(Debug)]
pub struct Host {
    child: Child,
    said: BufReader<ChildStdout>,
    /// What it has said so far, line by line.
    pub lines: Vec<String>,
}

impl Host {
    /// Starts `command`, which is or becomes the program.
    ///
    /// # Panics
    /// If it cannot be run.
    #[must_use]
    pub fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let said = BufReader::new(child.stdout.take().expect("a pipe"));
        Self {
            child,
            said,
            lines: Vec::new(),
        }
    }

    /// Its process id, as we see it. In a PID namespace: that of `unshare`.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it says a line that begins with `start`; the rest of that line.
    ///
    /// # Panics
    /// If it ends without.
    #[track_caller]
    pub fn wait_for(&mut self, start: &str) -> String {
        loop {
            let mut line = String::new();
            let length = self.said.read_line(&mut line).expect("text");
            assert!(
                length > 0,
                "it ended before it said {start:?}: {:?}",
                self.lines
            );
            let line = line.trim_end().to_owned();
            let rest = line.strip_prefix(start).map(str::to_owned);
            self.lines.push(line);
            if let Some(rest) = rest {
                return rest;
            }
        }
    }

    /// Lets it go on after a `pause`.
    ///
    /// # Panics
    /// If it is gone.
    pub fn go_on(&mut self) {
        let stdin = self.child.stdin.as_mut().expect("a pipe");
        stdin.write_all(b"\n").expect("it waits");
    }

    /// Kills it.
    ///
    /// # Panics
    /// Never, while the process is a child of ours.
    pub fn kill(&mut self) {
        self.child.kill().expect("our child");
    }

    /// Waits for its end, and not for that of its children.
    ///
    /// # Panics
    /// Never, while the process is a child of ours.
    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().expect("our child")
    }

    /// Waits until it has come to its end and exited with 0: what it said.
    ///
    /// # Panics
    /// If it did anything else.
    #[must_use]
    #[track_caller]
    pub fn ends_well(mut self) -> Vec<String> {
        for line in (&mut self.said).lines() {
            self.lines.push(line.expect("text"));
        }
        let status = self.wait();
        assert!(status.success(), "{status}: {:?}", self.lines);
        assert_eq!(
            self.lines.pop().as_deref(),
            Some("done"),
            "{:?}",
            self.lines
        );
        std::mem::take(&mut self.lines)
    }
}

impl Drop for Host {
    /// A test that fails leaves nobody behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A shell in namespaces of its own, `flags` beside a mount namespace (see unshare(1)), that runs `script` with `arguments` as $1, $2 …; `$HOST` is the program.
/// None, and a line that says why, where that is not allowed; where CI is set, that is a failure.
///
/// # Panics
/// Where CI is set and namespaces cannot be had.
#[must_use]
pub fn in_namespaces(
    program: &Path,
    flags: &[&str],
    script: &str,
    arguments: &[&OsStr],
) -> Option<Command> {
    let unshare = UNSHARE.as_ref().or_else(|| {
        skip("namespaces cannot be made here, neither as root nor as a user");
        None
    })?;
    let mut command = Command::new("unshare");
    command
        .args(*unshare)
        .args(flags)
        .args(["bash", "-euc", script, "bash"])
        .args(arguments)
        .env("HOST", program);
    Some(command)
}

/// What makes a mount namespace in which we may mount: as root, or as a user who becomes root in a namespace of users.
static UNSHARE: LazyLock<Option<&[&str]>> = LazyLock::new(|| {
    const WAYS: [&[&str]; 2] = [&["--mount"], &["--map-root-user", "--mount"]];
    WAYS.into_iter().find(|flags| {
        let mount = ["mount", "-t", "tmpfs", "none", "/tmp"];
        let tried = Command::new("unshare")
            .args(*flags)
            .args(mount)
            .stderr(Stdio::null())
            .status();
        tried.is_ok_and(|status| status.success())
    })
});

/// Says why something is not tested here.
///
/// # Panics
/// Where CI is set: there, all of it is to be tested.
pub fn skip(reason: &str) {
    println!("skipped: {reason}");
    assert!(
        std::env::var_os("CI").is_none(),
        "skipped where CI is set: {reason}"
    );
}

/// Whether the lock of the file `path` is free.
///
/// # Panics
/// If there is no such file.
#[must_use]
pub fn lock_is_free(path: &Path) -> bool {
    let file = std::fs::File::open(path).expect("the file is there");
    file.try_lock_shared().is_ok()
}
