"""A Chromium without a window, driven by its DevTools protocol over a pipe: nothing to install but the browser."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)


def axe_source():
    """The text of axe-core where npm put it (AXE_CORE, or node_modules of this repository); None if it is not there."""
    near = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
    file = Path(os.environ.get("AXE_CORE", near))
    return file.read_text(encoding="utf-8") if file.is_file() else None


class Browser:
    """One page of a browser with a profile of its own, which a second visit finds again."""

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        there, self.to = os.pipe()
        self.from_, back = os.pipe()
        command = (
            f'exec "{CHROMIUM}" --headless --no-sandbox --disable-gpu --remote-debugging-pipe --no-first-run '
            f'--disable-background-networking --user-data-dir="{self.profile.name}" about:blank 3<&{there} 4>&{back}'
        )
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(["bash", "-c", command], pass_fds=(there, back), **quiet)
        os.close(there)
        os.close(back)
        self.number, self.session, self.rest, self.requests, self.said = 0, None, b"", [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(10)
        except (OSError, EOFError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.from_)
        self.profile.cleanup()

    def call(self, method, **parameters):
        """One command of the protocol, and what it returns."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            found = self._message()
            if found.get("id") == self.number:
                if "error" in found:
                    raise RuntimeError(f"{method}: {found['error']}")
                return found["result"]
            if found.get("method") == "Network.requestWillBeSent":
                self.requests.append(found["params"]["request"]["url"])
            if found.get("method") == "Log.entryAdded":
                self.said.append(found["params"]["entry"]["text"])

    def _message(self):
        while b"\0" not in self.rest:
            part = os.read(self.from_, 1 << 20)
            if not part:
                raise EOFError("the browser has gone.")
            self.rest += part
        one, _, self.rest = self.rest.partition(b"\0")
        return json.loads(one)

    def run(self, expression):
        """The value of a JavaScript expression, awaited; an error of the page is an error here."""
        found = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, userGesture=True
        )
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"].get("exception", {}).get("description", found))
        return found["result"].get("value")

    def visit(self, url):
        """Open an address and wait until its scripts have run."""
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def wait(self, condition, seconds=20.0):
        """Wait until a JavaScript condition holds."""
        end = time.monotonic() + seconds
        while not self._holds(condition):
            if time.monotonic() > end:
                raise TimeoutError(f"{condition} did not come true: {self.run('document.body.innerText')}")
            time.sleep(0.02)

    def _holds(self, condition):
        try:
            return self.run(f"Boolean({condition})")
        except RuntimeError:  # between two pages there is nothing to ask
            return False

    def press(self, key, code=None):
        """A key, pressed and let go, wherever the focus is."""
        codes = {"Tab": 9, "Enter": 13, " ": 32, "ArrowDown": 40}
        text = {"Enter": "\r", " ": " "}.get(key, "")
        event = {"key": key, "code": code or key, "windowsVirtualKeyCode": codes[key], "text": text}
        self.call("Input.dispatchKeyEvent", type="keyDown", **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def size(self, wide, high, phone=False, dark=False):
        """The size of the window, and whether the screen is dark."""
        self.call("Emulation.setDeviceMetricsOverride", width=wide, height=high, deviceScaleFactor=1, mobile=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, file):
        """The whole page as a PNG."""
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        Path(file).write_bytes(base64.b64decode(found["data"]))
