#!/usr/bin/env python3
"""What is said of two variants measured in the same rounds.

SPDX-License-Identifier: Apache-2.0
"""

import unittest

import support  # noqa: F401
import measuring

FAR, NEAR = [100, 101, 102, 103, 104], [1, 1.1, 1.2, 1.3, 1.4]


class Comparisons(unittest.TestCase):
    def test_four_rounds_tell_a_difference(self):
        self.assertIn("p 0.029, significant", str(measuring.Comparison(FAR[:4], NEAR[:4])))

    def test_what_overlaps_is_not_significant(self):
        self.assertIn(", not significant", str(measuring.Comparison([1, 2, 3, 4], [2, 3, 4, 1])))

    def test_fewer_rounds_cannot_tell_whatever_was_measured(self):
        for rounds in (1, 2, 3):
            said = str(measuring.Comparison(FAR[:rounds], NEAR[:rounds]))
            self.assertIn(", too few rounds to tell", said)
            self.assertNotIn("significant", said)


if __name__ == "__main__":
    unittest.main()
