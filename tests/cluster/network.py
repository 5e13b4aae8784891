"""A network of its own for a cluster: each server in a network namespace, a router between them that drops what it is told.

The hub routes; a rule `from A to B blackhole` drops what A sends to B on its way, and nothing else: a one-way partition.
What Disturbance gets through a TUN device it loses, doubles, delays and reorders. The test itself, and what it starts, is in
a namespace of its own. Nothing of it is seen outside, and all of it goes when the test ends.

Needs root, iproute2 and, for Disturbance, /dev/net/tun.
SPDX-License-Identifier: Apache-2.0
"""

import atexit
import ctypes
import fcntl
import heapq
import itertools
import os
import random
import select
import shutil
import signal
import struct
import subprocess
import sys
import time

CLONE_NEWNET = 0x40000000
CUT, BACK, DISTURBED = 50, 100, 200  # order of the hub's rules


def missing():
    if os.geteuid() != 0:
        return "root"
    if shutil.which("ip") is None:
        return "ip (Debian package iproute2)"
    name = f"arion-probe-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False)
    subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
    return None if made.returncode == 0 else "network namespaces (CAP_SYS_ADMIN)"


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def enter(namespace_file):
    if ctypes.CDLL(None, use_errno=True).setns(namespace_file.fileno(), CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


class Network:
    def __init__(self):
        self.prefix = f"arion{os.getpid()}"
        self.hub = f"{self.prefix}hub"
        self.namespaces, self.addresses, self.rules = [], {}, []
        self.outside = open("/proc/self/ns/net")
        self.disturbance = None
        atexit.register(self.remove)
        self._make(self.hub)
        for setting in ("ip_forward=1", "conf.all.rp_filter=0", "conf.default.rp_filter=0"):
            key, value = setting.split("=")
            run("ip", "netns", "exec", self.hub, "sh", "-c", f"echo {value} > /proc/sys/net/ipv4/{key.replace('.', '/')}")
        self.add("client")
        with open(f"/run/netns/{self.prefix}client") as inside:
            enter(inside)

    def _make(self, name):
        run("ip", "netns", "add", name)
        self.namespaces.append(name)
        run("ip", "-n", name, "link", "set", "lo", "up")

    def add(self, name):
        """A namespace; its address."""
        number = len(self.namespaces)
        namespace, port = f"{self.prefix}{name}", f"p{number}"
        self._make(namespace)
        run("ip", "link", "add", port, "netns", self.hub, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        for where, device, address in ((self.hub, port, f"10.77.{number}.1/24"), (namespace, "eth0", f"10.77.{number}.2/24")):
            run("ip", "-n", where, "addr", "add", address, "dev", device)
            run("ip", "-n", where, "link", "set", device, "up")
        run("ip", "-n", namespace, "route", "add", "default", "via", f"10.77.{number}.1")
        self.addresses[name] = f"10.77.{number}.2"
        return self.addresses[name]

    def command(self, name):
        return ["ip", "netns", "exec", f"{self.prefix}{name}"]

    def _rule(self, priority, *what):
        rule = ["priority", str(priority), *what]
        run("ip", "-n", self.hub, "rule", "add", *rule)
        self.rules.append(rule)

    def cut(self, source, target):
        """What `source` sends to `target` is lost from now on; what comes back is not."""
        self._rule(CUT, "from", self.addresses[source], "to", self.addresses[target], "blackhole")

    def cut_both(self, one, other):
        self.cut(one, other)
        self.cut(other, one)

    def disturb(self, **chances):
        """Everything passes a Disturbance from now on."""
        arguments = [f"{key}={value}" for key, value in chances.items()]
        self.disturbance = subprocess.Popen(
            ["ip", "netns", "exec", self.hub, sys.executable, os.path.abspath(__file__), *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        if self.disturbance.stdout.readline().strip() != "ready":
            raise AssertionError("no disturbance")
        run("ip", "-n", self.hub, "route", "add", "default", "dev", "weather", "table", "77")
        self._rule(BACK, "iif", "weather", "lookup", "main")
        for address in self.addresses.values():
            self._rule(DISTURBED, "from", address, "lookup", "77")

    def heal(self):
        for rule in self.rules:
            run("ip", "-n", self.hub, "rule", "del", *rule)
        self.rules = []
        if self.disturbance is not None:
            self.disturbance.terminate()
            told = self.disturbance.communicate()[0].strip()
            self.disturbance = None
            return told
        return ""

    def remove(self):
        enter(self.outside)
        if self.disturbance is not None:
            self.disturbance.kill()
            self.disturbance.wait()
        for name in self.namespaces:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
        self.namespaces = []
        self.outside.close()
        atexit.unregister(self.remove)


def weather(loss=0.0, double=0.0, reorder=0.0, delay=0.0, seed=1):
    """Runs in the hub: each packet is lost, comes twice, or later than those behind it, by these chances; all come `delay`
    seconds later. Ends with SIGTERM and tells what it did."""
    chance = random.Random(seed)
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH22s", b"weather", 0x0001 | 0x1000, b""))  # TUNSETIFF: IFF_TUN | IFF_NO_PI
    run("ip", "link", "set", "weather", "up")
    os.set_blocking(tun, False)
    print("ready", flush=True)
    counts = dict.fromkeys(("passed", "lost", "doubled", "reordered"), 0)

    def tell(*_):
        print(" ".join(f"{count} {what}" for what, count in counts.items()), flush=True)
        os._exit(0)
    signal.signal(signal.SIGTERM, tell)
    waiting, order = [], itertools.count()
    while True:
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            try:
                os.write(tun, heapq.heappop(waiting)[2])
            except OSError:
                pass  # a packet lost
        select.select([tun], [], [], max(0, waiting[0][0] - now) if waiting else 1)
        for _ in range(64):
            try:
                packet = os.read(tun, 65536)
            except BlockingIOError:
                break
            if chance.random() < loss:
                counts["lost"] += 1
                continue
            late = chance.random() < reorder
            counts["reordered"] += late
            due = time.monotonic() + delay + (0.005 + chance.random() * 0.02 if late else 0)
            heapq.heappush(waiting, (due, next(order), packet))
            counts["passed"] += 1
            if chance.random() < double:
                counts["doubled"] += 1
                heapq.heappush(waiting, (due, next(order), packet))


if __name__ == "__main__":
    weather(**{key: float(value) for key, value in (argument.split("=") for argument in sys.argv[1:])})
