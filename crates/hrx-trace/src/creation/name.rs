//! The names of captures: what the environment says they are, its placeholders replaced, and what the recorder calls those that have no name.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use rustix::time::ClockId;

use crate::error::{Error, Result};
use crate::memory::is_secure;
use crate::moment::clock_ns;

/// Where launchers of parallel programs say which rank a process is.
const RANK_VARIABLES: [&str; 4] = ["RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"];

/// The value of a variable of the environment, if it is set, not empty, and its user's to set: None in a set-user-ID program.
pub fn variable(name: impl AsRef<OsStr>) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty() && !is_secure())
}

/// What the recorder calls a capture that was given no name. `number` counts up until the name is free.
pub fn own_name(program: &str, number: u64) -> String {
    let printable = |letter: char| {
        if letter.is_control() || letter == '/' {
            '_'
        } else {
            letter
        }
    };
    let program: String = program.chars().map(printable).collect();
    let program = if program.is_empty() {
        "unknown"
    } else {
        &program
    };
    format!("{program}.{}.{number}.hrxt", std::process::id())
}

/// The path that `template` stands for, as in `$HRX_TRACE_FILE`. Later tools that take a path from their user call it too.
///
/// | placeholder | stands for |
/// |---|---|
/// | `%p` | the process id |
/// | `%h` | the host's name |
/// | `%t` | this moment, in seconds since 1970 (UTC) |
/// | `%r` | the rank in a parallel program: the first of `$RANK`, `$OMPI_COMM_WORLD_RANK`, `$PMI_RANK`, `$SLURM_PROCID` that is set |
/// | `%{VARIABLE}` | the value of this variable of the environment |
/// | `%%` | a percent sign |
///
/// The letters are those of core(5). No value leads into another folder: each `/` in it becomes `_`, and none may make a step of the path `.` or `..`.
///
/// ```
/// let path = hrx_trace::expand_path("traces/100%%-%p.hrxt")?;
/// let expected = format!("traces/100%-{}.hrxt", std::process::id());
/// assert_eq!(path.to_str(), Some(&expected[..]));
/// assert!(hrx_trace::expand_path("%q.hrxt").is_err());
/// # Ok::<(), hrx_trace::Error>(())
/// ```
///
/// # Errors
/// [`Error::Variable`]: another placeholder, one without its end, a variable that is unset or empty, no rank, a value that makes a step `.` or `..`.
pub fn expand_path(template: impl AsRef<OsStr>) -> Result<PathBuf> {
    let template = template.as_ref();
    let wrong = |expected: String| Error::Variable {
        variable: "HRX_TRACE_FILE".to_owned(),
        found: template.to_string_lossy().into_owned(),
        expected,
    };
    let steps = template.as_bytes().split(|byte| *byte == b'/');
    let steps: Vec<Vec<u8>> = steps
        .map(expand_step)
        .collect::<std::result::Result<_, _>>()
        .map_err(wrong)?;
    Ok(PathBuf::from(OsString::from_vec(steps.join(&b'/'))))
}

/// Expands what lies between two slashes. The error is what was expected.
fn expand_step(step: &[u8]) -> std::result::Result<Vec<u8>, String> {
    let mut expanded = Vec::new();
    let mut rest = step;
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        expanded.extend_from_slice(&rest[..at]);
        let (value, used) = placeholder(&rest[at + 1..])?;
        expanded.extend(value.iter().map(|&byte| match byte {
            b'/' => b'_',
            byte => byte,
        }));
        rest = &rest[at + 1 + used..];
    }
    expanded.extend_from_slice(rest);
    let changed = expanded != step;
    if changed && matches!(&expanded[..], b"." | b"..") {
        return Err("expected values that make no step of the path `.` or `..`".to_owned());
    }
    Ok(expanded)
}

/// The value of the placeholder that goes on, after its `%`, with `rest`; and how many bytes of `rest` belong to it.
fn placeholder(rest: &[u8]) -> std::result::Result<(Vec<u8>, usize), String> {
    const EXPECTED: &str = "expected only %p, %h, %t, %r, %{VARIABLE} and %% as placeholders";
    let value = match rest.first() {
        Some(b'%') => b"%".to_vec(),
        Some(b'p') => std::process::id().to_string().into_bytes(),
        Some(b'h') => rustix::system::uname().nodename().to_bytes().to_vec(),
        Some(b't') => (clock_ns(ClockId::Realtime) / 1_000_000_000)
            .to_string()
            .into_bytes(),
        Some(b'r') => RANK_VARIABLES
            .iter()
            .find_map(variable)
            .ok_or_else(|| format!("expected one of {RANK_VARIABLES:?} to be set for %r"))?
            .into_vec(),
        Some(b'{') => {
            let end = rest.iter().position(|byte| *byte == b'}');
            let name = &rest[1..end.ok_or(EXPECTED)?];
            // `var_os` finds no such name, and is not documented to bear it.
            let is_a_name = !name.is_empty() && !name.contains(&b'=') && !name.contains(&0);
            let value = is_a_name.then(|| variable(OsStr::from_bytes(name)));
            let value = value.flatten().ok_or_else(|| {
                let name = String::from_utf8_lossy(name);
                format!("expected a value of ${name}, which is not set or empty")
            })?;
            return Ok((value.into_vec(), name.len() + 2));
        }
        _ => return Err(EXPECTED.to_owned()),
    };
    Ok((value, 1))
}
