"""Moving picture of a report's animation, as README has it.

    setup/run python docs/moving_picture.py 'build/demo/report.html#x=50&runs=all_on,all_off' docs/images/inspect.webp
        --spans 0.2-2.2 6.3-8.3

What stands behind `#` is what the page itself understands, see docs/picture.py; spans [s] are played one after the
other, as fast as the run was. Needs Chromium.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "test" / "support"))
sys.path.insert(0, str(ROOT / "docs"))

from browser import CHROMIUM, Browser  # noqa: E402
from picture import ALONE  # noqa: E402

WIDTH, HEIGHT = 1040, 800  # [pixel] of the page; what is empty of it is cut off
BARE = """<style>
html { overflow: hidden }
.controls, .scrubber { display: none !important }
.stage { max-height: 400px !important }
.stage-name select { appearance: none }
</style></head>"""  # the arms and the timeline


def main(
    address: str, picture: Path, spans: list[tuple[float, float]], rate: float, width: int, quality: int, dark: bool
) -> None:
    """Write the moving picture as an animated WebP file."""
    if CHROMIUM is None:
        sys.exit("moving_picture.py needs Chromium: chromium, chromium-browser or google-chrome on the PATH")
    report, _, fragment = address.partition("#")
    times = np.concatenate([np.arange(begin, end, 1.0 / rate) for begin, end in spans])
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        page = Path(folder) / "report.html"
        text = Path(report).read_text(encoding="utf-8").replace("</head>", ALONE, 1).replace("</head>", BARE, 1)
        page.write_text(text, encoding="utf-8")
        browser = Browser(Path(folder) / "profile", f"{page.as_uri()}#{fragment}&t={times[0]:.3f}")
        try:
            browser.resize(WIDTH, HEIGHT)
            if dark:
                browser.darken()
            browser.wait(lambda: browser.value("document.querySelector('.clock')?.textContent"), "the player")
            frames = [_frame(browser, f"{fragment}&t={time:.3f}", f"{time:.2f} s", width) for time in times]
        finally:
            browser.close()
    picture.parent.mkdir(parents=True, exist_ok=True)
    first, *others = frames
    duration = round(1000.0 / rate)
    first.save(picture, save_all=True, append_images=others, duration=duration, loop=0, quality=quality, method=6)
    print(f"wrote {picture}: {len(frames)} frames, {picture.stat().st_size / 1e6:.2f} MB")


def _frame(browser: Browser, fragment: str, clock: str, width: int) -> Image.Image:
    browser.value(f"location.hash = {fragment!r}")
    browser.wait(lambda: browser.value("document.querySelector('.clock').textContent") == clock, clock)
    height = int(browser.value("Math.ceil(document.querySelector('main').getBoundingClientRect().height)"))
    image = Image.fromarray(np.rint(255 * browser.picture()).astype(np.uint8))
    size = (image.width, min(image.height, height))
    return image.crop((0, 0, *size)).resize((width, round(size[1] * width / size[0])), Image.Resampling.LANCZOS)


def _span(text: str) -> tuple[float, float]:
    begin, end = map(float, text.split("-"))
    return begin, end


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address", metavar="REPORT.html#...")
    parser.add_argument("picture", type=Path, metavar="PICTURE.webp")
    parser.add_argument("--spans", type=_span, nargs="+", required=True, metavar="BEGIN-END")
    parser.add_argument("--rate", type=float, default=15.0, help="frames per second (default: 15)")
    parser.add_argument("--width", type=int, default=960, help="width [pixel] (default: 960)")
    parser.add_argument("--quality", type=int, default=70, help="of WebP, 0 to 100 (default: 70)")
    parser.add_argument("--dark", action="store_true", help="for dark pages")
    main(**vars(parser.parse_args()))
