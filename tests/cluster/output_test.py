#!/usr/bin/env python3
"""What programs hand over is all there, or they say so: standard output and files on a full disk, answers that are a
part of what was asked for, programs that the README names and nothing builds.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import re
import subprocess
import tempfile
import unittest

import harness

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FULL = "can't write standard output: No space left on device"


def program(name):
    return os.path.join(harness.BUILD, name)


def run(words, stdout=subprocess.PIPE):
    return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, text=True,
                          timeout=60 * harness.PATIENCE)


def run_on_full_disk(words):
    with open("/dev/full", "w") as full:
        return run(words, full)


class ProgramsTest(unittest.TestCase):
    def test_what_the_readme_tells_to_build_is_all_that_it_names(self):
        with open(os.path.join(ROOT, "README.md")) as readme:
            named = set(re.findall(r"\barion_[a-z]+\b", readme.read()))
        targets = subprocess.run(["ninja", "-C", harness.BUILD, "-t", "targets", "all"], capture_output=True, text=True,
                                 check=True).stdout
        named = {name for name in named if f"{name}_bin: phony" in targets}
        self.assertLessEqual({"arion_meta", "arion_replica", "arion_shell", "arion_log", "arion_load"}, named)
        built = subprocess.run(["ninja", "-C", harness.BUILD, "-t", "inputs", "programs"], capture_output=True, text=True,
                               check=True).stdout
        self.assertEqual({name for name in named if f"CMakeFiles/{name}_bin.dir/" not in built}, set())
        for builder in ("tools/onebox.py", "tools/package/build"):
            with open(os.path.join(ROOT, builder)) as text:
                self.assertRegex(text.read(), r"\bninja\b.*\bprograms\b", builder)

    def test_help_on_a_full_disk_is_a_failure(self):
        for name in ("arion_meta", "arion_replica", "arion_shell", "arion_log", "arion_load"):
            for word in ("--help", "--version", "--helpfull"):
                with self.subTest(name=name, word=word):
                    failed = run_on_full_disk([program(name), word])
                    self.assertNotEqual(failed.returncode, 0)
                    self.assertIn(f"{name}: can't write standard output: ", failed.stderr)
                    self.assertEqual(failed.stderr.count("can't write"), 1, failed.stderr)

    def test_a_log_shown_on_a_full_disk_is_a_failure(self):
        with tempfile.TemporaryDirectory() as directory:
            with open(os.path.join(directory, "log.1.0"), "wb"):
                pass
            for word in ("verify", "dump", "stat"):
                for form in ([], ["-j"]):
                    whole = run([program("arion_log"), word, *form, directory])
                    if whole.stdout:
                        failed = run_on_full_disk([program("arion_log"), word, *form, directory])
                        self.assertIn(FULL, failed.stderr)
                        self.assertEqual(failed.returncode, 3)

    def test_a_shell_that_answers_nobody_is_a_failure(self):
        for form in ([], ["-j"]):
            for command in ("help", "version", "help; version"):
                failed = run_on_full_disk([program("arion_shell"), *form, "-e", command])
                self.assertEqual((failed.returncode, failed.stderr), (1, f"error: {FULL}\n"))
        failed = run_on_full_disk([program("arion_shell"), "-j", "-e", "nonsense"])
        self.assertNotEqual(failed.returncode, 0)
        self.assertIn("there is no command nonsense", failed.stderr)

    def test_a_file_on_a_full_disk_is_a_failure(self):
        failed = run([program("arion_shell"), "-e", "help -o /dev/full"])
        self.assertEqual((failed.returncode, failed.stderr), (1, "error: can't write /dev/full: No space left on device\n"))

    def test_standard_output_that_was_closed_is_a_failure_where_it_is_needed(self):
        closed = run(["sh", "-c", f"exec {program('arion_shell')} -e version >&-"])
        self.assertEqual(closed.returncode, 1)
        self.assertIn("Bad file descriptor", closed.stderr)
        with tempfile.TemporaryDirectory() as directory:
            kept = run(["sh", "-c", f"exec {program('arion_shell')} -e 'version -o {directory}/x' >&-"])
            self.assertEqual((kept.returncode, kept.stderr), (0, ""))

    def test_onebox_on_a_full_disk_is_a_failure(self):
        for words in (["--help"], ["status"]):
            failed = run_on_full_disk([os.path.join(ROOT, "tools/onebox"), *words])
            self.assertNotEqual(failed.returncode, 0)
            self.assertNotIn("Traceback", failed.stderr)


class PartsTest(harness.ClusterTest):
    def shell(self, *commands, form=(), stdout=subprocess.PIPE):
        return run([program("arion_shell"), "--meta", self.cluster.meta.address, *form, "-e",
                    "; ".join([f"use {self.table}", *commands])], stdout)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        records = 3000
        script = [f"use {cls.table}"]
        for first in range(0, records, 100):
            script.append("multi_set h " + " ".join(f"s{i:05} v" for i in range(first, first + 100)))
        subprocess.run([program("arion_shell"), "--meta", cls.cluster.meta.address], input="\n".join(script), text=True,
                       stdout=subprocess.DEVNULL, check=True, timeout=60 * harness.PATIENCE)

    def check(self, done, count, complete, exit_code, note=""):
        answer = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual((answer["count"], answer["complete"], done.returncode, done.stderr),
                         (count, complete, exit_code, note))

    def test_a_part_says_so_and_how_to_get_the_rest(self):
        note = "note: only the first 1000 records are shown; -n COUNT shows more\n"
        for command in ("full_scan", "full_scan -i", 'hash_scan h "" ""', 'multi_get_range h "" ""'):
            with self.subTest(command=command):
                self.check(self.shell(command, form=["-j"]), 1000, "no", 1, note)
        last = note.replace("first", "last")
        self.check(self.shell('multi_get_range h "" "" -r', form=["-j"]), 1000, "no", 1, last)
        text = self.shell("full_scan")
        self.assertEqual((text.returncode, text.stderr), (1, note))
        self.assertIn("complete  no", text.stdout)

    def test_so_many_as_were_asked_for_are_no_failure(self):
        note = "note: only the first 10 records are shown; -n COUNT shows more\n"
        for command in ("full_scan", 'hash_scan h "" ""', 'multi_get_range h "" ""'):
            self.check(self.shell(f"{command} -n 10", form=["-j"]), 10, "no", 0, note)
        for command in ("full_scan", 'hash_scan h "" ""'):
            self.check(self.shell(f"{command} -n 3000", form=["-j"]), 3000, "yes", 0)
            self.check(self.shell(f"{command} -n 100000", form=["-j"]), 3000, "yes", 0)

    def test_where_a_server_gives_no_more_at_once_the_scan_is_named(self):
        self.shell("multi_set h t1 v t2 v")
        try:
            note = ('note: only the first 3000 records are shown; a server gives no more at once: '
                    'hash_scan HASH_KEY "" "" -n COUNT shows more\n')
            for command in ("multi_get h", "multi_get_sortkeys h", 'multi_get_range h "" "" -n 5000'):
                self.check(self.shell(command, form=["-j"]), 3000, "no", 1, note)
        finally:
            self.shell("multi_del h t1 t2")

    def test_a_dump_on_a_full_disk_is_a_failure(self):
        for form in ([], ["-j"]):
            with open("/dev/full", "w") as full:
                failed = self.shell("full_scan -n 3000", "version", form=form, stdout=full)
            self.assertEqual(failed.returncode, 1)
            self.assertIn(FULL, failed.stderr)
        failed = self.shell("full_scan -n 3000 -o /dev/full")
        self.assertEqual((failed.returncode, failed.stderr),
                         (1, "error: can't write /dev/full: No space left on device\n"))


if __name__ == "__main__":
    unittest.main()
