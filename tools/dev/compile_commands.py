"""How the build compiles each of our sources, for tools/dev/thread_safety,
tidy, branches and mutants_build.

SPDX-License-Identifier: Apache-2.0
"""
import json
import pathlib
import re
import shlex
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def configured(build):
    """The build directory, configured if it is not yet."""
    build = build.resolve()
    if not (build / "compile_commands.json").exists():
        command = 'set -euo pipefail; . tools/common.sh; configure "$1" -DCMAKE_BUILD_TYPE=RelWithDebInfo'
        subprocess.run(["bash", "-c", command, "bash", str(build)], cwd=ROOT, check=True)
    return build


def commands_of_sources(build):
    """{source: (directory, compiler and flags)}, without -o and -c. Of one that several programs compile, one way;
    what is generated is not ours."""
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        compiled = pathlib.Path(entry["file"])
        sources = [compiled]
        if compiled.parent.name == "Unity":  # several sources of a room, compiled together
            sources = [pathlib.Path(name) for name in INCLUDE.findall(compiled.read_text())]
        words = shlex.split(entry["command"])
        for source in sources:
            if source.suffix == ".cc" and build not in source.parents and ROOT in source.parents:
                commands[source] = (entry["directory"], words[:words.index("-o")])
    return commands


def flags_of_sources(build):
    """{source: what decides how it is read}: definitions, include directories and the standard; precompiled headers
    are g++'s."""
    flags = {}
    for source, (_, words) in commands_of_sources(build).items():
        kept = [w for w in words if w.startswith(("-D", "-I", "-std=")) and w != "-DNDEBUG"]
        kept += [w for at, word in enumerate(words) if word == "-isystem" for w in words[at:at + 2]]
        flags[source] = kept
    return flags


def headers_of(source, known):
    """The headers of the tree that a file reaches; `known` keeps them from one call to the next."""
    if source in known:
        return known[source]
    known[source] = reached = set()
    for name in INCLUDE.findall(source.read_text(errors="replace")):
        for folder in (source.parent, ROOT / "src", ROOT, ROOT / "include"):
            if (folder / name).is_file():
                header = (folder / name).resolve()
                reached |= {header} | headers_of(header, known)
                break
    return reached
