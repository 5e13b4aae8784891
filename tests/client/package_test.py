#!/usr/bin/env python3
"""Installs the client and builds the examples of its README against it, out of the tree.

SPDX-License-Identifier: Apache-2.0
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ["ARION_BUILD"]

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
find_package(Arion 0.1 REQUIRED)
add_executable(app app.cc)
target_compile_options(app PRIVATE -O0 -Wall -Wextra)
target_link_libraries(app PRIVATE arion::client)
"""


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


class Package(unittest.TestCase):
    def must(self, *command):
        code, output = run(*command)
        self.assertEqual(code, 0, f"{' '.join(command)}\n{output}")
        return output

    def test_the_readmes_examples_build_against_the_installed_client(self):
        with open(f"{ROOT}/include/arion/README.md", encoding="utf-8") as readme:
            examples = re.findall(r"```cpp\n(.*?)```", readme.read(), re.DOTALL)
        self.assertGreaterEqual(len(examples), 5)
        with tempfile.TemporaryDirectory() as scratch:
            self.must("cmake", "--install", BUILD, "--prefix", f"{scratch}/prefix", "--component", "client")
            os.makedirs(f"{scratch}/app")
            for name, text in (("CMakeLists.txt", PROJECT), ("app.cc", "\n".join(examples))):
                with open(f"{scratch}/app/{name}", "w", encoding="utf-8") as file:
                    file.write(text)
            flags = os.environ.get("ARION_FLAGS", "")
            self.must("cmake", "-S", f"{scratch}/app", "-B", f"{scratch}/out", f"-DCMAKE_PREFIX_PATH={scratch}/prefix",
                      f"-DCMAKE_CXX_FLAGS={flags}")
            output = self.must("cmake", "--build", f"{scratch}/out")
            self.assertNotIn("warning:", output)
            code, output = run(f"{scratch}/out/app", "nonsense")
            self.assertEqual(code, 2, output)
            self.assertIn('meta server "nonsense" is not IPv4:port', output)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
