"""The status page as a person uses it: in headless Chromium, with a mouse and with keys, against real servers.

Screenshots stay in ARTIFACTS. After every test the console is empty, no request went to another server, and the page is
not wider than its window.
  browser_test.py BERTH ARTIFACTS [-v] [TEST...]
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

from playwright.sync_api import expect, sync_playwright

EVIL = "</script><svg/onload=document.title=1234>"  # a job's name may be any text without white space
BERTH, ARTIFACTS = "", pathlib.Path()


class Server:
    """A berth serve on a free port."""

    def __init__(self, *options):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen([BERTH, "serve", "--listen", "127.0.0.1:0", "--seed", "7", *options],
                                        stdout=self.log, stderr=self.log)
        self.address, self.token = "", ""
        for _ in range(300):
            self.log.seek(0)
            found = re.search(rb"http://[0-9.:]+", self.log.read())
            if found:
                self.address = found.group().decode()
                return
            time.sleep(0.1)
        raise RuntimeError("berth serve does not say where it listens")

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.address + path, method=method, data=None if body is None
                                         else json.dumps(body).encode())
        if self.token:
            request.add_header("X-Nomad-Token", self.token)
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read()
            return json.loads(text) if text else None

    def register(self, job_id, count, cpu, kind="service"):
        self.call("PUT", "/v1/jobs", {"Job": {
            "ID": job_id, "Name": job_id, "Type": kind, "Datacenters": ["*"],
            "TaskGroups": [{"Name": "g", "Count": count, "Tasks": [
                {"Name": "t", "Driver": "mock_driver", "Config": {"run_for": "100h"},
                 "Resources": {"CPU": cpu, "MemoryMB": 300}}]}]}})

    def wait_until(self, what, test):
        for _ in range(300):
            if test():
                return
            time.sleep(0.1)
        raise AssertionError(f"does not become true: {what}")

    def stop(self):
        self.process.terminate()
        self.process.wait(20)
        self.log.close()


def colours(page, selector):
    """Number of colours in a canvas."""
    return page.evaluate("""(selector) => {
        const canvas = document.querySelector(selector);
        const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data, seen = new Set();
        for (let at = 0; at < data.length; at += 4) if (data[at + 3]) seen.add((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
        return seen.size;
    }""", selector)


class PageTest(unittest.TestCase):
    server = None
    options = ("--nodes", "300", "--speed", "10")

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.options)
        cls.addClassCleanup(cls.server.stop)
        cls.prepare()
        playwright = sync_playwright().start()
        cls.addClassCleanup(playwright.stop)
        cls.browser = playwright.chromium.launch(executable_path="/usr/bin/chromium",
                                                 args=["--no-sandbox", "--disable-gpu"])
        cls.addClassCleanup(cls.browser.close)

    @classmethod
    def prepare(cls):
        """Fills the cluster."""

    def open(self, path, width=1280, height=1000, scheme="light"):
        context = self.browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        self.addCleanup(context.close)
        self.page = context.new_page()
        self.page.set_default_timeout(30_000)
        self.problems, self.may_be_refused = [], False
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: request.url.startswith((self.server.address, "data:"))
                     or self.problems.append(request.url))
        self.page.goto(self.server.address + path)
        return self.page

    def check_clean(self):
        if self.may_be_refused:  # Chromium reports every answer 403
            self.problems = [text for text in self.problems if "403" not in text and "EventSource" not in text]
        self.assertEqual(self.problems, [])
        self.assertEqual(self.page.evaluate(
            "[document.documentElement.scrollWidth <= innerWidth, document.title === '1234']"), [True, False])


class Cluster(PageTest):
    @classmethod
    def prepare(cls):
        server = cls.server
        server.register("web", 120, 3000)
        server.register("tooBig", 5, 900000)
        server.register("team/shop@eu", 3, 100)
        server.register(EVIL, 1, 100)
        server.wait_until("allocations run", lambda: len([a for a in server.call("GET", "/v1/job/web/allocations")
                                                          if a["ClientStatus"] == "running"]) == 120)
        nodes = server.call("GET", "/v1/nodes?per_page=4")
        server.call("PUT", f"/v1/node/{nodes[0]['ID']}/eligibility", {"Eligibility": "ineligible"})
        cls.node = nodes[1]
        server.call("PUT", "/v1/berth/fault", {"Kind": "partition", "NodeID": nodes[2]["ID"]})
        server.call("PUT", "/v1/berth/speed", {"Speed": "1000"})  # minutes until the heartbeat is missed
        server.wait_until("the node is down",
                          lambda: server.call("GET", f"/v1/node/{nodes[2]['ID']}")["Status"] != "ready")
        server.call("PUT", "/v1/berth/speed", {"Speed": "10"})
        cls.down = nodes[2]

    def test_overview(self):
        page = self.open("/ui/")
        expect(page.locator("#map-section small")).to_have_text("300 shown")
        expect(page.locator("#connection")).to_have_text("live")
        expect(page.locator(".meter")).to_have_count(3)
        self.assertRegex(page.locator(".meter").first.inner_text(), r"cpu\s+[0-9.]+ %\s+[0-9.]+ GHz of [0-9,]+ GHz")
        self.assertGreaterEqual(colours(page, "#map"), 4)
        self.assertGreaterEqual(colours(page, "#timeline"), 4)
        self.server.register("later", 3, 100)  # decisions and charts move
        expect(page.locator("section:has(> h2:text-is('Jobs that changed last'))")).to_contain_text("later")
        expect(page.locator("section:has(> h2:text('Decisions'))")).to_contain_text("placed 3")
        expect(page.locator(".rate")).to_have_count(4)
        for at in range(4):
            self.assertGreaterEqual(colours(page, f"figure:nth-child({at + 1}) .rate"), 3)
        blocked = page.locator("section:has(> h2:text-is('Blocked jobs'))")
        expect(blocked).to_contain_text("5 of g: cpu: ")
        blocked.get_by_role("button", name="What would help?").click()
        expect(blocked.locator(".changes")).to_contain_text("cpu of task")
        self.check_clean()

    def test_screenshots(self):
        for name, width, height, scheme in [("light", 1280, 1900, "light"), ("dark", 1280, 1900, "dark"),
                                            ("phone", 390, 2600, "light"), ("phone-dark", 390, 2600, "dark")]:
            page = self.open("/ui/", width, height, scheme)
            expect(page.locator("#map-section small")).to_have_text("300 shown")
            for chart in ("#map", "#timeline"):
                self.server.wait_until(f"{chart} is drawn", lambda: colours(page, chart) >= 4)
            page.screenshot(path=ARTIFACTS / f"{name}.png")
            self.assertGreater((ARTIFACTS / f"{name}.png").stat().st_size, 20_000)
            self.check_clean()
        alloc = self.server.call("GET", "/v1/job/web/allocations")[0]
        for name, path, title in [("job", "/ui/jobs/tooBig@default", "Job tooBig"),
                                  ("node", f"/ui/clients/{self.node['ID']}", f"Node {self.node['Name']}"),
                                  ("allocation", f"/ui/allocations/{alloc['ID']}", f"Allocation {alloc['Name']}"),
                                  ("evaluation", f"/ui/evaluations/{alloc['EvalID']}",
                                   f"Evaluation {alloc['EvalID'][:8]}"),
                                  ("nodes", "/ui/clients", "Nodes"), ("evaluations", "/ui/evaluations", "Evaluations")]:
            for width, scheme in [(1280, "light"), (390, "dark")]:
                page = self.open(path, width, 1200, scheme)
                page.wait_for_load_state("load")
                expect(page.locator("h1")).to_have_text(title)
                expect(page.locator("#problem")).to_be_hidden()
                page.screenshot(path=ARTIFACTS / f"{name}-{scheme}.png")
                self.check_clean()

    def test_map_by_keys(self):
        page = self.open("/ui/topology")
        expect(page.locator("#map-section small")).to_have_text("300 shown")
        page.get_by_label("colour by").select_option("memory")
        page.get_by_label("group by").select_option("node class")
        page.locator("#map").focus()
        for key in ["ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft"]:
            page.keyboard.press(key)
        expect(page.locator("#map-section .tip")).to_contain_text("memory")
        page.get_by_label("nodes to show").fill("ineligible")
        expect(page.locator("#map-section small")).to_have_text("1 shown")
        # a change of state moves a node into the text's choice
        for eligibility, shown in [("ineligible", "2 shown"), ("eligible", "1 shown")]:
            self.server.call("PUT", f"/v1/node/{self.node['ID']}/eligibility", {"Eligibility": eligibility})
            expect(page.locator("#map-section small")).to_have_text(shown)
        page.get_by_label("nodes to show").fill("down")
        expect(page.locator("#map-section small")).to_have_text("1 shown")
        page.locator("#map").focus()
        page.keyboard.press("Home")
        page.keyboard.press("Enter")
        expect(page).to_have_url(self.server.address + "/ui/clients/" + self.down["ID"])
        expect(page.locator("#view")).to_contain_text("down")
        self.check_clean()

    def test_job(self):
        page = self.open("/ui/jobs/web@default")
        expect(page.locator("h1")).to_have_text("Job web")
        form = page.get_by_role("form", name="Scale group g")
        form.get_by_role("spinbutton").fill("118")
        form.get_by_role("button", name="Scale").click()
        expect(form.locator("output")).to_have_text("count is 118")
        self.server.wait_until("the job is scaled",
                               lambda: self.server.call("GET", "/v1/job/web")["TaskGroups"][0]["Count"] == 118)
        list_of_allocations = page.get_by_role("region", name="Allocations")
        expect(list_of_allocations.locator("tbody tr")).to_have_count(20)
        page.locator("section:has(> h2:text-is('Allocations'))").get_by_role("button", name="next").click()
        expect(page.locator("section:has(> h2:text-is('Allocations')) .pager")).to_contain_text("page 2")
        list_of_allocations.locator("tbody a.id").first.click()
        expect(page.locator("h1")).to_contain_text("Allocation")
        expect(page.get_by_role("region", name="Scores")).to_contain_text("binpack")
        page.get_by_role("link", name=re.compile("^[0-9a-f]{8}$")).first.click()
        expect(page.locator("h1")).to_contain_text("Evaluation")
        expect(page.get_by_role("region", name="Allocations")).to_contain_text("web.g[")
        page.go_back()
        expect(page.locator("h1")).to_contain_text("Allocation")
        self.check_clean()

    def test_blocked_job(self):
        page = self.open("/ui/jobs/tooBig@default")
        expect(page.locator(".explain")).to_contain_text("Group g: 5 not placed")
        expect(page.locator(".explain .changes")).to_contain_text("cpu of task")
        self.check_clean()

    def test_addresses(self):
        evaluation = self.server.call("GET", "/v1/job/web/evaluations")[0]["ID"]
        deployment = self.server.call("GET", "/v1/job/web/deployment")["ID"]
        for path, title, text in [("/ui/jobs/team%2Fshop%40eu@default", "Job team/shop@eu", "service"),
                                  ("/ui/jobs/team%2Fshop%40eu@default/allocations", "Job team/shop@eu", "service"),
                                  ("/ui/jobs/web?namespace=default", "Job web", "service"),
                                  ("/ui/jobs", "Jobs", "team/shop@eu"),
                                  (f"/ui/evaluations?currentEval={evaluation}", f"Evaluation {evaluation[:8]}",
                                   evaluation),
                                  (f"/ui/evaluations/{evaluation}", f"Evaluation {evaluation[:8]}", evaluation),
                                  (f"/ui/deployments/{deployment}", f"Deployment {deployment[:8]}", "share healthy")]:
            page = self.open(path)
            expect(page.locator("h1")).to_have_text(title)
            expect(page.locator("#view")).to_contain_text(text)
            self.check_clean()
        page = self.open("/ui/jobs/missing@default")
        expect(page.locator("#problem")).to_have_text("job not found")
        for path, title in [("/ui/jobs/%FF@default", "Job %FF"), ("/ui/constructor", "Overview")]:
            expect(self.open(path).locator("h1")).to_have_text(title)

    def test_node_is_drained_and_broken(self):
        node = self.server.call("GET", "/v1/nodes?per_page=8")[6]
        page = self.open(f"/ui/clients/{node['ID']}")
        expect(page.locator(".meter")).to_have_count(3)
        form = page.get_by_role("form", name="Drain", exact=True)
        form.get_by_role("spinbutton").fill("600")
        form.get_by_role("button").click()
        self.server.wait_until("the node drains or has drained",
                               lambda: self.server.call("GET", f"/v1/node/{node['ID']}")["LastDrain"])
        page.get_by_role("form", name="Fault").get_by_role("combobox").select_option("partition")
        page.get_by_role("button", name="Inject").click()
        expect(page.get_by_role("form", name="Fault").locator("output")).to_have_text("partition: done")
        page.get_by_role("link", name="Overview").click()
        page.get_by_text("as a table").click()
        events = page.get_by_role("region", name="Deployments and faults")
        expect(events).to_contain_text(f"{node['Name']}: cut off")
        expect(events).to_contain_text(f"{node['Name']}: drain began")
        expect(events).to_contain_text("deployment of web version")
        self.check_clean()

    def test_names_are_text(self):
        for path in ["/ui/", "/ui/jobs", "/ui/allocations", "/ui/jobs/" + urllib.parse.quote(EVIL, safe="") +
                     "@default"]:
            page = self.open(path)
            expect(page.locator("body")).to_contain_text(EVIL)
            self.assertEqual(page.locator("main svg").count(), 0)
            self.check_clean()

    def test_search_filters_and_keys(self):
        page = self.open("/ui/")
        page.keyboard.press("/")
        page.keyboard.type("shop")
        expect(page.locator("#search-found li").first).to_contain_text("team/shop@eu")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("Job team/shop@eu")
        page.locator("h1").focus()
        page.keyboard.press("g")
        page.keyboard.press("n")
        expect(page.locator("h1")).to_have_text("Nodes")
        expect(page.locator("tbody tr")).to_have_count(50)
        page.locator("h1").focus()
        page.keyboard.press("]")
        expect(page.locator(".pager")).to_contain_text("page 2")
        page.get_by_label("text").fill(self.node["Name"].upper() + "$")
        expect(page.locator("tbody")).to_contain_text("none")
        page.get_by_label("text").fill(self.node["Name"].upper())
        expect(page.locator("tbody")).to_contain_text(self.node["Name"])
        page.get_by_label("scheduling eligibility").select_option("ineligible")
        expect(page).to_have_url(re.compile("SchedulingEligibility=ineligible"))
        page.reload()
        expect(page.get_by_label("text")).to_have_value(self.node["Name"].upper())
        page.locator("h1").focus()
        page.keyboard.press("?")
        expect(page.locator("#help")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("#help")).to_be_hidden()
        self.check_clean()

    def test_theme_and_speed(self):
        page = self.open("/ui/")
        background = "getComputedStyle(document.body).backgroundColor"
        self.assertEqual(page.evaluate(background), "rgb(255, 255, 255)")
        page.get_by_label("theme").select_option("dark")
        dark = page.evaluate(background)
        self.assertNotEqual(dark, "rgb(255, 255, 255)")
        page.reload()
        self.assertEqual(page.evaluate(background), dark)
        page.get_by_role("button", name="pause").click()
        self.server.wait_until("time stands still", lambda: self.server.call("GET", "/v1/berth/speed")["Speed"] ==
                               "step")
        before = self.server.call("GET", "/v1/berth/speed")["Now"]
        page.get_by_role("button", name="+1 min").click()
        self.server.wait_until("a minute passes", lambda: self.server.call("GET", "/v1/berth/speed")["Now"] == before +
                               60 * 10**9)
        page.get_by_role("button", name="10×", exact=True).click()
        self.server.wait_until("time runs", lambda: self.server.call("GET", "/v1/berth/speed")["Speed"] == "10")
        self.check_clean()

    def test_headers(self):
        for path, kind in [("/ui/", "text/html"), ("/ui/jobs/x@y", "text/html"),
                           ("/ui/files/main.js", "text/javascript"), ("/ui/files/style.css", "text/css")]:
            with urllib.request.urlopen(self.server.address + path) as answer:
                self.assertTrue(answer.headers["Content-Type"].startswith(kind))
                self.assertIn("script-src 'self'", answer.headers["Content-Security-Policy"])
                self.assertNotIn("unsafe", answer.headers["Content-Security-Policy"])
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(self.server.address + "/ui/files/missing.js")
        self.assertEqual(refused.exception.code, 404)
        refused.exception.close()


class AccessControl(PageTest):
    options = ("--nodes", "20", "--acl")

    @classmethod
    def prepare(cls):
        cls.server.token = cls.server.call("PUT", "/v1/acl/bootstrap", {})["SecretID"]
        cls.server.register("web", 2, 100)
        cls.server.call("PUT", "/v1/acl/policy/reader",
                        {"Name": "reader", "Rules": 'namespace "default" { policy = "read" }'})
        cls.reader = cls.server.call("PUT", "/v1/acl/token",
                                     {"Name": "r", "Type": "client", "Policies": ["reader"]})["SecretID"]

    def use(self, token):
        self.page.get_by_role("link", name="token").click()
        self.page.get_by_label("token", exact=True).fill(token)
        self.page.get_by_role("button", name="Use this token").click()

    def test_token(self):
        page = self.open("/ui/jobs")
        self.may_be_refused = True
        expect(page.locator("#view")).not_to_contain_text("web")
        expect(page.locator("#connection")).to_have_text("no live numbers")
        self.use(self.reader)
        expect(page.locator("#view")).to_contain_text("The token in use: r, client")
        page.get_by_role("link", name="Jobs").click()
        expect(page.locator("tbody")).to_contain_text("web")
        expect(page.locator("#connection")).to_have_text("no live numbers")
        self.use(self.server.token)
        expect(page.locator("#connection")).to_have_text("live")
        page.get_by_role("link", name="Overview").click()
        expect(page.locator("#map-section small")).to_have_text("20 shown")
        self.assertNotIn(self.server.token,
                         page.evaluate("document.cookie + location.href + JSON.stringify(localStorage)"))
        page.get_by_role("link", name="token").click()
        page.get_by_role("button", name="Forget the token").click()
        expect(page.locator("#view")).to_contain_text("have no token")
        expect(page.locator("#connection")).to_have_text("no live numbers")
        self.check_clean()


class TenThousandNodes(PageTest):
    options = ("--nodes", "10000", "--speed", "100")

    def test_map_keeps_up(self):
        page = self.open("/ui/")
        expect(page.locator("#map-section small")).to_have_text("10,000 shown")
        self.assertLessEqual(page.evaluate("document.querySelector('#map').clientHeight"), 500)
        self.server.register("wide", 9000, 5000)
        expect(page.get_by_role("group", name="allocations").locator("b").first).to_have_text("9,000", timeout=120_000)
        # The page answers meanwhile: the longest of 100 frames.
        longest = page.evaluate("""async () => {
            let longest = 0;
            for (let i = 0, before = performance.now(); i < 100; ++i, before = performance.now()) {
                await new Promise(requestAnimationFrame);
                longest = Math.max(longest, performance.now() - before);
            }
            return longest;
        }""")
        self.assertLess(longest, 1000)
        self.assertLess(page.evaluate("document.querySelectorAll('*').length"), 4000)  # no element per node
        page.screenshot(path=ARTIFACTS / "10000.png")
        page.get_by_role("link", name="Nodes").click()
        expect(page.locator("tbody tr")).to_have_count(50)
        self.check_clean()


if __name__ == "__main__":
    BERTH, ARTIFACTS = sys.argv[1], pathlib.Path(sys.argv[2])
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:])
