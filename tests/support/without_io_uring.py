#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""without_io_uring.py [--error NAME] COMMAND...: runs it where io_uring is refused, as in most containers.

The three system calls fail with EPERM, or the error named: ENOSYS, ENOMEM. Needs no privilege. What the command
starts inherits it. tests/support/refused_calls.h is the same for a C++ test, tests/support/lacking_io_uring.cc takes a single operation.
"""
import ctypes
import errno
import os
import struct
import sys

LOAD, IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, FILTER = 22, 38, 2
IO_URING_CALLS = (425, 426, 427)  # setup, enter, register: the same on every architecture


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]


def refuse(error):
    """In this process, for good."""
    code = [(LOAD, 0, 0, 0)]
    for call in IO_URING_CALLS:
        code += [(IF_EQUAL, 0, 1, call), (RETURN, 0, 0, FAIL | error)]
    code.append((RETURN, 0, 0, ALLOW))
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in code))
    program = Program(len(code), ctypes.addressof(text))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, FILTER, ctypes.byref(program), 0, 0):
        sys.exit(f"without_io_uring.py: {os.strerror(ctypes.get_errno())}")


def main():
    command, error = sys.argv[1:], errno.EPERM
    if command[:1] == ["--error"]:
        error, command = getattr(errno, command[1]), command[2:]
    if not command:
        sys.exit(__doc__)
    refuse(error)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
