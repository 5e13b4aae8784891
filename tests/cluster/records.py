"""Records of a table that a test wrote, and what every member must answer for them.

Clients ask again with a new view of the table where they are refused, as real ones do.
SPDX-License-Identifier: Apache-2.0
"""

import os
import random
import subprocess
import time

import data_api
import harness

VALUE_BYTES = 600
HEALS_SECONDS = 60 * harness.PATIENCE


class RecordsTest(harness.ClusterTest):
    """`keys`: how many there are; each test begins with none of them known."""

    keys = 300
    seed = random.randrange(1 << 30)

    def setUp(self):
        self.chance = random.Random(self.seed)
        self.values = {}
        self.table_api = data_api.DataApi(self.cluster.meta.address, self.table, header_version=1, timeout=5)
        self.app_id = self.table_api.app_id
        self.addCleanup(lambda: self.table_api and self.table_api.close())

    def again(self, ask, until):
        """What `ask(table)` answers; a refusal is asked again with a new view of the table."""
        while True:
            try:
                if self.table_api is None:
                    self.table_api = data_api.DataApi(self.cluster.meta.address, self.table, header_version=1, timeout=5)
                answer = ask(self.table_api)
                if answer["error"] in (data_api.OK, data_api.NOT_FOUND):
                    return answer
            except (OSError, data_api.Refused, AttributeError) as error:  # a partition has no primary
                answer = error
            if self.table_api is not None:
                self.table_api.close()
                self.table_api = None
            self.assertLess(time.monotonic(), until, f"still refused: {answer}")
            time.sleep(0.05)

    def put(self, count):
        for i in self.chance.sample(range(self.keys), count):
            value = b"%d.%d|" % (i, self.chance.getrandbits(40)) + b"x" * self.chance.randrange(VALUE_BYTES)
            self.values[i] = [*self.values.get(i, [])[-50:], value]
            answer = self.again(lambda table: table.put(key=data_api.raw_key(b"k%d" % i, b"s"), value=value),
                                time.monotonic() + HEALS_SECONDS)
            self.assertEqual(answer["error"], data_api.OK)

    def read(self, table, i, **how):
        return table.get(data_api.raw_key(b"k%d" % i, b"s"), **how)

    def read_all(self, until):
        """From the primaries, whoever they are."""
        for i, values in self.values.items():
            answer = self.again(lambda table: self.read(table, i), until)
            self.assertEqual((answer["error"], answer.get("value")), (data_api.OK, values[-1]), f"k{i}")

    def members_agree(self):
        """Each member's own copy, a moment late perhaps: a value of before is no lie, but it must not stay."""
        table = data_api.DataApi(self.cluster.meta.address, self.table, header_version=1)
        try:
            for i, values in self.values.items():
                partition = table.partitions[table.partition_of(b"k%d" % i)]
                for address in (partition["primary"], *partition["secondaries"]):
                    answer = self.read(table, i, address=address, backup=True)
                    self.assertIn(answer["error"], (data_api.OK, data_api.NOT_FOUND))
                    if answer["error"] == data_api.OK:
                        self.assertIn(answer["value"], values, f"k{i} from {address}")
                    if answer.get("value") != values[-1]:
                        return False
            return True
        except (OSError, data_api.Refused, AttributeError):
            return False
        finally:
            table.close()

    def lead(self, victim, until):
        """The server becomes primary of every partition."""
        def leads():
            moves = [f"balance -g {self.app_id}.{p['index']} -p move_pri -f {p['primary']} -t {victim.address} -y"
                     for p in self.cluster.partitions(self.table) if p["primary"] != victim.address]
            for move in moves:  # one that is refused is tried again
                subprocess.run([os.path.join(harness.BUILD, "arion_shell"), "--meta", self.cluster.meta.address, "-e", move],
                               capture_output=True, check=False, timeout=60 * harness.PATIENCE)
            return not moves
        harness.wait_for(f"{victim.name} leads every partition", leads, (until - time.monotonic()) / harness.PATIENCE)
