"""Records the animation of the README: ``python -m docs.generate.demo_animation``. It needs Chromium.

It starts `toolparity demo`, plays two acts in the browser, and writes an animated WebP. The browser encodes each frame:
only the rectangle that differs from the frame before.
"""

from __future__ import annotations

import base64
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from playwright.sync_api import Page, sync_playwright

from docs.generate import PAGES

FILE = PAGES / "demo.webp"
#: Pixels. The page has three columns at this width.
WIDTH, HEIGHT = 1200, 1090
#: Seconds between two frames, at least, and seconds that a frame stays, at most, as the last one of an act does.
EVERY, LONGEST = 0.2, 3.5
QUALITY = 0.72
#: Runs in the browser: compares a screenshot with the one before and returns the changed rectangle, encoded.
_CHANGED = """
async ([png, quality]) => {
  const bitmap = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
  const { width, height } = bitmap;
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d", { willReadFrequently: true, alpha: false });
  context.drawImage(bitmap, 0, 0);
  const pixels = new Uint32Array(context.getImageData(0, 0, width, height).data.buffer);
  const before = window.before;
  window.before = pixels;
  let [left, top, right, bottom] = before ? [width, height, -1, -1] : [0, 0, width - 1, height - 1];
  if (before) {
    for (let at = 0; at < pixels.length; at += 1) {
      if (pixels[at] === before[at]) continue;
      const x = at % width, y = (at - x) / width;
      left = Math.min(left, x); right = Math.max(right, x); top = Math.min(top, y); bottom = Math.max(bottom, y);
    }
    if (right < 0) return null;
  }
  left -= left % 2; top -= top % 2; // a frame begins at even coordinates
  const [w, h] = [right - left + 1, bottom - top + 1];
  const part = new OffscreenCanvas(w, h);
  part.getContext("2d", { alpha: false }).drawImage(bitmap, left, top, w, h, 0, 0, w, h);
  const bytes = new Uint8Array(await (await part.convertToBlob({ type: "image/webp", quality })).arrayBuffer());
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return [left, top, w, h, btoa(text)];
}
"""


class Frame(NamedTuple):
    """``at``: seconds. ``data``: the rectangle as a WebP file."""

    at: float
    left: int
    top: int
    width: int
    height: int
    data: bytes


class FrameRecorder:
    """Captures frames of a page. ``encoder``: a page that compares and encodes them."""

    def __init__(self, page: Page, encoder: Page) -> None:
        self.page = page
        self.frames: list[Frame] = []
        self._encoder = encoder
        self._held = 0.0

    def capture(self) -> None:
        """Capture a frame, if the page has changed since the one before."""
        at = time.monotonic() + self._held
        png = base64.b64encode(self.page.screenshot()).decode()
        changed = self._encoder.evaluate(_CHANGED, [png, QUALITY])
        if changed is not None:
            *place, data = changed
            self.frames.append(Frame(at, *place, base64.b64decode(data)))

    def until(self, selector: str) -> None:
        """Capture frames until an element exists."""
        while not self.page.locator(selector).count():
            begun = time.monotonic()
            self.capture()
            time.sleep(max(0.0, EVERY - (time.monotonic() - begun)))
        self.capture()

    def hold(self) -> None:
        """Show the last frame longer, without waiting now."""
        self._held += LONGEST


@contextmanager
def served() -> Iterator[str]:
    """Run the demo and yield its address."""
    command = [sys.executable, "-m", "toolparity", "demo", "--port", "0", "--tool-seconds", "0.8"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def record(recorder: FrameRecorder, address: str) -> None:
    """Play the first act, and the one in which the server is killed while the second call runs."""
    page = recorder.page
    page.goto(address)
    recorder.until(".lane:nth-child(1)[data-ended]")
    recorder.until(".lane:nth-child(3)[data-ended]")
    recorder.hold()
    page.get_by_role("button", name="Killed server").click()
    recorder.until(".call:nth-child(2) progress[value]")
    page.get_by_role("button", name="Kill the server").click()
    recorder.until(".lane[data-ended]")
    recorder.hold()


def animation(frames: list[Frame]) -> bytes:
    """Return the frames as an animated WebP that repeats forever."""
    header = struct.pack("<B3x", 0x02) + _int24(WIDTH - 1) + _int24(HEIGHT - 1)
    body = _chunk(b"VP8X", header) + _chunk(b"ANIM", struct.pack("<IH", 0xFFFFFFFF, 0))
    ends = [frame.at for frame in frames[1:]] + [frames[-1].at + LONGEST]
    for frame, end in zip(frames, ends, strict=True):
        place = _int24(frame.left // 2) + _int24(frame.top // 2) + _int24(frame.width - 1) + _int24(frame.height - 1)
        duration = _int24(round(1000 * min(LONGEST, max(0.02, end - frame.at))))
        replaces = b"\x02"  # the rectangle replaces what is below it
        body += _chunk(b"ANMF", place + duration + replaces + _image(frame.data))
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body


def _image(file: bytes) -> bytes:
    """Return the image chunks of a WebP file with one picture."""
    at, found = 12, b""
    while at < len(file):
        name, size = file[at : at + 4], struct.unpack_from("<I", file, at + 4)[0]
        if name in (b"ALPH", b"VP8 ", b"VP8L"):
            found += _chunk(name, file[at + 8 : at + 8 + size])
        at += 8 + size + size % 2
    return found


def _chunk(name: bytes, data: bytes) -> bytes:
    return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def _int24(number: int) -> bytes:
    return struct.pack("<I", number)[:3]


def main() -> None:
    """Record and write the animation."""
    browser_path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser_path is None:
        sys.exit("Chromium is not installed: none of chromium, chromium-browser, google-chrome is in PATH")
    with served() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        size = {"width": WIDTH, "height": HEIGHT}
        page = browser.new_page(viewport=size, color_scheme="light", reduced_motion="reduce")
        recorder = FrameRecorder(page, browser.new_page())
        record(recorder, address)
        browser.close()
    FILE.write_bytes(animation(recorder.frames))
    print(f"{FILE.name}: {len(recorder.frames)} frames, {FILE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
