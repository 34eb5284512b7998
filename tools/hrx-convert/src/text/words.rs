//! Sentences about captures: how one ended, what is missing, and the lines that end a conversion.

use hrx_trace_reader::{Account, Cause, Ending, Report, Witness};
use indicatif::{BinaryBytes, HumanCount};

use crate::input::alignment::Alignment;
use crate::input::captures::Captures;
use crate::input::other_lanes::LaneCount;
use crate::input::outcome::{Outcome, span_ns};
use crate::text::quantities::{counted, duration_text};

/// How a capture ended, as a mark at its last moment.
pub fn ending_text(ending: Ending) -> &'static str {
    match ending {
        Ending::Live => "still recording when it was read",
        Ending::Ending => "the kernel was taking the process down when it was read",
        Ending::Finished => "finished by its writer",
        Ending::LeftByExit => "left by exit; this is the last sign of life",
        Ending::EndedWithoutFinish => {
            "the process ended without finish; this is the last sign of life"
        }
        Ending::WriterDied => "the writer died; this is the last sign of life",
        Ending::ReplacedByExec => "replaced by exec; this is the last sign of life",
        Ending::CannotTell => {
            "it cannot be told whether it still runs; this is the last sign of life"
        }
        Ending::NotFinished => "not finished; this is the last sign of life",
        _ => "ended in a way this version does not know",
    }
}

/// How a capture ended, as part of a sentence.
pub fn ending_words(ending: Ending) -> &'static str {
    match ending {
        Ending::Live => "still recording",
        Ending::Ending => "ending: the kernel is taking the process down",
        Ending::Finished => "finished",
        Ending::LeftByExit => "left by exit",
        Ending::EndedWithoutFinish => "ended without finish",
        Ending::WriterDied => "the writer died",
        Ending::ReplacedByExec => "replaced by exec",
        Ending::CannotTell => "cannot be told whether it still runs",
        Ending::NotFinished => "not finished",
        _ => "ended in a way this version does not know",
    }
}

/// How a witness saw the process end: "killed by SIGKILL, out of memory, peak memory 1.2 GiB".
pub fn witness_text(witness: &Witness) -> String {
    let status = witness.status;
    let mut text = match witness.cause {
        Cause::Exit => format!("exited with {status}"),
        Cause::Signal => match signal_name(status) {
            Some(name) => format!("killed by {name}"),
            None => format!("killed by signal {status}"),
        },
        Cause::Exec => "replaced by exec".to_owned(),
        _ => "ended in a way this version does not know".to_owned(),
    };
    if witness.out_of_memory == Some(true) {
        text += ", by the kernel, which was out of memory";
    }
    if witness.core_dumped == Some(true) {
        text += ", core dumped";
    }
    if witness.peak_resident_bytes > 0 {
        let peak = BinaryBytes(witness.peak_resident_bytes);
        text += &format!(", peak memory {peak}");
    }
    text
}

/// The name of a signal that ends processes, by its number on Linux.
fn signal_name(number: u32) -> Option<&'static str> {
    let name = match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return None,
    };
    Some(name)
}

/// All losses except overwritten events, which are how a ring works; None if there are none.
pub fn losses_text(report: &Report) -> Option<String> {
    losses_with(report, report.account.torn)
}

/// The same with `torn` as the number of torn records: 0 if the sentence has it already.
fn losses_with(report: &Report, torn: u64) -> Option<String> {
    let account = &report.account;
    let losses: Vec<String> = [
        (torn, "torn"),
        (account.skipped, "of a kind unknown to this version"),
        (account.in_flight, "being written as the file was read"),
        (
            account.overtaken,
            "overtaken by the writer as the file was read",
        ),
        (
            report.rejected,
            "rejected, begun before the capture or with no handle left",
        ),
        (
            report.open_refused,
            "not shown while running, the open table being full",
        ),
        (report.open_torn, "torn in the open table"),
        (
            report.hidden_now,
            "running and not shown at the end, the open table being full",
        ),
        (
            report.names_refused,
            "without its name, the name table being full",
        ),
        (
            report.names_too_long,
            "without its name, which was too long",
        ),
        (
            report.arguments_refused,
            "argument or change that could not be recorded",
        ),
        (report.damages.len() as u64, "damaged outside the records"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{} {what}", HumanCount(count)))
    .collect();
    (!losses.is_empty()).then(|| losses.join("; "))
}

/// The lines that end a conversion: one for each capture, and a total if there are several.
pub fn conversion_lines(captures: &Captures, outcomes: &[Outcome]) -> Vec<String> {
    if let [outcome] = outcomes {
        return vec![outcome_text(outcome)];
    }
    captures
        .iter()
        .zip(outcomes)
        .map(|(capture, outcome)| format!("{}: {}", capture.path.display(), outcome_text(outcome)))
        .chain([total(captures, outcomes)])
        .collect()
}

/// One line: events, time span, overwritten, torn, open regions, how the capture ended, what was left out, other losses.
fn outcome_text(outcome: &Outcome) -> String {
    let report = &outcome.report;
    let account = &report.account;
    let open = report.open_regions.len();
    let mut line = format!(
        "{} over {} (host-observed), {} overwritten, {} torn, {}; {}",
        counted(outcome.shown(), "event"),
        duration_text(span_ns(report)),
        HumanCount(account.overwritten),
        HumanCount(account.torn),
        counted(open as u64, "open region"),
        ending_words(report.ending),
    );
    if let Some(left_out) = left_out_text(outcome) {
        line.push_str("; ");
        line.push_str(&left_out);
    }
    if let Some(losses) = losses_with(report, 0) {
        line.push_str("; also: ");
        line.push_str(&losses);
    }
    line
}

/// What is left out, by a filter or because there was no room for it; None: nothing.
pub fn left_out_text(outcome: &Outcome) -> Option<String> {
    let mut texts = Vec::new();
    if outcome.is_filtered {
        let mut text = format!("filtered out: {}", counted(outcome.filtered_out, "event"));
        if outcome.open_filtered_out > 0 {
            text += &format!(", {}", counted(outcome.open_filtered_out, "open region"));
        }
        texts.push(text);
    }
    let not_read = outcome.report.account.not_read;
    if not_read > 0 {
        texts.push(format!("not read: {}", counted(not_read, "event")));
    }
    if let Some(lanes) = outcome.other_lanes {
        texts.push(format!("\"other lanes\" stands for {}", lanes_text(lanes)));
    }
    if outcome.not_drawn > 0 {
        let regions = counted(outcome.not_drawn, "region");
        texts.push(format!("not drawn, for too many overlap: {regions}"));
    }
    (!texts.is_empty()).then(|| texts.join("; "))
}

/// How many lanes share one place.
pub fn lanes_text(lanes: LaneCount) -> String {
    let at_least = if lanes.has_more { "at least " } else { "" };
    format!("{at_least}{}", counted(lanes.count, "lane"))
}

/// One line for several captures together.
fn total(captures: &Captures, outcomes: &[Outcome]) -> String {
    let sum = |of: fn(&Outcome) -> u64| outcomes.iter().map(of).fold(0, u64::saturating_add);
    let first_ns = outcomes
        .iter()
        .filter_map(|outcome| outcome.report.first_ns)
        .min();
    let last_ns = outcomes.iter().map(|outcome| outcome.report.last_ns).max();
    let span_ns = last_ns
        .unwrap_or_default()
        .saturating_sub(first_ns.unwrap_or_default());
    let mut line = format!(
        "total: {} of {} over {} (host-observed), {} overwritten, {} torn, {}",
        counted(sum(Outcome::shown), "event"),
        counted(captures.len() as u64, "capture"),
        duration_text(span_ns),
        HumanCount(sum(|outcome| outcome.report.account.overwritten)),
        HumanCount(sum(|outcome| outcome.report.account.torn)),
        counted(
            sum(|outcome| outcome.report.open_regions.len() as u64),
            "open region"
        ),
    );
    if outcomes.iter().any(|outcome| outcome.is_filtered) {
        let filtered_out = sum(|outcome| outcome.filtered_out);
        line += &format!("; filtered out: {}", counted(filtered_out, "event"));
    }
    line + match captures.alignment {
        Alignment::Single => "",
        Alignment::MonotonicClock => "; aligned by CLOCK_MONOTONIC: all are of one boot",
        Alignment::WallTime => {
            "; aligned by wall time, which may be off: their monotonic clocks do not compare"
        }
    }
}

/// The identity of the account.
pub fn account_text(account: &Account) -> String {
    let mut identity = format!(
        "{} claimed = {} recovered + {} overwritten + {} torn",
        HumanCount(account.claimed),
        HumanCount(account.recovered),
        HumanCount(account.overwritten),
        HumanCount(account.torn)
    );
    for (count, what) in [
        (account.skipped, "of an unknown kind"),
        (account.in_flight, "being written"),
        (account.overtaken, "overtaken"),
        (account.not_read, "not read"),
    ] {
        if count > 0 {
            identity += &format!(" + {} {what}", HumanCount(count));
        }
    }
    identity
}
