"""Picture of a report's animation, as docs/images has them.

    setup/run python docs/picture.py 'build/demo/report.html#t=0.83&x=50&runs=all_on,all_off' docs/images/boom.png

What stands behind `#` is what the page itself understands: t [s] the moment, x how much larger than it is the base's
motion is drawn, runs which of them. Needs Chromium.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
ALONE = """<style>
main > :not(section[aria-label="Animation"]), .hint { display: none !important }
body, main { margin: 0 !important; padding: 6px !important; max-width: none !important }
section { margin: 0 !important }
</style></head>"""  # nothing but the animation
FLAGS = """--headless --no-sandbox --disable-gpu --use-angle=swiftshader --enable-unsafe-swiftshader --hide-scrollbars
--no-first-run --disable-background-networking"""


def main(address: str, picture: Path, size: str) -> None:
    """Write a picture of the animation in a report."""
    if CHROMIUM is None:
        sys.exit("picture.py needs Chromium: chromium, chromium-browser or google-chrome on the PATH")
    report, _, fragment = address.partition("#")
    with TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        page.write_text(Path(report).read_text(encoding="utf-8").replace("</head>", ALONE, 1), encoding="utf-8")
        flags = [*FLAGS.split(), f"--user-data-dir={folder}/profile", f"--window-size={size}"]
        flags += [f"--screenshot={picture.resolve()}", "--virtual-time-budget=5000", f"{page.as_uri()}#{fragment}"]
        subprocess.run([CHROMIUM, *flags], check=True, stderr=subprocess.DEVNULL)
    print(f"wrote {picture}")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3] if len(sys.argv) == 4 else "1160,720")
