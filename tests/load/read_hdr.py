"""Reads an interval log with HdrHistogram's own library (PyPI) and prints what it finds, merged by tag, as JSON.

Percentiles are taken from its counts: the value at rank ceil(p x count), where that library itself rounds the rank.
SPDX-License-Identifier: Apache-2.0
"""

import json
import math
import sys

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader


def value_at(histogram, percentile):
    rank = max(1, math.ceil(percentile * histogram.get_total_count() / 100 - 1e-9))
    for item in histogram.get_recorded_iterator():
        if item.total_count_to_this_value >= rank:
            return histogram.get_highest_equivalent_value(item.value_iterated_to)
    return 0


merged = {}
reader = HistogramLogReader(sys.argv[1], HdrHistogram(1, 3_600_000_000_000, 3))
while True:
    interval = reader.get_next_interval_histogram()
    if interval is None:
        break
    tag = interval.get_tag()
    if tag not in merged:
        merged[tag] = HdrHistogram(1, 3_600_000_000_000, 3)
    merged[tag].add(interval)
print(json.dumps({
    tag: {"count": histogram.get_total_count(),
          "us": {f"p{percentile:g}": value_at(histogram, percentile) / 1e3
                 for percentile in (50, 90, 95, 99, 99.9, 99.99)}}
    for tag, histogram in merged.items()}))
