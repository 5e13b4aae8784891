#!/usr/bin/env python3
"""Bytes no client sends, against a live cluster: other clients notice nothing, processes live, memory stays bounded.

SPDX-License-Identifier: Apache-2.0
"""

import os
import random
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest

import harness
import thft

PUT = "RPC_RRDB_RRDB_PUT"
QUERY = "RPC_CM_QUERY_PARTITION_CONFIG_BY_INDEX"
MEMORY_GROWTH_MAX = 256 << 20


def rdsn(name, payload, length=None, header_length=192, magic=b"RDSN"):
    return (magic + struct.pack("<IIIIIQQ", 0, header_length, 0, len(payload) if length is None else length, 0, 7, 9) +
            name.encode().ljust(48, b"\0") + struct.pack("<IIiiQQiiQ", 0, 0, 1, 0, 0x441, 0, 1000, 0, 0) + b"\0" * 56 +
            payload)


class BadInput(harness.ClusterTest):
    def setUp(self):
        self.before = {server.name: server.resident_bytes() for server in self.cluster.servers()}

    def tearDown(self):
        """Whatever was done: all processes live, memory is bounded, a good client is served by every server."""
        self.check_all_alive()
        for server in self.cluster.servers():
            grown = server.resident_bytes() - self.before[server.name]
            self.assertLess(grown, MEMORY_GROWTH_MAX, f"{server.name} grew by {grown >> 20} MiB")
        self.good_client_is_served()

    def good_client_is_served(self):
        """By every partition. As clients do, it asks again where a server has just lost its lease."""
        def served():
            error, app_id, partitions = thft.ask_config(self.cluster.meta.address, "temp")
            self.assertEqual(error, "ERR_OK")
            return all(self.is_answered(app_id, partition) for partition in partitions)
        harness.wait_for("a good client is served", served, 15)

    def is_answered(self, app_id, partition):
        if not partition["primary"]:
            return False
        with thft.connect(partition["primary"]) as connection:
            connection.sendall(thft.get(app_id, partition["index"], b"h", b"s", sequence=42))
            error, name, sequence, _ = thft.read_reply(connection)
            self.assertIn(error, ("ERR_OK", "ERR_INVALID_STATE"))
            self.assertEqual((name, sequence), ("RPC_RRDB_RRDB_GET_ACK", 42))
            return error == "ERR_OK"

    def targets(self):
        return [self.cluster.meta.address, self.cluster.replicas[0].address]

    def send(self, data):
        """To meta and replica server; what they answer, None where the connection was closed."""
        answers = []
        for address in self.targets():
            with thft.connect(address, timeout=3) as connection:
                try:
                    connection.sendall(data)
                    answers.append(thft.read_reply(connection))
                except (ConnectionError, BrokenPipeError):
                    answers.append(None)
                except socket.timeout:
                    answers.append("silence")
        return answers

    def expect_closed(self, data):
        self.assertEqual(self.send(data), [None, None])

    def test_a_wrong_magic_closes_the_connection(self):
        self.expect_closed(b"XXXX" + b"\0" * 44)

    def test_an_unknown_header_version_closes_the_connection(self):
        self.expect_closed(b"THFT" + struct.pack(">I", 77) + b"\0" * 40)

    def test_a_wrong_header_length_closes_the_connection(self):
        self.expect_closed(thft.frame(thft.body(QUERY, b"\0"), header_length=47))

    def test_lengths_nobody_can_mean_close_the_connection(self):
        for length in (0x80000000, 0xffffffff, 0x7fffffff, 65 << 20):
            self.expect_closed(thft.frame(b"", length=length))
            self.expect_closed(rdsn(QUERY, b"", length=length))

    def test_an_empty_body_closes_the_connection(self):
        self.expect_closed(thft.frame(b""))

    def test_an_unknown_code_gets_its_error(self):
        for name in ("RPC_NOBODY_KNOWS", "X" * 47):
            for answer in self.send(thft.frame(thft.body(name, thft.struct_field(1, thft.STOP) + thft.STOP, 5))):
                self.assertEqual(answer[:3], ("ERR_HANDLER_NOT_FOUND", name + "_ACK", 5))

    def test_clear_scanner_is_never_answered(self):
        argument = b"\x0a\0\x01" + b"\0" * 8 + thft.STOP
        self.assertEqual(self.send(thft.frame(thft.body("RPC_RRDB_RRDB_CLEAR_SCANNER", argument)))[1], "silence")

    def test_an_invalid_thrift_body_costs_at_most_its_connection(self):
        bodies = [b"\xff" * 40, b"\x0c\0\x01" + b"\x0b\0\x01\x7f\xff\xff\xff", b"\x0c\0\x01\x0f\0\x02\x0c\x7f\xff\xff\xff",
                  b"", b"\x0c" * 1000, b"\x0d\0\x01\x0b\x0b\xff\xff\xff\xff"]
        for argument in bodies:
            for name in (QUERY, PUT, "RPC_CM_CREATE_APP"):
                for answer in self.send(thft.frame(thft.body(name, argument), 1, 0)):
                    self.assertTrue(answer is None or answer == "silence" or answer[0] != "ERR_OK" or name == QUERY, answer)

    def test_a_name_without_an_end_costs_at_most_its_connection(self):
        begin = struct.pack(">I", 0x80010001)
        for length in (-1, -(1 << 31), (1 << 31) - 1, 48, 1000):
            for answer in self.send(thft.frame(begin + struct.pack(">i", length) + b"RPC")):
                self.assertIn(answer, (None, "silence"))

    def test_truncated_frames_wait_and_harm_nobody(self):
        whole = thft.query_config("temp")
        connections = []
        for cut in range(1, len(whole), 7):
            for address in self.targets():
                connection = thft.connect(address)
                connection.sendall(whole[:cut])
                connections.append(connection)
        self.good_client_is_served()
        for connection in connections:
            connection.close()

    def test_half_open_connections_harm_nobody(self):
        connections = [thft.connect(address) for address in self.targets() * 200]
        self.good_client_is_served()
        for connection in connections[::2]:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset, not an end
        for connection in connections:
            connection.close()

    def test_random_bytes_harm_nobody(self):
        seed = random.randrange(1 << 30)
        print(f"seed {seed}")
        generator = random.Random(seed)
        beginnings = [b"", b"THFT", b"RDSN", b"GET ", b"POST", b"THFT\0\0\0\0\0\0\0\x30", b"THFT\0\0\0\x01"]
        deadline = time.monotonic() + 5
        sent = 0
        while time.monotonic() < deadline:
            for address in self.targets():
                with thft.connect(address) as connection:
                    connection.settimeout(0.2)
                    try:
                        connection.sendall(generator.choice(beginnings) + generator.randbytes(generator.randrange(2000)))
                        sent += 1
                    except OSError:
                        pass
        self.assertGreater(sent, 50)

    def test_flipped_bits_of_good_frames_harm_nobody(self):
        seed = random.randrange(1 << 30)
        print(f"seed {seed}")
        generator = random.Random(seed)
        whole = [thft.query_config("temp"), thft.get(1, 0, b"h", b"s"), rdsn(QUERY, thft.struct_field(0, thft.STOP) + thft.STOP)]
        for _ in range(600):
            data = bytearray(generator.choice(whole))
            for _ in range(generator.randrange(1, 4)):
                data[generator.randrange(4, len(data))] ^= 1 << generator.randrange(8)
            with thft.connect(generator.choice(self.targets())) as connection:
                try:
                    connection.sendall(bytes(data))
                except OSError:
                    pass

    def test_a_client_that_stops_reading_is_bounded(self):
        error, app_id, partitions = thft.ask_config(self.cluster.meta.address, "temp")
        self.assertEqual(error, "ERR_OK")
        partition = partitions[0]
        value = thft.string(b"v" * 500000)
        put = thft.struct_field(1, thft.struct_field(1, thft.string(thft.raw_key(b"big", b"s"))) +
                                thft.struct_field(2, value) + thft.i32_field(3, 0) + thft.STOP) + thft.STOP
        with thft.connect(partition["primary"]) as connection:
            connection.sendall(thft.frame(thft.body(PUT, put), app_id, partition["index"]))
            self.assertEqual(thft.read_reply(connection)[0], "ERR_OK")
        server = next(s for s in self.cluster.replicas if s.address == partition["primary"])
        connection = thft.connect(partition["primary"])
        connection.setblocking(False)
        request = thft.get(app_id, partition["index"], b"big", b"s") * 50
        asked = 0
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline and asked < 400000:  # 400,000 answers would be 200 GB
            try:
                asked += connection.send(request) // (len(request) // 50)
            except BlockingIOError:
                time.sleep(0.05)  # it stopped reading us: that is one way to stay bounded
            except OSError:
                break             # it closed the connection: the other way
        self.assertGreater(asked, 100)
        self.good_client_is_served()
        self.assertLess(server.resident_bytes() - self.before[server.name], MEMORY_GROWTH_MAX)
        connection.close()

    def test_traffic_of_others_goes_on_meanwhile(self):
        errors = []
        stop = threading.Event()

        def good():
            while not stop.is_set():
                try:
                    self.good_client_is_served()
                except Exception as error:  # reported by the test below
                    errors.append(error)
                    return

        thread = threading.Thread(target=good)
        thread.start()
        try:
            self.test_random_bytes_harm_nobody()
        finally:
            stop.set()
            thread.join()
        self.assertEqual(errors, [])


class BadConfiguration(unittest.TestCase):
    """Refused at start: exit code 2 (1 for what may mend without another configuration), with file, line, value and remedy."""

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        os.chmod(self.scratch.name, 0o755)
        self.data = os.path.join(self.scratch.name, "data")
        os.mkdir(self.data)
        self.port = harness.free_ports(1)[0]

    def start(self, lines, *wrapper, program="arion_replica", flags=()):
        path = os.path.join(self.scratch.name, "config.ini")
        with open(path, "w") as file:
            file.write("\n".join(["[arion.server]", f"listen = 127.0.0.1:{self.port}", "[arion.replica]", *lines]) + "\n")
        os.chmod(path, 0o644)
        done = subprocess.run([*wrapper, os.path.join(harness.BUILD, program), f"--config={path}", *flags],
                              capture_output=True, text=True, timeout=30 * harness.PATIENCE, stdin=subprocess.DEVNULL)
        return path, done.returncode, done.stdout + done.stderr

    def check(self, lines, line, *parts, exit_code=2):
        path, code, text = self.start(lines)
        self.assertEqual(code, exit_code, text)
        self.assertIn(f"{path}:{line}: ", text)
        for part in parts:
            self.assertIn(part, text)

    def test_an_unknown_key_of_ours(self):
        self.check([f"data_dirs = d:{self.data}", "durabilty = os"], 5, '"os"', "did you mean durability?")

    def test_a_bad_number(self):
        self.check([f"data_dirs = d:{self.data}", "mutations_in_flight_max = many"], 5, '"many"', "write one between 1 and")

    def test_a_bad_address(self):
        self.check([f"data_dirs = d:{self.data}", "[arion.server]", "meta_servers = 127.0.0.1"], 6, '"127.0.0.1"',
                   "write it as 127.0.0.1:34601")

    def test_a_missing_directory(self):  # its disk may be mounted later
        self.check([f"data_dirs = d:{self.data}/missing"], 4, f"{self.data}/missing", "mkdir -p", exit_code=1)

    def test_a_file_in_the_place_of_a_directory(self):
        path = os.path.join(self.data, "file")
        with open(path, "w"):
            pass
        self.check([f"data_dirs = d:{path}"], 4, path, "not a directory")
        self.check([f"data_dirs = d:{path}/d"], 4, path, "Not a directory")

    def test_a_directory_without_write_permission(self):
        if os.geteuid() != 0:
            os.chmod(self.data, 0o555)
            self.check([f"data_dirs = d:{self.data}"], 4, "mode 0555", "chmod", exit_code=1)
            return
        os.chmod(self.data, 0o755)  # root's: another user may read it
        path, code, text = self.start([f"data_dirs = d:{self.data}"], "setpriv", "--reuid=65534", "--regid=65534",
                                      "--clear-groups")
        self.assertEqual(code, 1, text)
        self.assertIn(f"{path}:4: ", text)
        self.assertIn(f"{self.data} belongs to user 0, group 0, mode 0755, and this server runs as user 65534", text)

    def test_a_missing_file(self):
        done = subprocess.run([os.path.join(harness.BUILD, "arion_replica"), "--config=/nowhere.ini"],
                              capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, 2)
        self.assertIn("/nowhere.ini", done.stderr)

    def test_a_data_directory_of_another_server(self):
        reps = os.path.join(self.data, "replica", "reps")
        os.makedirs(reps)
        with open(os.path.join(reps, ".arion-server"), "w") as file:
            file.write("127.0.0.1:9999\n")
        path, code, text = self.start([f"data_dirs = d:{self.data}"])
        self.assertEqual(code, 1, text)
        self.assertIn(f"{path}:4: ", text)
        self.assertIn("127.0.0.1:9999", text)

    def test_a_port_in_use(self):
        with socket.socket() as holder:
            holder.bind(("127.0.0.1", self.port))
            holder.listen()
            _, code, text = self.start([f"data_dirs = d:{self.data}"])
        self.assertEqual(code, 1, text)
        self.assertIn(str(self.port), text)
        self.assertIn(str(os.getpid()), text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
