"""What setup.sh fetches by pip is what was fetched when its hashes were written."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_pip_takes_fixed_versions_with_hashes_only() -> None:
    setup = (ROOT / "services" / "cli" / "setup.sh").read_text()
    installs = re.findall(r"pip install (.*?)(?:>&2|\\\n|\n)", setup)
    assert len(installs) == 2
    for install in installs:
        assert "--require-hashes" in install and "--only-binary :all:" in install
        (file,) = re.findall(r"-r (\S+)", install)
        lines = [line for line in (ROOT / file).read_text().splitlines() if not line.startswith("#")]
        assert re.fullmatch(r"[a-z-]+==[0-9.]+ \\", lines[0]), lines[0]
        assert all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line) for line in lines[1:]) and len(lines) > 1


def test_the_image_takes_the_same_files() -> None:
    built = (ROOT / "services" / "Dockerfile").read_text()
    assert "COPY services/cli/fetched services/cli/fetched" in built
