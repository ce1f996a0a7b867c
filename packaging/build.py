"""Makes the DEB and, where rpmbuild is, the RPM from the wheels: `python packaging/build.py dist EXTRAS deb,rpm` (`make packages`).

Both hold the same tree: a Python of their own with the wheels below /usr/lib/flitwatch, units, the user, the configuration file, log rotation, manual pages and shell completion.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from flitwatch import configuration, manuals
from flitwatch.commands.completion import source
from flitwatch_domain.build import VERSION

HERE = Path(__file__).parent
ROOT = HERE.parent
PLACE = "usr/lib/flitwatch"
SUMMARY = "Who slows jobs on a supercomputer's network, and what to do"
#: CPython of python-build-standalone, which runs with glibc 2.17 and later, as a Go module carries it for programs that embed one; with Go's sum of the module.
PYTHON_MODULE = "github.com/kluctl/go-embed-python@v0.0.0-3.14.6-20260610-1"
PYTHON_SUM = "h1:oGUS7++Wm3LgxUfD6AmJgKbKQD2wdQFO9PzyJv6T+E4="
PYTHON = "python3.14"
#: What of it a service needs not: its tests, Tk, and tools that only start it.
LEFT_OUT = (
    "bin/idle",
    "bin/pip",
    "bin/pydoc",
    "lib/itcl",
    "lib/libtcl",
    "lib/thread",
    f"lib/{PYTHON}/idlelib",
    f"lib/{PYTHON}/tkinter",
    f"lib/{PYTHON}/test/",
    f"lib/{PYTHON}/ensurepip",
)
#: The C library that the wheels ask for (manylinux_2_28).
GLIBC = "2.28"
#: What the packages themselves change in the file that users read: an installed platform waits for real sources.
SOURCES = ('# twin = "demo"', 'twin = "none"')
#: Where shells look for completions; zsh of Debian and of Rocky in different folders.
COMPLETIONS = {
    "usr/share/bash-completion/completions/flitwatch": "bash",
    "usr/share/zsh/vendor-completions/_flitwatch": "zsh",
    "usr/share/zsh/site-functions/_flitwatch": "zsh",
    "usr/share/fish/vendor_completions.d/flitwatch.fish": "fish",
}
#: Debian's names of what runs at an installation and a removal, and RPM's.
SCRIPTS = {"postinst": "post", "prerm": "preun", "postrm": "postun"}
CONFIGURATION = ("etc/flitwatch/flitwatch.toml", "etc/logrotate.d/flitwatch")


def main(dist: Path, extras: str, kinds: str) -> int:
    """Build the kinds (`deb`, `rpm`) into `dist` from the wheels there."""
    with tempfile.TemporaryDirectory(prefix="flitwatch-packages-") as work:
        tree = Path(work, "tree")
        tree.mkdir(mode=0o755)
        install_environment(tree / PLACE, dist, extras)
        install_files(tree)
        if "deb" in kinds:
            print(debian(tree, dist))
        if "rpm" in kinds and shutil.which("rpmbuild"):
            print(rpm(tree, dist, Path(work)))
        elif "rpm" in kinds:
            print("packages: no RPM: rpmbuild is missing (sudo apt-get install rpm)", file=sys.stderr)
    return 0


def install_environment(place: Path, dist: Path, extras: str) -> None:
    """A Python with the wheels and the locked versions of what they need, which runs where the package unpacks it."""
    uv = shutil.which("uv") or os.fspath(ROOT / ".cache" / "uv" / "bin" / "uv")
    unpack_python(place)
    with tempfile.TemporaryDirectory() as work:
        versions, overrides = Path(work, "versions.txt"), Path(work, "overrides.txt")
        export = ("export", "-q", "--frozen", "--no-dev", "--all-extras", "--no-emit-workspace", "--no-hashes")
        _run(uv, *export, "--project", ROOT, "--output-file", versions)
        named = [
            f"{wheel}[{extras}]" if extras and wheel.name.startswith("flitwatch-") else wheel
            for wheel in dist.glob("*.whl")
            if not wheel.name.endswith("_aarch64.whl") and "-cp311-" not in wheel.name
        ]
        # Without the overrides the resolver would add the accelerators' libraries; OTF2's library has no wheel for this Python.
        absent = ("triton", "cuda-bindings", "otf2")
        overrides.write_text("".join(f"{name} ; sys_platform == 'never'\n" for name in absent))
        install = ("pip", "install", "-q", "--link-mode", "copy", "--only-binary", ":all:")
        chosen = ("--python-platform", f"x86_64-manylinux_{GLIBC.replace('.', '_')}", "-c", versions)
        _run(uv, *install, "--python", place / "bin" / PYTHON, *chosen, "--overrides", overrides, *named)
    for file in place.glob("bin/*"):
        if not file.name.startswith(("python", "flitwatch")):
            file.unlink()
        elif file.name.startswith("flitwatch"):
            file.write_text(file.read_text().replace(os.fspath(place), f"/{PLACE}"))
    compile_all(place, os.fspath(place / "bin" / PYTHON))


def unpack_python(place: Path) -> None:
    """The packages' own CPython."""
    if shutil.which("go") is None:
        sys.exit("packages: Go is missing, which fetches the packages' Python: sudo apt-get install golang-go")
    command = ("go", "mod", "download", "-json", PYTHON_MODULE)
    with tempfile.TemporaryDirectory() as work:
        done = subprocess.run(command, cwd=work, stdout=subprocess.PIPE, text=True)
    module = json.loads(done.stdout or "{}")
    if done.returncode or module.get("Sum") != PYTHON_SUM:
        sys.exit(f"packages: {PYTHON_MODULE} was not fetched, or is not what was checked: {module.get('Error', '')}")
    source = Path(module["Dir"], "python/internal/data/linux-amd64")
    for item in json.loads((source / "files.json").read_text())["files"]:
        name, target = item["name"], place / item["name"]
        if name.startswith(LEFT_OUT) or (source / name).is_dir():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if "symlink" in item:
            target.symlink_to(item["symlink"])
            continue
        packed = source / f"{name}.gz"
        target.write_bytes(gzip.decompress(packed.read_bytes()) if packed.exists() else (source / name).read_bytes())
        target.chmod(item["perm"] & 0o755)


def compile_all(place: Path, python: str) -> None:
    """Bytecode of everything below `lib`: the services' user may not write below /usr, and without it each start would compile again.

    Libraries bring files for newer Pythons, which no Python here imports: only a file of ours that does not compile is an error.
    """
    tree = os.fspath(place).removesuffix(f"/{PLACE}")
    words = (python, "-m", "compileall", "-j", "0", "--invalidation-mode", "unchecked-hash", "-s", tree, "-p", "/")
    subprocess.run([*words, "-qq", place / "lib"], check=False)
    _run(*words, "-q", *sorted(place.glob("lib/python3*/site-packages/flitwatch*/")))


def install_files(tree: Path) -> None:
    """Everything alongside the environment."""
    _put(tree / "etc/flitwatch/flitwatch.toml", configuration.read_sample().replace(*SOURCES))
    _put(tree / "etc/logrotate.d/flitwatch", (HERE / "logrotate.conf").read_text())
    _put(tree / "usr/lib/sysusers.d/flitwatch.conf", (HERE / "sysusers.conf").read_text())
    for unit in sorted((HERE / "units").glob("*.service")):
        _put(tree / "usr/lib/systemd/system" / unit.name, unit.read_text())
    slurm = (ROOT / "services/slurm_agent/flitwatch_slurm/flitwatch-slurm.service").read_text()
    _put(tree / "usr/lib/systemd/system/flitwatch-slurm.service", slurm.replace("=flitwatch ", "=/usr/bin/flitwatch "))
    for place, shell in COMPLETIONS.items():
        _put(tree / place, source(shell))
    for name, page in manuals.render_pages().items():
        file = tree / "usr/share/man/man1" / f"{name}.gz"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(gzip.compress(page.encode(), mtime=0))
        file.chmod(0o644)
    (tree / "usr/bin").mkdir(parents=True, exist_ok=True)
    for program in ("flitwatch", "flitwatch-sampler"):
        (tree / "usr/bin" / program).symlink_to(f"../lib/flitwatch/bin/{program}")


def debian(tree: Path, dist: Path) -> Path:
    """The DEB."""
    control = tree / "DEBIAN"
    size_kib = sum(file.lstat().st_size for file in tree.rglob("*")) // 1024
    _put(
        control / "control",
        f"Package: flitwatch\nVersion: {VERSION}\nArchitecture: amd64\nSection: admin\nPriority: optional\nInstalled-Size: {size_kib}\n"
        f"Maintainer: Flitwatch's maintainers <root@localhost>\nDepends: libc6 (>= {GLIBC}), libstdc++6, passwd\n"
        f"Suggests: logrotate, infiniband-diags\nDescription: {SUMMARY}\n",
    )
    _put(control / "conffiles", "".join(f"/{name}\n" for name in CONFIGURATION))
    for script in SCRIPTS:
        _put(control / script, (HERE / script).read_text(), 0o755)
    file = dist / f"flitwatch_{VERSION}_amd64.deb"
    _run("dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", tree, file, quiet=True)
    shutil.rmtree(control)
    return file


def rpm(tree: Path, dist: Path, work: Path) -> Path:
    """The RPM of the same tree."""
    texts = {name: (HERE / file).read_text().partition("\n")[2] for file, name in SCRIPTS.items()}
    scripts = "".join(f"%{name}\n{text}" for name, text in texts.items())
    # %post makes the group that may read the settings, and then gives them to it.
    configured = "".join(f"%verify(not mode group) %config(noreplace) /{name}\n" for name in CONFIGURATION)
    shells = "".join(f"/{place}\n" for place in COMPLETIONS)
    spec = (
        f"Name: flitwatch\nVersion: {VERSION}\nRelease: 1\nSummary: {SUMMARY}\nLicense: none chosen\nBuildArch: x86_64\nAutoReqProv: no\n"
        f"Requires: glibc >= {GLIBC}, libstdc++, shadow-utils\n"
        "%global __os_install_post %{nil}\n%global _build_id_links none\n%description\n"
        f"{SUMMARY}\n%install\ncp -a {tree}/. %{{buildroot}}/\n{scripts}"
        f"%files\n{configured}/usr/lib/flitwatch\n/usr/bin/*\n/usr/lib/systemd/system/*\n/usr/lib/sysusers.d/*\n"
        f"{shells}/usr/share/man/man1/*\n"
    )
    _put(work / "flitwatch.spec", spec)
    _run(
        "rpmbuild",
        "-bb",
        "--quiet",
        "--define",
        f"_topdir {work}/rpm",
        "--define",
        "_binary_payload w1.gzdio",
        work / "flitwatch.spec",
        quiet=True,
    )
    (made,) = (work / "rpm" / "RPMS").rglob("*.rpm")
    return Path(shutil.move(made, dist / made.name))


def _put(file: Path, text: str, mode: int = 0o644) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(mode)


def _run(*words: str | Path, quiet: bool = False) -> None:
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL if quiet else None)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
