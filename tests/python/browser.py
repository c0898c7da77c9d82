"""A browser without a window, driven by the DevTools protocol over a pipe. Debian's chromium or chromium-headless-shell."""

import base64
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")


def find():
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """Pages are opened one after the other. `problems`: what the console has said, and exceptions."""

    def __init__(self, path):
        self._folder = tempfile.TemporaryDirectory(prefix="fusewire-browser-", ignore_cleanup_errors=True)
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        arguments = [path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe",
                     f"--user-data-dir={self._folder.name}", "--window-size=1440,900", "--hide-scrollbars", "about:blank"]

        def descriptors():  # the browser reads from 3 and writes to 4; every other descriptor of ours closes by itself
            high = [fcntl.fcntl(one, fcntl.F_DUPFD, 64) for one in (theirs_in, theirs_out)]
            for one, number in zip(high, (3, 4)):
                os.dup2(one, number)
                os.close(one)

        self._process = subprocess.Popen(arguments, close_fds=False, preexec_fn=descriptors, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self._numbers, self._buffer, self._session, self.problems = itertools.count(1), b"", None, []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.requests = []

    def close(self):
        for descriptor in (self._out, self._in):
            os.close(descriptor)
        self._process.terminate()
        self._process.wait(10)
        self._folder.cleanup()

    def _message(self, until):
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(until - time.monotonic(), 0))
            if not ready:
                raise TimeoutError("the browser does not answer")
            data = os.read(self._in, 1 << 20)
            if not data:
                raise RuntimeError("the browser has ended")
            self._buffer += data
        text, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(text)

    def send(self, method, timeout=30, **parameters):
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + timeout
        while True:
            answer = self._message(until)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._heard(answer)

    def _heard(self, event):
        method, what = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = what["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
            self.problems.append(" ".join(str(a.get("value", a.get("description"))) for a in what["args"]))
        elif method == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            self.problems.append(what["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])

    def js(self, code, timeout=30):
        """The value of an expression, or of an async function's body if it has a return."""
        code = f"(async () => {{ {code} }})()" if "return " in code else code
        answer = self.send("Runtime.evaluate", timeout, expression=code, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", answer["exceptionDetails"]["text"]))
        return answer["result"].get("value")

    def open(self, path, hash="", theme="light"):
        self.problems.clear()
        self.requests.clear()
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        self.send("Page.navigate", url="about:blank")
        self.send("Page.navigate", url=f"file://{path}{hash}")
        self.wait("document.documentElement?.dataset.ready === 'yes'")

    def wait(self, condition, timeout=20):
        until = time.monotonic() + timeout
        while not self.js(condition):
            if time.monotonic() > until:
                raise TimeoutError(f"{condition}; the console said {self.problems}")
            time.sleep(0.02)

    def text(self, selector="main"):
        return self.js(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def click(self, selector):
        """At the middle of the element, as a person would."""
        box = self.js(f"""const e = document.querySelector({json.dumps(selector)}); if (!e) return null; e.scrollIntoView({{block: "center"}});
            await new Promise(requestAnimationFrame); const r = e.getBoundingClientRect(); return [r.left + Math.min(r.width, 400) / 2, r.top + r.height / 2];""")
        assert box, f"no {selector}"
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)
        self.js("return await new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => done(1))), 30));")

    def key(self, key, text=None):
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, text=text if text is not None else key if len(key) == 1 else "")
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def type(self, text):
        self.send("Input.insertText", text=text)

    def size(self, width, height):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def screenshot(self, path):
        self.js("return await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))));")
        data = base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])
        with open(path, "wb") as file:
            file.write(data)
