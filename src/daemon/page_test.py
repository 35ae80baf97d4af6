#!/usr/bin/env python3
"""The status page in a browser: a Chromium without a window, told what to do through a pipe.

page_test.py CUZK TESTDATA KEYS [--screenshots FOLDER]; ends with 77 where there is no Chromium.
"""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import unittest
import urllib.parse

SCREENSHOTS = pathlib.Path(sys.argv[sys.argv.index("--screenshots") + 1]) if "--screenshots" in sys.argv else None
TESTDATA = pathlib.Path(sys.argv[2]).resolve()
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.argv[4:] = []
import daemon_test  # noqa: E402  its command line has the same three first words

CHROMIUM = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
VECTOR = TESTDATA / "circom/bn128/edge"


class Browser:
    """Chromium's own protocol, over file descriptors 3 and 4: JSON that ends with a zero byte."""

    def __init__(self, folder):
        to_browser, from_browser = os.pipe(), os.pipe()
        self.out, self.inp = to_browser[1], from_browser[0]
        theirs = (to_browser[0], from_browser[1])

        def place():
            # By way of numbers above both, for one may be where the other goes.
            high = [os.dup2(fd, 100 + i) for i, fd in enumerate(theirs)]
            for i, fd in enumerate(high):
                os.dup2(fd, 3 + i)

        self.process = subprocess.Popen(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             f"--user-data-dir={folder}", "--remote-debugging-pipe", "--window-size=1400,1600"],
            preexec_fn=place, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for fd in theirs:
            os.close(fd)
        self.buffer, self.number, self.session, self.problems = b"", 0, None, []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(domain + ".enable")

    def read(self):
        while b"\0" not in self.buffer:
            more = os.read(self.inp, 1 << 16)
            if not more:
                raise AssertionError(f"the browser ended with {self.process.wait()}")
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def ask(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.out, json.dumps(request).encode() + b"\0")
        while True:
            message = self.read()
            if message.get("id") == self.number:
                if "error" in message:
                    raise AssertionError(f"{method}: {message['error']}")
                return message["result"]
            self.note(message)

    def note(self, message):
        name, about = message.get("method"), message.get("params", {})
        if name == "Runtime.exceptionThrown":
            self.problems.append(about["exceptionDetails"])
        elif name == "Runtime.consoleAPICalled" and about["type"] in ("error", "assert"):
            self.problems.append(about["args"])
        elif name == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.problems.append(about["entry"]["text"] + " " + about["entry"].get("url", ""))

    def value(self, expression):
        out = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in out:
            raise AssertionError(f"{expression}: {out['exceptionDetails']}")
        return out["result"].get("value")

    def until(self, expression, seconds=60):
        end = time.time() + seconds
        while time.time() < end:
            if self.value(expression):
                return
            time.sleep(0.1)
        raise AssertionError(f"never true: {expression}; the page says: {self.value('document.body.innerText')}")

    def screenshot(self, name):
        if not SCREENSHOTS:
            return
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        image = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        (SCREENSHOTS / f"{name}.png").write_bytes(base64.b64decode(image))

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.out)
        os.close(self.inp)


class Page(daemon_test.Case):
    def setUp(self):
        super().setUp()
        self.served = self.daemon(f"""
[circom.circuits]
edge = {{ zkey = "{VECTOR / "circuit_final.zkey"}" }}
""")
        self.rpc = self.client(self.served)
        self.browser = Browser(self.dir / "profile")
        self.addCleanup(self.browser.close)
        self.url = "http://" + self.served.wait_for("listening for HTTP")["address"] + "/"

    def open(self):
        self.browser.ask("Page.navigate", url=self.url)
        self.browser.until("document.body && document.body.dataset.loaded === 'true'")

    def prove(self, name, right=True):
        witness = (VECTOR / "witness.wtns").read_bytes()
        if not right:  # the last value is another one
            witness = witness[:-32] + (int.from_bytes(witness[-32:], "little") ^ 1).to_bytes(32, "little")
        answer = self.rpc.prove_circom("edge", wtns=witness, request_id=name)
        self.assertEqual(answer.status, daemon_test.COMPLETED if right else daemon_test.FAILED)

    def text(self, section):
        return self.browser.value(f"document.getElementById('{section}').innerText")

    def completed(self, count):
        return f"document.querySelector('#counters .big').innerText === '{count}'"

    def tearDown(self):
        self.assertEqual(self.browser.problems, [])

    def test_an_idle_daemon(self):
        self.open()
        self.assertEqual(self.text("state"), "ready")
        self.assertIn("No job is queued or running.", self.text("jobs"))
        self.assertIn("Nothing has finished yet.", self.text("recent"))
        self.assertIn("cpu", self.text("devices"))
        self.assertIn("edge", self.text("circom"))
        self.assertTrue(self.browser.value("document.getElementById('problems').hidden"))
        self.assertEqual(self.browser.value("view.spans.length"), 0)
        self.browser.screenshot("idle")

    def test_work_is_seen_live_and_after_the_fact(self):
        self.prove("before the page")
        self.open()
        self.browser.until(self.completed(1))
        self.assertIn("before the page", self.text("recent"))
        # Without a reload from here on.
        for i in range(5):
            self.prove(f"live {i}")
        self.prove("a wrong one", right=False)
        self.browser.until(self.completed(6))
        self.browser.until("document.getElementById('recent').innerText.includes('a wrong one')")
        self.assertIn("failed", self.text("recent"))
        self.assertIn("loaded", self.text("circom"))
        # Each span once, on lanes of stages and devices.
        self.browser.until("new Set(view.spans.map((s) => s.job_id)).size >= 7")
        spans = self.browser.value("view.spans.map((s) => [s.lane, s.name, s.job_id, s.start_us, s.end_us].join())")
        self.assertEqual(len(spans), len(set(spans)))
        lanes = self.browser.value("[...view.lanes.keys()].join()")
        for lane in ("parse", "synthesis", "cpu", "finish"):
            self.assertIn(lane, lanes)
        self.browser.value("document.querySelector('[data-span=\"0\"]').click()")
        drawn = self.browser.value("drawn.length")
        self.assertGreaterEqual(drawn, 20)
        self.assertIn("synthesis", self.text("legend"))
        inked = """(() => { const c = document.getElementById('timeline');
            const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
            let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; })()"""
        self.assertGreater(self.browser.value(inked), 1000)
        # Zoomed in, it stands still and shows less.
        self.browser.value("""document.getElementById('timeline').dispatchEvent(
            new WheelEvent('wheel', {deltaY: -3000, clientX: 700, cancelable: true}))""")
        self.assertFalse(self.browser.value("view.live"))
        self.assertLess(self.browser.value("drawn.length"), drawn)
        self.browser.value("document.getElementById('live').click()")
        self.assertTrue(self.browser.value("view.live"))
        self.browser.screenshot("after")

    def test_the_trace_that_it_offers(self):
        self.prove("traced")
        self.open()
        link = self.browser.value("document.querySelector('a[download]').href")
        self.assertEqual(urllib.parse.urlsplit(link).path, "/trace.json")
        names = self.browser.value(f"fetch('{link}').then((r) => r.json())"
                                   ".then((t) => [...new Set((t.traceEvents || t).map((e) => e.name))].join())")
        for name in ("parse", "synthesis", "prove"):
            self.assertIn(name, names)

    def test_what_a_client_calls_its_job_is_text(self):
        name = "<img src=x onerror=\"document.title='taken'\">"
        self.prove(name)
        self.open()
        self.browser.until(self.completed(1))
        self.assertIn(name, self.text("recent"))
        self.assertEqual(self.browser.value("document.querySelectorAll('img').length"), 0)
        self.assertNotIn("taken", self.browser.value("document.title"))

    def test_a_daemon_that_goes_and_comes_back(self):
        self.prove("first life")
        self.open()
        self.browser.until(self.completed(1))
        address = urllib.parse.urlsplit(self.url).netloc
        self.served.end(daemon_test.signal.SIGTERM)
        self.browser.until("document.getElementById('state').innerText === 'no answer'")
        again = self.daemon(f"""
[circom.circuits]
edge = {{ zkey = "{VECTOR / "circuit_final.zkey"}" }}
""", arguments=["serve", "--config", self.dir / "cuzk.toml", "--listen", f"unix://{self.dir}/cuzk.sock",
                "--status-listen", address, "--log-format", "json"])
        self.rpc = self.client(again)
        self.browser.until("document.getElementById('state').innerText === 'ready'")
        self.prove("second life")
        self.browser.until("view.spans.some((s) => s.job_id === 'second life')")
        self.assertFalse(self.browser.value("view.spans.some((s) => s.job_id === 'first life')"))
        # While it was away the page had errors to tell, as it should.
        self.browser.problems.clear()


if __name__ == "__main__":
    if not CHROMIUM:
        print("skipped: there is no Chromium; on Debian: apt-get install chromium")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0]], verbosity=2)
