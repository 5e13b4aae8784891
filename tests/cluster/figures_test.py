#!/usr/bin/env python3
"""tools/figures --quick: a section runs and tells its figures, which are finite numbers. What they say is no test's business.

Of ctest's run a sixth of the sections, others with each commit.

SPDX-License-Identifier: Apache-2.0
"""

import json
import math
import os
import re
import subprocess
import unittest

import harness

# What each section's object holds; of a dictionary in it every value must be a number.
EXPECTED = {
    "connections": {*(f"{who}get_{count}_{what}" for who in ("", "bare_") for count in (50, 1000, 5000) for what in ("per_s", "cpu_us")),
                    "get_5000_over_best", "bare_get_5000_over_best", "get_5000_over_best_of_bare", "active_p99_ratio", "idle_bytes",
                    *(f"loops_over_threads_{size}_{clients}" for size in (1000, 32000) for clients in (100, 200, 1000))},
    "copies": {"scan_per_s", "puts_per_s", "copy_per_s", "copy_of_slower_side", "grouped_of_slower_side"},
    "cost": {"get_by_records", "get_by_partitions", "put_by_records", "put_by_partitions", "engine_get_by_records"},
    "indexes": {"build_speedup", "one_walk_speedup", "speedup_on_24_cores", "put_with_1", "put_with_4", "engine_put_with_1",
                "engine_put_with_4", "update_p99_ratio", "read_p99_ratio", "first_write_ratio"},
    "learning": {"alone_mb_per_s", "under_load_mb_per_s", "read_p99_ratio", "update_p99_ratio", "rate_with_one_down"},
    "logs": {"logs 1, bytes 1024", "logs 8, bytes 1024"},
    "mixes": {"real", "emulated"},
    "peers": {"put_over_etcd", "put_by_go_over_etcd", "puts_a_second"},
    "restart": {"flushed_speedup", "rate_of_flushed", "speedup_of_flushed", "parallel_speedup", "raw_speedup", "speedup_of_raw",
                "rate_of_raw", "first_served_seconds", "last_served_seconds", "rate_by_directories_and_threads", "clean_start_seconds",
                "slowest_over_median", "cluster_served_seconds"},
    "duplication": {"p99_ratio", "p99_ratio_apart", "lag_p99_s", "back_s"},
    "split": {"held_p99_ms", "split_s", "read_p99_ratio", "update_p99_ratio"},
}
WHERE_DISKS_CAN_BE_SLOWED = {"restart": {"slow_disks_speedup", "slow_disks_raw_speedup"}}
MIXES = {"0:1", "1:0", "1:1", "1:3", "1:30", "3:1", "30:1"}
GOAL_SECONDS = 50  # not asserted: how long it takes is the machine's and its neighbours' business as well
SYSTEMS = 4  # whose puts are measured: ours by two clients


def chosen():
    """Which sections are measured: what a commit spoils is seen with it or one of the next five."""
    return sorted(EXPECTED)[harness.commits() % 6::6] if harness.some_will_do() else sorted(EXPECTED)


def numbers(value, path=()):
    """(path, number) of all that a dictionary holds."""
    if isinstance(value, dict):
        assert value, path
        for name, one in value.items():
            yield from numbers(one, (*path, name))
    else:
        yield path, value


class FiguresTest(unittest.TestCase):
    def test_the_sections_are_those_expected(self):
        told = subprocess.run([os.path.join(harness.ROOT, "tools", "figures"), "--help"], capture_output=True, text=True, check=True)
        sections = re.search(r"--section {([a-z,]+)}", told.stdout).group(1).split(",")
        self.assertEqual(sections, sorted(EXPECTED))

    def test_a_section_tells_its_figures(self):
        load, sections = os.getloadavg()[0], chosen()
        done = subprocess.run([os.path.join(harness.ROOT, "tools", "figures"), "--quick", "--json", "--build", harness.BUILD,
                               *(word for section in sections for word in ("--section", section))],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0, done.stderr[-5000:])
        took, = (line for line in done.stderr.splitlines() if line.startswith("figures: took "))
        print(f"{took} (goal {GOAL_SECONDS} s on a quiet machine; load before: {load:.1f} on {os.cpu_count()} CPUs)")
        told = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual(sorted(told), sections)
        for section in sections:
            self.assertEqual(set(told[section]) - WHERE_DISKS_CAN_BE_SLOWED.get(section, set()), EXPECTED[section], section)
        for disks in ("real", "emulated") if "mixes" in told else ():
            self.assertEqual(set(told["mixes"][disks]), MIXES)
        if "peers" in told:
            self.assertEqual(len(told["peers"]["puts_a_second"]), SYSTEMS)
        for path, value in numbers(told):
            with self.subTest(path):
                self.assertIsInstance(value, (int, float))
                self.assertTrue(math.isfinite(value) and value > 0, value)


if __name__ == "__main__":
    unittest.main(verbosity=2)
