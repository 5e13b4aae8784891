"""What the sections of tools/figures share: runs in turn, medians and spread, whether a difference is one.

A section is a file beside this one with `measure(run)`, which gets a Run and returns a dictionary of figures.
SPDX-License-Identifier: Apache-2.0
"""

import importlib.util
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

import cpu_time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXACT_UP_TO = 20000  # ways to divide the values, else a sample of them
SIGNIFICANT = 0.05
FEWEST_ROUNDS = 4  # that can be significant: three against three can't be under 0.1


class Comparison:
    """One variant against another, of values measured in the same rounds."""

    def __init__(self, values, base):
        ratios = [a / b for a, b in zip(values, base)]
        self.ratio = statistics.median(ratios)
        self.least, self.most = min(ratios), max(ratios)
        self.chance = chance_of(values, base)
        self.verdict = ("too few rounds to tell" if len(ratios) < FEWEST_ROUNDS
                        else "significant" if self.chance < SIGNIFICANT else "not significant")

    def __str__(self):
        return f"{self.ratio:.2f} ({self.least:.2f}-{self.most:.2f}; p {self.chance:.3f}, {self.verdict})"


def chance_of(a, b):
    """How often a division of the same values by chance would differ as much as a and b do (permutation test, two-sided)."""
    values, total = a + b, sum(a) + sum(b)

    def difference(sum_of_a):
        return abs(sum_of_a / len(a) - (total - sum_of_a) / len(b))
    seen = difference(sum(a)) * (1 - 1e-9)
    ways = itertools.combinations(values, len(a))
    divisions = list(itertools.islice(ways, EXACT_UP_TO + 1))
    if len(divisions) > EXACT_UP_TO:
        chosen = random.Random(1)
        divisions = [chosen.sample(values, len(a)) for _ in range(EXACT_UP_TO)]
    return sum(difference(sum(division)) >= seen for division in divisions) / len(divisions)


def spread(values, digits=2):
    """Median, and in brackets the smallest and the largest."""
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"


def in_turn(variants, repeats, before=lambda: None):
    """Runs {name: function} once each, round after round, each after `before()`: what each returned, by name. Every other round
    goes backwards, so that nobody always has the same one's wake."""
    results = {name: [] for name in variants}
    for i in range(repeats):
        for name in reversed(variants) if i % 2 else variants:
            before()
            results[name].append(variants[name]())
    return results


def arion_load(run, cluster, command, *flags):
    """What one run of the load tool reports of its last phase, of the table temp and YCSB's workload a unless flags say else."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        run.command([os.path.join(run.build, "arion_load"), command, f"--meta={cluster.meta.address}", "--table=temp",
                     "--workload=a", f"--json={report.name}", *flags])
        return json.load(report)["phases"][-1]


def script(path):
    """A script of the repository as a module, whatever its name."""
    spec = importlib.util.spec_from_file_location("script_" + path.replace("/", "_").removesuffix(".py"), os.path.join(ROOT, path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Run:
    """What a section is measured with, and what it has to show: tables and plots, in their order."""

    def __init__(self, section, build, quick, raw):
        self.section, self.build, self.quick, self.raw = section, build, quick, raw
        self.kept, self.shown = [], []

    def binary(self, target, path):
        """A program of the build directory, built first; configures it with benchmarks when that was not done."""
        cache = os.path.join(self.build, "CMakeCache.txt")
        if not os.path.exists(cache) or "ARION_BENCH:BOOL=ON" not in open(cache, encoding="utf-8").read():
            self.command(["cmake", "-S", ROOT, "-B", self.build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                          "-DARION_BENCH=ON"])
        self.command(["cmake", "--build", self.build, "--target", target])
        return os.path.join(self.build, path)

    def packages(self, group):
        """Installs this group of tools/packages.txt, where something of it is missing."""
        self.command(["bash", "-c", f". {ROOT}/tools/common.sh && install_packages $(packages_of {group})"])

    def command(self, arguments, **options):
        """Its standard output; ends the program when it fails."""
        self.say("+ " + " ".join(arguments))
        done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        if done.returncode != 0:
            sys.exit(f"figures: {' '.join(arguments)} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-3000:]}")
        return done.stdout

    def settle(self, pids):
        """What these processes do by themselves must not go on beside what is measured next. A quick run's figures say nothing."""
        if not self.quick and not cpu_time.settle(pids):
            self.say("figures: the servers do not come to rest; measured nevertheless")

    def keep(self, value):
        """One raw result, for the file that --raw names; what is added to it later is in it, too."""
        self.kept.append(value)

    def store(self):
        if self.raw is None or not any(self.kept):
            return
        os.makedirs(self.raw, exist_ok=True)
        with open(os.path.join(self.raw, self.section + ".json"), "w", encoding="utf-8") as file:
            json.dump(self.kept, file, indent=1)

    def table(self, title, header, rows):
        cells = [list(header), *([str(cell) for cell in row] for row in rows)]
        self.shown.append(("table", title, cells))
        widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
        print(title)
        for row in cells:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
        print(flush=True)

    def plot(self, title, categories, bars):
        """Bars of each category side by side: {their name: a value for each category}."""
        self.shown.append(("plot", title, (categories, bars)))

    @staticmethod
    def say(text):
        print(text, file=sys.stderr, flush=True)
