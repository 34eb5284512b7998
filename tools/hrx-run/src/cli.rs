//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::{Parser, ValueEnum};
use hrx_convert::{DurationNs, Expectation, Generated, byte_count};

/// Run any program with a recorder in it; when it dies, say what was running
///
/// The program has its own place: the terminal, the standard input, signals and job control are as without hrx-run, and hrx-run ends with the
/// program's exit code or dies of the same signal. Only variables differ: $HRX_TRACE_DIR, those by which programs with annotations (NVTX, ITT, ROCTX) find
/// the listener, and $HRX_TRACE_HEARTBEAT, if asked for. What hrx-run has to say it writes to the standard error.
///
/// All times are host-observed: driver and scheduling overhead are in them, and they are never device timestamps.
#[derive(Debug, Parser)]
#[command(name = "hrx-run", version, arg_required_else_help = true, after_help = EXAMPLES, after_long_help = LONG_EXAMPLES)]
pub struct Arguments {
    /// The program to run, and its arguments
    #[arg(
        value_name = "CMD",
        required_unless_present = "generate",
        trailing_var_arg = true
    )]
    pub command: Vec<OsString>,

    /// Keep the captures in DIR [default: $HRX_TRACE_DIR, else a private folder on tmpfs]
    ///
    /// A private folder is removed after a run that exits with 0 and leaves no descendant, or that records nothing.
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// When to say how the program ended, what was running and what to type next
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = When::OnDeath)]
    pub summary: When,

    /// Have the program's recorder say every DURATION that the program lives, as 100ms: a capture then tells when it died also if it hung before
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub heartbeat: Option<Duration>,

    /// How many events the listener keeps of each process that announces its steps through NVTX, ITT or ROCTX [default: 65536]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub capacity: Option<u64>,

    /// Say what is running when no event has come for DURATION, as 60s; once for each hang, and without touching the program
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub stuck: Option<Duration>,

    /// Then run this shell command too, with the folder of captures as its last argument and the program's process id in $HRX_RUN_PID
    #[arg(long, value_name = "CMD", requires = "stuck")]
    pub on_stuck: Option<OsString>,

    /// When the program was killed, or exited with another code than 0, run this shell command, with the folder as its last argument
    #[arg(long, value_name = "CMD")]
    pub on_death: Option<OsString>,

    /// After a run that exits with 0, expect something of every capture, as failed=0 or 'p99<2ms'; may be given several times. What is not met makes the exit code 6
    #[arg(long, value_name = "EXPECTATION")]
    pub expect: Vec<Expectation>,

    /// Give each run a folder of its own in DIR, and keep the last ones
    #[arg(long, value_name = "DIR", conflicts_with = "output")]
    pub collect: Option<PathBuf>,

    /// With --collect: how many runs to keep. One that is still running is never removed
    #[arg(long, value_name = "N", default_value_t = 10, requires = "collect", value_parser = at_least_one)]
    pub keep_last: usize,

    /// With --collect: remove the oldest runs while all of them take more than B bytes, as 500MB or 2GiB. The newest stays however large it is
    #[arg(long, value_name = "B", requires = "collect", value_parser = byte_count)]
    pub max_bytes: Option<u64>,

    /// Print the manual page, or completions for a shell; `tools/install` puts them where they belong
    #[arg(long, value_enum, value_name = "WHAT", exclusive = true)]
    pub generate: Option<Generated>,
}

/// When something is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// Not at all
    Never,
    /// If the program was killed or exited with another code than 0
    OnDeath,
    /// After every run
    Always,
}

const EXAMPLES: &str = "\
Examples:
  hrx-run -- python train.py               if it dies: what was running, where, for how long, and what killed it
  hrx-run -o traces -- ./pipeline 3        keep the captures
  hrx-run --stuck 60s -- ./serve           if it hangs: what is running
More of them, and exit codes: --help";

const LONG_EXAMPLES: &str = "\
Examples:
  hrx-run -- python train.py               if it dies: what was running, where, for how long, and what killed it
  hrx-run -o traces -- ./pipeline 3        keep the captures
  hrx-run --summary always -- ./pipeline   say it after every run
  hrx-run --stuck 60s -- ./serve           if it hangs: what is running
  hrx-run --stuck 5m --on-stuck 'py-spy dump --pid $HRX_RUN_PID; ls' -- python train.py
  hrx-run --expect failed=0 --expect 'p99<2ms' -- ./test_pipeline
  hrx-run --collect /var/log/hrx --keep-last 5 --max-bytes 2GiB --on-death 'logger -t hrx died:' -- ./serve
  hrx-convert --expect …                   what can be expected: hrx-convert --help

Exit codes:
  that of CMD; if a signal killed it, hrx-run dies of the same one; and
  6    CMD exited with 0, but an expectation is not met
  125  hrx-run itself failed; CMD was not run
  126  CMD cannot be executed
  127  CMD is not found";

fn duration(text: &str) -> anyhow::Result<Duration> {
    let DurationNs(ns) = text.parse()?;
    ensure!(ns > 0, "expected more than 0");
    Ok(Duration::from_nanos(ns))
}

fn at_least_one(text: &str) -> anyhow::Result<usize> {
    let number = text.parse().ok().context("expected a whole number")?;
    ensure!(number > 0, "expected at least 1");
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn everything_after_the_program_is_its_own() {
        let command = |line: &str| {
            let arguments = Arguments::try_parse_from(line.split(' '));
            arguments.map(|arguments| arguments.command).ok()
        };
        let expected: Vec<OsString> = ["cc", "-o", "x", "--", "--help"].map(OsString::from).into();
        for line in [
            "hrx-run -- cc -o x -- --help",
            "hrx-run cc -o x -- --help",
            "hrx-run -o out cc -o x -- --help",
        ] {
            assert_eq!(command(line).as_ref(), Some(&expected), "{line}");
        }
        assert_eq!(command("hrx-run --no-such-option cc"), None);
        assert_eq!(command("hrx-run --keep-last 3 -- cc"), None);
        assert_eq!(command("hrx-run --stuck 0s -- cc"), None);
        assert_eq!(command("hrx-run --collect a -o b -- cc"), None);
        assert_eq!(command("hrx-run --expect cuont=5 -- cc"), None);
        assert_eq!(command("hrx-run --"), None);
    }
}
