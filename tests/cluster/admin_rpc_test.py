#!/usr/bin/env python3
"""Every code that tools send to a meta or replica server, as a frame: it is answered, by what Arion does or by a sentence;
remote commands, settings that change in operation, compaction on request.

SPDX-License-Identifier: Apache-2.0
"""

import json
import os
import struct
import sys
import unittest
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import thft     # noqa: E402

# What Arion does; the error that an empty request gets in the answer's struct.
META_DOES = {
    "RPC_CM_QUERY_PARTITION_CONFIG_BY_INDEX": "ERR_OBJECT_NOT_FOUND",
    "RPC_CM_CREATE_APP": "ERR_INVALID_PARAMETERS",
    "RPC_CM_DROP_APP": "ERR_APP_NOT_EXIST",
    "RPC_CM_RECALL_APP": "ERR_APP_NOT_EXIST",
    "RPC_CM_RENAME_APP": "ERR_APP_NOT_EXIST",
    "RPC_CM_LIST_APPS": "ERR_OK",
    "RPC_CM_LIST_NODES": "ERR_OK",
    "RPC_QUERY_APP_INFO": "ERR_OK",  # so asks the Go client's administration
    "RPC_CM_CLUSTER_INFO": "ERR_OK",
    "RPC_CM_CONTROL_META": "ERR_OK",  # only asks
    "RPC_CM_PROPOSE_BALANCER": "ERR_APP_NOT_EXIST",
    "RPC_CM_UPDATE_APP_ENV": "ERR_APP_NOT_EXIST",
    "RPC_CM_DDD_DIAGNOSE": "ERR_OK",
    "RPC_CM_START_RECOVERY": "ERR_SERVICE_ALREADY_RUNNING",
    "RPC_CM_START_MANUAL_COMPACT": "ERR_APP_NOT_EXIST",
    "RPC_CM_QUERY_MANUAL_COMPACT_STATUS": "ERR_APP_NOT_EXIST",
    "RPC_CM_GET_MAX_REPLICA_COUNT": "ERR_APP_NOT_EXIST",
    "RPC_CM_SET_MAX_REPLICA_COUNT": "ERR_APP_NOT_EXIST",
    "RPC_CM_GET_ATOMIC_IDEMPOTENT": "ERR_APP_NOT_EXIST",
    "RPC_CM_SET_ATOMIC_IDEMPOTENT": "ERR_APP_NOT_EXIST",
    "RPC_CM_START_PARTITION_SPLIT": "ERR_APP_NOT_EXIST",
    "RPC_CM_QUERY_PARTITION_SPLIT": "ERR_APP_NOT_EXIST",
    "RPC_CM_CONTROL_PARTITION_SPLIT": "ERR_APP_NOT_EXIST",
    "RPC_CM_ADD_DUPLICATION": "ERR_INVALID_PARAMETERS",
    "RPC_CM_MODIFY_DUPLICATION": "ERR_APP_NOT_EXIST",
    "RPC_CM_QUERY_DUPLICATION": "ERR_APP_NOT_EXIST",
    "RPC_CM_LIST_DUPLICATION": "ERR_OK",
}
# What Arion does not do, and whether its answer's struct has room for the sentence.
META_DISABLED = {
    "RPC_CM_START_BULK_LOAD": True,
    "RPC_CM_QUERY_BULK_LOAD_STATUS": True,
    "RPC_CM_CONTROL_BULK_LOAD": True,
    "RPC_CM_CLEAR_BULK_LOAD": True,
    "RPC_CM_START_BACKUP_APP": True,
    "RPC_CM_QUERY_BACKUP_STATUS": True,
    "RPC_CM_ADD_BACKUP_POLICY": True,
    "RPC_CM_MODIFY_BACKUP_POLICY": True,
    "RPC_CM_QUERY_BACKUP_POLICY": True,
    "RPC_CM_START_RESTORE": False,
    "RPC_CM_QUERY_RESTORE_STATUS": False,
}
REPLICA_DOES = {
    "RPC_QUERY_DISK_INFO": "ERR_OK",
    "RPC_DETECT_HOTKEY": "ERR_OBJECT_NOT_FOUND",
    "RPC_QUERY_REPLICA_INFO": "ERR_OK",
    "RPC_QUERY_APP_INFO": "ERR_OK",
    "RPC_QUERY_PN_DECREE": "ERR_OBJECT_NOT_FOUND",
    "RPC_QUERY_LAST_CHECKPOINT_INFO": "ERR_OBJECT_NOT_FOUND",
}
REPLICA_DISABLED = {
    "RPC_REPLICA_DISK_MIGRATE": True,
    "RPC_ADD_NEW_DISK": True,
    "RPC_COLD_BACKUP": False,
    "RPC_CLEAR_COLD_BACKUP": False,
    "RPC_BULK_LOAD": False,
}
# Between servers of an older version, for what Arion does not do.
INTERNAL = ["RPC_CM_REPORT_RESTORE_STATUS", "RPC_CM_REGISTER_CHILD_REPLICA", "RPC_CM_NOTIFY_STOP_SPLIT",
            "RPC_CM_QUERY_CHILD_STATE"]
# What only servers say, and only those of this cluster are heard: these frames name none.
BETWEEN_SERVERS = {"meta": ["RPC_FD_FAILURE_DETECTOR_PING", "RPC_CM_CONFIG_SYNC", "RPC_CM_UPDATE_PARTITION_CONFIGURATION"],
                   "replica": ["RPC_PREPARE", "RPC_GROUP_CHECK", "RPC_LEARN_ADD_LEARNER", "RPC_REMOVE_REPLICA",
                               "RPC_CONFIG_PROPOSAL"]}


def ask(address, code, request=thft.STOP):
    """(heading error, result's bytes); the args struct has the request as field 1."""
    with thft.connect(address, timeout=10 * harness.PATIENCE) as connection:
        connection.sendall(thft.frame(thft.body(code, thft.struct_field(1, request) + thft.STOP)))
        error, name, _, result = thft.read_reply(connection)
    if error == "ERR_OK":
        assert name == code + "_ACK", name
    return error, result


def error_in(result):
    """Field 1 of the struct that is field 0 of the result."""
    kind, number, inner, first = struct.unpack(">bhbh", result[:6])
    assert (kind, number, inner, first) == (12, 0, 12, 1), result[:6]
    length = struct.unpack(">i", result[6:10])[0]
    return result[10:10 + length].decode()


def command(address, name, *arguments):
    words = b"".join(thft.string(word) for word in arguments)
    request = (thft.string_field(1, name) + b"\x0f" + struct.pack(">hbi", 2, 11, len(arguments)) + words + thft.STOP)
    error, result = ask(address, "RPC_CLI_CLI_CALL", request)
    assert error == "ERR_OK", error
    assert result[:3] == b"\x0b\x00\x00", result[:3]
    length = struct.unpack(">i", result[3:7])[0]
    return result[7:7 + length].decode()


def page(address, path, posted=None, **arguments):
    query = urllib.parse.urlencode(arguments)
    try:
        with urllib.request.urlopen(f"http://{address}{path}?{query}", posted, timeout=10 * harness.PATIENCE) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


class AdminRpcTest(harness.ClusterTest):
    table = "t"
    partitions = 4

    def setUp(self):
        self.meta = self.cluster.meta.address
        self.replicas = [server.address for server in self.cluster.replicas]

    def test_every_code_is_answered_by_what_is_done_or_by_a_sentence(self):
        for address, does, disabled in ((self.meta, META_DOES, META_DISABLED),
                                        (self.replicas[0], REPLICA_DOES, REPLICA_DISABLED)):
            for code, expected in does.items():
                with self.subTest(code):
                    error, result = ask(address, code)
                    self.assertEqual((error, error_in(result)), ("ERR_OK", expected))
            for code, has_text in disabled.items():
                with self.subTest(code):
                    error, result = ask(address, code)
                    self.assertEqual((error, error_in(result)), ("ERR_OK", "ERR_OPERATION_DISABLED"))
                    self.assertEqual(b"Arion does not have" in result, has_text)
        for code in INTERNAL:
            self.assertEqual(ask(self.meta, code)[0], "ERR_HANDLER_NOT_FOUND")
        for address, codes in ((self.meta, BETWEEN_SERVERS["meta"]), (self.replicas[0], BETWEEN_SERVERS["replica"])):
            for code in codes:
                self.assertEqual(ask(address, code)[0], "ERR_CLUSTER_NOT_FOUND", code)

    def test_remote_commands_are_those_that_help_lists(self):
        for address, some in ((self.meta, ["meta.live_percentage", "meta.lb.assign_delay_ms"]),
                              (self.replicas[0], ["replica.trigger-checkpoint", "perf-counters-by-substr"])):
            names = [line.split(" ")[0] for line in command(address, "help").splitlines()]
            for name in some + ["help", "server-info", "config-dump", "flush-log", "reset-log-start-level"]:
                self.assertIn(name, names)
            for name in names:  # without arguments each shows something, and harms nothing
                self.assertTrue(command(address, name), name)
            self.assertEqual(command(address, "$(reboot)", "x"), "unknown command '$(reboot)'")
            self.assertRegex(command(address, "server-info"), r"^Arion (meta|replica) \S+ \(\w+.*\), Started at 20")
        self.assertIn("not found", command(self.replicas[0], "replica.query-compact", "77.1"))
        self.assertIn("0 processed, 1 not found", command(self.replicas[0], "replica.query-compact", "77.1"))
        self.assertIn("ERR: ", command(self.replicas[0], "replica.query-compact", "../x"))
        self.assertIn("ERR: ", command(self.replicas[0], "config-dump", "/tmp/x"))
        counters = json.loads(command(self.replicas[0], "perf-counters", ".*replica(Count)"))
        self.assertEqual(counters["counters"][0]["name"], "replica*eon.replica_stub*replica(Count)")
        self.assertEqual(counters["counters"][0]["value"], self.partitions)
        # As node-stat and table-stat of the official tools ask.
        asked = json.loads(command(self.replicas[0], "perf-counters-by-substr", "*put_qps@", "disk.storage.sst(MB)@", "memused.res(MB)"))
        types = {counter["name"].split("@")[0]: counter["type"] for counter in asked["counters"]}
        self.assertEqual(types, {"replica*app.pegasus*put_qps": "RATE", "replica*app.pegasus*disk.storage.sst(MB)": "NUMBER",
                                 "replica*server*memused.res(MB)": "NUMBER"})
        self.assertEqual(len(asked["counters"]), 2 * self.partitions + 1)

    def test_the_scripts_of_older_versions_set_what_they_set(self):
        for name, value, shown in (("meta.live_percentage", "0", "0"), ("meta.lb.assign_delay_ms", "10", "10ms"),
                                   ("meta.lb.only_move_primary", "true", "true")):
            answer = command(self.meta, name, value)
            self.assertIn("OK", answer)
            self.assertEqual(json.loads(answer), {"error": "ok", "result": "OK"})
            self.assertEqual(json.loads(command(self.meta, name))[name], shown)
            self.assertTrue(json.loads(command(self.meta, name, "maybe"))["error"].startswith("ERR: "))
            self.assertIn("OK", command(self.meta, name, "DEFAULT"))

    def test_settings_change_in_operation_and_act(self):
        address = self.replicas[0]
        configs = json.loads(page(address, "/configs")[1])
        self.assertEqual(configs["slow_request_after"]["tags"], "flag_tag::FT_MUTABLE")
        self.assertEqual(configs["durability"]["tags"], "")
        for key, value, refused in (("durability", "os", True), ("slow_request_after", "never", True),
                                    ("nonsense", "1", True), ("slow_request_after", "1ms", False)):
            status = json.loads(page(address, "/updateConfig", **{key: value})[1])["update_status"]
            self.assertEqual(status != "ERR_OK", refused, status)
        self.assertEqual(json.loads(page(address, "/config", name="slow_request_after")[1])["value"], "1ms")
        self.assertEqual(page(address, "/config")[0], 400)

        def slow_ones():
            with thft.connect(address) as connection:
                for part in range(self.partitions):
                    connection.sendall(thft.get(1, part, b"k", b"s"))
                    thft.read_reply(connection)
            return json.loads(page(address, "/slow", limit=5)[1])
        # A microsecond is what every request takes.
        self.assertEqual(json.loads(page(address, "/updateConfig", slow_request_after="1us")[1])["update_status"], "ERR_OK")
        harness.wait_for("a slow request", slow_ones)

        log = next(server for server in self.cluster.replicas if server.address == address)
        page(address, "/updateConfig", text_log_level="error")
        page(address, "/updateConfig", slow_request_after="2ms")  # a warning, which is not logged
        self.assertNotIn('becomes "2ms"', "".join(log.last_lines(50)))
        page(address, "/updateConfig", text_log_level="info")
        page(address, "/updateConfig", slow_request_after="DEFAULT")
        harness.wait_for("the log's level to be back", lambda: 'slow_request_after becomes' in "".join(log.last_lines(50)))

    def test_the_pages_of_older_versions(self):
        def of(path, address=self.meta, **arguments):
            status, text = page(address, path, **arguments)
            self.assertEqual(status, 200, text)
            return json.loads(text)
        self.assertEqual(of("/meta/app", name="t")["general"],
                         {"app_name": "t", "app_id": "1", "partition_count": "4", "max_replica_count": "3"})
        detail = of("/meta/app", name="t", detail="")
        self.assertEqual(detail["healthy"]["fully_healthy_partition_count"], "4")
        self.assertEqual(detail["nodes"]["total"], {"primary": "4", "secondary": "8", "total": "12"})
        self.assertEqual(detail["replicas"]["0"]["replica_count"], "3/3")
        self.assertEqual(of("/meta/apps", detail="")["healthy_info"]["1"]["fully_healthy"], "4")
        self.assertEqual(of("/meta/nodes", detail="")["summary"]["alive_node_count"], "3")
        self.assertEqual(of("/meta/cluster")["meta_function_level"], "steady")
        self.assertIn("default_ttl", of("/envs/list"))
        self.assertIsInstance(of("/meta/app_envs", name="t"), dict)
        self.assertRegex(of("/recentStartTime", self.replicas[0])["RecentStartTime"], r"^20\d\d-")
        self.assertEqual(page(self.meta, "/meta/app")[0], 400)
        self.assertEqual(page(self.meta, "/meta/app", name='x"y')[0], 404)
        self.assertEqual(page(self.meta, "/meta/nothing")[0], 404)
        self.assertEqual(page(self.meta, "/meta/app/start_compaction")[0], 405)
        for number in (1 << 32) + 1, -(1 << 40):
            wish = json.dumps({"app_name": "t", "type": "once", "target_level": number}).encode()
            self.assertEqual(page(self.meta, "/meta/app/start_compaction", wish), (400, "target_level is beyond 32 bits\n"))

    def test_a_compaction_runs_on_every_member_and_says_how_far_it_is(self):
        def start(*extra):
            request = thft.string_field(1, self.table) + b"".join(extra) + thft.STOP
            return error_in(ask(self.meta, "RPC_CM_START_MANUAL_COMPACT", request)[1])

        def progress():
            result = ask(self.meta, "RPC_CM_QUERY_MANUAL_COMPACT_STATUS", thft.string_field(1, self.table) + thft.STOP)[1]
            self.assertEqual(error_in(result), "ERR_OK")
            return struct.unpack(">i", result[result.rindex(b"\x08\x00\x03") + 3:][:4])[0]

        self.assertEqual(start(thft.i32_field(3, 0)), "ERR_INVALID_PARAMETERS")
        self.assertEqual(start(), "ERR_OK")
        self.assertLess(progress(), 100)
        harness.wait_for("every member to be compacted", lambda: progress() == 100, seconds=60)
        for address in self.replicas:
            text = command(address, "replica.query-compact", "1")
            self.assertIn(f"{self.partitions} processed, 0 not found", text)
            self.assertEqual(text.count("last finish at [20"), self.partitions, text)
            status = json.loads(page(address, "/replica/manual_compaction", app_id=1)[1])["status"]
            self.assertEqual(status["finished"], self.partitions)
            self.assertEqual(json.loads(page(address, "/replica/data_version", app_id=1)[1]),
                             {str(index): {"data_version": "1"} for index in range(self.partitions)})


if __name__ == "__main__":
    unittest.main(verbosity=2)
