#!/usr/bin/env python3
"""What arion_shell does on a terminal; run by terminal_test.py, by the interpreter that has pexpect.

    terminal_check.py SHELL META_ADDRESS HOME PATIENCE

SPDX-License-Identifier: Apache-2.0
"""

import os
import re
import sys
import time

import pexpect

SHELL, META, HOME, PATIENCE = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])
PROMPT = r"test(/temp)?( !)?> "


# Where the cursor goes, what stands out, and what is written over.
CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r|\x07|.\x08")


class Terminal:
    def __init__(self, columns=100):
        begun = time.monotonic()
        self.child = pexpect.spawn(SHELL, ["--meta", META], env={**os.environ, "HOME": HOME, "TERM": "xterm"},
                                   dimensions=(30, columns), encoding="utf-8")
        self.unread = ""
        self.greeting = self.await_text(PROMPT)
        self.took = time.monotonic() - begun

    def await_text(self, pattern):
        """What is shown up to the pattern; what comes behind it is kept for the next."""
        deadline = time.monotonic() + 20 * PATIENCE
        while True:
            found = re.search(pattern, CONTROLS.sub("", self.unread))
            if found:
                shown = CONTROLS.sub("", self.unread)
                self.unread = shown[found.end():]
                return shown[:found.start()]
            try:
                self.unread += self.child.read_nonblocking(4096, timeout=1)
            except pexpect.TIMEOUT:
                if time.monotonic() > deadline:
                    sys.exit(f"terminal_check: waited in vain for {pattern!r}, there is {self.unread!r}")

    def type(self, text, expect):
        self.child.send(text)
        return self.await_text(expect)

    def say(self, line, expect=PROMPT):
        self.child.send(line + "\r")
        self.await_text(r"\n")  # the echo
        return self.await_text(expect)

    def leave(self):
        self.child.send("\x15exit\r")
        self.child.expect(pexpect.EOF, timeout=20 * PATIENCE)
        self.child.close()
        check(f"exit code {self.child.exitstatus}", self.child.exitstatus == 0)


def check(what, condition):
    if not condition:
        sys.exit(f"terminal_check: {what}")


def greeting_and_prompt():
    terminal = Terminal()
    check(f"health line: {terminal.greeting!r}",
          re.search(r"connected: test, 1 meta, 3/3 replicas alive, 8/8 partitions healthy", terminal.greeting))
    check(f"first prompt after {terminal.took:.3f} s", terminal.took < 2 * PATIENCE)
    terminal.say("use temp", r"test/temp> ")
    terminal.leave()


def completion():
    terminal = Terminal()
    terminal.type("cluster\t", r"cluster_info ")                    # a command
    terminal.type("\x15use te\t", r"use temp ")                     # a table
    terminal.type("\x15drain 127\t", r"drain 127\.0\.0\.1:")     # servers: what they have in common
    terminal.type("\x15set_meta_level fr\t", r"freezed ")           # a value
    terminal.type("\x15use temp\r", r"test/temp> ")
    terminal.type("set_app_envs default\t", r"default_ttl ")        # an environment
    terminal.type("\x15nodes --wa\t", r"--watch ")                  # an option
    terminal.type("\x15config set slow_req\t", r"slow_request_after ")   # a setting that can be changed
    terminal.type("\x15remote_command meta.live\t", r"meta\.live_percentage ")
    terminal.type("\x15app_stat -a te\t", r"temp ")                # an option's value
    terminal.leave()


def history():
    terminal = Terminal()
    terminal.say("get_meta_level", r"steady")
    terminal.leave()
    terminal = Terminal()                                           # another session remembers
    terminal.type("\x10\x10", r"get_meta_level")                    # up, over exit
    terminal.leave()


def watch_and_interrupt():
    terminal = Terminal()
    terminal.say("nodes --watch -j", r'"nodes"')                   # the time left out, another option behind
    terminal.child.sendintr()
    terminal.await_text(PROMPT)
    terminal.say("nodes --watch 0.2", r"ADDRESS")
    terminal.await_text(r"ADDRESS")                               # again, by itself
    terminal.await_text(r"ADDRESS")
    terminal.child.sendintr()
    terminal.await_text(PROMPT)                                   # the shell lives
    check("a word after Ctrl-C", "steady" in terminal.say("get_meta_level"))
    terminal.type("half a line", r"half a line")
    terminal.child.sendintr()
    terminal.await_text(PROMPT)                                   # nothing of it was done
    check("after Ctrl-C in a line", "steady" in terminal.say("get_meta_level"))
    terminal.leave()


def questions():
    terminal = Terminal()
    terminal.say("drop temp", r"\[y/N\] ")
    check("an unanswered question does nothing", "not dropped" in terminal.say("n"))
    check("did you mean", "did you mean nodes?" in terminal.say("nodse"))
    check("did you mean a table", "did you mean temp?" in terminal.say("use tmep"))
    terminal.leave()


def narrow_terminal():
    terminal = Terminal(columns=20)
    terminal.child.send("app temp -d\r")
    terminal.await_text(r"\n +7 ")
    terminal.await_text(r"> ")
    terminal.child.send("status\r")
    terminal.await_text(r"healthy")
    terminal.await_text(r"> ")
    terminal.leave()


for scenario in (greeting_and_prompt, completion, history, watch_and_interrupt, questions, narrow_terminal):
    try:
        scenario()
    except pexpect.ExceptionPexpect as error:
        sys.exit(f"terminal_check: {scenario.__name__}: {error}")
print("ok")
