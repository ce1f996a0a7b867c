"""The version is the same everywhere, and hooks and templates are valid."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import flitwatch_client
from flitwatch_domain.build import VERSION
from packages.conftest import ROOT as ROOT_BYTECODE

ROOT = Path(__file__).resolve().parents[2]

PROJECTS = (".", "packaging/agent", "services/client", "services/noise_core", "services/research")

TEMPLATES = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def project(folder: str) -> dict:
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text())


def test_the_version_is_the_same_everywhere() -> None:
    said = {folder: project(folder)["project"]["version"] for folder in PROJECTS}
    said |= {
        "client": flitwatch_client.__version__,
        "citation": str(yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"]),
    }
    assert set(said.values()) == {VERSION}, said


def test_the_hooks_call_parts_of_make_lint_and_fetch_nothing() -> None:
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repository["repo"] == "local" and {hook["language"] for hook in repository["hooks"]} == {"system"}
    lint = subprocess.run(["make", "-n", "-C", ROOT, "lint"], capture_output=True, text=True, check=True).stdout
    for hook in repository["hooks"]:
        # Only a commit's message has no part in `make lint`.
        if hook.get("stages") == ["commit-msg"]:
            assert (ROOT / hook["entry"].split()[1]).is_file(), hook
            continue
        assert any(all(word in line.split() for word in hook["entry"].split()) for line in lint.splitlines()), hook


@pytest.mark.parametrize("template", [one for one in TEMPLATES if one.name != "config.yml"], ids=lambda one: one.stem)
def test_a_template_asks_for_something_and_names_commands_that_there_are(template: Path) -> None:
    from flitwatch.catalogue import list_installed_commands

    form = yaml.safe_load(template.read_text())
    assert form["name"] and form["description"] and form["body"]
    assert len({part["id"] for part in form["body"]}) == len(form["body"])
    assert any(part.get("validations", {}).get("required") for part in form["body"])
    assert {part["type"] for part in form["body"]} <= {"input", "textarea", "dropdown", "checkboxes", "markdown"}
    assert set(re.findall(r"`flitwatch (\w+)", json.dumps(form))) <= set(list_installed_commands())


def test_the_readme_is_a_page_and_a_half() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 90
    assert "make up " in text and "make test " in text and "does not have a licence yet" in text
    assert text.index("![") < text.index("make up ") < text.index("## What it answers") and text.count("![") == 7
    for fabric in ("Slingshot", "InfiniBand", "Omni-Path", "Ethernet", "Aries", "Slurm", "PBS", "Flux"):
        assert fabric in text
    assert "oracle" not in text.lower()


def test_a_release_has_a_bill_of_materials_and_checksums(tmp_path: Path) -> None:
    (tmp_path / "some.whl").write_text("wheel")
    subprocess.run(["make", "-s", "-C", ROOT, "bill", "sums", f"DIST={tmp_path}"], check=True)
    bill = json.loads((tmp_path / "flitwatch.cdx.json").read_text())
    versions = {component["name"]: component["version"] for component in bill["components"]}
    assert bill["bomFormat"] == "CycloneDX" and {"psycopg", "scipy", "torch"} <= versions.keys()
    done = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.splitlines() == ["flitwatch.cdx.json: OK", "some.whl: OK"]


# Bytecode in the packages: of our code all, of libraries what this Python can compile.


#: A class with type parameters is an error before Python 3.12, this is one in every version.
NOT_PYTHON = "def f(:\n"


@pytest.fixture(scope="module")
def build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("packages_build", ROOT_BYTECODE / "packaging/build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiled(build: ModuleType, folder: Path, **files: str) -> set[str]:
    place = folder / build.PLACE
    for name, text in files.items():
        file = place / "lib" / "python3.11" / "site-packages" / name / "__init__.py"
        file.parent.mkdir(parents=True)
        file.write_text(text)
    build.compile_all(place, sys.executable)
    return {file.parent.parent.name for file in place.rglob("*.pyc")}


def test_a_library_may_bring_files_of_another_python(build: ModuleType, tmp_path: Path) -> None:
    got = compiled(build, tmp_path, flitwatch_domain="x = 1\n", torch=NOT_PYTHON, numpy="x = 1\n")
    assert got == {"flitwatch_domain", "numpy"}


def test_a_file_of_ours_that_does_not_compile_is_an_error(build: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        compiled(build, tmp_path, flitwatch=NOT_PYTHON, numpy="x = 1\n")
