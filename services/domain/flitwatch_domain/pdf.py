"""Lines of text as a PDF of A4 pages, without a library, for printed and mailed reports."""

from __future__ import annotations

from collections.abc import Sequence

_WIDTH, _HEIGHT, _MARGIN = 595, 842, 50
_SIZE, _LEAD = 9, 13
_LINES = (_HEIGHT - 2 * _MARGIN) // _LEAD


def render_pdf(title: str, lines: Sequence[str]) -> bytes:
    """Render a document in Courier, so that columns stay aligned; characters beyond Latin-1 become question marks."""
    pages = [lines[at : at + _LINES - 2] for at in range(0, len(lines), _LINES - 2)] or [[]]
    count = len(pages)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{' '.join(f'{5 + 2 * number} 0 R' for number in range(count))}] /Count {count} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>",
        b"<< /Title " + _write_text(title) + b" /Creator (Flitwatch) >>",
    ]
    for number, page in enumerate(pages):
        shown = [title, "", *page] if number == 0 else [f"{title} ({number + 1})", "", *page]
        drawn = b"".join(_write_text(line) + b" Tj T*\n" for line in shown)
        stream = f"BT /F1 {_SIZE} Tf {_LEAD} TL {_MARGIN} {_HEIGHT - _MARGIN} Td\n".encode() + drawn + b"ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {_WIDTH} {_HEIGHT}] /Resources << /Font << /F1 3 0 R >> >> /Contents {6 + 2 * number} 0 R >>".encode()
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n".encode() + stream + b"\nendstream")
    file, places = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, 1):
        places.append(len(file))
        file += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    table = len(file)
    file += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    file += b"".join(f"{place:010d} 00000 n \n".encode() for place in places)
    file += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R /Info 4 0 R >>\nstartxref\n{table}\n%%EOF\n".encode()
    return bytes(file)


def _write_text(text: str) -> bytes:
    plain = text.encode("cp1252", "replace")
    return b"(" + plain.replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)") + b")"
