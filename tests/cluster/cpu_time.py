"""CPU time of processes and of the machine, in seconds.

SPDX-License-Identifier: Apache-2.0
"""

import os
import time

TICKS = os.sysconf("SC_CLK_TCK")
AT_REST = 0.01  # of a core, that a server needs when nothing happens


def cpu_seconds(pids):
    """User and system time of these processes so far."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


def machine_seconds():
    """What all CPUs have worked so far, kernel workers included; idling and waiting for disks is none."""
    with open("/proc/stat", encoding="utf-8") as file:
        fields = [int(field) for field in file.readline().split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / TICKS


def settle(pids, seconds=60):
    """Waits until what these processes do by themselves (flushes, compactions) is over; whether it is, after that time."""
    for _ in range(seconds):
        before = cpu_seconds(pids)
        time.sleep(1)
        if cpu_seconds(pids) - before < 0.05 + AT_REST * len(pids):
            return True
    return False
