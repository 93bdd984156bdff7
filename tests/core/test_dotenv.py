from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noeira_tui.core.dotenv import parse_dotenv, read_dotenv
from noeira_tui.core.errors import ConfigError

SECRET = "hunter2-hunter2"


@pytest.mark.parametrize(
    "value", ["p@ss#w", "a$b", "${HOME}", "$(id)", "back\\slash", "a=b=c", "é→", "`x`", "%PATH%", "a#b"]
)
def test_a_value_is_literal(value: str) -> None:
    assert parse_dotenv(f"KEY={value}\n", ".env") == {"KEY": value}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", {}),
        ("# only a comment", {}),
        ("A=1 # a comment\n", {"A": "1"}),
        ("A='# no comment'\n", {"A": "# no comment"}),
        ('A="two\nlines"\nB=2\n', {"A": "two\nlines", "B": "2"}),
        ("export A=1\n", {"A": "1"}),
        ("A=1\nA=2\n", {"A": "2"}),
        ("A\nB=\n", {"B": ""}),
        ("  A = 1  \n", {"A": "1"}),
        ("A=1", {"A": "1"}),
    ],
)
def test_the_rules_of_python_dotenv(text: str, values: dict[str, str]) -> None:
    assert parse_dotenv(text, ".env") == values


def test_byte_order_mark_and_dos_and_old_mac_line_ends(tmp_path: Path) -> None:
    (tmp_path / "dos").write_bytes(b"\xef\xbb\xbfA=p@ss#w\r\n\r\nB='x y'\r\n")
    (tmp_path / "mac").write_bytes(b"A=1\rB=2\r")
    assert read_dotenv(tmp_path / "dos") == {"A": "p@ss#w", "B": "x y"}
    assert read_dotenv(tmp_path / "mac") == {"A": "1", "B": "2"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"KEY {SECRET} more\n", 1),
        (f"A=1\nB=2\nKEY: {SECRET} x\n", 3),
        (f"A=1\n\n\n# c\n\n{SECRET} {SECRET}\n", 6),
        (f'A=1\n\nKEY="{SECRET}\n', 3),
        (f"A=1\r\n\r\nKEY='{SECRET}' junk\r\n", 3),
        (f'A="one\n\n\ntwo"\n{SECRET} x\n', 5),
    ],
)
def test_a_line_that_cannot_be_parsed_is_named_without_its_text(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "some.env"
    path.write_bytes(text.encode())
    with pytest.raises(ConfigError) as caught:
        read_dotenv(path)
    assert f"{path}, line {line}:" in caught.value.message
    assert SECRET not in f"{caught.value} {caught.value!r} {caught.value.hint}"
    assert caught.value.__cause__ is None


def test_a_file_that_is_no_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"A=\xff\xfe")
    with pytest.raises(ConfigError, match="not UTF-8"):
        read_dotenv(tmp_path / ".env")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_dotenv(tmp_path)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=200))
def test_any_text_is_settings_or_a_named_error(text: str) -> None:
    try:
        values = parse_dotenv(text, "place")
    except ConfigError as err:
        assert err.message.startswith("place, line ")
        number = int(err.message.removeprefix("place, line ").split(":")[0])
        assert 1 <= number <= len(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    else:
        assert all(isinstance(value, str) for value in values.values())


@given(st.text("abcXYZ019@#$%^&*()_+-=[]{}|;:,./<>?~!\\", min_size=1, max_size=60))
def test_a_key_without_spaces_and_quotes_survives(key: str) -> None:
    assert parse_dotenv(f"A={key}\n", ".env") == {"A": key}
