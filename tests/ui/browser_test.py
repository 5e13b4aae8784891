"""The dashboard and arion_load's report in a real browser: while servers run, are killed, and come back.

What is seen is compared to /metrics; nothing may be written to the console; screenshots lie in BUILD/browser to be looked
at. Skipped, by name, where chromium, node or npm is not installed.
SPDX-License-Identifier: Apache-2.0
"""

import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "cluster"))

import browser  # noqa: E402
import harness  # noqa: E402

LOOKS = [(size, scheme) for size in browser.SIZES for scheme in ("light", "dark")]
HEALTH = "document.querySelector('#health .badge')?.textContent"
SENTENCE = "document.querySelector('#health .wrong')?.textContent"
FIGURES = "[...document.querySelectorAll('data[data-metric]')].map(d => [d.dataset.metric, Number(d.value)])"
# A figure that does not move while nothing is asked of the servers.
STEADY = {"arion_alive_replica_servers", "arion_healthy_partitions", "arion_writable_ill_partitions", "arion_unwritable_partitions",
          "arion_unreadable_partitions", "arion_dead_partitions", "arion_partition_configuration_changes_total", "arion_shared_log_files"}


def sum_of(samples, name):
    return sum(value for known, _, value in samples if known == name)


@unittest.skipIf(browser.missing(), f"browser: {browser.missing()}")
class InABrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = harness.Cluster(servers=3, data_dirs=2)
        cls.addClassCleanup(cls.cluster.destroy)
        cls.cluster.start()
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)

    def open(self, server, **look):
        page = self.browser.open(server.name, f"http://{server.address}/ui", **look)
        self.addCleanup(self.browser.ask, "close", name=server.name)
        page.wait("document.querySelector('#health .badge')")
        return page

    def take_looks(self, page, name):
        for size, scheme in LOOKS:
            page.look(size, scheme)
            page.wait("document.getAnimations().length === 0")
            self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0, f"{name} is too wide at {size}")
            page.screenshot(os.path.join(browser.MODULES, f"{name}-{size}-{scheme}.png"))
        page.look("desktop", "light")

    def run_load(self, *more):
        return subprocess.run([os.path.join(harness.BUILD, "arion_load"), "--workload", "a", "--table", "users", f"--meta={self.cluster.meta.address}",
                               "-p", "recordcount=500", "--operations", "3000", "--threads", "8", *more], capture_output=True, text=True, timeout=120)

    # The names give the order: one cluster, that grows and is killed.

    def test_1_an_empty_cluster_says_what_to_do(self):
        page = self.open(self.cluster.meta)
        page.wait(f"{SENTENCE} === 'No table yet; 3 servers are ready.'")
        self.assertIn("arion_shell", page.evaluate("document.querySelector('#tables .empty').textContent"))
        self.assertEqual(page.errors(), [])

    def test_2_figures_are_those_of_metrics(self):
        self.cluster.create_table("users", 8)
        self.cluster.create_table("sessions.by_day", 4)
        page = self.open(self.cluster.meta)
        page.wait(f"{SENTENCE} === 'All 12 partitions of 2 tables are healthy on 3 servers.'")
        self.assert_equal_to_metrics(page, self.cluster.meta, 6)
        self.assertEqual(page.evaluate("document.querySelectorAll('.map b').length"), 6, "a cell of each table and server")
        held = page.evaluate("[...document.querySelectorAll('.heat b')].reduce((sum, b) => sum + Number(b.textContent), 0)")
        self.assertEqual(held, 12, "each partition has one primary in the map")
        self.take_looks(page, "meta")
        self.assertEqual(page.errors(), [])
        self.assertTrue(all(url.startswith(f"http://{self.cluster.meta.address}/") for url in page.requests() if not url.startswith("data:")))

    def assert_equal_to_metrics(self, page, server, least):
        def equal():
            read = harness.metrics(server)
            shown = [(name, value) for name, value in page.evaluate(FIGURES) if name in STEADY]
            return len(shown) >= least and all(value == sum_of(read, name) for name, value in shown)
        harness.wait_for(f"what {server.name}'s page shows is what /metrics says", equal)

    def test_3_a_replica_server_shows_its_requests_log_and_disks(self):
        server = self.cluster.replicas[0]
        page = self.open(server)
        done = self.run_load()
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        page.wait("document.querySelectorAll('#disks tbody tr').length === 2")
        page.wait("[...document.querySelectorAll('.legend data')].some(d => d.textContent.includes('ms') || d.textContent.includes('µs'))")
        self.assert_equal_to_metrics(page, server, 0)
        copies = sum_of([s for s in harness.metrics(server) if s[1].get("status") in ("primary", "secondary")], "arion_replicas")
        self.assertEqual(dict(page.evaluate(FIGURES))["arion_replicas"] >= 0, True)
        self.assertIn(f"It serves {copies:.0f} copies", page.evaluate(SENTENCE))
        self.take_looks(page, "replica")
        self.assertEqual(page.errors(), [])

    def test_4_keys(self):
        page = self.open(self.cluster.meta)
        page.wait("document.getElementById('filter')")
        page.press("?")
        page.wait("document.getElementById('help').open")
        for key in ("?", "p", "/", "u", "Tab"):
            self.assertIn(key, page.evaluate("[...document.querySelectorAll('#help kbd')].map(k => k.textContent)"))
        page.press("Escape")
        page.wait("!document.getElementById('help').open")
        page.press("/")
        page.wait("document.activeElement.id === 'filter'")
        for key in "use":
            page.press(key)
        page.wait("document.querySelectorAll('.map tbody tr').length === 1")
        self.assertEqual(page.evaluate("document.activeElement.id"), "filter", "drawing anew keeps the focus")
        page.press("Escape")
        page.press("u")
        page.wait("document.querySelector('#tables .empty')?.textContent === 'Every table is healthy.'")
        page.press("u")
        seen = []
        for _ in range(12):
            page.press("Tab")
            if page.evaluate("document.activeElement === document.body"):
                continue  # around the end of the page
            seen.append(page.evaluate("document.activeElement.textContent.trim().slice(0, 20)"))
            self.assertNotEqual(page.evaluate("getComputedStyle(document.activeElement).outlineStyle"), "none", f"focus is not seen on {seen[-1]}")
        self.assertTrue(any(s.startswith(":") for s in seen), f"no server's link is reached: {seen}")
        self.assertEqual(page.errors(), [])

    def test_5_a_killed_server_is_seen_and_so_is_its_return(self):
        page = self.open(self.cluster.meta)
        killed = self.cluster.replicas[2]
        own = self.open(killed)
        killed.kill()
        page.wait(f"{SENTENCE}?.includes('1 of 3 servers is silent ({killed.address})')", 60)
        self.assertEqual(page.evaluate(HEALTH), "Reduced")
        page.wait("document.querySelectorAll('.heat[data-silent]').length > 0")
        self.assert_equal_to_metrics(page, self.cluster.meta, 6)
        self.take_looks(page, "meta-killed")
        own.wait("document.body.classList.contains('stale')")
        own.wait("document.querySelector('#stale-note').textContent.includes('does not answer. The figures are from')")
        self.take_looks(own, "replica-stale")
        killed.start()
        own.wait("!document.body.classList.contains('stale') && !document.querySelector('#stale-note')", 60)
        own.wait("document.querySelector('#recovery').textContent.includes('copies')", 60)
        page.wait(f"{HEALTH} === 'Healthy'", 120)
        self.assert_equal_to_metrics(page, self.cluster.meta, 6)
        self.assertEqual(page.errors(), [], "the meta server's page heard of no error")
        refused = ("net::ERR_CONNECTION_REFUSED", "net::ERR_CONNECTION_RESET", "net::ERR_EMPTY_RESPONSE")
        others = [text for text in own.errors() if not any(code in text for code in refused)]
        self.assertEqual(others, [], "of its own server only that it did not answer")

    def test_6_the_report_of_arion_load(self):
        html = os.path.join(browser.MODULES, "report.html")
        done = self.run_load("--html", html)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        page = self.browser.open("report", f"file://{html}")
        self.assertIn("arion_load", page.evaluate("document.title"))
        self.assertGreaterEqual(page.evaluate("document.querySelectorAll('.uplot canvas').length"), 3)
        self.take_looks(page, "report")
        self.assertEqual(page.errors(), [])
        self.assertEqual([url for url in page.requests() if not url.startswith(("file:", "data:"))], [], "it is whole by itself")


if __name__ == "__main__":
    unittest.main(argv=sys.argv, verbosity=2)
