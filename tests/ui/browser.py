"""Debian's Chromium, headless, through playwright-core of npm (browser.mjs); and whether this machine has what that needs.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("ARION_BUILD", os.path.join(os.path.dirname(os.path.dirname(HERE)), "build"))
MODULES = os.path.join(BUILD, "browser")
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


def missing():
    """Why no browser can be used here; None if one can."""
    for program in ("chromium", "node", "npm"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    return None


def install():
    """playwright-core, as package-lock.json pins it, into the build directory."""
    os.makedirs(MODULES, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(os.path.join(HERE, name), MODULES)
    if not os.path.exists(os.path.join(MODULES, "node_modules", "playwright-core")):
        subprocess.run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], cwd=MODULES, check=True, timeout=300)


class Browser:
    def __init__(self):
        install()
        self.process = subprocess.Popen(
            ["node", os.path.join(HERE, "browser.mjs")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "ARION_NODE_MODULES": os.path.join(MODULES, "node_modules"), "ARION_CHROMIUM": shutil.which("chromium")})

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()

    def ask(self, command, **rest):
        self.process.stdin.write(json.dumps({"command": command, **rest}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise AssertionError(f"{command} {rest}: {answer['error']}")
        return answer["result"]

    def open(self, name, url, size="desktop", scheme="light"):
        width, height = SIZES[size]
        self.ask("open", name=name, url=url, width=width, height=height, scheme=scheme)
        return Page(self, name)


class Page:
    def __init__(self, browser, name):
        self.browser = browser
        self.name = name

    def wait(self, script, seconds=30):
        return self.browser.ask("wait", name=self.name, script=script, seconds=seconds)

    def evaluate(self, script):
        return self.browser.ask("evaluate", name=self.name, script=script)

    def press(self, key):
        self.browser.ask("press", name=self.name, key=key)

    def errors(self):
        return self.browser.ask("errors", name=self.name)

    def requests(self):
        return self.browser.ask("requests", name=self.name)

    def look(self, size, scheme):
        width, height = SIZES[size]
        self.browser.ask("resize", name=self.name, width=width, height=height)
        self.browser.ask("scheme", name=self.name, scheme=scheme)

    def screenshot(self, path):
        self.browser.ask("screenshot", name=self.name, path=path)
