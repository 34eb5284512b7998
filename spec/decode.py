#!/usr/bin/env python3
"""Prints what a .hrxt file holds, as JSON. Written from FORMAT.md alone; the numbers in brackets are its sections.

    decode.py FILE

It shows that FORMAT.md says enough, and other readers can be checked against it. It needs only Python's standard library, holds the whole file
in memory, never modifies it, and does not find out whether the writer still runs [7.8]. A refused file gives one line on stderr and exit code 1.
"""

import json
import struct
import sys
import zlib

# [4]
MAGIC = bytes.fromhex("89 48 52 58 0D 0A 1A 0A")
HEADER_BYTES = 2048  # COUNTERS_OFFSET: the space reserved for the identity
IDENTITY_BYTES = 1024
BLOCK = 64  # RECORD_BYTES and BLOCK_BYTES
TEXT_BYTES_MAX = 16384
STATE_RECORDING, STATE_FINISHED = b"RECORDIN", b"FINISHED"
SEQUENCE_OPEN = int.from_bytes(b"\0\0\0\0OPEN", "little")
SEQUENCE_TAKEN = 2**64 - 1
KIND_REGION, KIND_OPEN = 0, 1
FLAG_FAILED, FLAG_SATURATED = 1, 2
MEASUREMENT = "host-observed synchronized region latency; not device timestamps"
SEQUENCE_MAX = 2**54 - 1

# [6.1], in order: name, struct code.
IDENTITY = [
    ("magic", "8s"), ("version_major", "H"), ("version_minor", "H"), ("identity_bytes", "I"), ("crc32", "I"), ("salt", "I"),
    ("file_bytes", "Q"), ("counters_offset", "Q"), ("control_offset", "Q"), ("control_stride", "Q"), ("open_offset", "Q"),
    ("label_offset", "Q"), ("label_bytes", "Q"), ("ring_offset", "Q"), ("ring_stride", "Q"), ("capacity", "Q"),
    ("ring_count", "I"), ("open_slots", "I"), ("epoch_monotonic_ns", "Q"), ("epoch_realtime_ns", "Q"), ("epoch_boottime_ns", "Q"),
    ("boot_id", "16s"), ("capture_id", "16s"), ("process_start_ticks", "Q"), ("pid_namespace", "Q"), ("process_id", "I"),
    ("attributes_bytes", "I"), ("host_name", "64s"), ("program", "64s"), ("attributes", "704s"),
]  # fmt: skip
COUNTERS = struct.Struct("<8sQQQQQ16x")  # [6.2]
RECORD = struct.Struct("<QQQQQIIIIBBHI")  # [6.4], and [6.5] with other names
EVENT_FIELDS = "sequence start_ns duration_ns copied_bytes correlation_id lane label_id thread_id status".split()
OPEN_FIELDS = "sequence start_ns claimed_at_begin copied_bytes correlation_id lane label_id thread_id ring".split()
ENTRY_HEADER = struct.Struct("<III")  # [6.6]


class Refused(Exception):
    """The file is not a trace that can be read [7.1]."""


def take(data, start, size):
    """The `size` bytes at `start`; bytes past the end of the file read as zeroes [7.1]."""
    return data[start : start + size].ljust(size, b"\0")


def salt_of(identity, tag):
    """The salt of an area [5]: open table 1, label table 2, ring r 3 + r."""
    return (identity["salt"] + tag) % 2**32


def checksum(item, crc_at, stand_in):
    """The CRC-32 of an item while its crc32 field, at crc_at, holds stand_in [5]."""
    return zlib.crc32(item[:crc_at] + stand_in.to_bytes(4, "little") + item[crc_at + 4 :])


def text_of(field):
    """The text at the start of a field [6.1]."""
    field = field.split(b"\0")[0]
    try:
        return field.decode()
    except UnicodeDecodeError as error:
        return field[: error.start].decode()


def as_hex(some_bytes):
    return "[" + ", ".join(f"{byte:02x}" for byte in some_bytes) + "]"


def accept(data):
    """The identity at the start of the file [7.1]."""
    short = f"cut short: found {len(data)} bytes, expected a header of at least {HEADER_BYTES}"
    if len(data) < 8:
        raise Refused(short)
    found = data[:8]
    if found == bytes(8):
        raise Refused("no magic at offset 0: found zeroes, so the file's creation was cut short before anything was recorded")
    if found != MAGIC and found[0] in (0x89, 0x09) and found[1:4] == b"HRX":
        raise Refused(f"magic at offset 0 damaged as by a text-mode transfer: found {as_hex(found)}, expected {as_hex(MAGIC)}")
    if found != MAGIC:
        raise Refused(f"not a trace: at offset 0 found {as_hex(found)}, expected the magic {as_hex(MAGIC)}")
    if len(data) < HEADER_BYTES:
        raise Refused(short)
    names, codes = zip(*IDENTITY)
    identity = dict(zip(names, struct.unpack_from("<" + "".join(codes), data)))
    if identity["version_major"] != 1:
        version = f"{identity['version_major']}.{identity['version_minor']}"
        raise Refused(f"format version at offset 8: found {version}, expected 1.x: convert it with a newer hrx-convert")
    size = identity["identity_bytes"]
    if not IDENTITY_BYTES <= size <= HEADER_BYTES:
        raise Refused(f"identity size at offset 12: found {size}, expected {IDENTITY_BYTES} to {HEADER_BYTES}")
    computed = checksum(data[:size], 16, 0)
    if identity["crc32"] != computed:
        raise Refused(f"header checksum at offset 16: found {identity['crc32']:#010x}, expected {computed:#010x} for the bytes there")
    for field, holds, rule in rules(identity):
        if not holds:
            offset = struct.calcsize("<" + "".join(codes[: names.index(field)]))
            raise Refused(f"header field {field} at offset {offset}: found {identity[field]}, expected {rule}")
    return identity


def rules(i):
    """The rules of the identity's fields, in order [7.1]. An end beyond 64 bits exceeds every field, so it breaks its rule too."""

    def begins_after(end, field):
        return i[field] % 64 == 0 and end <= i[field]

    control_end = i["control_offset"] + i["control_stride"] * i["ring_count"]
    open_end = i["open_offset"] + 64 * i["open_slots"]
    label_end = i["label_offset"] + i["label_bytes"]
    rings_end = i["ring_offset"] + i["ring_stride"] * i["ring_count"]
    yield "capacity", 1 <= i["capacity"] <= 2**46, "1 to 2^46"
    yield "ring_count", 1 <= i["ring_count"] <= 1024, "1 to 1024"
    yield "open_slots", i["open_slots"] <= 254, "at most 254"
    yield "label_bytes", i["label_bytes"] <= 2**24, "at most 16 MiB"
    yield "label_bytes", i["label_bytes"] % 64 == 0, "a multiple of 64"
    yield "counters_offset", begins_after(i["identity_bytes"], "counters_offset"), "a multiple of 64 after the identity"
    yield "control_offset", begins_after(i["counters_offset"] + 64, "control_offset"), "a multiple of 64 after the counters"
    yield "control_stride", begins_after(64, "control_stride"), "a positive multiple of 64"
    yield "open_offset", begins_after(control_end, "open_offset"), "a multiple of 64 after the control lines"
    yield "label_offset", begins_after(open_end, "label_offset"), "a multiple of 64 after the open table"
    yield "ring_offset", begins_after(label_end, "ring_offset"), "a multiple of 64 after the label table"
    yield "ring_stride", begins_after(64 * i["capacity"], "ring_stride"), "a multiple of 64 that holds capacity records"
    yield "file_bytes", rings_end <= i["file_bytes"] < 2**63, "room for all rings"
    yield "attributes_bytes", i["attributes_bytes"] <= 704, "at most the size of attributes"


def read_ring(data, identity, ring, damages):
    """What became of a ring's tickets, and its events in ticket order [7.3, 7.4]."""
    capacity, salt = identity["capacity"], salt_of(identity, 3 + ring)
    start = identity["ring_offset"] + ring * identity["ring_stride"]
    believable = {}  # the records' fields by sequence. Slots past the end of the file are never visited.
    for slot in range(min(capacity, max(0, len(data) - start) // BLOCK)):
        item = take(data, start + slot * BLOCK, BLOCK)
        fields = RECORD.unpack(item)
        sequence, crc32 = fields[0], fields[-1]
        if 0 < sequence <= SEQUENCE_MAX and (sequence - 1) % capacity == slot and crc32 == checksum(item, 60, salt):
            believable[sequence] = fields

    control = identity["control_offset"] + ring * identity["control_stride"]
    claimed = int.from_bytes(take(data, control, 8), "little")
    newest = max(believable, default=0)
    if claimed > SEQUENCE_MAX or newest and not max(0, claimed - capacity) < newest <= claimed:
        damages.append(control)
        claimed = newest

    overwritten = max(0, claimed - capacity)
    events, skipped = [], 0
    for sequence in sorted(s for s in believable if overwritten < s <= claimed):
        *values, flags, open_slot, kind, _ = believable[sequence]
        if kind != KIND_REGION:
            skipped += 1
            continue
        event = {"ring": ring, **dict(zip(EVENT_FIELDS, values)), "failed": bool(flags & FLAG_FAILED)}
        events.append((event | {"saturated": bool(flags & FLAG_SATURATED)}, open_slot))
    torn = claimed - overwritten - len(events) - skipped
    account = {"claimed": claimed, "recovered": len(events), "overwritten": overwritten, "torn": torn, "skipped": skipped}
    return account, events


def read_open_table(data, identity):
    """The believed open records, as (region, ring, claimed_at_begin), and the number of torn ones [7.6]."""
    regions, torn = [], 0
    for slot in range(identity["open_slots"]):
        item = take(data, identity["open_offset"] + slot * BLOCK, BLOCK)
        *values, flags, open_slot, kind, crc32 = RECORD.unpack(item)
        region = {"slot": slot, **dict(zip(OPEN_FIELDS, values)), "saturated": bool(flags & FLAG_SATURATED)}
        sequence, claimed_at_begin, ring = (region.pop(name) for name in ("sequence", "claimed_at_begin", "ring"))
        if sequence in (0, SEQUENCE_TAKEN):
            continue
        runs_here = sequence == SEQUENCE_OPEN + region["start_ns"] % 2**32 and open_slot == 1 + slot
        verifies = crc32 == checksum(item, 60, salt_of(identity, 1))
        if not runs_here or not verifies or kind != KIND_OPEN or ring >= identity["ring_count"]:
            torn += 1
        else:
            regions.append((region, ring, claimed_at_begin))
    return regions, torn


def label(data, identity, label_id):
    """The text of a label, or None if it cannot be believed [7.7]."""
    start = identity["label_offset"] + (label_id - 1) * BLOCK
    end = min(identity["label_offset"] + identity["label_bytes"], len(data))
    if start + ENTRY_HEADER.size > end:
        return None
    crc32, own_id, text_bytes = ENTRY_HEADER.unpack(take(data, start, ENTRY_HEADER.size))
    entry_bytes = -(-(ENTRY_HEADER.size + text_bytes) // BLOCK) * BLOCK
    if own_id != label_id or text_bytes > TEXT_BYTES_MAX or start + entry_bytes > end:
        return None
    entry = take(data, start, entry_bytes)
    if crc32 != checksum(entry, 0, salt_of(identity, 2)):
        return None
    try:
        return entry[ENTRY_HEADER.size :][:text_bytes].decode()
    except UnicodeDecodeError:
        return None


def decode(data):
    """Everything that FORMAT.md has a reader say about a file."""
    identity = accept(data)
    damages = []  # offsets
    if len(data) < identity["file_bytes"]:
        damages.append(len(data))
    counters = take(data, identity["counters_offset"], COUNTERS.size)
    state, finished_ns, _, rejected, open_refused, labels_refused = COUNTERS.unpack(counters)
    if state not in (STATE_RECORDING, STATE_FINISHED):
        damages.append(identity["counters_offset"])

    regions, open_torn = read_open_table(data, identity)
    rings, keyed = [], []  # keyed: the events of all rings, with the key that merges them [7.4]
    newest_of_slot = {}  # by ring and open slot: the ticket of the newest event that ran there
    for ring in range(identity["ring_count"]):
        account, events = read_ring(data, identity, ring, damages)
        rings.append(account)
        key = 0
        for event, open_slot in events:
            key = max(key, min(event["start_ns"] + event["duration_ns"], 2**64 - 1))
            keyed.append((key, ring, event["sequence"], event))
            newest_of_slot[ring, open_slot - 1] = event["sequence"]
    events = [event for *_, event in sorted(keyed, key=lambda item: item[:3])]

    regions = [region for region, ring, claimed in regions if newest_of_slot.get((ring, region["slot"]), 0) <= claimed]
    regions.sort(key=lambda region: (region["start_ns"], region["slot"]))

    last_ns = max([finished_ns if state == STATE_FINISHED else 0] + [key for key, *_ in keyed] + [region["start_ns"] for region in regions])
    first_ends = {ring: key for key, ring, *_ in sorted(keyed, key=lambda item: item[:3], reverse=True)}
    complete_since = [first_ends.get(ring, last_ns) for ring, account in enumerate(rings) if account["overwritten"]]
    used_labels = sorted({item["label_id"] for item in events + regions} - {0})
    attributes = text_of(identity["attributes"][: identity["attributes_bytes"]]).split("\n")
    return {
        "measurement": MEASUREMENT,
        "version": f"{identity['version_major']}.{identity['version_minor']}",
        "host_name": text_of(identity["host_name"]),
        "program": text_of(identity["program"]),
        "attributes": [line.split("=", 1) for line in attributes if "=" in line],
        "boot_id": identity["boot_id"].hex(),
        "capture_id": identity["capture_id"].hex(),
        "process_id": identity["process_id"],
        "epoch_monotonic_ns": identity["epoch_monotonic_ns"],
        "epoch_realtime_ns": identity["epoch_realtime_ns"],
        "epoch_boottime_ns": identity["epoch_boottime_ns"],
        "capacity": identity["capacity"],
        "ending": "finished" if state == STATE_FINISHED else "not-finished",
        "account": {name: sum(ring[name] for ring in rings) for name in rings[0]},
        "rings": rings,
        "rejected": rejected,
        "open_refused": open_refused,
        "labels_refused": labels_refused,
        "open_torn": open_torn,
        "last_ns": last_ns,
        "complete_since_ns": max(complete_since, default=0),
        "labels": {str(label_id): label(data, identity, label_id) for label_id in used_labels},
        "events": events,
        "open_regions": regions,
        "damages": sorted(damages),
    }


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    path = sys.argv[1]
    try:
        with open(path, "rb") as file:
            data = file.read()
        document = decode(data)
    except OSError as error:
        sys.exit(f"{path}: {error.strerror}")
    except Refused as error:
        sys.exit(f"{path}: {error}")
    sys.stdout.reconfigure(encoding="utf-8")
    json.dump(document, sys.stdout, ensure_ascii=False, indent=1)
    print()


if __name__ == "__main__":
    main()
