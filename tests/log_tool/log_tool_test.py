#!/usr/bin/env python3
"""arion_log itself: on the fixtures, on damaged copies, on bad input. Looking never changes a byte.

SPDX-License-Identifier: Apache-2.0
"""

import fcntl
import glob
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("ARION_BUILD", os.path.join(ROOT, "build"))
PROGRAM = os.path.join(BUILD, "arion_log")
REAL = os.environ.get("ARION_FIXTURES", os.path.join(ROOT, "../shared/fixtures"))
MADE = os.environ.get("ARION_SPEC_FIXTURES", os.path.join(ROOT, "../shared/spec/fixtures"))


def need(path):
    """Fixtures lie beside the project: without them a test is skipped, under CI it fails."""
    if os.path.isdir(path):
        return
    if os.environ.get("CI") == "true":
        raise AssertionError(f"fixtures are missing: {path}")
    raise unittest.SkipTest(f"fixtures are not on this machine: {path}")


def run(*words, as_nobody=False, cwd=None):
    """Exit code, standard output, standard error."""
    def drop():
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=60, cwd=cwd,
                          preexec_fn=drop if as_nobody and os.getuid() == 0 else None)
    return done.returncode, done.stdout, done.stderr


def tree(path):
    """Every name below `path`, with what it is and holds."""
    found = {}
    for directory, folders, names in os.walk(path):
        for name in folders + names:
            full = os.path.join(directory, name)
            kind = os.lstat(full)
            content = b""
            if os.path.isfile(full) and not os.path.islink(full):
                with open(full, "rb") as file:
                    content = hashlib.sha256(file.read()).digest()
            found[os.path.relpath(full, path)] = (kind.st_mode, kind.st_size, content)
    return found


class Case(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="arion-log-")
        os.chmod(self.directory, 0o755)
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def replica(self, fixture, name="2.1.pegasus"):
        """A copy of a made fixture as a replica's log; returns its folder."""
        need(MADE)
        plog = os.path.join(self.directory, "data", name, "plog")
        os.makedirs(plog)
        for file in os.listdir(os.path.join(MADE, fixture)):
            with open(os.path.join(MADE, fixture, file), "rb") as old, open(os.path.join(plog, file), "wb") as new:
                new.write(old.read())
        return plog

    def only_looks(self, words, code, says, **how):
        """The command changes nothing, ends with `code` and says `says`."""
        before = tree(self.directory)
        got, out, err = run(*words, **how)
        self.assertEqual(tree(self.directory), before, f"{words} changed files")
        self.assertEqual(got, code, f"{words}: {out}{err}")
        self.assertIn(says, out + err)
        return out


class Fixtures(Case):
    def test_dump_of_shared_logs_is_what_the_old_reader_printed(self):
        need(REAL)
        seen = 0
        for folder in sorted(glob.glob(os.path.join(REAL, "slog-2.5.0/*/"))):
            with open(os.path.join(folder, "expected.jsonl")) as file:
                expected = "".join(line for line in file if "renamed_by_pegasus_on_open" not in line)
            self.assertEqual(run("dump", "-j", folder)[1], expected, folder)
            seen += 1
        self.assertGreaterEqual(seen, 16)

    def test_dump_of_a_real_servers_private_logs_is_what_the_old_reader_printed(self):
        need(REAL)
        names = sorted(glob.glob(os.path.join(REAL, "pegasus-2.5.0/plog-expected/*.jsonl")))
        self.assertEqual(len(names), 6)
        for name in names:
            replica = os.path.join(REAL, "pegasus-2.5.0/replica1/reps", os.path.basename(name)[:-6] + ".pegasus")
            code, out, _ = run("dump", "-j", replica)
            got = [json.loads(line) for line in out.splitlines()]
            for line in got:
                for update in line.get("updates", []):
                    update.pop("hex", None)  # not in these
            with open(name) as file:
                self.assertEqual(got, [json.loads(line) for line in file], replica)
            self.assertEqual(code, 0)

    def test_dump_of_made_fixtures_agrees_with_the_independent_reader(self):
        need(MADE)
        kinds = {"EOF": "ERR_HANDLE_EOF", "INCOMPLETE": "ERR_INCOMPLETE_DATA", "INVALID": "ERR_INVALID_DATA"}
        seen = 0
        for path in sorted(glob.glob(os.path.join(MADE, "*/log.*.*"))):
            if not os.path.basename(path).split(".")[-1].isdigit() or "log.x" in path:
                continue
            reader = subprocess.run([sys.executable, os.path.join(MADE, "mlogtool.py"), "dump", path],
                                    capture_output=True, text=True, check=True).stdout.splitlines()
            expected = []
            for line in reader[1:]:
                words = line.split()
                if words[0].startswith("@"):
                    pairs = dict(word.split("=", 1) for word in words[3:7])
                    expected.append((int(words[0][1:]), words[2], int(pairs["b"]), int(pairs["d"]), int(pairs["lcd"])))
            lines = [json.loads(line) for line in run("dump", "-j", path)[1].splitlines()]
            got = [(m["offset"], m["gpid"], m["ballot"], m["decree"], m["last_committed"]) for m in lines if "n" in m]
            self.assertEqual(got, expected, path)
            last = lines[-1]
            self.assertEqual(last.get("replay_error", last.get("open_error")),
                             kinds[reader[0].split("status=")[1]], path)
            seen += 1
        self.assertGreaterEqual(seen, 14)

    def test_the_real_data_directory_is_ok_and_its_disk_is_summed_up(self):
        need(REAL)
        path = os.path.join(REAL, "pegasus-2.5.0")
        code, out, _ = run("verify", "-j", path)
        verdicts = {line["gpid"]: line for line in map(json.loads, out.splitlines())}
        self.assertEqual(code, 0)
        self.assertEqual(sorted(verdicts), ["1.0", "1.1", "1.2", "1.3", "2.0", "2.1"])
        self.assertEqual({v["verdict"] for v in verdicts.values()}, {"OK"})
        self.assertEqual(verdicts["1.0"]["max_decree"], 550)
        code, out, _ = run("stat", "-j", path)
        disk = json.loads(out.splitlines()[-1])
        self.assertEqual((code, disk["logs"], disk["mutations"]), (0, 6, 2784))

    def test_verdicts_of_the_made_private_logs(self):
        for fixture, code, verdict in [
                ("plog-basic", 0, "OK"), ("plog-torn-tail", 0, "TORN TAIL"), ("plog-torn-middle-legal", 0, "OK"),
                ("plog-offset-gap", 1, "DAMAGED"), ("plog-bad-crc", 1, "DAMAGED"), ("plog-zero-tail", 1, "DAMAGED"),
                ("plog-empty-last", 0, "TORN TAIL"), ("plog-stray-names", 0, "OK"), ("plog-reproposed", 0, "OK"),
                ("plog-hole", 0, "after decree 2 comes 6")]:
            with self.subTest(fixture):
                self.replica(fixture)
                self.only_looks(["verify", os.path.join(self.directory, "data")], code, verdict)
                shutil.rmtree(os.path.join(self.directory, "data"))

    def test_keys_are_shown_escaped_when_asked_for(self):
        plog = self.replica("plog-basic")
        self.assertNotIn("[h : s]", run("dump", plog)[1])
        self.assertIn("PUT(32) [h : s]", run("dump", "--keys", plog)[1])


class Repair(Case):
    def test_says_what_it_would_do_does_it_when_told_and_only_once(self):
        plog = self.replica("plog-bad-crc")
        with open(os.path.join(plog, "log.1.0"), "rb") as file:
            content = file.read()
        data = os.path.join(self.directory, "data")
        out = self.only_looks(["repair", data], 1, "log.1.0.tail")
        self.assertIn("with --yes", out)
        code, out, err = run("repair", "--yes", data)
        self.assertEqual(code, 0, out + err)
        with open(os.path.join(plog, "log.1.0"), "rb") as kept, open(os.path.join(plog, "log.1.0.tail"), "rb") as tail:
            self.assertEqual(kept.read() + tail.read(), content)
        self.assertEqual(run("verify", data)[0], 0)
        before = tree(plog)
        self.assertIn("nothing to repair", run("repair", "--yes", data)[1])
        self.assertEqual(tree(plog), before)

    def test_files_that_do_not_join_are_renamed(self):
        plog = self.replica("plog-offset-gap")
        code, out, _ = run("repair", "--yes", "-j", plog)
        steps = json.loads(out)["steps"]
        self.assertEqual((code, [s["step"] for s in steps]), (0, ["rename"]))
        self.assertEqual(sorted(os.listdir(plog)), ["log.1.0", "log.2.423.removed"])

    def test_refuses_while_a_server_holds_the_data_directory(self):
        plog = self.replica("plog-bad-crc")
        with open(os.path.join(self.directory, "data/.arion-lock"), "w") as lock:
            # Of the open file, as a server's: reading the file beside it does not let go of it.
            fcntl.fcntl(lock, fcntl.F_OFD_SETLK, struct.pack("hhlli", fcntl.F_WRLCK, 0, 0, 0, 0))
            for path in (os.path.join(self.directory, "data"), plog):
                self.only_looks(["repair", "--yes", path], 3, "a server holds the data directory")

    def test_a_shared_log_is_not_repaired(self):
        need(MADE)
        self.only_looks(["repair", "--yes", os.path.join(MADE, "slog-three-files")], 2, "shared log")


class BadInput(Case):
    def every_command(self, path, code, says, **how):
        for command in ("dump", "verify", "stat", "repair"):
            with self.subTest(command):
                self.only_looks([command, path], code, says, **how)

    def test_names_almost_like_logs_are_named_and_not_read(self):
        plog = self.replica("plog-basic")
        for name in ("log.1", "log..2", "log.1a.2", "log.1.2x", "log.3.675.removed", "Log.3.675"):
            with open(os.path.join(plog, name), "w") as file:
                file.write("x")
        out = self.only_looks(["verify", plog], 0, "OK")
        for name in ("log.1:", "log..2", "log.1a.2", "log.1.2x", "log.3.675.removed", "Log.3.675"):
            self.assertIn("not read: " + name, out)
        self.every_command(os.path.join(plog, "log.1a.2"), 2, "not a log's name")

    def test_another_replicas_log_is_refused(self):
        plog = self.replica("plog-basic", name="7.3.pegasus")
        self.only_looks(["verify", plog], 1, "2.1")
        self.only_looks(["repair", plog], 1, "by hand")
        self.only_looks(["repair", "-j", plog], 1, "not of 7.3")

    def test_a_symbolic_link_is_refused(self):
        plog = self.replica("plog-basic")
        os.rename(os.path.join(plog, "log.1.0"), os.path.join(self.directory, "elsewhere"))
        os.symlink(os.path.join(self.directory, "elsewhere"), os.path.join(plog, "log.1.0"))
        self.only_looks(["verify", plog], 1, "log.1.0")
        self.only_looks(["repair", plog], 1, "by hand")
        self.every_command(os.path.join(plog, "log.1.0"), 2, "symbolic link")

    def test_an_empty_file_is_no_damage_at_the_end_and_a_hole_in_the_middle(self):
        plog = self.replica("plog-empty-last")
        self.only_looks(["verify", plog], 0, "TORN TAIL")
        with open(os.path.join(plog, "log.3.416"), "w"):
            pass
        os.truncate(os.path.join(plog, "log.1.0"), 0)
        self.only_looks(["dump", plog], 0, "log.1.0")
        self.only_looks(["verify", os.path.join(plog, "log.1.0")], 0, "log.1.0")

    def test_offsets_beyond_63_bits_are_refused(self):
        plog = self.replica("plog-basic")
        for name in ("log.3.18446744073709551616", "log.99999999999999999999.0", "log.3.9223372036854775807"):
            with open(os.path.join(plog, name), "w") as file:
                file.write("x")
            self.only_looks(["verify", plog], 1, "2^6")
            self.only_looks(["dump", plog], 1, "log.1.0")
            self.only_looks(["repair", plog], 1, "2^6")
            os.unlink(os.path.join(plog, name))

    def test_a_pipe_is_refused_and_not_waited_for(self):
        plog = self.replica("plog-basic")
        os.mkfifo(os.path.join(plog, "log.3.675"))
        self.only_looks(["verify", plog], 1, "not a regular file")
        self.every_command(os.path.join(plog, "log.3.675"), 1, "not a regular file")

    def test_rubbish_is_damage_and_never_more(self):
        plog = self.replica("plog-basic")
        with open(os.path.join(plog, "log.2.416"), "wb") as file:
            for n in range(4000):
                file.write(hashlib.sha256(str(n).encode()).digest())
        self.only_looks(["dump", plog], 1, "CORRUPT")
        self.only_looks(["verify", plog], 1, "DAMAGED")
        self.only_looks(["stat", plog], 1, "do not end clean")
        self.assertEqual(run("repair", "--yes", plog)[0], 0)
        self.assertEqual(run("verify", plog)[0], 0)

    def test_what_may_not_be_read_is_said_and_the_rest_judged(self):
        if os.getuid() != 0:
            raise unittest.SkipTest("needs root, to be somebody else")
        self.replica("plog-basic")
        hidden = self.replica("plog-basic", name="2.2.pegasus")
        os.chmod(hidden, 0)
        out = self.only_looks(["verify", os.path.join(self.directory, "data")], 3, "Permission denied", as_nobody=True)
        self.assertIn("2.1.pegasus/plog: OK", out)
        os.chmod(hidden, 0o755)
        os.chmod(os.path.join(hidden, "log.1.0"), 0)
        self.only_looks(["dump", hidden], 3, "Permission denied", as_nobody=True)

    def test_repair_in_a_directory_that_may_not_be_written(self):
        if os.getuid() != 0:
            raise unittest.SkipTest("needs root, to be somebody else")
        plog = self.replica("plog-bad-crc")
        self.only_looks(["repair", "--yes", plog], 3, "Permission denied", as_nobody=True)

    def test_paths_that_are_not_there_or_hold_no_log(self):
        plog = self.replica("plog-basic")
        self.every_command(os.path.join(self.directory, "nowhere"), 3, "nowhere")
        self.every_command(os.path.join(plog, "log.1.0", "inside"), 3, "Not a directory")
        os.mkdir(os.path.join(self.directory, "empty"))
        self.every_command(os.path.join(self.directory, "empty"), 2, "no log in it")


class CommandLine(Case):
    def test_usage_is_exit_code_2_and_help_names_the_codes(self):
        for words in ([], ["dump"], ["frobnicate", "x"], ["verify", "--nix", "x"], ["verify", "--applied=x", "y"],
                      ["dump", "--yes", "."]):
            self.assertEqual(run(*words)[0], 2, words)
        code, out, _ = run("--help")
        self.assertEqual(code, 0)
        self.assertIn("exit codes: 0 fine", out)

    def test_a_relative_path_is_judged_as_the_absolute_one(self):
        plog = self.replica("plog-basic")
        # Below here records are void: only the directory above says so.
        with open(os.path.join(os.path.dirname(plog), ".init-info"), "w") as file:
            file.write('{"init_offset_in_private_log":416}')
        replica, newest = os.path.dirname(plog), "log.2.416"
        os.symlink(plog, os.path.join(self.directory, "link"))
        expected = run("verify", plog)
        self.assertEqual(expected[0], 0)
        self.assertIn("decrees 4-4", expected[1])
        for path, cwd in ((".", plog), ("./", plog), ("plog", replica), ("..", plog), ("../plog/", plog), (".", replica),
                          (plog + "/.", None), ("plog/..", replica), ("2.1.pegasus/./plog", os.path.dirname(replica))):
            self.assertEqual(run("verify", path, cwd=cwd), expected, (path, cwd))
        expected = run("verify", os.path.join(plog, newest))
        for path, cwd in ((newest, plog), ("./" + newest, plog), ("plog/" + newest, replica), ("../plog/" + newest, plog)):
            self.assertEqual(run("verify", path, cwd=cwd), expected, (path, cwd))
        self.assertEqual(run("repair", ".", cwd=plog), run("repair", plog))
        for path, cwd in (("link", self.directory), ("./link", self.directory), ("link/", self.directory), ("../link", replica + "/..")):
            self.assertEqual(run("verify", path, cwd=cwd)[0], 2, path)
        self.assertEqual(run("verify", "nowhere/..", cwd=plog)[0], 3)
        self.assertEqual(run("verify", "")[0], 3)

    def test_the_worst_of_several_paths_counts(self):
        good = self.replica("plog-basic")
        bad = self.replica("plog-bad-crc", name="2.9.pegasus")
        code, out, _ = run("verify", good, bad, os.path.join(self.directory, "nowhere"))
        self.assertEqual(code, 1)
        self.assertIn("2.1.pegasus/plog: OK", out)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
