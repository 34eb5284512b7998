#!/usr/bin/env python3
"""Prints what a .hrxt file holds, as JSON. Written from FORMAT.md alone; the numbers in brackets are its sections.

    decode.py FILE

It shows that FORMAT.md says enough, and other readers can be checked against it. It needs only Python's standard library, holds the whole file
in memory, never modifies it, and does not find out whether the writer still runs [7.11]. A refused file gives one line on stderr and exit code 1.
"""

import json
import struct
import sys
import zlib

# [4]
MAGIC = bytes.fromhex("89 48 52 58 0D 0A 1A 0A")
HEADER_BYTES = 2048  # COUNTERS_OFFSET: the space reserved for the identity
IDENTITY_BYTES = 1024
COUNTERS_BYTES, WITNESS_BYTES = 128, 128
LINE = 64  # RECORD_BYTES and BLOCK_BYTES
TEXT_BYTES_MAX = 16384
STATE_RECORDING, STATE_FINISHED, STATE_LEFT_BY_EXIT = b"RECORDIN", b"FINISHED", b"LEFTEXIT"
SEQUENCE_OPEN = int.from_bytes(b"\0\0\0\0OPEN", "little")
SEQUENCE_TAKEN = 2**64 - 1
SEQUENCE_MAX = 2**54 - 1
OPEN_SLOT_NONE = 65535
KIND_REGION, KIND_OPEN, KIND_MARK, KIND_VALUE, KIND_ARGUMENT, KIND_AMENDMENT = range(6)
FLAG_FAILED, FLAG_SATURATED, FLAG_CANCELLED, FLAG_ARGUMENTS, FLAG_WAITING = 1, 2, 4, 8, 16
TYPES = {1: "u64", 2: "i64", 3: "f64", 4: "bool", 5: "text"}
CONTENT_BYTES, ARGUMENT_TEXT_BYTES_MAX = 26, 256
NAME_LABEL, NAME_LANE, NAME_THREAD, NAME_KEY, NAME_GROUP = range(1, 6)
CLOCK_MONOTONIC = 1
WITNESS_WORD = b"WITNESS2"
CAUSES = {1: "exit", 2: "signal", 3: "exec"}
MEASUREMENT = "host-observed synchronized region latency; not device timestamps"

# [6.1], in order: name, struct code.
IDENTITY = [
    ("magic", "8s"), ("version_major", "H"), ("version_minor", "H"), ("identity_bytes", "I"), ("crc32", "I"), ("salt", "I"),
    ("file_bytes", "Q"), ("counters_offset", "Q"), ("witness_offset", "Q"), ("control_offset", "Q"), ("control_stride", "Q"),
    ("open_offset", "Q"), ("open_stride", "Q"), ("name_offset", "Q"), ("name_bytes", "Q"), ("ring_offset", "Q"), ("ring_stride", "Q"),
    ("capacity", "Q"), ("ring_count", "I"), ("open_slots", "I"), ("epoch_monotonic_ns", "Q"), ("epoch_realtime_ns", "Q"),
    ("epoch_boottime_ns", "Q"), ("epoch_bracket_ns", "I"), ("clock", "I"), ("monotonic_offset_ns", "q"), ("time_namespace", "Q"),
    ("boot_id", "16s"), ("capture_id", "16s"), ("process_start_ticks", "Q"), ("pid_namespace", "Q"), ("process_id", "I"),
    ("attributes_bytes", "I"), ("identity_flags", "I"), ("stack_start", "I"), ("host_name", "64s"), ("program", "64s"), ("attributes", "656s"),
]  # fmt: skip


def fields(code, names):
    """A parser for an item: its struct code, and the names of its fields."""
    code, names = struct.Struct("<" + code), names.split()
    return lambda item: dict(zip(names, code.unpack(item)))


# [6.2], [6.4] to [6.9], [6.11]. The last fields of a record are the same in all kinds.
counters_in = fields("8s9Q48x", "state finished_ns dropped rejected open_refused names_refused last_alive_ns hidden_now arguments_refused names_too_long")
TAIL = "flags kind open_slot crc32"
region_in = fields("5Q4IBBHI", f"sequence start_ns duration_ns copied_bytes correlation_id lane label_id thread_id status {TAIL}")
mark_in = fields("QQ16xQ3I4xBBHI", f"sequence start_ns correlation_id lane label_id thread_id {TAIL}")
value_in = fields("QQ8xQQ4xII4xBBHI", f"sequence start_ns value correlation_id label_id thread_id {TAIL}")
argument_in = fields("QQ26sHIIHBBBBHI", f"sequence start_ns content text_bytes key owner ordinal part type {TAIL}")
amendment_in = fields("QQ8xQQ4IBBHI", f"sequence start_ns copied_bytes correlation_id lane label_id owner status {TAIL}")
open_in = fields("5Q4IBBHI", f"sequence start_ns claimed_at_begin copied_bytes correlation_id lane label_id thread_id ring {TAIL}")
RECORDS = {KIND_REGION: region_in, KIND_MARK: mark_in, KIND_VALUE: value_in, KIND_ARGUMENT: argument_in, KIND_AMENDMENT: amendment_in}
KINDS = {KIND_REGION: "region", KIND_MARK: "mark", KIND_VALUE: "value", KIND_ARGUMENT: "argument", KIND_AMENDMENT: "amendment"}
ENTRY_HEADER = struct.Struct("<IIHBxIQI")  # [6.10]
witness_in = fields(
    "8s16s7QI3BxI32xI",
    "word capture_id seen_monotonic_ns seen_boottime_ns seen_realtime_ns time_namespace peak_resident_bytes user_ns system_ns status"
    " cause core_dumped out_of_memory witness_process_id crc32",
)


class Refused(Exception):
    """The file is not a trace that can be read [7.1]."""


def take(data, start, size):
    """The `size` bytes at `start`; bytes past the end of the file read as zeroes [7.1]."""
    return data[start : start + size].ljust(size, b"\0")


def salt_of(identity, tag):
    """The salt of an area [5]: open table 1, name table 2, ring r 3 + r, witness 65536."""
    return (identity["salt"] + tag) % 2**32


def checksum(item, crc_at, stand_in):
    """The CRC-32 of an item while its crc32 field, at crc_at, holds stand_in [5]."""
    return zlib.crc32(item[:crc_at] + stand_in.to_bytes(4, "little") + item[crc_at + 4 :])


def verifies(item, salt):
    """Whether the checksum of an item that ends with it holds [5]."""
    return int.from_bytes(item[-4:], "little") == checksum(item, len(item) - 4, salt)


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
    if identity["version_major"] != 2:
        version = f"{identity['version_major']}.{identity['version_minor']}"
        raise Refused(f"format version at offset 8: found {version}, expected 2.x: convert it with the hrx-convert of the version that recorded it")
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

    def begins_after(end, field, alignment=64):
        return i[field] % alignment == 0 and end <= i[field]

    control_end = i["control_offset"] + i["control_stride"] * i["ring_count"]
    open_end = i["open_offset"] + i["open_stride"] * i["open_slots"]
    rings_end = i["ring_offset"] + i["ring_stride"] * i["ring_count"]
    yield "capacity", 1 <= i["capacity"] <= 2**46, "1 to 2^46"
    yield "ring_count", 1 <= i["ring_count"] <= 1024, "1 to 1024"
    yield "open_slots", i["open_slots"] <= 65534, "at most 65534"
    yield "open_stride", i["open_stride"] % 64 == 0 and 64 <= i["open_stride"] <= 4096, "a multiple of 64 from 64 to 4096"
    yield "name_bytes", i["name_bytes"] <= 2**24, "at most 16 MiB"
    yield "name_bytes", i["name_bytes"] % 64 == 0, "a multiple of 64"
    yield "counters_offset", begins_after(i["identity_bytes"], "counters_offset"), "a multiple of 64 after the identity"
    yield "witness_offset", begins_after(i["counters_offset"] + COUNTERS_BYTES, "witness_offset", 128), "a multiple of 128 after the counters"
    yield "control_offset", begins_after(i["witness_offset"] + WITNESS_BYTES, "control_offset"), "a multiple of 64 after the witness"
    yield "control_stride", begins_after(64, "control_stride"), "a positive multiple of 64"
    yield "open_offset", begins_after(control_end, "open_offset"), "a multiple of 64 after the control lines"
    yield "name_offset", begins_after(open_end, "name_offset"), "a multiple of 64 after the open table"
    yield "ring_offset", begins_after(i["name_offset"] + i["name_bytes"], "ring_offset"), "a multiple of 64 after the name table"
    yield "ring_stride", begins_after(64 * i["capacity"], "ring_stride"), "a multiple of 64 that holds capacity records"
    yield "file_bytes", rings_end <= i["file_bytes"] < 2**63, "room for all rings"
    yield "attributes_bytes", i["attributes_bytes"] <= 656, "at most the size of attributes"


def read_witness(data, identity, damages):
    """The witness, if there is one that is believed, and the moment that no sign of life can be later than [7.10]."""
    item = take(data, identity["witness_offset"], WITNESS_BYTES)
    if not any(item):
        return None, None
    witness = witness_in(item)
    word, capture_id, cause = witness.pop("word"), witness.pop("capture_id"), CAUSES.get(witness["cause"])
    reserved = cause is None or witness["core_dumped"] > 2 or witness["out_of_memory"] > 2
    genuine = word == WITNESS_WORD and capture_id == identity["capture_id"] and verifies(item, salt_of(identity, 65536))
    if reserved or not genuine:
        damages.append(identity["witness_offset"])
        return None, None
    del witness["crc32"]
    for field in ("core_dumped", "out_of_memory"):
        witness[field] = (None, False, True)[witness[field]]
    exact = witness["time_namespace"] == identity["time_namespace"] and identity["clock"] == CLOCK_MONOTONIC
    clock = "monotonic" if exact else "realtime"
    seen_ns = max(0, witness[f"seen_{clock}_ns"] - identity[f"epoch_{clock}_ns"])
    return witness | {"cause": cause, "seen_ns": seen_ns, "seen_exactly": exact}, seen_ns if exact else None


def understood(kind, item):
    """The fields of a record whose checksum holds, or None if one has a reserved value [6.4, 6.7]."""
    if kind not in RECORDS:
        return None
    record = RECORDS[kind](item)
    if kind == KIND_ARGUMENT:
        parts = 1
        if record["type"] == 5:
            if record["text_bytes"] > ARGUMENT_TEXT_BYTES_MAX:
                return None
            parts = max(1, -(-record["text_bytes"] // CONTENT_BYTES))
        if record["type"] not in TYPES or record["part"] >= parts or record["type"] == 4 and record["content"][0] > 1:
            return None
    return record


def read_ring(data, identity, ring, damages):
    """What became of a ring's tickets, and its recovered records in ticket order [7.3, 7.4]."""
    capacity, salt = identity["capacity"], salt_of(identity, 3 + ring)
    start = identity["ring_offset"] + ring * identity["ring_stride"]
    believable = {}  # items by sequence. Slots past the end of the file are never visited.
    for slot in range(min(capacity, max(0, len(data) - start) // LINE)):
        item = take(data, start + slot * LINE, LINE)
        sequence = int.from_bytes(item[:8], "little")
        if 0 < sequence <= SEQUENCE_MAX and (sequence - 1) % capacity == slot and verifies(item, salt):
            believable[sequence] = item

    control = identity["control_offset"] + ring * identity["control_stride"]
    claimed = int.from_bytes(take(data, control, 8), "little")
    newest = max(believable, default=0)
    if claimed > SEQUENCE_MAX or newest and not max(0, claimed - capacity) < newest <= claimed:
        damages.append(control)
        claimed = newest

    overwritten = max(0, claimed - capacity)
    in_window = sorted(sequence for sequence in believable if overwritten < sequence <= claimed)
    records = [understood(believable[sequence][57], believable[sequence]) for sequence in in_window]
    skipped = records.count(None)
    records = [record for record in records if record is not None]
    account = {"claimed": claimed, "recovered": len(records), "overwritten": overwritten}
    account |= {"torn": claimed - overwritten - len(records) - skipped, "skipped": skipped}
    account |= {f"{name}s": sum(record["kind"] == kind for record in records) for kind, name in KINDS.items()}
    return account, records


def read_open_table(data, identity, damages):
    """The regions that the open table shows, and the number of torn ones [7.6]. The first damaged line is damage [7.13]."""
    shown, torn, salt = {}, 0, salt_of(identity, 1)
    damaged = []
    for slot in range(identity["open_slots"]):
        place = identity["open_offset"] + slot * identity["open_stride"]
        item = take(data, place, LINE)
        region = open_in(item)
        sequence, claimed, ring = region["sequence"], region["claimed_at_begin"], region["ring"]
        if sequence in (0, SEQUENCE_TAKEN):
            continue
        of_this_tenant = sequence == SEQUENCE_OPEN + (claimed + 2**22 * ring) % 2**32
        fitting = region["kind"] == KIND_OPEN and region["open_slot"] == 1 + slot and ring < identity["ring_count"]
        if not of_this_tenant or not fitting or not verifies(item, salt):
            torn += 1
            continue
        region |= {"slot": slot, "amendments": {}, "records": {}}  # by ticket
        for line in range(1, identity["open_stride"] // LINE):
            item = take(data, place + line * LINE, LINE)
            if item[:8] != bytes(8) and not verifies(item, salt):
                damaged.append(place + line * LINE)
            kind = KIND_AMENDMENT if line == 1 else KIND_ARGUMENT
            record = understood(kind, item) if item[57] == kind and verifies(item, salt) else None
            if record is None:
                continue
            from_ring, record["sequence"] = divmod(record["sequence"], 2**54)
            if from_ring == ring and record["open_slot"] == 1 + slot and is_of(record, region):
                region["amendments" if line == 1 else "records"][record["sequence"]] = record
        shown[slot] = region
    damages.extend(damaged[:1])
    return shown, torn


def is_of(record, region):
    """Whether a record in the region's ring, with the region's slot, is of this tenant [7.6, 7.7]."""
    claimed = region["claimed_at_begin"]
    return record["sequence"] > claimed and record["owner"] == claimed % 2**32 and record["start_ns"] == region["start_ns"]


def settle(records, ring, open_slots, shown, account):
    """Gives each event of a ring its arguments, and each open region its arguments and amendments; drops the open regions that completed [7.6, 7.7]."""
    pending = {}  # by ("slot", slot) or ("thread", thread): the arguments of one owner
    unclaimed = []  # what belongs to no completed event
    for record in records:
        kind, open_slot = record["kind"], record["open_slot"]
        if kind in (KIND_ARGUMENT, KIND_AMENDMENT):
            if 0 < open_slot <= open_slots:
                holder = ("slot", open_slot - 1)
            elif kind == KIND_ARGUMENT and open_slot == OPEN_SLOT_NONE:
                holder = ("thread", record["owner"])
            else:
                unclaimed.append(record)
                continue
            waiting = pending.setdefault(holder, [])
            if waiting:
                last = waiting[-1]
                if holder[0] == "slot":
                    same = (record["owner"], record["start_ns"]) == (last["owner"], last["start_ns"])
                else:
                    ascends = (record["ordinal"], record["part"]) > (last["ordinal"], last["part"])
                    same = ascends and record["start_ns"] == last["start_ns"]
                if not same:
                    unclaimed += waiting
                    waiting.clear()
            waiting.append(record)
        else:
            holds_slot = kind == KIND_REGION and open_slot not in (0, OPEN_SLOT_NONE)
            waiting = pending.pop(("slot", open_slot - 1) if holds_slot else ("thread", record["thread_id"]), [])
            own = waiting and record["flags"] & FLAG_ARGUMENTS and waiting[0]["start_ns"] == record["start_ns"]
            record["records"] = {}
            if own:
                record["records"] = {argument["sequence"]: argument for argument in waiting if argument["kind"] == KIND_ARGUMENT}
                account["joined"] += len(record["records"])
            else:
                unclaimed += waiting
            if holds_slot:
                region = shown.get(open_slot - 1)
                if region and region["ring"] == ring and record["sequence"] > region["claimed_at_begin"]:
                    del shown[open_slot - 1]
    for record in sum(pending.values(), unclaimed):
        region = shown.get(record["open_slot"] - 1)
        of_open = region is not None and region["ring"] == ring and is_of(record, region)
        if record["kind"] == KIND_AMENDMENT:
            if of_open:
                region["amendments"][record["sequence"]] = record
        elif of_open:
            region["records"][record["sequence"]] = record
            account["joined"] += 1
        else:
            account["orphaned"] += 1


def arguments_of(records, has_arguments):
    """An event's arguments, from their records by ticket, and at least how many are lost [7.7]."""
    arguments = {}
    for _, record in sorted(records.items()):
        text_bytes = record["text_bytes"] if record["type"] == 5 else 0
        parts = arguments.setdefault((record["ordinal"], record["key"], record["type"], text_bytes), {})
        parts.setdefault(record["part"], record)
    listed = []
    for (_, key, kind, text_bytes), parts in arguments.items():
        incomplete = False
        if kind == 5:
            text = b""
            while len(text) < text_bytes and len(text) // CONTENT_BYTES in parts:
                text += parts[len(text) // CONTENT_BYTES]["content"][: text_bytes - len(text)]
            incomplete = len(text) < text_bytes
            try:
                value = text.decode()
            except UnicodeDecodeError as error:
                value, incomplete = text[: error.start].decode(), True
        else:
            content = parts[0]["content"]
            value = int.from_bytes(content[:8], "little", signed=kind == 2)
            if kind == 3:
                value = f"{value:#018x}"
            if kind == 4:
                value = bool(content[0])
        cut = kind == 5 and any(record["flags"] & FLAG_SATURATED for record in parts.values())
        listed.append({"key": key, "type": TYPES[kind], "value": value, "cut": cut, "incomplete": incomplete})
    ordinals = {ordinal for ordinal, *_ in arguments}
    lost = max(ordinals) + 1 - len(ordinals) if ordinals else int(has_arguments)
    return {"arguments": listed, "arguments_lost": lost}


def read_name(data, identity, name_id):
    """The entry of a name, with the number of blocks it takes, or None if it cannot be believed [7.8]."""
    start = identity["name_offset"] + (name_id - 1) * LINE
    end = min(identity["name_offset"] + identity["name_bytes"], len(data))
    if start + ENTRY_HEADER.size > end:
        return None
    crc32, own_id, text_bytes, kind, group, since_ns, subject = ENTRY_HEADER.unpack(take(data, start, ENTRY_HEADER.size))
    blocks = -(-(ENTRY_HEADER.size + text_bytes) // LINE)
    if own_id != name_id or text_bytes > TEXT_BYTES_MAX or start + blocks * LINE > end:
        return None
    entry = take(data, start, blocks * LINE)
    if crc32 != checksum(entry, 0, salt_of(identity, 2)) or not NAME_LABEL <= kind <= NAME_GROUP:
        return None
    try:
        text = entry[ENTRY_HEADER.size :][:text_bytes].decode()
    except UnicodeDecodeError:
        return None
    return {"id": name_id, "kind": kind, "text": text, "group": group, "since_ns": since_ns, "subject": subject, "blocks": blocks}


def read_names(data, identity):
    """All names that are believed, by id, in ascending order. A name is never inside another [7.8]."""
    names, name_id = {}, 1
    blocks = max(0, min(identity["name_bytes"], len(data) - identity["name_offset"])) // LINE
    while name_id <= blocks:
        name = read_name(data, identity, name_id)
        if name:
            names[name_id] = name
        name_id += name["blocks"] if name else 1
    return names


def name_of_thread(threads, thread_id, moment_ns):
    """The name that a thread had at a moment, or None [7.8]."""
    own = [name for name in threads if name["subject"] == thread_id]
    held = [name for name in own if name["since_ns"] <= moment_ns]
    if held:
        return max(held, key=lambda name: (name["since_ns"], name["id"]))["text"]
    return min(own, key=lambda name: (name["since_ns"], -name["id"]), default={"text": None})["text"]


def end_ns(event):
    """The end of a region, mark or value [3]."""
    return min(event["start_ns"] + event.get("duration_ns", 0), 2**64 - 1)


def describe_event(event, ring, threads):
    """What is printed about a region, mark or value."""
    flags, kind = event["flags"], event["kind"]
    document = {"kind": KINDS[kind], "ring": ring}
    for field in "sequence start_ns duration_ns copied_bytes value correlation_id lane label_id thread_id".split():
        if field in event:
            document[field] = f"{event[field]:#018x}" if field == "value" else event[field]
    document["thread"] = name_of_thread(threads, event["thread_id"], end_ns(event))
    if kind == KIND_REGION:
        document |= {"status": event["status"], "failed": bool(flags & FLAG_FAILED), "cancelled": bool(flags & FLAG_CANCELLED)}
        document["hidden"] = event["open_slot"] == OPEN_SLOT_NONE
    document["saturated"] = bool(flags & FLAG_SATURATED)
    return document | arguments_of(event["records"], bool(flags & FLAG_ARGUMENTS))


def describe_open(region, threads):
    """What is printed about an open region: its open record, with its latest amendment applied [7.6]."""
    amendments = region["amendments"]
    latest = amendments[max(amendments)] if amendments else region
    document = {"slot": region["slot"], "ring": region["ring"], "start_ns": region["start_ns"]}
    document |= {field: latest[field] for field in "copied_bytes correlation_id lane label_id".split()}
    document["thread_id"] = region["thread_id"]
    document["thread"] = name_of_thread(threads, region["thread_id"], region["start_ns"])
    document["status"] = latest.get("status", 0)
    document["waiting"] = bool(latest["flags"] & FLAG_WAITING)
    document["saturated"] = bool(latest["flags"] & FLAG_SATURATED)
    document["amended"] = bool(amendments)
    return document | arguments_of(region["records"], False)


def how_it_ended(state, witness):
    """The ending, as far as the bytes tell [7.11]."""
    if state == STATE_FINISHED:
        return "finished"
    if witness and witness["cause"] != "exit":
        return "died" if witness["cause"] == "signal" else "replaced-by-exec"
    if state == STATE_LEFT_BY_EXIT:
        return "left-by-exit"
    return "ended-without-finish" if witness else "not-finished"


def decode(data):
    """Everything that FORMAT.md has a reader say about a file."""
    identity = accept(data)
    damages = []  # offsets
    if len(data) < identity["file_bytes"]:
        damages.append(len(data))
    witness, limit_ns = read_witness(data, identity, damages)
    counters = counters_in(take(data, identity["counters_offset"], COUNTERS_BYTES))
    state = counters["state"]
    if state not in (STATE_RECORDING, STATE_FINISHED, STATE_LEFT_BY_EXIT):
        damages.append(identity["counters_offset"])
    names = read_names(data, identity)
    threads = [name for name in names.values() if name["kind"] == NAME_THREAD]
    lanes = {name["subject"]: name for name in names.values() if name["kind"] == NAME_LANE}

    shown, open_torn = read_open_table(data, identity, damages)
    rings, keyed = [], []  # keyed: the events of all rings, with the key that merges them [7.4]
    for ring in range(identity["ring_count"]):
        account, records = read_ring(data, identity, ring, damages)
        account |= {"joined": 0, "orphaned": 0}
        settle(records, ring, identity["open_slots"], shown, account)
        rings.append(account)
        key = 0
        for record in records:
            if record["kind"] in (KIND_REGION, KIND_MARK, KIND_VALUE):
                key = max(key, end_ns(record))
                keyed.append((key, ring, record["sequence"], record))
    keyed.sort(key=lambda item: item[:3])
    events = [describe_event(event, ring, threads) for _, ring, _, event in keyed]
    regions = sorted(shown.values(), key=lambda region: (region["start_ns"], region["slot"]))
    regions = [describe_open(region, threads) for region in regions]

    signs = [end_ns(event) for *_, event in keyed] + [region["start_ns"] for region in regions] + [counters["last_alive_ns"]]
    if state in (STATE_FINISHED, STATE_LEFT_BY_EXIT):
        signs.append(counters["finished_ns"])
    last_ns = max((sign for sign in signs if limit_ns is None or sign <= limit_ns), default=0)
    first_ends = {ring: key for key, ring, *_ in reversed(keyed)}
    complete_since = [first_ends.get(ring, last_ns) for ring, account in enumerate(rings) if account["overwritten"]]

    unreadable = set()  # ids of names that are used

    def used(ids, kind):
        """The names of these ids, as [text, group], or None where one cannot be read [7.8]."""
        found = {}
        for name_id in sorted(set(ids) - {0}):
            name = names.get(name_id) or read_name(data, identity, name_id)
            if not name or name["kind"] != kind:
                unreadable.add(name_id)
                name = None
            found[str(name_id)] = name and [name["text"], name["group"] if kind != NAME_GROUP else 0]
        return found

    labels = used([item["label_id"] for item in events + regions], NAME_LABEL)
    keys = used([argument["key"] for item in events + regions for argument in item["arguments"]], NAME_KEY)
    grouped = [name[1] for name in [*labels.values(), *keys.values()] if name]
    groups = used(grouped + [name["group"] for name in [*lanes.values(), *threads]], NAME_GROUP)
    if unreadable:
        damages.append(identity["name_offset"] + LINE * (min(unreadable) - 1))

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
        "clock": "monotonic" if identity["clock"] == CLOCK_MONOTONIC else "unknown",
        "epoch_monotonic_ns": identity["epoch_monotonic_ns"],
        "epoch_realtime_ns": identity["epoch_realtime_ns"],
        "epoch_boottime_ns": identity["epoch_boottime_ns"],
        "epoch_bracket_ns": identity["epoch_bracket_ns"],
        "time_namespace": identity["time_namespace"],
        "monotonic_offset_ns": identity["monotonic_offset_ns"] if identity["identity_flags"] & 1 else None,
        "capacity": identity["capacity"],
        "ending": how_it_ended(state, witness),
        "witness": witness,
        "account": {name: sum(ring[name] for ring in rings) for name in rings[0]},
        "rings": rings,
        "rejected": counters["rejected"],
        "open_refused": counters["open_refused"],
        "hidden_now": counters["hidden_now"],
        "arguments_refused": counters["arguments_refused"],
        "names_refused": counters["names_refused"],
        "names_too_long": counters["names_too_long"],
        "open_torn": open_torn,
        "last_ns": last_ns,
        "complete_since_ns": max(complete_since, default=0),
        "labels": labels,
        "keys": keys,
        "groups": groups,
        "lanes": {str(lane): [name["text"], name["group"]] for lane, name in sorted(lanes.items())},
        "threads": [
            {"thread_id": name["subject"], "since_ns": name["since_ns"], "text": name["text"], "group": name["group"]} for name in threads
        ],
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
