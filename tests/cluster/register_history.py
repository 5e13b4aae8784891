"""Is the history of a register linearizable? For histories of `arion_load --history` and of the Go driver, where each write's value is unique.

For each value: its zone, from the earliest end of what wrote or read it to the latest begin. A history is linearizable if and
only if no read ends before its write began, no two forward zones (end before begin: the register surely had that value then)
overlap, and no backward zone lies within a forward one (Gibbons and Korach, "Testing Shared Memories", 1997).
SPDX-License-Identifier: Apache-2.0
"""

import collections
import json

FOREVER = float("inf")


def violations(operations):
    """Of one register: operations are (op, value, begin, end or None); what is wrong with them, as texts."""
    by_value = collections.defaultdict(list)
    for op, value, begin, end in operations:
        by_value[value].append((op, begin, FOREVER if end is None else end))
    forward, backward, found = [], [], []
    for value, members in by_value.items():
        writes = [m for m in members if m[0] == "write"]
        reads = [m for m in members if m[0] == "read"]
        if value is None:
            writes = [("write", -FOREVER, -FOREVER)]  # it began without one
        if not writes:
            found.append(f"{value!r} was read and never written")
            continue
        if len(writes) == 1 and writes[0][2] == FOREVER and not reads:
            continue  # never answered, never seen
        if any(read[2] < writes[0][1] for read in reads):
            found.append(f"{value!r} was read before it was written")
        low = min(m[2] for m in writes + reads)
        high = max(m[1] for m in writes + reads)
        (forward if low < high else backward).append((min(low, high), max(low, high), value))
    forward.sort(key=lambda zone: zone[:2])
    for (_, end, value), (begin, _, other) in zip(forward, forward[1:]):
        if begin < end:
            found.append(f"{value!r} and {other!r} were both there at one time")
    for begin, end, value in backward:
        for low, high, other in forward:
            if low < begin and end < high:
                found.append(f"{value!r} came and went while {other!r} was there")
    return found


def check_lines(lines):
    """(operations, registers, undecided writes, violations) of a history."""
    registers = collections.defaultdict(list)
    undecided = count = 0
    for line in lines:
        entry = json.loads(line)
        if entry["op"] == "remove":
            raise AssertionError("removes write no unique value")
        registers[entry["key"]].append((entry["op"], entry["value"], entry["call"], entry["return"]))
        count += 1
        undecided += entry["return"] is None
    return count, len(registers), undecided, [f"{key}: {what}" for key, ops in sorted(registers.items())
                                              for what in violations(ops)]


def check(path):
    """The same of a history file."""
    with open(path) as file:
        return check_lines(file)
