"""Reads /metrics from standard input with Prometheus' own parser and prints what it does not like, a line each: a family
without a help text or a type, a counter that is not called _total, a series twice, a histogram that does not add up.
Run by metrics_test.py. SPDX-License-Identifier: Apache-2.0
"""

import collections
import sys

from prometheus_client.parser import text_string_to_metric_families


def histogram_complaints(family):
    buckets, counts = collections.defaultdict(list), {}
    for sample in family.samples:
        series = tuple(sorted((key, value) for key, value in sample.labels.items() if key != "le"))
        if sample.name.endswith("_bucket"):
            buckets[series].append((float(sample.labels["le"]), sample.value))
        elif sample.name.endswith("_count"):
            counts[series] = sample.value
    if buckets.keys() != counts.keys():
        yield f"{family.name}: buckets or counts are missing"
    for series, values in buckets.items():
        if values != sorted(values) or [value for _, value in values] != sorted(value for _, value in values):
            yield f"{family.name}{series}: buckets are out of order"
        if values[-1] != (float("inf"), counts.get(series)):
            yield f"{family.name}{series}: the last bucket is not the count"


def complaints(text):
    seen = set()
    families = list(text_string_to_metric_families(text))
    if len(families) < 5:
        yield f"only {len(families)} families"
    for family in families:
        if not family.documentation:
            yield f"{family.name} has no help"
        if family.type in ("unknown", "untyped"):
            yield f"{family.name} has no type"
        for sample in family.samples:
            series = (sample.name, tuple(sorted(sample.labels.items())))
            if series in seen:
                yield f"{series} is there twice"
            seen.add(series)
            if not sample.name.startswith("arion_"):
                yield f"{sample.name} is not called arion_"
            if family.type == "counter" and not sample.name.endswith("_total"):
                yield f"{sample.name} is a counter without _total"
        if family.type == "histogram":
            yield from histogram_complaints(family)


text = sys.stdin.read()
if not text.endswith("\n"):
    print("the last line has no end")
for complaint in complaints(text):
    print(complaint)
