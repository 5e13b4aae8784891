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


class Terminal:
    def __init__(self, columns=100):
        self.begun = time.monotonic()
        self.child = pexpect.spawn(SHELL, ["--meta", META], env={**os.environ, "HOME": HOME, "TERM": "xterm"},
                                   dimensions=(30, columns), timeout=20 * PATIENCE, encoding="utf-8")
        self.child.expect(PROMPT)
        self.took = time.monotonic() - self.begun
        self.greeting = self.child.before

    def type(self, text, expect):
        self.child.send(text)
        self.child.expect(expect)
        return self.child.before

    def say(self, line, expect=PROMPT):
        self.child.send(line + "\r")
        self.child.expect(r"\n")  # the echo
        self.child.expect(expect)
        return self.child.before

    def leave(self):
        self.child.send("\x15exit\r")
        self.child.expect(pexpect.EOF)
        self.child.close()
        assert self.child.exitstatus == 0, self.child.exitstatus


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
    terminal.say("nodes --watch 0.2", r"ADDRESS")
    terminal.child.expect(r"ADDRESS")                               # again, by itself
    terminal.child.expect(r"ADDRESS")
    terminal.child.sendintr()
    terminal.child.expect(PROMPT)                                   # the shell lives
    check("a word after Ctrl-C", "steady" in terminal.say("get_meta_level"))
    terminal.child.send("half a line")
    terminal.child.sendintr()
    terminal.child.expect(PROMPT)                                   # nothing of it was done
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
    terminal.child.expect(r"1\.7")
    terminal.child.expect(r"> ")
    terminal.child.send("status\r")
    terminal.child.expect(r"healthy")
    terminal.child.expect(r"> ")
    terminal.leave()


for scenario in (greeting_and_prompt, completion, history, watch_and_interrupt, questions, narrow_terminal):
    try:
        scenario()
    except pexpect.ExceptionPexpect as error:
        sys.exit(f"terminal_check: {scenario.__name__}: {error}")
print("ok")
