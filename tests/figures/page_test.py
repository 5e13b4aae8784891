#!/usr/bin/env python3
"""What is measured goes into RESULTS.md section by section: each under its name, nothing else touched.

SPDX-License-Identifier: Apache-2.0
"""

import contextlib
import io
import os
import re
import tempfile
import unittest
from unittest import mock

import support
import measuring
import page

BY_HAND = """# Results

## tools/figures --quick in CI

262 s.

## tools/figures

<!-- tools/figures: cost begins -->
### cost

Of another day.

<!-- tools/figures: cost ends -->

### cost: what it says

By hand.

## Simulator

The end.
"""


def a_run(section, *titles):
    run = measuring.Run(section, build=None, quick=True, raw=None)
    with contextlib.redirect_stdout(io.StringIO()):
        for title in titles:
            run.table(title, ["what", "ms"], [("a", 1), ("b", 2)])
    return run


class Results(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = os.path.join(directory.name, "RESULTS.md")
        patched = mock.patch.object(page, "RESULTS", self.path)
        patched.start()
        self.addCleanup(patched.stop)
        self.write(BY_HAND)

    def write(self, text):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)

    def text(self):
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    def headings(self):
        return re.findall(r"^#+ .*", self.text(), re.MULTILINE)

    def test_a_section_is_replaced_and_the_others_stay(self):
        page.write_results(["Today."], a_run("restart", "Warm"))
        with_restart = self.text()
        page.write_results(["Tomorrow."], a_run("cost", "Gets"))
        page.write_results(["Of another day."], a_run("cost"))
        self.assertEqual(self.text(), with_restart)
        page.write_results(["Tomorrow."], a_run("restart", "Warm"))
        self.assertEqual(self.text(), with_restart.replace("Today.", "Tomorrow."))

    def test_a_new_section_comes_last_of_the_part_and_what_is_by_hand_stays(self):
        page.write_results(["Today."], a_run("restart", "Warm", "Cold"))
        self.assertEqual(self.headings(), ["# Results", "## tools/figures --quick in CI", "## tools/figures", "### cost",
                                           "### cost: what it says", "### restart", "#### Warm", "#### Cold", "## Simulator"])
        begin = self.text().index("<!-- tools/figures: restart begins -->")
        end = self.text().index("## Simulator")
        self.assertEqual(self.text()[:begin] + self.text()[end:], BY_HAND)

    def test_the_part_is_made_when_there_is_none(self):
        self.write("# Results\n\n## tools/figures --quick in CI\n")
        page.write_results(["Today."], a_run("cost", "Gets"))
        page.write_results(["Today."], a_run("restart", "Warm"))
        self.assertEqual(self.headings(), ["# Results", "## tools/figures --quick in CI", "## tools/figures", "### cost",
                                           "#### Gets", "### restart", "#### Warm"])

    def test_the_committed_part_has_marks_for_each_of_its_sections(self):
        with open(os.path.join(support.ROOT, "bench", "RESULTS.md"), encoding="utf-8") as file:
            text = file.read()
        marks = re.findall(r"^<!-- tools/figures: (\w+) (begins|ends) -->$", text, re.MULTILINE)
        self.assertEqual(text.count("<!-- tools/figures"), len(marks))
        sections = [section for section, _ in marks[::2]]
        self.assertEqual(marks, [(section, which) for section in sections for which in ("begins", "ends")])
        self.assertEqual(len(set(sections)), len(sections))
        self.assertIn("mixes", sections)

    def test_each_table_has_a_title(self):
        with self.assertRaises(TypeError):
            a_run("cost").table(["what", "ms"], [("a", 1)])


if __name__ == "__main__":
    unittest.main()
