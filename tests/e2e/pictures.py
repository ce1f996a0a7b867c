"""Screenshots with palettes of 256 colours: half the bytes without a visible difference in pages of flat colours.

`python tests/e2e/pictures.py FOLDER` rewrites the PNG files of a folder in place.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image


def shrink(path: Path) -> None:
    """Rewrite one picture where that makes it smaller."""
    with Image.open(path) as picture:
        if picture.mode == "P":
            return
        small = picture.convert("RGB").quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    before = path.read_bytes()
    small.save(path, optimize=True)
    if path.stat().st_size >= len(before):
        path.write_bytes(before)


if __name__ == "__main__":
    for one in sorted(Path(sys.argv[1]).glob("*.png")):
        shrink(one)
