#!/usr/bin/env python3
"""Updates of a table that is duplicated to another cluster, while replica servers of both are killed in turn: how many a second there were,
how soon the other cluster has all, and what `duplication verify` says.

    bench/cluster/two_clusters_kills.py [--build build] [--rate 20000] [--minutes 5] [--every 20]

Two clusters of three servers on this machine. Results: bench/RESULTS.md.
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests", "cluster")]

TABLE, RECORDS, VALUE_BYTES = "temp", 1_000_000, 100
DOWN_SECONDS = 3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--rate", type=int, default=20000, help="updates a second that are asked for")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--every", type=float, default=20, help="seconds between two kills")
    arguments = parser.parse_args()
    os.environ["ARION_BUILD"] = os.path.abspath(arguments.build)
    import harness  # it takes the programs from there
    import two_clusters

    clusters = two_clusters.start_two(replica_threads=harness.SHARED_LOOPS)
    source = clusters["c1"]
    for cluster in clusters.values():
        cluster.create_table(TABLE, partitions=8)

    def shell(command):
        done = subprocess.run([os.path.join(arguments.build, "arion_shell"), f"--meta={source.meta.address}", "-j", "-e", command],
                              stdout=subprocess.PIPE, check=False)
        return json.loads(done.stdout.splitlines()[-1])

    def behind():
        """Decrees that the other cluster lacks, by every server that is up."""
        samples = [sample for server in source.replicas for sample in harness.metrics(server)]
        return sum(value for name, _, value in samples if name == "arion_duplication_lag_decrees")

    shell(f"add_dup {TABLE} c2")
    # What is written before a partition's place is stored need not be sent.
    harness.wait_for("each partition sends", lambda: all(row["confirmed_decree"] >= 0 for row in
                                                         shell(f"query_dup {TABLE} -d")["partitions"]), 60)
    seconds = int(arguments.minutes * 60)
    kills = {name: 0 for name in clusters}
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        load = subprocess.Popen(
            [os.path.join(arguments.build, "arion_load"), "run", f"--meta={source.meta.address}", f"--table={TABLE}", "--workload=a",
             "-p=readproportion=0", "-p=updateproportion=1", "-p=fieldcount=1", f"-p=fieldlength={VALUE_BYTES}",
             f"-p=recordcount={RECORDS}", f"--rate={arguments.rate}", f"--seconds={seconds}", f"--json={report.name}"],
            stdout=subprocess.DEVNULL)
        while load.poll() is None:
            for name, cluster in clusters.items():
                time.sleep(arguments.every - DOWN_SECONDS)
                if load.poll() is not None:
                    break
                victim = random.choice(cluster.replicas)
                victim.kill()
                time.sleep(DOWN_SECONDS)
                victim.start()
                cluster.wait_listening(victim)
                kills[name] += 1
        phase = json.load(report)["phases"][-1]
    begin = time.monotonic()
    for cluster in clusters.values():
        cluster.wait_healthy(TABLE)
    harness.wait_for("the other cluster has all", lambda: behind() == 0, 600)
    print(f"{phase['kinds'][0]['count'] / seconds:.0f} updates/s answered for {seconds} s, asked for {arguments.rate}; kills {kills}; "
          f"all there {time.monotonic() - begin:.1f} s after the end")
    verdict = shell(f"duplication verify {TABLE}")
    print(json.dumps(verdict)[:2000])
    for cluster in clusters.values():
        cluster.destroy()
    return 0 if verdict.get("verdict") == "equal" else 1


if __name__ == "__main__":
    sys.exit(main())
