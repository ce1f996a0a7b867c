"""Hooks of the documentation's site: folders in its navigation, links to the source, and pages without inline scripts."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

#: What the API's Content-Security-Policy lets no page run: a script that stands in it. Data (`type=`) is no script.
INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)
#: Decisions and benchmarks: a reader who searches for a word wants its page for users first.
BEHIND = ("adr/", "benchmarks/", "mutants.md")
LINK = re.compile(
    r"(?<!!)\[([^\]]+)\]\(((?:\.\./)+[^)#\s]+|[^):#\s]+\.ipynb|\w+|pages\.md|[^):#\s]*screenshots/[^)#\s]+)(#[^)]*)?\)"
)
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)]*screenshots/[^)]+)\)")


def on_config(config: Any) -> Any:
    """Replace a folder in the navigation with its pages, its index first."""
    docs = Path(config["docs_dir"])
    for section in config["nav"]:
        for entry in [entry for part in section.values() if isinstance(part, list) for entry in part]:
            for title, place in entry.items():
                if place.endswith("/"):
                    pages = sorted((docs / place).glob("*.md"), key=lambda page: (page.name != "README.md", page.name))
                    entry[title] = [page.relative_to(docs).as_posix() for page in pages]
    return config


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links to files that are not pages become the files' names; one to a file that is not there fails the build.

    What is for Flitwatch's developers alone stands behind the rest in the search.
    """
    if page.file.src_uri.startswith(BEHIND):
        page.meta.setdefault("search", {})["boost"] = 0.2
    docs = Path(config["docs_dir"])
    here = (docs / page.file.src_uri).parent

    def named(match: re.Match[str]) -> str:
        target = (here / match[2]).resolve()
        if target.is_relative_to(docs) and target.suffix == ".md" and target.name != "pages.md":
            return match[0]
        if not target.exists():
            raise PluginError(f"{page.file.src_uri}: {match[2]} is not there")
        place = target.relative_to(docs.parent)
        return match[1] if match[1].strip("`") == str(place) else f"{match[1]} (`{place}`)"

    return LINK.sub(named, PICTURE.sub("", markdown))


def on_post_template(output: str, template_name: str, config: Any) -> str:
    """The theme's page for what is not there is dropped: the API answers that itself."""
    return "" if template_name == "404.html" else output


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Each inline script becomes a file."""

    def moved(match: re.Match[str]) -> str:
        name = f"assets/inline-{hashlib.sha256(match[1].encode()).hexdigest()[:12]}.js"
        file = Path(config["site_dir"], name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(match[1])
        return f'<script src="{"../" * page.file.dest_uri.count("/")}{name}"></script>'

    return INLINE.sub(moved, output)
