#!/usr/bin/env python3
"""Holds every citation to the tree: documents and their numbered sections, decisions. None points outside it.

What is recognised, in code, scripts and documents, also where a comment's lines break it:

    wal/FORMAT.md 7.2               a document, by its path from src/, and a section; with or without backticks
    `rpc/PROTOCOL.md` 5, 6.1 and 9  several of its sections
    decision 9, decisions 5 and 28  sections of src/DECISIONS.md

SPDX-License-Identifier: Apache-2.0
"""

import functools
import os
import re
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Folders whose citations of documents outside the tree are still to be replaced: listed, but no failure. Empty when all is done.
NOT_DONE_YET = ()

# Documents without numbered sections. All others in capital letters have them.
UNNUMBERED = ("README.md", "RESULTS.md", "BUDGET.md")

# Documents that the project was built from; they lie beside it, not in it.
OUTSIDE = re.compile(r"(?<![\w/])(?:shared/)?spec/[\w./*-]*\.md\b|(?<![\w/])(?:perf|reliability|libraries|style)\.md\b|"
                     r"\b(?:disk-formats|wire-protocol|internal-rpc|meta-and-admin)\.md\b|/work/shared\b|\breview-house\b")
# Paths of files of older versions, which lie beside the tree, too (decision 31): no citations.
FIXTURES = re.compile(r"shared/spec/fixtures|shared/fixtures|spec/fixtures/mlogtool\.py")

# Files that name such documents because they judge names.
JUDGES = ("tests/citations_test.py", "tests/layers_test.py", "tests/tags_test.py")

TEXTS = (".h", ".cc", ".py", ".md", ".txt", ".cmake", ".sh", ".ini", ".go", ".java", ".js", ".html", ".patch", ".in")

NUMBER = r"\d+(?:\.\d+)*"
LIST = rf"{NUMBER}(?:(?:, ?| and | or | to ){NUMBER})*"
DOCUMENT = re.compile(rf"(?<![\w./])((?:\.\./)*(?:[\w-]+/)*[A-Z_]{{4,}}\.md)`? ?(?!\.)({LIST}(?![\w%]))?")
DECISION = re.compile(rf"\b[Dd]ecisions?(?:'s)? ({LIST})")
HEADING = re.compile(rf"^#+ ({NUMBER})[. ]", re.MULTILINE)
LINE_BREAK = re.compile(r"[ \t]*\n[ \t]*(?://+|#(?!#)|\*|\|)?[ \t]*")


def files():
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [f for f in folders if not f.startswith((".git", "build", "onebox", ".cache", "__pycache__"))]
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), ROOT)
            if path not in JUDGES and (name.endswith(TEXTS) or "." not in name) and not os.path.islink(os.path.join(ROOT, path)):
                yield path


@functools.cache
def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def without_code(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


@functools.cache
def sections_of(path):
    return frozenset(HEADING.findall(without_code(read(path))))


@functools.cache
def find(folder, cited):
    """The document that is cited from a file of this folder; None: there is none."""
    for base in (folder, "src", ""):
        path = os.path.normpath(os.path.join(base, cited))
        if os.path.isfile(os.path.join(ROOT, path)):
            return path
    return None


def in_one_line(text):
    """The text as one line, and the line numbers of its characters as a function."""
    parts, starts, at, number = [], [], 0, 1
    begin = 0
    for match in LINE_BREAK.finditer(text):
        parts += [text[begin:match.start()], " "]
        starts.append((at, number))
        at += match.start() - begin + 1
        number += match.group().count("\n")
        begin = match.end()
    parts.append(text[begin:])
    starts.append((at, number))
    return "".join(parts), lambda place: max(n for start, n in starts if start <= place)


def broken(name, text):
    """The citations of one file that lead nowhere, as texts."""
    if not re.search(r"[A-Z]\.md\b|[Dd]ecision", text):
        return []
    found = []
    line, number_of = in_one_line(text)
    for match in DOCUMENT.finditer(line):
        cited, sections = match.groups()
        if os.path.basename(cited) in UNNUMBERED:
            continue
        path = find(os.path.dirname(name), cited)
        where = f"{name}:{number_of(match.start())}: {cited}"
        if path is None:
            found.append(f"{where}: there is no such document")
            continue
        known = sections_of(path)
        found += [f"{where} {section}: there is no such section"
                  for section in re.findall(NUMBER, sections or "") if section not in known]
    for match in DECISION.finditer(line):
        found += [f"{name}:{number_of(match.start())}: decision {decision}: not in src/DECISIONS.md"
                  for decision in re.findall(NUMBER, match.group(1)) if decision not in sections_of("src/DECISIONS.md")]
    return found


def outside(name, text):
    """What one file cites outside the tree, as texts."""
    return [f"{name}:{number}: {cited.group()} lies outside the tree"
            for number, line in enumerate(text.splitlines(), 1)
            for cited in OUTSIDE.finditer(FIXTURES.sub("", line))]


class Citations(unittest.TestCase):
    def test_every_cited_section_and_decision_exists(self):
        found = [one for name in files() for one in broken(name, read(name))]
        self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_nothing_outside_the_tree_is_cited(self):
        found = [one for name in files() for one in outside(name, read(name))]
        left = [one for one in found if one.startswith(NOT_DONE_YET)]
        if left:
            print(f"{len(left)} citations are left to replace:", *left, sep="\n  ")
        found = [one for one in found if one not in left]
        self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_sections_ascend_and_no_number_is_used_twice(self):
        documents = [name for name in files()
                     if name.startswith("src/") and name.endswith(".md") and os.path.basename(name) not in UNNUMBERED]
        self.assertGreaterEqual(len(documents), 5)
        for name in documents:
            found = [tuple(map(int, number.split("."))) for number in HEADING.findall(without_code(read(name)))]
            self.assertEqual(found, sorted(set(found)), name)


class TheNetHolds(unittest.TestCase):
    """Planted citations that lead nowhere are found; those that lead somewhere pass."""

    def test_a_section_or_decision_that_is_not_there(self):
        for text in ("// see wal/FORMAT.md 99.1", "// (wal/FORMAT.md\n// 99)", "`wal/FORMAT.md` 1, 99", "wal/FORMAT.md 1 to 99.",
                     "# wal/FORMAT.md 1 and\n# 99", "`DECISIONS.md` 999", "(decision 999)", "decisions 5 and 999",
                     "  // decision\n  // 999", "Decision 999's block", "rpc/PROTOCOL.md 1.1.1)"):
            self.assertEqual(len(broken("src/x.h", text)), 1, text)

    def test_a_document_that_is_not_there(self):
        self.assertEqual(len(broken("src/x.h", "// nowhere/FORMAT.md 1")), 1)
        self.assertEqual(len(broken("src/base/x.h", "// FORMAT.md 1")), 1)
        self.assertEqual(len(broken("src/base/x.h", "// `../nowhere/FORMAT.md` 1")), 1)

    def test_a_document_outside_the_tree(self):
        for text in ("spec/disk-formats.md 2.7", "(perf.md 2.3)", "`reliability.md`", "spec/*.md", "libraries.md", "style.md",
                     "shared/spec/x.md", "/work/shared/x", "wire-protocol.md 4"):
            self.assertEqual(len(outside("src/x.h", text)), 1, text)

    def test_the_line_that_is_named_is_the_right_one(self):
        self.assertIn("x.h:3:", broken("src/x.h", "// a\n// b\n// wal/FORMAT.md 99\n// c\n")[0])

    def test_what_is_there_passes(self):
        for text in ("wal/FORMAT.md 1.1", "`wal/FORMAT.md` 1, 2 and 4.3", "src/wal/FORMAT.md 7.", "wal/FORMAT.md has 16 bytes",
                     "`wal/FORMAT.md`, 99 bytes", "decision 9", "decisions 5 and 28", "`DECISIONS.md` 2, 25", "decision 9; 12 servers",
                     "decisive 999"):
            self.assertEqual(broken("src/wal/x.h", text), [], text)
        self.assertEqual(broken("src/wal/README.md", "`FORMAT.md` 7.2, `../rpc/PROTOCOL.md` 2"), [])
        for text in ("../shared/spec/fixtures", "/../shared/fixtures", "tests/style.css", "a/perf.md", "spec/fixtures/mlogtool.py"):
            self.assertEqual(outside("tests/x.cc", text), [], text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
