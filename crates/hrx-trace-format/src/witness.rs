//! How the writer's process ended, from one that saw it: written once, by another process, after the end.

use bytemuck::{Pod, Zeroable};

use crate::checksum::{Area, Checksum};

pub use crate::constants::{
    CAUSE_EXEC, CAUSE_EXIT, CAUSE_SIGNAL, WITNESS_BYTES, WITNESS_OFFSET, WITNESS_WORD,
};

/// What a witness says: 128 bytes, in a sector of their own.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Witness {
    /// [`WITNESS_WORD`].
    pub word: u64,
    /// The identity's `capture_id`.
    pub capture_id: [u8; 16],
    /// When the witness learnt of the end, by its CLOCK_MONOTONIC, in nanoseconds.
    pub seen_monotonic_ns: u64,
    /// The same moment by CLOCK_BOOTTIME, in nanoseconds.
    pub seen_boottime_ns: u64,
    /// The same moment by CLOCK_REALTIME, in nanoseconds since 1970 (UTC).
    pub seen_realtime_ns: u64,
    /// Inode of the witness's time namespace; 0: unknown, or the kernel has none.
    pub time_namespace: u64,
    /// The most memory that the process had resident, or a child that it waited for; 0: unknown.
    pub peak_resident_bytes: u64,
    /// Processor time in user mode of the process and of children that it waited for, in nanoseconds.
    pub user_ns: u64,
    /// The same in the kernel, in nanoseconds.
    pub system_ns: u64,
    /// Exit status, or the signal's number; 0 after an exec.
    pub status: u32,
    /// [`CAUSE_EXIT`], [`CAUSE_SIGNAL`] or [`CAUSE_EXEC`]. Readers believe no other.
    pub cause: u8,
    /// 0: unknown, 1: no, 2: yes. Readers believe no other; see [`Witness::told`].
    pub core_dumped: u8,
    /// Whether the kernel killed it to get memory. As `core_dumped`.
    pub out_of_memory: u8,
    /// Unused: a writer clears it, a reader ignores it.
    pub unused_87: u8,
    /// The witness, as it sees itself.
    pub witness_process_id: u32,
    /// Unused: a writer clears it, a reader ignores it.
    pub unused_92: [u32; 8],
    /// CRC-32 of all 128 bytes, computed while this field holds the salt of the witness.
    pub crc32: u32,
}

const _: () = {
    assert!(size_of::<Witness>() == WITNESS_BYTES && align_of::<Witness>() == 8);
    assert!(core::mem::offset_of!(Witness, crc32) == WITNESS_BYTES - 4);
};

impl Witness {
    /// This witness with its checksum computed; `capture_salt` is the identity's salt.
    #[must_use]
    pub fn sealed(mut self, checksum: &Checksum, capture_salt: u32) -> Self {
        self.crc32 = Area::Witness.salt(capture_salt);
        self.crc32 = checksum.of(&[bytemuck::bytes_of(&self)]);
        self
    }

    /// The witness that the file's `bytes` make, if it can be believed: its checksum holds, it is of this capture, and this version knows all its values.
    #[must_use]
    pub fn believed(
        bytes: [u8; WITNESS_BYTES],
        capture_id: [u8; 16],
        capture_salt: u32,
        checksum: &Checksum,
    ) -> Option<Self> {
        let witness: Self = bytemuck::cast(bytes);
        let believed = witness.word == WITNESS_WORD
            && witness.capture_id == capture_id
            && (CAUSE_EXIT..=CAUSE_EXEC).contains(&witness.cause)
            && witness.core_dumped <= 2
            && witness.out_of_memory <= 2
            && witness.sealed(checksum, capture_salt).crc32 == witness.crc32;
        believed.then_some(witness)
    }

    /// What `core_dumped` and `out_of_memory` say. None: unknown.
    #[must_use]
    pub const fn told(answer: u8) -> Option<bool> {
        match answer {
            1 => Some(false),
            2 => Some(true),
            _ => None,
        }
    }

    /// The opposite of [`Self::told`].
    #[must_use]
    pub const fn answer(told: Option<bool>) -> u8 {
        match told {
            None => 0,
            Some(false) => 1,
            Some(true) => 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ID: [u8; 16] = [3; 16];

    fn killed() -> Witness {
        Witness {
            word: WITNESS_WORD,
            capture_id: ID,
            status: 9,
            cause: CAUSE_SIGNAL,
            core_dumped: 1,
            out_of_memory: 2,
            ..Witness::zeroed()
        }
    }

    fn believed(witness: Witness) -> Option<Witness> {
        let checksum = Checksum::new();
        let bytes = bytemuck::cast(witness.sealed(&checksum, 7));
        Witness::believed(bytes, ID, 7, &checksum)
    }

    #[test]
    fn what_is_believed() {
        assert!(believed(killed()).is_some());
        for cause in [CAUSE_EXIT, CAUSE_EXEC] {
            assert!(believed(Witness { cause, ..killed() }).is_some());
        }
        for wrong in [
            Witness {
                word: 0,
                ..killed()
            },
            Witness {
                capture_id: [4; 16],
                ..killed()
            },
            Witness {
                cause: 0,
                ..killed()
            },
            Witness {
                cause: 4,
                ..killed()
            },
            Witness {
                core_dumped: 3,
                ..killed()
            },
            Witness {
                out_of_memory: 3,
                ..killed()
            },
        ] {
            assert_eq!(believed(wrong), None, "{wrong:?}");
        }
        let unused = Witness {
            unused_87: 1,
            unused_92: [5; 8],
            ..killed()
        };
        assert!(believed(unused).is_some());
        let checksum = Checksum::new();
        let other_salt = bytemuck::cast(killed().sealed(&checksum, 8));
        assert_eq!(Witness::believed(other_salt, ID, 7, &checksum), None);
    }

    #[test]
    fn answers() {
        for told in [None, Some(false), Some(true)] {
            assert_eq!(Witness::told(Witness::answer(told)), told);
        }
    }

    proptest! {
        #[test]
        fn every_single_bit_flip_is_detected(bit in 0..WITNESS_BYTES * 8) {
            let checksum = Checksum::new();
            let mut bytes: [u8; WITNESS_BYTES] = bytemuck::cast(killed().sealed(&checksum, 7));
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(Witness::believed(bytes, ID, 7, &checksum), None);
        }
    }
}
