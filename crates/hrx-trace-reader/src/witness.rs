//! How the writer's process ended, as another process saw it and wrote into the file.

use hrx_trace_format::header::CLOCK_MONOTONIC;
use hrx_trace_format::witness::{CAUSE_EXEC, CAUSE_SIGNAL, WITNESS_BYTES};
use hrx_trace_format::{Checksum, Identity, witness};

use crate::damage::Damage;
use crate::source::Source;

/// What ended the program that recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Cause {
    /// The process exited.
    Exit,
    /// A signal ended the process.
    Signal,
    /// The process replaced its program by another (exec).
    Exec,
}

/// How the writer's process ended, as another process saw it.
///
/// Whoever reaped the process, such as `hrx-run`, writes it once, after the end. Most captures have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Witness {
    /// What ended the program.
    pub cause: Cause,
    /// The exit status, or the signal's number; 0 after an exec.
    pub status: u32,
    /// When the witness learnt of the end, in nanoseconds since the capture's start. The end itself was between the last sign of life
    /// ([`Report::last_ns`](crate::Report::last_ns)) and this moment.
    pub seen_ns: u64,
    /// Whether `seen_ns` is on the capture's own clock. Otherwise it is by CLOCK_REALTIME, and only as good as that.
    pub seen_exactly: bool,
    /// The same moment by CLOCK_REALTIME, in nanoseconds since 1970 (UTC).
    pub seen_realtime_ns: u64,
    /// The same moment by the witness's CLOCK_MONOTONIC, in nanoseconds.
    pub seen_monotonic_ns: u64,
    /// The same moment by the witness's CLOCK_BOOTTIME, in nanoseconds.
    pub seen_boottime_ns: u64,
    /// Inode of the witness's time namespace; 0: unknown, or the kernel has none.
    pub time_namespace: u64,
    /// The most memory that the process had resident; 0: unknown.
    pub peak_resident_bytes: u64,
    /// Processor time of the process in user mode, in nanoseconds.
    pub user_ns: u64,
    /// Processor time of the process in the kernel, in nanoseconds.
    pub system_ns: u64,
    /// Whether the kernel wrote a core dump; None: unknown.
    pub core_dumped: Option<bool>,
    /// Whether the kernel killed the process to get memory; None: unknown.
    pub out_of_memory: Option<bool>,
    /// Id of the witness, as it sees itself.
    pub process_id: u32,
}

impl Witness {
    /// The witness in the file, if there is one. One that is not believed is damage.
    pub(crate) fn read(
        source: &Source,
        identity: &Identity,
        checksum: &Checksum,
        damages: &mut Vec<Damage>,
    ) -> Option<Self> {
        let mut bytes = [0; WITNESS_BYTES];
        damages.extend(source.read(identity.witness_offset, &mut bytes));
        if bytes == [0; WITNESS_BYTES] {
            return None;
        }
        let believed =
            witness::Witness::believed(bytes, identity.capture_id, identity.salt, checksum);
        if believed.is_none() {
            damages.push(Damage {
                offset: identity.witness_offset,
                what: "the witness is not believed: found bytes that are not one of this capture, expected one, or zeroes".into(),
            });
        }
        Some(Self::new(believed?, identity))
    }

    fn new(witness: witness::Witness, identity: &Identity) -> Self {
        let seen_exactly =
            witness.time_namespace == identity.time_namespace && identity.clock == CLOCK_MONOTONIC;
        let seen_ns = match seen_exactly {
            true => witness
                .seen_monotonic_ns
                .saturating_sub(identity.epoch_monotonic_ns),
            false => witness
                .seen_realtime_ns
                .saturating_sub(identity.epoch_realtime_ns),
        };
        Self {
            cause: match witness.cause {
                CAUSE_SIGNAL => Cause::Signal,
                CAUSE_EXEC => Cause::Exec,
                // It is believed, so there is no fourth.
                _ => Cause::Exit,
            },
            status: witness.status,
            seen_ns,
            seen_exactly,
            seen_realtime_ns: witness.seen_realtime_ns,
            seen_monotonic_ns: witness.seen_monotonic_ns,
            seen_boottime_ns: witness.seen_boottime_ns,
            time_namespace: witness.time_namespace,
            peak_resident_bytes: witness.peak_resident_bytes,
            user_ns: witness.user_ns,
            system_ns: witness.system_ns,
            core_dumped: witness::Witness::told(witness.core_dumped),
            out_of_memory: witness::Witness::told(witness.out_of_memory),
            process_id: witness.witness_process_id,
        }
    }

    /// The moment that no sign of life can be later than, in nanoseconds since the capture's start, if it is known exactly.
    pub(crate) fn limit_ns(&self) -> Option<u64> {
        self.seen_exactly.then_some(self.seen_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Image, compact, region};
    use bytemuck::Zeroable;
    use hrx_trace_format::witness::CAUSE_EXIT;

    fn image() -> Image {
        let identity = Identity {
            clock: CLOCK_MONOTONIC,
            time_namespace: 5,
            epoch_monotonic_ns: 1000,
            epoch_realtime_ns: 70_000,
            ..compact(4, 1)
        };
        Image::from_identity(identity)
    }

    fn said() -> witness::Witness {
        witness::Witness {
            seen_monotonic_ns: 9000,
            seen_boottime_ns: 9500,
            seen_realtime_ns: 78_123,
            time_namespace: 5,
            peak_resident_bytes: 1 << 20,
            user_ns: 7,
            system_ns: 8,
            status: 137,
            cause: CAUSE_EXIT,
            core_dumped: 1,
            out_of_memory: 2,
            witness_process_id: 77,
            ..witness::Witness::zeroed()
        }
    }

    #[test]
    fn what_it_says() {
        let mut image = image();
        assert_eq!(image.trace().witness(), None);
        image.witness(said());
        assert_eq!(
            image.trace().witness(),
            Some(Witness {
                cause: Cause::Exit,
                status: 137,
                seen_ns: 8000,
                seen_exactly: true,
                seen_realtime_ns: 78_123,
                seen_monotonic_ns: 9000,
                seen_boottime_ns: 9500,
                time_namespace: 5,
                peak_resident_bytes: 1 << 20,
                user_ns: 7,
                system_ns: 8,
                core_dumped: Some(false),
                out_of_memory: Some(true),
                process_id: 77,
            })
        );
        assert_eq!(image.read().1.damages, []);
    }

    #[test]
    fn a_witness_of_another_time_namespace_saw_it_by_wall_time() {
        let mut image = image();
        let seen = |image: &Image| {
            let seen = image.trace().witness().unwrap();
            (seen.seen_ns, seen.seen_exactly)
        };
        image.witness(witness::Witness {
            time_namespace: 6,
            ..said()
        });
        assert_eq!(seen(&image), (8123, false));
        // Before the capture: a clock was set.
        image.witness(witness::Witness {
            time_namespace: 6,
            seen_realtime_ns: 69_999,
            ..said()
        });
        assert_eq!(seen(&image), (0, false));
        image.witness(witness::Witness {
            seen_monotonic_ns: 999,
            ..said()
        });
        assert_eq!(seen(&image), (0, true));
        let identity = Identity {
            clock: 2,
            ..image.identity
        };
        let mut unknown_clock = Image::from_identity(identity);
        unknown_clock.witness(said());
        assert_eq!(seen(&unknown_clock), (8123, false));
    }

    #[test]
    fn one_that_is_not_believed_is_damage_and_not_used() {
        let mut image = image();
        image.record(0, region(2000));
        image.witness(said());
        let at = image.identity.witness_offset;
        image.bytes[at as usize + 80] ^= 1;
        let (_, report) = image.read();
        let offsets: Vec<u64> = report.damages.iter().map(|damage| damage.offset).collect();
        assert_eq!(
            (offsets.as_slice(), image.trace().witness()),
            (&[at][..], None)
        );
    }

    /// An event that ended after a witness saw the end cannot be true, and does not count as a sign of life. It is shown nevertheless.
    #[test]
    fn no_sign_of_life_is_later_than_an_exact_witness() {
        let mut image = image();
        for end_ns in [2000, 8000, 8001, 50_000] {
            image.record(0, region(end_ns));
        }
        assert_eq!(image.read().1.last_ns, 50_000);
        image.witness(said());
        let (events, report) = image.read();
        assert_eq!((events.len(), report.last_ns), (4, 8000));
        assert_eq!(image.trace().latest_ns(), 8000);
        // By wall time it is not known exactly enough.
        image.witness(witness::Witness {
            time_namespace: 6,
            ..said()
        });
        assert_eq!(image.read().1.last_ns, 50_000);
    }
}
