#!/usr/bin/env python3
"""Holds every #include to the layer table, every third-party header to its door, every README to what exists.

The table is the DEPS of the root CMakeLists.txt, so the build and this test can't disagree.
SPDX-License-Identifier: Apache-2.0
"""

import os
import re
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Third-party headers: pattern of the header -> patterns of the files that may include it. thirdparty/README.md says why.
DOORS = {
    r"absl/.*": [r".*"],
    r"glog/.*": [r"src/base/log\.h"],
    r"(gtest|gmock)/.*": [r"tests/.*", r"tools/.*_test\.cc"],
    r"gflags/.*": [r"src/(config|exposition|main)/.*\.cc", r"tools/.*\.cc", r"tests/.*\.cc", r"bench/.*\.cc"],
    r"asio(/.*|\.hpp)": [r"src/(posix|rpc)/.*", r"tests/rpc/.*\.cc"],
    r"thrift/.*": [r"src/rpc/thrift_\w+\.(h|cc)"],
    r"rocksdb/.*": [r"src/engine/.*", r"tests/engine/.*\.cc", r"bench/.*\.cc"],
    r"liburing\.h": [r"src/posix/.*\.cc", r"bench/.*\.cc", r"tests/support/lacking_io_uring\.cc"],
    r"rapidjson/.*": [r"(src|tools)/.*\.cc"],
    r"nlohmann/.*": [r"tests/.*"],
    r"prometheus/.*": [r"src/metrics/.*\.cc"],
    r"openssl/.*": [r"tools/log/sha256\.cc"],
    r"zlib\.h": [r"tools/load/run/hdr_log\.cc"],
    r"boost/beast/.*": [r"src/http/(request|response)_parser\.cc"],
    r"zookeeper/(zookeeper|zookeeper\.jute|zookeeper_(log|version)|proto|recordio)\.h": [r"src/zookeeper/c_\w+\.cc"],
    r"histedit\.h": [r"tools/shell/line_reader\.cc"],
    r"benchmark/.*": [r"bench/.*"],
}

TOOLS = {"base", "messages", "env", "posix", "metrics", "rpc", "client"}
TOOLS_BY_FOLDER = {"dev": {"*"}, "pages": TOOLS | {"http"}, "log": TOOLS | {"wal", "legacy", "engine"},
                   "load": TOOLS | {"ui"}}  # its report embeds what the dashboard draws with


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def sources(*folders):
    for folder in folders:
        for directory, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in sorted(names):
                if name.endswith((".h", ".cc")):
                    yield os.path.relpath(os.path.join(directory, name), ROOT)


def granted_by_cmake():
    """folder -> the folders its library names as DEPS."""
    granted = {}
    for name, rest in re.findall(r"^arion_library\((\w+)([^)]*)\)", read("CMakeLists.txt"), re.MULTILINE):
        deps = re.search(r"DEPS((?:\s+(?!THIRDPARTY)\w+)*)", rest)
        granted[name] = set(deps.group(1).split()) if deps else set()
    return granted


def includes(path):
    for number, line in enumerate(read(path).splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if match:
            yield number, match.group(1), match.group(2)


def violations(path, granted, include_list):
    """The includes of one file that nothing grants, as texts."""
    parts = path.split("/")
    found = []
    folder = parts[1] if parts[0] == "src" else None
    allowed = None
    if folder is not None:
        allowed = granted.get(folder, set()) | {folder}
    elif parts[0] == "tools":
        allowed = TOOLS_BY_FOLDER.get(parts[1], TOOLS)
    for number, kind, header in include_list:
        where = f"{path}:{number}: "
        top = header.split("/")[0]
        if kind == '"' and allowed is not None and "*" not in allowed:
            ours = top in granted
            if ours and top not in allowed:
                owner = folder or "/".join(parts[:2])
                found.append(f"{where}{owner} may not include {header}: DEPS in CMakeLists.txt do not grant it")
            if not ours and top not in ("tools", "tests", "arion"):
                found.append(f"{where}\"{header}\" is not written from the root of src/")
        if kind == "<" and header.startswith("arion/") and folder not in (None, "client", "main"):
            found.append(f"{where}{header}: only client and what lies above it include the public headers")
        for pattern, doors in DOORS.items():
            if re.fullmatch(pattern, header) and not any(re.fullmatch(door, path) for door in doors):
                found.append(f"{where}{header} has its one door elsewhere (thirdparty/README.md)")
    return found


class Layers(unittest.TestCase):
    def setUp(self):
        self.granted = granted_by_cmake()

    def test_the_table_has_every_folder(self):
        for name in os.listdir(os.path.join(ROOT, "src")):
            if os.path.isdir(os.path.join(ROOT, "src", name)):
                self.assertIn(name, self.granted, f"src/{name} has no arion_library in CMakeLists.txt")

    def test_the_table_has_no_circle(self):
        order = []
        left = {name: set(deps) for name, deps in self.granted.items()}
        while left:
            free = sorted(name for name, deps in left.items() if not deps - set(order))
            self.assertTrue(free, f"these folders need each other: {sorted(left)}")
            order += free
            for name in free:
                del left[name]

    def test_no_include_goes_where_it_may_not(self):
        found = []
        for path in sources("src", "tools", "include"):
            found += violations(path, self.granted, list(includes(path)))
        self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_third_party_headers_stay_behind_their_doors_in_tests_too(self):
        found = []
        for path in sources("tests", "bench"):
            found += violations(path, self.granted, list(includes(path)))
        self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_public_headers_include_nothing_of_src(self):
        for path in sources("include"):
            for number, kind, header in includes(path):
                self.assertNotEqual(kind, '"', f"{path}:{number}: {header}")

    def test_no_grant_is_unused(self):
        """A grant that no include uses makes the house looser than it looks."""
        used = {name: set() for name in self.granted}
        for path in sources("src"):
            folder = path.split("/")[1]
            used[folder] |= {header.split("/")[0] for _, kind, header in includes(path) if kind == '"'}
            used[folder] |= {"client" for _, _, header in includes(path) if header.startswith("arion/")}
        for name, deps in self.granted.items():
            self.assertEqual(deps - used[name], set(), f"{name} includes nothing of these; take them out of its DEPS")

    def test_no_folder_is_too_large_to_know(self):
        """At most 40 files and 6,500 lines: more wants a room of its own."""
        sizes = {}
        for path in sources("src", "tools"):
            files, lines = sizes.get(os.path.dirname(path), (0, 0))
            sizes[os.path.dirname(path)] = (files + 1, lines + len(read(path).splitlines()))
        for folder, (files, lines) in sizes.items():
            self.assertLessEqual(files, 40, f"{folder} has {files} files")
            self.assertLessEqual(lines, 6500, f"{folder} has {lines} lines")

    def test_only_sim_dev_and_tests_include_sim(self):
        for path in sources("src", "tools"):
            if path.startswith(("src/sim", "tools/dev/")):
                continue
            for number, kind, header in includes(path):
                self.assertFalse(kind == '"' and header.startswith("sim"), f"{path}:{number}: {header}")


class TheNetHolds(unittest.TestCase):
    """Planted violations are found."""

    def check(self, path, header, kind='"'):
        return violations(path, granted_by_cmake(), [(1, kind, header)])

    def test_an_arrow_upwards_is_refused(self):
        self.assertTrue(self.check("src/wal/x.cc", "replica/replica.h"))
        self.assertTrue(self.check("src/pacifica/x.cc", "env/clock.h"))

    def test_an_arrow_sideways_is_refused(self):
        self.assertTrue(self.check("src/engine/x.cc", "wal/private_log.h"))

    def test_a_door_passed_by_is_refused(self):
        self.assertTrue(self.check("src/replica/x.cc", "rocksdb/db.h", "<"))
        self.assertTrue(self.check("src/wal/x.cc", "gflags/gflags.h", "<"))

    def test_the_shell_may_not_look_into_the_log(self):
        self.assertTrue(self.check("tools/shell/x.cc", "wal/private_log.h"))

    def test_what_is_granted_passes(self):
        self.assertEqual(self.check("src/wal/x.cc", "env/clock.h"), [])
        self.assertEqual(self.check("src/engine/rocksdb_engine.cc", "rocksdb/db.h", "<"), [])


class Documents(unittest.TestCase):
    folders = {"src", "tests", "tools", "bench", "include", "thirdparty", *granted_by_cmake(), "main"}

    def readmes(self):
        for directory, folders, names in os.walk(ROOT):
            folders[:] = [f for f in folders if not f.startswith((".git", "build", "onebox", ".cache"))]
            if "README.md" in names:
                yield os.path.relpath(os.path.join(directory, "README.md"), ROOT)

    def test_every_file_a_readme_names_exists(self):
        missing = []
        for readme in self.readmes():
            text = re.sub(r"```.*?```", "", read(readme), flags=re.DOTALL)
            for name in re.findall(r"`([A-Za-z0-9_./-]+)`", text):
                is_file = re.search(r"\w\.(h|cc|py|sh|md|txt|cmake|go|thrift)$", name)
                is_path = "/" in name and name.split("/")[0] in self.folders
                if not is_file and not is_path:
                    continue
                bases = [os.path.dirname(readme), "", "src", "include"]
                if not any(os.path.exists(os.path.join(ROOT, base, name)) for base in bases):
                    missing.append(f"{readme} names {name}, which does not exist")
        self.assertEqual(missing, [], "\n" + "\n".join(missing))

    def test_every_third_party_library_is_written_down(self):
        text = read("thirdparty/README.md")
        for target in re.findall(r"add_library\(tp_(\w+)", read("thirdparty/thirdparty.cmake")):
            self.assertIn(f"tp_{target}", text, f"thirdparty/README.md does not name tp_{target}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
