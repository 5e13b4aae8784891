#!/usr/bin/env python3
"""Where the three servers' CPU goes, by stage: microseconds of an operation, user and kernel, and the client's beside. For
bench/BUDGET.md.

    ARION_BUILD=build-bench bench/cluster/cpu_budget.py put          # or get

perf's samples belong to the stage of their stack's innermost function that has one; their shares are scaled to utime + stime
of the same run. SPDX-License-Identifier: Apache-2.0
"""

import os
import subprocess
import sys

import server_cpu
from server_cpu import cpu_time, harness

# (stage, threads, functions). A stage without functions takes what no other of its thread takes.
STAGES = [
    ("log: io_uring", ("loop", "log_device"), ("io_uring", "UringLogDevice", "io_cqring", "io_submit")),
    ("log: the kernel's flush workers", ("iou-wrk",), ()),
    ("engine in the background", ("rocksdb", "disk_pool"), ()),
    ("memtable, block cache", ("loop",), ("rocksdb::",)),
    ("loops: sending, system calls", ("loop",), ("sendmsg",)),
    ("loops: receiving, system calls", ("loop",), ("recvmsg", "recvfrom", "__libc_recv")),
    ("loops: sleeping and being woken", ("loop",), ("epoll_wait",)),
    ("loops: waking others", ("loop",), ("epoll_ctl", "eventfd_write", "futex", "asio::detail::scheduler::post")),
    ("engine's own code around RocksDB", ("loop",), ("RocksdbEngine", "ApplyTo", "MutationOperations")),
    ("log: building blocks", ("loop",), ("PrivateLog", "LogWriter", "LogBlock", "Crc32c")),
    ("rpc: bytes to messages and back", ("loop",), ("FrameParser", "EncodeWrapped", "DecodeWrapped", "DecodePrepare", "EncodePrepare",
                                                   "RdsnRequestHeader", "RdsnReplyHeader", "ThriftReplyHeader")),
    ("protocol core", ("loop",), ("ReplicaCore", "PrepareList")),
    ("replica: requests, answers, effects", ("loop",), ("RequestRouter", "ReplicaTable", "RequestBook",
                                                       # src/client_requests, and what writes wait for
                                                       "ClientReads", "ClientWrites", "Admission", "HeldRequests", "WriteOrder",
                                                       # a replica and its parts, src/replica
                                                       "arion::Replica::", "ApplyQueue", "DiskWork", "ReplicaCheckpoints",
                                                       "ReplicaCompaction", "ReplicaLearning", "ReplicaMessages", "ReplicaOffice",
                                                       "ReplicaShipping", "ReplicaStore", "ReplicaVerifying")),
    ("rpc: connections", ("loop",), ("AsioConnection", "AsioTransport", "Outbox", "PendingCalls")),
    ("loops: their queues", ("loop",), ()),
]


def check_stages():
    """A class that was renamed or cut into parts would count for another stage, and nobody would see it."""
    symbols = harness.run(["nm", "-C", os.path.join(harness.BUILD, "arion_replica")], timeout=60)
    ours = [name for _, _, names in STAGES for name in names if name[0].isupper() or name.startswith("arion::")]
    gone = [name for name in ours if name not in symbols]
    if gone:
        sys.exit(f"no function of arion_replica has these names of a stage: {', '.join(gone)}")


def stage_of(thread, stack):
    """That of the innermost function that belongs to one."""
    for frame in stack:
        for name, threads, functions in STAGES:
            if thread.startswith(threads) and any(function in frame for function in functions):
                return name
    return next((name for name, threads, functions in STAGES if thread.startswith(threads) and not functions), "others")


def samples(data):
    """(thread, stack from the leaf on, whether the leaf is the kernel's)."""
    script = harness.run(["perf", "script", "--no-inline", "-i", data, "-F", "comm,ip,sym,dso"], timeout=300)
    for block in script.split("\n\n"):
        lines = [line for line in block.splitlines() if line.strip()]
        if len(lines) > 1:
            yield lines[0].strip(), lines[1:], "kernel" in lines[1].rsplit("(", 1)[-1]


def main():
    operation = sys.argv[1] if len(sys.argv) > 1 else "put"
    check_stages()
    cluster = harness.Cluster(replica_settings={"block_cache_size": "512 MiB"}, replica_threads=harness.SHARED_LOOPS)
    cluster.start()
    table, keys, _, _, _ = server_cpu.OPERATIONS[operation]
    cluster.create_table(table)
    harness.run([os.path.join(harness.BUILD, "bench", "client_bench"), f"--meta={cluster.meta.address}", f"--table={table}",
                 f"--keys={keys}", "--op=put", f"--ops={keys}", "--outstanding=45"], timeout=600)
    data = os.path.join(cluster.directory, "perf.data")
    pids = cluster.replica_pids()
    cpu_time.settle(pids)
    with subprocess.Popen(["perf", "record", "-q", "-g", "-F", "999", "-p", ",".join(map(str, pids)), "-o", data]) as recorder:
        row = server_cpu.measure(cluster, "C++", operation)
        recorder.send_signal(2)
    counts = {}
    for thread, stack, in_kernel in samples(data):
        count = counts.setdefault(stage_of(thread, stack), [0, 0])
        count[1 if in_kernel else 0] += 1
    total = sum(sum(count) for count in counts.values())
    print(f"{operation}: {row['us']:.1f} us of server CPU, {row['ops/s']:,.0f} a second, {total} samples\n")
    print("| stage | user us | kernel us | sum us |")
    print("|---|--:|--:|--:|")
    for name in [stage[0] for stage in STAGES] + ["others"]:
        user, kernel = (n * row["us"] / total for n in counts.get(name, (0, 0)))
        if user + kernel > 0:
            print(f"| {name} | {user:.1f} | {kernel:.1f} | {user + kernel:.1f} |")
    client = row["client user us"], row["client kernel us"]
    print(f"| the client, in a process of its own | {client[0]:.1f} | {client[1]:.1f} | {sum(client):.1f} |")
    cluster.destroy()


if __name__ == "__main__":
    main()
