#!/usr/bin/python3
"""A file system that passes everything through to a directory, and fails or delays what a control file asks for.

    faulty_fs.py BACKING MOUNTPOINT CONTROL

CONTROL holds JSON, replaced as a whole: a list of rules
    {"op": "write" | "fsync" | "fsyncdir" | "read" | "look" | "change", "path": "part of the path", "errno": "EIO", "count": 1, "seconds": 0.8}
("look": asking for attributes, a listing, or to open; "change": of names, sizes and attributes, and to open for writing). The first rule that fits an operation delays it by `seconds` and, with `errno`, fails it ("short": a write takes half);
with `count` only so often, with `one_in` by chance. Each injected failure is a line on standard output. After a failed fsync what was written since the last one is lost, as
on a disk whose pages the kernel has given up: the bytes become what they were before (behind the old end: zeros).
Asking for /.power_cut has every file lose its bytes that were not synced. Ends when it is unmounted. Needs Debian's python3-fusepy.
SPDX-License-Identifier: Apache-2.0
"""

import errno
import json
import os
import random
import sys
import threading
import time

import fusepy as fuse


class FaultyFs(fuse.Operations):
    def __init__(self, backing, control):
        self.backing = backing
        self.control = control
        self.mutex = threading.Lock()
        self.rules = []
        self.control_mtime = None
        self.unsynced = {}  # path -> [(offset, length, bytes before)]

    def _full(self, path):
        return self.backing + path

    def _inject(self, op, path):
        with self.mutex:
            try:
                mtime = os.stat(self.control).st_mtime_ns
                if mtime != self.control_mtime:
                    with open(self.control) as file:
                        self.rules = json.load(file)
                    self.control_mtime = mtime
            except OSError:
                self.rules = []
            rule = next((r for r in self.rules
                         if r["op"] == op and r.get("path", "") in path and r.get("count", 1) > 0), None)
            if rule is None or random.randrange(rule.get("one_in", 1)) > 0:
                return None
            if "count" in rule:
                rule["count"] -= 1
        time.sleep(rule.get("seconds", 0))
        if "errno" in rule:
            print(f"{op} {path} {rule['errno']}", flush=True)
            if rule["errno"] == "short":
                return "short"
            raise fuse.FuseOSError(getattr(errno, rule["errno"]))
        return None

    # Names.
    def getattr(self, path, fh=None):
        self._inject("look", path)
        if path == "/.power_cut":
            lost = [file for file in list(self.unsynced) if self._lose(file)]
            print(f"power cut: {len(lost)} files lose bytes", flush=True)
        st = os.fstat(fh) if fh is not None else os.lstat(self._full(path))
        return {key: getattr(st, key) for key in ("st_atime", "st_ctime", "st_gid", "st_mode", "st_mtime", "st_nlink",
                                                  "st_size", "st_uid", "st_blocks", "st_ino")}

    def readdir(self, path, fh):
        self._inject("look", path)
        return [".", "..", *os.listdir(self._full(path))]

    def access(self, path, mode):
        if not os.access(self._full(path), mode):
            raise fuse.FuseOSError(errno.EACCES)

    def mkdir(self, path, mode):
        self._inject("change", path)
        return os.mkdir(self._full(path), mode)

    def rmdir(self, path):
        self._inject("change", path)
        return os.rmdir(self._full(path))

    def unlink(self, path):
        self._inject("change", path)
        self.unsynced.pop(path, None)
        return os.unlink(self._full(path))

    def rename(self, old, new):
        self._inject("change", old)
        with self.mutex:
            if old in self.unsynced:
                self.unsynced[new] = self.unsynced.pop(old)
        return os.rename(self._full(old), self._full(new))

    def link(self, target, name):
        self._inject("change", target)
        return os.link(self._full(name), self._full(target))

    def symlink(self, name, target):
        self._inject("change", name)
        return os.symlink(target, self._full(name))

    def readlink(self, path):
        return os.readlink(self._full(path))

    def chmod(self, path, mode):
        self._inject("change", path)
        return os.chmod(self._full(path), mode)

    def chown(self, path, uid, gid):
        self._inject("change", path)
        return os.chown(self._full(path), uid, gid)

    def utimens(self, path, times=None):
        self._inject("change", path)
        return os.utime(self._full(path), times)

    def statfs(self, path):
        st = os.statvfs(self._full(path))
        return {key: getattr(st, key) for key in ("f_bavail", "f_bfree", "f_blocks", "f_bsize", "f_favail", "f_ffree",
                                                  "f_files", "f_flag", "f_frsize", "f_namemax")}

    # Files. O_DIRECT ends here: our buffers are not aligned, and the kernel's cache is not the one under test.
    def open(self, path, flags):
        self._inject("look", path)
        if flags & (os.O_WRONLY | os.O_RDWR):
            self._inject("change", path)
        return os.open(self._full(path), flags & ~os.O_DIRECT & ~os.O_APPEND)

    def create(self, path, mode, fi=None):
        self._inject("change", path)
        return os.open(self._full(path), os.O_RDWR | os.O_CREAT, mode)

    def read(self, path, size, offset, fh):
        self._inject("read", path)
        return os.pread(fh, size, offset)

    def write(self, path, data, offset, fh):
        if self._inject("write", path) == "short":
            data = data[:len(data) // 2]
        fd = os.open(self._full(path), os.O_RDONLY)  # fh may be for writing only
        before = os.pread(fd, len(data), offset)
        os.close(fd)
        with self.mutex:
            self.unsynced.setdefault(path, []).append((offset, len(data), before))
        return os.pwrite(fh, data, offset)

    def truncate(self, path, length, fh=None):
        self._inject("change", path)
        return os.truncate(self._full(path), length)

    def fsync(self, path, datasync, fh):
        try:
            self._inject("fsync", path)
        except fuse.FuseOSError:
            self._lose(path)
            raise
        with self.mutex:
            self.unsynced.pop(path, None)
        # The backing directory is no disk of ours: what counts is that the caller was told.
        return 0

    def _lose(self, path):
        with self.mutex:
            lost = self.unsynced.pop(path, [])
        if not lost or not os.path.exists(self._full(path)):
            return False
        fd = os.open(self._full(path), os.O_WRONLY)
        for offset, length, before in reversed(lost):
            os.pwrite(fd, before.ljust(length, b"\0"), offset)
        os.close(fd)
        return True

    def fsyncdir(self, path, datasync, fh):
        self._inject("fsyncdir", path)
        return 0

    def flush(self, path, fh):
        return 0

    def release(self, path, fh):
        return os.close(fh)


if __name__ == "__main__":
    BACKING, MOUNTPOINT, CONTROL = sys.argv[1:]
    # No attribute or write-back cache: sizes and bytes are the backing directory's at every moment, inode numbers too.
    fuse.FUSE(FaultyFs(BACKING, CONTROL), MOUNTPOINT, foreground=True, nonempty=True, attr_timeout=0, entry_timeout=0,
              big_writes=True, max_write=1 << 17, use_ino=True)
