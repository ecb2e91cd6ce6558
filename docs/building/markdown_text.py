"""Plain text as Markdown: nothing in it is taken for markup, but code between backticks stays code."""

import html
import re

SPECIAL = re.compile(r"[\\*_{}\[\]()#+\-.!<>|$~^&\"':]")


def escaped(text: str) -> str:
    """Return plain text with `code` as code, and every character that Markdown would read as an entity."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(
        f"<code>{html.escape(part[1:-1])}</code>" if k % 2 else SPECIAL.sub(lambda m: f"&#{ord(m[0])};", part)
        for k, part in enumerate(parts)
    )


def cell(text: str) -> str:
    """Return plain text for a cell of a table: one line, in which `|` is an entity."""
    return escaped(" ".join(text.split()))
