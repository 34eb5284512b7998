//! What all items of 64 bytes share: their checksum, and how they come from bytes.

/// Gives a layout of eight words, whose last half word is its checksum, the methods of a self-verifying item.
macro_rules! sealed {
    ($item:ident) => {
        impl $item {
            /// This item with its checksum computed; `salt` is the salt of the area it lies in.
            #[inline]
            #[must_use]
            pub fn sealed(self, checksum: &$crate::Checksum, salt: u32) -> Self {
                bytemuck::cast(checksum.seal(salt, bytemuck::cast(self)))
            }

            /// Whether the checksum holds. Says nothing about the other fields.
            #[inline]
            #[must_use]
            pub fn verifies(&self, checksum: &$crate::Checksum, salt: u32) -> bool {
                self.sealed(checksum, salt).crc32 == self.crc32
            }

            /// The item that the file's `bytes` make, verified or not.
            #[inline]
            #[must_use]
            pub fn from_bytes(bytes: [u8; $crate::constants::RECORD_BYTES]) -> Self {
                bytemuck::cast(bytes)
            }
        }

        const _: () = {
            assert!(size_of::<$item>() == $crate::constants::RECORD_BYTES);
            assert!(align_of::<$item>() == 8);
            // These are in the same place in items of every kind, so that a reader can tell the kind before it knows it.
            assert!(core::mem::offset_of!($item, sequence) == 0);
            assert!(core::mem::offset_of!($item, start_ns) == 8);
            assert!(core::mem::offset_of!($item, flags) == 56);
            assert!(core::mem::offset_of!($item, kind) == 57);
            assert!(core::mem::offset_of!($item, open_slot) == 58);
            assert!(core::mem::offset_of!($item, crc32) == 60);
        };
    };
}

pub(crate) use sealed;
