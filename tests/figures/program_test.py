#!/usr/bin/env python3
"""tools/figures on sections of its own: what is kept when one fails, and how long each took.

SPDX-License-Identifier: Apache-2.0
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import sys
import tempfile
import unittest
from unittest import mock

import support
import page

GOOD = """
def measure(run):
    run.keep({"round": 1})
    run.table("Numbers", ["what", "ms"], [("a", 1)])
    return {"ms": 1}
"""
FAILS = """
import sys
def measure(run):
    run.keep({"round": 1})
    sys.exit("figures: it ended with 1")
"""


def program():
    """tools/figures as a module."""
    loader = importlib.machinery.SourceFileLoader("figures_program", os.path.join(support.ROOT, "tools", "figures"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class Program(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        with open(self.at("RESULTS.md"), "w", encoding="utf-8") as file:
            file.write("# Results\n")

    def at(self, *path):
        return os.path.join(self.directory, *path)

    def text(self, *path):
        with open(self.at(*path), encoding="utf-8") as file:
            return file.read()

    def figures(self, sections, *arguments):
        """Runs it over {name of a section: source}: what it printed and said, and whether it came to its end."""
        os.mkdir(self.at("sections"))
        for name, source in sections.items():
            with open(self.at("sections", f"{name}.py"), "w", encoding="utf-8") as file:
                file.write(source)
        figures, out, said = program(), io.StringIO(), io.StringIO()
        with mock.patch.object(figures, "SECTIONS", self.at("sections")), mock.patch.object(page, "RESULTS", self.at("RESULTS.md")), \
                mock.patch.object(sys, "argv", ["figures", "--quick", "--raw", self.at("raw"), *arguments]), \
                mock.patch.object(sys, "path", list(sys.path)), mock.patch.dict(os.environ), \
                contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
            try:
                figures.main()
                return out.getvalue(), said.getvalue(), True
            except SystemExit:
                return out.getvalue(), said.getvalue(), False

    def test_what_a_section_measured_before_it_failed_is_kept(self):
        _, _, ended = self.figures({"a_good": GOOD, "b_fails": FAILS, "c_good": GOOD}, "--results", "--html", self.at("page.html"))
        self.assertFalse(ended)
        for section in ("a_good", "b_fails"):
            self.assertEqual(json.loads(self.text("raw", f"{section}.json")), [{"round": 1}])
        self.assertIn("### a_good", self.text("RESULTS.md"))
        self.assertNotIn("b_fails", self.text("RESULTS.md"))
        self.assertIn("<h2>a_good</h2>", self.text("page.html"))

    def test_a_section_that_measured_nothing_leaves_an_earlier_runs_results(self):
        os.mkdir(self.at("raw"))
        with open(self.at("raw", "f_empty.json"), "w", encoding="utf-8") as file:
            file.write("earlier")
        _, _, ended = self.figures({"f_empty": "import sys\ndef measure(run):\n    sys.exit(1)\n"})
        self.assertFalse(ended)
        self.assertEqual(self.text("raw", "f_empty.json"), "earlier")

    def test_it_says_how_long_each_section_took_and_all_of_them(self):
        out, said, ended = self.figures({"d_good": GOOD, "e_good": GOOD}, "--json")
        self.assertTrue(ended)
        self.assertRegex(said.splitlines()[-1], r"^figures: took \d+ s: d_good \d+, e_good \d+$")
        self.assertEqual(json.loads(out.splitlines()[-1]), {"d_good": {"ms": 1}, "e_good": {"ms": 1}})


if __name__ == "__main__":
    unittest.main()
