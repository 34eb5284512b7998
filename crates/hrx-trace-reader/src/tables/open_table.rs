//! The regions that the open table shows as running, and what the lines of their slots say about them.

use bytemuck::Zeroable;
use hrx_trace_format::line::{self, LINE_AMENDMENT, LINE_ARGUMENTS};
use hrx_trace_format::open::SEQUENCE_TAKEN;
use hrx_trace_format::{Amendment, Area, Argument, Checksum, Identity, OpenRecord};

use crate::argument;
use crate::damage::Damage;
use crate::event::OpenRegion;
use crate::source::Source;

/// How often a slot that a running writer is changing is read again.
const RETRIES: u32 = 8;

/// How many slots are read at once: at most 2 MiB, however large a slot is.
const SLOTS_AT_ONCE: usize = 512;

/// How many lines with arguments are kept: at most 64 MiB. This version's writers have at most 393,204; a file can claim ten times as many.
const ARGUMENT_LINES_MAX: usize = 1 << 20;

/// The region that a slot shows, as its lines were read.
#[derive(Clone, Debug)]
pub(crate) struct Tenant {
    pub(crate) slot: u32,
    pub(crate) record: OpenRecord,
    /// What the line of the latest amendment says, its ticket as its sequence.
    pub(crate) amendment: Option<Amendment>,
    /// What the lines of arguments say, their tickets as their sequences.
    pub(crate) arguments: Vec<Argument>,
    /// The highest ordinal of the arguments that there was no room to keep.
    pub(crate) not_kept: Option<u16>,
}

impl Tenant {
    /// What the slot alone says about it.
    pub(crate) fn region(&self) -> OpenRegion {
        let mut region = OpenRegion::new(self.slot, &self.record);
        if let Some(amendment) = &self.amendment {
            region.amend(amendment);
        }
        region.arguments = argument::joined(&self.arguments);
        region.arguments_lost = argument::lost(&self.arguments, self.not_kept);
        region
    }
}

/// The open table, as read once.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenTable {
    /// What it shows, by slot.
    pub(crate) tenants: Vec<Tenant>,
    /// Slot by slot: 1 + the place in `tenants`; 0: no region runs in it.
    places: Vec<u16>,
    /// Slots whose content does not verify.
    pub(crate) torn: u64,
}

impl OpenTable {
    pub(crate) fn read(
        source: &Source,
        identity: &Identity,
        checksum: &Checksum,
        writer_runs: bool,
        damages: &mut Vec<Damage>,
    ) -> Self {
        let mut table = Self {
            tenants: Vec::new(),
            places: vec![0; identity.open_slots as usize],
            torn: 0,
        };
        let lines = identity.open_lines().max(1) as usize;
        let mut room = ARGUMENT_LINES_MAX;
        let (mut damaged, mut first_damaged) = (0u64, None);
        let slot_of_lines = |slot| Slot {
            slot,
            identity,
            checksum,
            salt: Area::OpenTable.salt(identity.salt),
        };
        for first in (0..identity.open_slots).step_by(SLOTS_AT_ONCE) {
            let count = (identity.open_slots.saturating_sub(first) as usize).min(SLOTS_AT_ONCE);
            let mut all = vec![OpenRecord::zeroed(); count.saturating_mul(lines)];
            let place = identity.open_slot(first);
            damages.extend(source.read(place, bytemuck::cast_slice_mut(&mut all)));
            for (number, lines) in (first..).zip(all.chunks_exact_mut(lines)) {
                let slot = slot_of_lines(number);
                let mut retries = if writer_runs { RETRIES } else { 0 };
                while slot.is_torn(lines) && retries > 0 {
                    retries = retries.saturating_sub(1);
                    source.read(identity.open_slot(number), bytemuck::cast_slice_mut(lines));
                }
                if slot.is_torn(lines) {
                    table.torn = table.torn.saturating_add(1);
                } else if let Some(tenant) = slot.tenant(lines, &mut room)
                    && let Some(place) = table.places.get_mut(number as usize)
                {
                    // A running writer may be writing them.
                    if !writer_runs {
                        for line in slot.damaged(lines) {
                            damaged = damaged.saturating_add(1);
                            first_damaged.get_or_insert(slot.offset(line));
                        }
                    }
                    table.tenants.push(tenant);
                    // There are fewer slots than an u16 has values.
                    *place = table.tenants.len() as u16;
                }
            }
        }
        damages.extend(first_damaged.map(|offset| Damage {
            offset,
            what: format!(
                "lines of running regions: found {damaged} whose checksum does not hold, expected none"
            ),
        }));
        table
    }

    /// Whether there is a slot with this index.
    pub(crate) fn has(&self, slot: u32) -> bool {
        (slot as usize) < self.places.len()
    }

    /// The region that a slot shows.
    #[inline]
    pub(crate) fn tenant(&self, slot: u32) -> Option<&Tenant> {
        let place = usize::from(*self.places.get(slot as usize)?);
        self.tenants.get(place.checked_sub(1)?)
    }
}

/// How the lines of a slot are judged.
struct Slot<'file> {
    slot: u32,
    identity: &'file Identity,
    checksum: &'file Checksum,
    salt: u32,
}

impl Slot<'_> {
    fn is_torn(&self, lines: &[OpenRecord]) -> bool {
        let is_believed = |open: &OpenRecord| {
            open.runs_in(self.slot)
                && open.ring < self.identity.ring_count
                && open.verifies(self.checksum, self.salt)
        };
        lines
            .first()
            .is_some_and(|open| !is_free(open) && !is_believed(open))
    }

    /// The lines that are neither empty nor being written, and do not verify: what they said is lost, unless it is in the ring too.
    fn damaged(&self, lines: &[OpenRecord]) -> impl Iterator<Item = usize> {
        let is_damaged =
            |line: &OpenRecord| line.sequence != 0 && !line.verifies(self.checksum, self.salt);
        let numbered = lines.iter().enumerate().skip(1);
        numbered.filter_map(move |(number, line)| is_damaged(line).then_some(number))
    }

    /// Where a line is in the file.
    fn offset(&self, line: usize) -> u64 {
        let within = (line as u64).saturating_mul(size_of::<OpenRecord>() as u64);
        self.identity.open_slot(self.slot).saturating_add(within)
    }

    /// What a slot that is not torn shows. `room` is how many more arguments may be kept.
    fn tenant(&self, lines: &[OpenRecord], room: &mut usize) -> Option<Tenant> {
        let record = *lines.first().filter(|open| !is_free(open))?;
        let mut tenant = Tenant {
            slot: self.slot,
            record,
            amendment: None,
            arguments: Vec::new(),
            not_kept: None,
        };
        for (number, bytes) in (0..).zip(lines) {
            let bytes = bytemuck::cast(*bytes);
            if number == LINE_AMENDMENT {
                tenant.amendment = line::amendment(bytes, &record, self.checksum, self.salt);
            }
            if number < LINE_ARGUMENTS {
                continue;
            }
            let Some(argument) = line::argument(bytes, &record, self.checksum, self.salt) else {
                continue;
            };
            match room.checked_sub(1) {
                Some(less) => {
                    *room = less;
                    tenant.arguments.push(argument);
                }
                None => tenant.not_kept = tenant.not_kept.max(Some(argument.ordinal)),
            }
        }
        Some(tenant)
    }
}

fn is_free(open: &OpenRecord) -> bool {
    open.sequence == 0 || open.sequence == SEQUENCE_TAKEN
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Image, live, open_since, read};

    #[test]
    fn torn_slots() {
        let mut image = Image::new(4, 1);
        let slot = |slot| image.identity.open_slot(slot);
        let (first, second) = (slot(0), slot(1));
        image.open(0, open_since(300, 0));
        image.open(1, open_since(300, 0));
        let good = image.clone();
        let torn = |image: &Image| {
            let (_, report) = image.read();
            assert_eq!(report.damages, []);
            (report.open_torn, report.open_regions.len())
        };
        assert_eq!(torn(&image), (0, 2));
        // Free, or just taken: no region, and not torn.
        image.put(first, &0u64.to_le_bytes());
        image.put(second, &u64::MAX.to_le_bytes());
        assert_eq!(torn(&image), (0, 0));
        // A damaged bit; a slot that was moved; a ring that does not exist.
        image = good.clone();
        image.bytes[first as usize + 30] ^= 1;
        assert_eq!(torn(&image), (1, 1));
        image = good.clone();
        let moved = image.bytes[first as usize..][..64].to_vec();
        image.put(second, &moved);
        assert_eq!(torn(&image), (1, 1));
        image = good.clone();
        image.open(
            1,
            OpenRecord {
                ring: 1,
                ..open_since(300, 0)
            },
        );
        assert_eq!(torn(&image), (1, 1));
    }

    #[test]
    fn live_a_slot_that_is_being_written_is_read_again() {
        let mut image = Image::new(4, 1);
        image.open(0, open_since(300, 0));
        let slot = image.identity.open_slot(0);
        image.bytes[slot as usize + 30] ^= 1;
        let trace = live(image, move |image, offset, count| {
            if (offset, count) == (slot, 64) {
                image.open(0, open_since(400, 0));
            }
        });
        let (_, report) = read(&trace);
        assert_eq!((report.open_torn, report.open_regions.len()), (0, 1));
    }
}
