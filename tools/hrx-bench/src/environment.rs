//! The circumstances of a measurement: figures mean nothing without them.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::time::SystemTime;

use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct Environment {
    pub processor: String,
    pub cores: usize,
    pub memory_bytes: u64,
    pub kernel: String,
    pub date: String,
    /// What was measured; a "+" after it means uncommitted changes.
    pub commit: String,
    pub command: String,
    pub versions: BTreeMap<&'static str, String>,
}

impl Environment {
    /// This machine, now. What cannot be found out is "unknown".
    pub fn now() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let system = rustix::system::uname();
        let mut versions = BTreeMap::from([(
            "rustc",
            first_line_of("rustc", &["--version"])
                .split(' ')
                .nth(1)
                .unwrap_or("unknown")
                .to_owned(),
        )]);
        let lock = include_str!("../../../Cargo.lock");
        for package in [
            "hrx-trace",
            "measureme",
            "tracing",
            "tracing-chrome",
            "serde_json",
        ] {
            versions.insert(package, locked_version(lock, package));
        }
        let changed = first_line_of("git", &["status", "--porcelain", "-uno"]) != "unknown";
        Self {
            processor: field(&cpuinfo, "model name")
                .unwrap_or("unknown")
                .to_owned(),
            cores: cores(),
            memory_bytes: memory_bytes("MemTotal"),
            kernel: format!(
                "{} {}",
                system.sysname().to_string_lossy(),
                system.release().to_string_lossy()
            ),
            date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            commit: first_line_of("git", &["rev-parse", "--short", "HEAD"])
                + if changed { "+" } else { "" },
            command: format!(
                "cargo run --release -p hrx-bench -- {}",
                std::env::args().skip(1).collect::<Vec<_>>().join(" ")
            ),
            versions,
        }
    }
}

/// How many processors this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// An entry of /proc/meminfo, such as `MemAvailable`; 0 if there is none.
pub fn memory_bytes(entry: &str) -> u64 {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kibibytes = field(&meminfo, entry).and_then(|value| value.strip_suffix(" kB"));
    kibibytes.and_then(|value| value.parse().ok()).unwrap_or(0) * 1024
}

/// The value of the first `name : value`.
fn field<'text>(text: &'text str, name: &str) -> Option<&'text str> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim())
}

/// The first line that a program prints; "unknown" if there is none.
fn first_line_of(program: &str, arguments: &[&str]) -> String {
    Command::new(program)
        .args(arguments)
        .output()
        .ok()
        .filter(|output| output.status.success())
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .and_then(|text| text.lines().next().map(str::to_owned))
        .unwrap_or_else(|| "unknown".to_owned())
}

/// The version of `package` that Cargo.lock names.
fn locked_version(lock: &str, package: &str) -> String {
    let name = format!("name = \"{package}\"");
    lock.lines()
        .skip_while(|line| *line != name)
        .nth(1)
        .and_then(|line| line.split('"').nth(1))
        .unwrap_or("unknown")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::{field, locked_version};

    #[test]
    fn fields_of_proc_files_are_found_by_their_whole_name() {
        let text = "MemTotalX: 1 kB\nMemTotal:   24 kB\nmodel name\t: A CPU: 3 GHz\n";
        assert_eq!(field(text, "MemTotal"), Some("24 kB"));
        assert_eq!(field(text, "model name"), Some("A CPU: 3 GHz"));
        assert_eq!(field(text, "model"), None);
    }

    #[test]
    fn a_locked_version_is_that_of_the_package_of_that_name() {
        let lock =
            "name = \"tracing-chrome\"\nversion = \"1\"\nname = \"tracing\"\nversion = \"2\"\n";
        assert_eq!(locked_version(lock, "tracing"), "2");
        assert_eq!(locked_version(lock, "absent"), "unknown");
    }
}
