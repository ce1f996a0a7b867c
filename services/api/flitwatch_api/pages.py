"""A problem as a page, for browsers that were sent somewhere and cannot show a document."""

from __future__ import annotations

from html import escape

#: Without script, and readable in both themes.
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title} - Flitwatch</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 Inter, system-ui, sans-serif; max-width: 34rem; margin: 15vh auto 0; padding: 0 1.5rem; }}
h1 {{ font-size: 1.375rem; }}
small {{ opacity: .75; }}
</style></head>
<body><main><h1>{title}</h1><p>{detail}.</p><p>{advice}</p><p><a href="/login">To the login page</a></p><p><small>Request {request}</small></p></main></body></html>
"""


def problem_page(title: str, detail: str, advice: str, request: str) -> str:
    """The page; what it is given is text, regardless of its form."""
    return _PAGE.format(
        title=escape(title),
        detail=escape(detail[:1].upper() + detail[1:]),
        advice=escape(advice),
        request=escape(request),
    )
