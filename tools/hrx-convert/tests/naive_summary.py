#!/usr/bin/env python3
"""Prints the figures of --summary --json, computed from the events of spec/decode.py in the most naive way. Percentiles are exact.

    naive_summary.py FILE...

One line of JSON for each file.
"""

import json
import sys
from itertools import combinations
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "spec"))
from decode import decode  # noqa: E402

END = 2**64 - 1
LANES = ["upload", "compute", "download", "NPU", "host"]


def end_of(event):
    return min(event["start_ns"] + event["duration_ns"], END)


def name_of(lane, document):
    text, group_id = document["lanes"].get(str(lane)) or ("", 0)
    if text:
        group, _ = document["groups"].get(str(group_id)) or ("", 0)
        return f"{group}: {text}" if group else text
    return LANES[lane] if lane < len(LANES) else f"lane {lane}"


def union(intervals):
    """Disjoint intervals that cover the same time, in order."""
    merged = []
    for start, end in sorted(i for i in intervals if i[0] < i[1]):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


def length(intervals):
    return sum(end - start for start, end in intervals)


def common(one, other):
    """How long both unions last at once: the sum of their lengths, less the length of the union of both."""
    return length(one) + length(other) - length(union([tuple(i) for i in one + other]))


def nearest_rank(durations, percent):
    return sorted(durations)[max(1, -(-len(durations) * percent // 100)) - 1] if durations else None


def row(events, running, span, last_ns):
    durations = [event["duration_ns"] for event in events]
    copying = [event for event in events if event["copied_bytes"]]
    copying_ns = sum(event["duration_ns"] for event in copying)
    copied = sum(event["copied_bytes"] for event in copying)
    busy = length(union(intervals(events, running, last_ns)))
    return {
        "count": len(events),
        "failed": sum(event["failed"] for event in events),
        "unfinished": len(running),
        "total_ns": min(sum(durations), END),
        "mean_ns": sum(durations) // len(durations) if durations else None,
        "p50_ns": nearest_rank(durations, 50),
        "p90_ns": nearest_rank(durations, 90),
        "p99_ns": nearest_rank(durations, 99),
        "max_ns": max(durations, default=None),
        "busy_ns": busy,
        "busy_share": busy / span if span else None,
        "copied_bytes": min(copied, END),
        "gigabytes_per_second": copied / copying_ns if copying_ns else None,
    }


def intervals(events, running, last_ns):
    return [(e["start_ns"], end_of(e)) for e in events] + [(r["start_ns"], last_ns) for r in running]


def region(event, last_ns):
    return {
        "lane": event["lane"],
        "ring": event["ring"],
        "sequence": event["sequence"],
        "start_ns": event["start_ns"],
        "duration_ns": event["duration_ns"],
        "before_the_end_ns": max(last_ns - end_of(event), 0),
    }


def gaps(covered, last_ns):
    found = [(end, start - end) for (_, end), (start, _) in zip(covered, covered[1:])]
    if covered and covered[-1][1] < last_ns:
        found.append((covered[-1][1], last_ns - covered[-1][1]))
    found.sort(key=lambda gap: (-gap[1], gap[0]))
    return [{"start_ns": s, "duration_ns": d, "to_the_end": s + d == last_ns} for s, d in found[:3]]


def share(part, whole):
    return part / whole if whole else None


def summary(path):
    document = decode(Path(path).read_bytes())
    events = [event for event in document["events"] if event["kind"] == "region"]
    running, last_ns = document["open_regions"], document["last_ns"]
    # Marks and values are of the span too, and so is a region that claims to end after the last sign of life.
    span = max([last_ns, *map(end_of, events)]) - min((item["start_ns"] for item in document["events"] + running), default=last_ns)
    lanes, covered = [], {}
    for lane in sorted({item["lane"] for item in events + running}):
        of_lane = [event for event in events if event["lane"] == lane]
        running_here = [item for item in running if item["lane"] == lane]
        covered[lane] = union(intervals(of_lane, running_here, last_ns))
        labels = {}
        for label_id in {item["label_id"] for item in of_lane + running_here}:
            chosen = [event for event in of_lane if event["label_id"] == label_id]
            open_here = [item for item in running_here if item["label_id"] == label_id]
            labels[label_id] = row(chosen, open_here, span, last_ns)
        lanes.append(
            {
                "lane": lane,
                "name": name_of(lane, document),
                **row(of_lane, running_here, span, last_ns),
                "labels": {str(label_id): labels[label_id] for label_id in sorted(labels)},
                "gaps": gaps(covered[lane], last_ns),
                "last": [region(event, last_ns) for event in of_lane[-3:]],
            }
        )
    overlaps = []
    for one, other in combinations(covered, 2):
        shared = common(covered[one], covered[other])
        overlaps.append(
            {
                "lanes": [name_of(one, document), name_of(other, document)],
                "overlap_ns": shared,
                "share_of_span": share(shared, span),
                "share_of_each": [share(shared, length(covered[lane])) for lane in (one, other)],
            }
        )
    slowest = sorted(enumerate(events), key=lambda item: (-item[1]["duration_ns"], item[0]))[:10]
    return {
        "span_ns": span,
        "last_ns": last_ns,
        "complete_since_ns": document["complete_since_ns"],
        "account": document["account"],
        "regions": row(events, running, span, last_ns),
        "lanes": lanes,
        "overlaps": overlaps,
        "failures": [region(event, last_ns) for event in [event for event in events if event["failed"]][-10:]],
        "slowest": [region(event, last_ns) for _, event in slowest],
    }


def main():
    for path in sys.argv[1:]:
        print(json.dumps(summary(path)))


if __name__ == "__main__":
    main()
