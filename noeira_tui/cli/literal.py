"""Text from outside, made safe to print: no control characters, no escape sequences, no lone surrogates."""

from __future__ import annotations

import unicodedata


def literal(text: str) -> str:
    """`text` with everything a terminal would obey or refuse shown as an escape (`\\x1b`, `\\udcff`)."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}:
        code = ord(character)
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return character
