#!/usr/bin/env python3
"""Holds that a tag means one thing: where it is stated, once; where it is cited, by its full name; never bare.

    replica_core/P1                   a tag: the header's name without .h, a stroke, the tag
    //   replica_core/P1  A member    stated: in the comment that begins this header, two blanks behind it
    bench/RESULTS.md G8, G16 to G18   rows of a document's table: its path from src/ or from the root, and their numbers.
                                      Stated by the row's first cell, `| G8 |`; the document itself may leave its path out.

Looked at: comments and strings of code; of documents all but listings; all of other texts. SPDX-License-Identifier: Apache-2.0
"""

import collections
import io
import os
import re
import sys
import tokenize
import unittest

from citations_test import LIST, files, find, in_one_line, read

# What looks like a tag and is none.
WORDS = {
    "LZ4": "a compression",
    "I16": "a type of Thrift's", "I32": "a type of Thrift's", "I64": "a type of Thrift's",
}

TAG = r"[A-Z]{1,2}\d{1,2}(?!\w)"
STATES = re.compile(rf"^//\s+(?:[A-Z]\w*\s+)?([a-z]\w*/{TAG})  (?=\S)", re.MULTILINE)
CITES = re.compile(rf"(?<![\w./-])[a-z]\w*/{TAG}")

NUMBERED = r"[A-Z]{1,2}-?\d{1,2}(?!\w)"
NUMBERS = rf"{NUMBERED}(?:(?:, | and | to ){NUMBERED})*"
ROW = re.compile(rf"^\| ({NUMBERS}) \|", re.MULTILINE)
CITES_ROWS = re.compile(rf"((?:\.\./)*(?:[\w-]+/)*[\w-]+\.md)`?(?: {LIST},)? ({NUMBERS})")
BARE = re.compile(rf"(?<![\w./-]){NUMBERED}|(?<=\")[A-Z](?=: )|(?<=^# )\d+(?:\.\d+)+(?=: )")

TOP_COMMENT = re.compile(r"(?://[^\n]*\n)+")
C_LIKE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|`[^`]*`|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])\'', re.DOTALL)
HTML = re.compile(r"<!--.*?-->", re.DOTALL)


def only(pattern, text):
    """The text with blanks in place of whatever the pattern does not match."""
    parts, at = [], 0
    for match in pattern.finditer(text):
        parts += [re.sub(r"[^\n]", " ", text[at:match.start()]), match.group()]
        at = match.end()
    return "".join(parts) + re.sub(r"[^\n]", " ", text[at:])


def only_of_python(text):
    lines = [[" "] * len(line) for line in text.split("\n")]
    source = text.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING) or tokenize.tok_name[token.type].startswith("FSTRING"):
            for row in range(token.start[0], token.end[0] + 1):
                begin = token.start[1] if row == token.start[0] else 0
                end = token.end[1] if row == token.end[0] else len(source[row - 1])
                lines[row - 1][begin:end] = source[row - 1][begin:end]
    return "\n".join("".join(line) for line in lines)


def without_listings(text):
    return re.sub(r"^```.*?^```", lambda match: re.sub(r"[^\n]", " ", match.group()), text, flags=re.DOTALL | re.MULTILINE)


def looked_at(name, text):
    if name.endswith((".h", ".cc", ".go", ".java", ".js")):
        return only(C_LIKE, text)
    if name.endswith(".html"):
        return only(HTML, text)
    if name.endswith(".md"):
        return without_listings(text)
    return only_of_python(text) if name.endswith(".py") else text


def stated_by(name, text):
    """The full names that a header states."""
    top = TOP_COMMENT.match(text) if name.endswith(".h") else None
    return STATES.findall(top.group()) if top else []


def misstated(headers):
    """What is wrong with the tags that are stated: {name of a header: its text}."""
    found = []
    where = collections.defaultdict(list)
    for name, text in headers.items():
        for tag in stated_by(name, text):
            where[tag].append(name)
            if tag.split("/")[0] + ".h" != os.path.basename(name):
                found.append(f"{name} states {tag}, which is another header's")
    return found + [f"{tag} is stated {len(names)} times: {', '.join(names)}" for tag, names in where.items() if len(names) > 1]


def expanded(numbers):
    """Each of "A1 to A3, A7" as (its letters, its number)."""
    found = []
    for begin, end in re.findall(rf"({NUMBERED})(?: to ({NUMBERED}))?", numbers):
        letters, first = re.match(r"(\D+)(\d+)", begin).groups()
        last = re.match(r"\D+(\d+)", end).group(1) if end else first
        found += [(letters, number) for number in range(int(first), int(last) + 1)]
    return found


def rows_of(text):
    return [row for numbers in ROW.findall(text) for row in expanded(numbers)]


def wrong(name, text, tags, read_document=read):
    """The citations of one file that are bare or lead nowhere, as texts."""
    found = []
    line, number_of = in_one_line(looked_at(name, text))
    own = set(rows_of(text)) if name.endswith(".md") else set()

    def blank(match):
        return " " * len(match.group())

    for match in CITES.finditer(line):
        if match.group() not in tags:
            found.append(f"{name}:{number_of(match.start())}: {match.group()} is stated nowhere")
    for match in CITES_ROWS.finditer(line):
        cited, numbers = match.groups()
        path = find(os.path.dirname(name), cited)
        rows = rows_of(read_document(path)) if path else []
        found += [f"{name}:{number_of(match.start())}: {cited} has no row {letters}{number}"
                  for letters, number in expanded(numbers) if (letters, number) not in rows]
    for match in BARE.finditer(CITES_ROWS.sub(blank, CITES.sub(blank, line))):
        if match.group() not in WORDS and not own.intersection(expanded(match.group())):
            found.append(f"{name}:{number_of(match.start())}: {match.group()}: of which header, or document?")
    return found


class Tags(unittest.TestCase):
    headers = {name: read(name) for name in files() if name.endswith(".h")}
    tags = {tag for name, text in headers.items() for tag in stated_by(name, text)}

    def test_each_is_stated_once_by_its_own_header(self):
        self.assertGreater(len(self.tags), 100)
        found = misstated(self.headers)
        self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_each_citation_names_one_that_is_stated(self):
        found = [one for name in files() for one in wrong(name, read(name), self.tags)]
        self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_no_document_uses_a_number_for_two_rows(self):
        for name in files():
            if name.endswith(".md"):
                rows = rows_of(read(name))
                self.assertEqual(len(rows), len(set(rows)), name)


class TheNetHolds(unittest.TestCase):
    """Planted violations are found; what is right passes."""

    TAGS = {"log_writer/W1", "log_writer/W12", "disk/K1"}

    def check(self, text, name="src/wal/x.cc"):
        return wrong(name, text, self.TAGS, lambda path: "| G1 | a |\n| G2, G3 | b |\n| A-01 to A-04 | c |\n")

    def test_stated_twice_or_by_another_header(self):
        header = "// Disk: a disk.\n// Promises  disk/K1  A name.\n//               goes on (disk/K2).\n"
        self.assertEqual(stated_by("src/a/disk.h", header), ["disk/K1"])
        self.assertEqual(misstated({"src/a/disk.h": header}), [])
        self.assertTrue(misstated({"src/a/disk.h": header, "src/b/disk.h": header}))
        self.assertTrue(misstated({"src/a/disk.h": header + "//           disk/K1  Another.\n"}))
        self.assertTrue(misstated({"src/a/other_disk.h": header}))

    def test_only_the_comment_that_begins_a_header_states(self):
        self.assertEqual(stated_by("src/a/disk.h", "// Disk.\nint a;\n// disk/K1  A name.\n"), [])
        self.assertEqual(stated_by("src/a/disk.cc", "// disk/K1  A name.\n"), [])
        self.assertEqual(stated_by("src/a/disk.h", "// disk/K1 is cited.\n"), [])

    def test_stated_nowhere(self):
        for text in ("// see log_writer/W2", "// a (log_writer/W99)", 'CHECK(a) << "log_writer/W3";', "// reader/W1",
                     '"log_writer/W1, log_writer/W4: a"'):
            self.assertEqual(len(self.check(text)), 1, text)
        self.assertEqual(len(self.check("`log_writer/W2`", "src/wal/README.md")), 1)

    def test_bare(self):
        for text in ("// see W1", "a();  // (W1)", "/* W1 */", 'CHECK(a) << "W1";', 'CHECK(a) << "W1: a file";',
                     "// W1 of log_writer.h", "// log_writer/W1 and W12", "// I-08", "// rows A1 to the last",
                     'Violate("H: a"'):
            self.assertEqual(len(self.check(text)), 1, text)
        for name in ("src/wal/README.md", "tests/x.py", "tests/sim/mutants/x.patch", "tests/pacifica/scenarios/x.txt", "tools/dev/x"):
            self.assertEqual(len(self.check("# W1", name)), 1, name)
        self.assertEqual(len(self.check("# 1.5.6: a", "tests/pacifica/scenarios/x.txt")), 1)
        self.assertEqual(len(self.check('a = f"W1: {b}"\n', "tests/x.py")), 1)
        self.assertEqual(len(self.check("C1–C4", "src/wal/README.md")), 2)

    def test_a_row_that_is_not_there(self):
        for text in ("// bench/RESULTS.md G4", "// bench/RESULTS.md G1, G9", "// bench/RESULTS.md G2 to G4", "// nowhere.md G1",
                     "// bench/RESULTS.md\n// G4", "// bench/RESULTS.md A-05"):
            self.assertEqual(len(self.check(text)), 1, text)
        self.assertEqual(len(self.check("`bench/RESULTS.md` G4", "src/wal/README.md")), 1)

    def test_the_line_that_is_named_is_the_right_one(self):
        self.assertIn("x.cc:3:", self.check("// a\nint b;\n// W1\n")[0])

    def test_what_is_right_passes(self):
        for text in ("// see log_writer/W1", 'CHECK(a) << "log_writer/W1: a" << "log_writer/W12";', "// disk/K1, disk/K1.", "int W1 = I8();",
                     "// bench/RESULTS.md G1 and G3; 9", "// bench/RESULTS.md G1 to G3", "// (bench/RESULTS.md\n// A-01 to A-03)",
                     "// -O2, LZ4, P0X, UTF-8, CRC-32, x86", "// a b\nC1 d;", "char a = '\"'; W1 b;"):
            self.assertEqual(self.check(text), [], text)
        self.assertEqual(self.check("| G1 | as G2 |\n| G2 | b |\n", "bench/RESULTS.md"), [])
        self.assertEqual(self.check("W1 = 5\nprint(W1)\n", "tests/x.py"), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
