"""Mutations of files, seeded and aware of their structure: what a slip, a stranger or a broken disk makes of them."""

from __future__ import annotations

import io
import re
import struct
import xml.etree.ElementTree as ElementTree
import zipfile
from typing import Any

import numpy as np

Rng = np.random.Generator
NASTY = (
    *("nan", "inf", "-inf", "-1", "0", "1e200", "-1e200", "1e-320", "5000", "999999999999999999999", "", " ", "abc"),
    *("true", "null", "[]", "{}", "../../x", "/etc/passwd", "universe", "x" * 5000, "\u2028", "1 2", "1 2 3 4", "0x10"),
    *("a\nb", "a\tb", "\r", "1e-300", "1e-160", "1e-9", "1e9", "1e15", "file://[", "package://", "file:///\u2603"),
)
BREAK = "\ue000"  # stands for a line break that is not written as a character reference
SIZES = (0.0, 1e-320, 1e-300, 1e-160, 1e-30, -1.0, 1e30, 1e160, 1e300)  # factors of numbers that fit no longer
BYTES_LOST = (1, 10, 100)


def choice(rng: Rng, items: Any) -> Any:
    """One of some things, as it is."""
    return items[int(rng.integers(len(items)))]


def misspelt(rng: Rng, word: str) -> str:
    """A word with a letter lost, doubled or changed."""
    at = int(rng.integers(max(len(word), 1)))
    return choice(
        rng, (word[:at] + word[at + 1 :], word[:at] + word[at : at + 1] + word[at:], word[:at] + "q" + word[at:])
    )


def mutate_bytes(rng: Rng, data: bytes) -> bytes:
    """A file cut off, with bits turned, a piece lost or repeated, or bytes that are no UTF-8."""
    kind, at = int(rng.integers(5)), int(rng.integers(max(len(data), 1)))
    if kind == 0:
        return data[:at]
    if kind == 1:
        changed = bytearray(data)
        for place in rng.integers(max(len(data), 1), size=int(rng.integers(1, 30))):
            changed[int(place)] ^= 1 << int(rng.integers(8))
        return bytes(changed)
    lost = choice(rng, BYTES_LOST)
    if kind == 2:
        return data[:at] + data[at + lost :]
    if kind == 3:
        return data[:at] + data[at : at + lost] * int(rng.integers(2, 50)) + data[at:]
    return data[:at] + b"\xff\xfe\x00\x80" + data[at:]


def xml_bombs() -> list[bytes]:
    """Documents that cost much: entities, depth, size."""
    laughs = "".join(f'<!ENTITY l{i + 1} "{f"&l{i};" * 10}">' for i in range(9))
    return [
        f'<!DOCTYPE robot [<!ENTITY l0 "lol">{laughs}]><robot name="x">&l9;</robot>'.encode(),
        b'<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="x">&x;</robot>',
        b'<robot name="x">' + b"<a>" * 200_000 + b"</a>" * 200_000 + b"</robot>",
        b'<robot name="x">' + b'<link name="a"/>' * 100_000 + b"</robot>",
        b'<robot name="x">' + b" " * 100_000_000 + b"</robot>",
        b'<robot name="x">'
        + b'<link name="l"/><joint name="j" type="fixed"><parent link="l"/><child link="l"/></joint></robot>',
        b"",
        b"<robot/>",
    ]


def mutate_xml(rng: Rng, data: bytes) -> bytes:
    """A robot description with one to three parts or attributes lost, repeated, misspelt or with other values."""
    root = ElementTree.fromstring(data)
    for _ in range(int(rng.integers(1, 4))):
        parents = [(parent, child) for parent in root.iter() for child in parent]
        if not parents:
            break
        parent, child = choice(rng, parents)
        kind = int(rng.integers(10))
        if kind == 0:
            parent.remove(child)
        elif kind == 8:  # another name, wherever it is used
            known = choice(rng, [each.get("name") for each in root.iter() if each.get("name")])
            other = choice(
                rng,
                (choice(rng, NASTY), f"{known}\n", f"{known}{BREAK}", f" {known}", f"{known}\u00e9", "a\tb", "a<b&c"),
            )
            for each in root.iter():
                for name, value in each.attrib.items():
                    if value == known:
                        each.set(name, other)
        elif kind == 9:  # numbers of what bends and of what drives, far from what they were
            parts = [each for part in root if part.tag not in ("link", "joint") for each in part.iter()]
            numbers = [(each, name) for each in parts for name in each.attrib if _is_number(each.get(name))]
            if numbers:
                each, name = choice(rng, numbers)
                each.set(name, repr(float(each.get(name, "")) * choice(rng, SIZES)))
        elif kind == 1:
            parent.append(child)
        elif kind == 2:
            child.tag = misspelt(rng, child.tag) or "x"
        elif kind == 3 and child.text and child.text.strip():
            child.text = choice(rng, NASTY).replace("\x00", "")
        elif child.attrib:
            name = choice(rng, sorted(child.attrib))
            value = child.attrib[name]
            if kind == 4:
                del child.attrib[name]
            elif kind == 5:
                child.attrib[misspelt(rng, name) or "x"] = child.attrib.pop(name)
            elif kind == 6:
                other = [each.get(name) for each in root.iter() if each.get(name)]
                child.set(name, choice(rng, other))
            else:
                words = value.split() or [value]
                words[int(rng.integers(len(words)))] = choice(rng, NASTY)
                child.set(name, " ".join(words))
    text = re.sub("[\x00-\x08]", "", ElementTree.tostring(root, encoding="unicode"))
    return text.replace(BREAK, "\n").encode("utf-8", "replace")


def some_text(rng: Rng) -> str:
    """Words that nobody expects, or letters of any script, put together at random."""
    letters = "".join(chr(int(rng.integers(1, 0x300))) for _ in range(int(rng.integers(0, 12))))
    return "".join(choice(rng, (*NASTY, letters, "[", "]", "%", "://", "//", "\0", "~", "#?")) for _ in range(3))


def mutate_uri(rng: Rng, data: bytes) -> bytes:
    """An address with something lost, put in or in the place of it."""
    text, kind = data.decode(), int(rng.integers(4))
    at = int(rng.integers(len(text) + 1))
    if kind == 0:
        return misspelt(rng, text).encode()
    if kind == 1:
        return (text[:at] + some_text(rng) + text[at:]).encode()
    if kind == 2:
        return (text[:at] + choice(rng, "[]%:/?#@\\ \n") + text[at:]).encode()
    return some_text(rng).encode()


def mutate_record(rng: Rng, data: bytes) -> bytes:
    """Bytes of counts and numbers: counts that claim much, numbers without meaning, ends that are missing."""
    changed, kind = bytearray(data), int(rng.integers(4))
    place = 4 * int(rng.integers(max(len(data) // 4, 1)))
    if kind == 0:
        changed[place : place + 4] = struct.pack("<I", choice(rng, (0, 1, 2**31 - 1, 2**31, 2**32 - 1, len(data))))
    elif kind == 1:
        changed[place : place + 8] = struct.pack("<d", choice(rng, (np.nan, np.inf, -1e308, 1e-310)))
    elif kind == 2:
        changed[:4] = rng.bytes(4)  # another byte order, or none
    else:
        return mutate_bytes(rng, data)
    return bytes(changed)


def mutate_message(rng: Rng, data: bytes) -> bytes:
    """A message of a browser (MessagePack): of other things, nested deeply, or broken."""
    kind = int(rng.integers(5))
    if kind == 0:
        depth = int(rng.integers(10, 200_000))
        return choice(rng, (b"\x91" * depth, b"\x81\xa4type" * depth, b"\x81\x91" * depth)) + b"\xc0"
    if kind == 1:
        return b"\x81\xa4type" + choice(
            rng, (b"\x90", b"\x80", b"\xc0", b"\xcb" + b"\x7f" * 8, b"\xdd\xff\xff\xff\xff")
        )
    if kind == 2:
        return data + b"\xdd\xff\xff\xff\xff"
    return rng.bytes(int(rng.integers(0, 60))) if kind == 3 else mutate_record(rng, data)


def _is_number(text: str | None) -> bool:
    try:
        return text is not None and np.isfinite(float(text))
    except ValueError:
        return False


def yaml_bombs() -> list[bytes]:
    """Documents that cost much, or that a careless loader would run."""
    aliases = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    aliases += "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10))
    return [
        b"a: " + b"[" * 2000 + b"]" * 2000,
        b"\n".join(b" " * i + b"a:" for i in range(2000)),
        b"{" * 2000,
        aliases.encode(),
        b"a: &a [*a]",
        b"!!python/object/apply:os.system ['touch ../../written']",
        b"a: !!binary xyz=\nb: 2001-13-45\nc: 1:99:99\n? [x]\n: y",
        b"x: " + b"y" * 30_000_000,
        b"- " * 3000,
        b"",
        b"\x00",
        b"%YAML 9.9\n---\n",
        b"<<: *x",
        b"2023-99-99",
    ]


def mutate_yaml(rng: Rng, data: bytes) -> bytes:
    """A YAML file with one to three lines lost, repeated, indented otherwise, misspelt or with other values."""
    lines = data.decode().splitlines()
    for _ in range(int(rng.integers(1, 4))):
        at, kind = int(rng.integers(len(lines))), int(rng.integers(6))
        line = lines[at]
        if kind == 0 and len(lines) > 1:
            del lines[at]
        elif kind == 1:
            lines.insert(at, line)
        elif kind == 2:
            lines[at] = " " * int(rng.integers(1, 9)) + line
        elif kind == 3:
            lines[at] = misspelt(rng, line)
        else:
            words = list(re.finditer(r"[\w./-]+", line))
            if words:
                word = choice(rng, words)
                lines[at] = line[: word.start()] + choice(rng, NASTY) + line[word.end() :]
    return "\n".join(lines).encode("utf-8", "replace")


def _npz(arrays: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def _zip(members: dict[str, bytes], encrypted: bool = False) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    data = bytearray(stream.getvalue())
    if encrypted:
        for head, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
            at = data.find(head)
            while at >= 0:
                data[at + flags] |= 1
                at = data.find(head, at + 1)
    return bytes(data)


def _claim(shape: tuple[int, ...], dtype: str, content: bytes = b"") -> bytes:
    head = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + content


def npz_bombs(data: bytes) -> list[bytes]:
    """Archives that claim much, are encrypted, pickled, or none."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    first = next(iter(members))
    return [
        _zip(members | {first: _claim((10**12,), "<f8")}),
        _zip(members | {first: _claim((10**6, 10**6), "<f8", b"\0" * 800)}),
        _zip(members | {first: _claim((120_000_000 // 8,), "<f8", b"\0" * 120_000_000)}),
        _zip({f"{i}.npy": members[first] for i in range(1000)}),
        _zip(members, encrypted=True),
        _zip({name: b"" for name in members}),
        _zip(members | {"../../written.npy": members[first]}),
        _zip(members | {first: _claim((-1,), "<f8")}),
        _zip(members | {first: _claim((), "|O", b"cos\nsystem\n(S'touch ../../written'\ntR.")}),
        _npz({name.removesuffix(".npy"): np.array([{"a": 1}], dtype=object) for name in members}),
        b"\x80\x04\x95cos\nsystem\n",
        b"",
    ]


def mutate_npz(rng: Rng, data: bytes) -> bytes:
    """An archive with an array lost, renamed, of another shape or type, or with numbers that are none."""
    with np.load(io.BytesIO(data)) as archive:
        arrays = {name: np.array(archive[name]) for name in archive.files}
    name = choice(rng, sorted(arrays))
    value, kind = arrays[name], int(rng.integers(13))
    if kind == 0:
        del arrays[name]
    elif kind == 1:
        arrays[misspelt(rng, name) or "x"] = arrays.pop(name)
    elif kind == 2:
        arrays[name] = np.full(value.shape, choice(rng, NASTY))
    elif kind == 3:
        arrays[name] = value.ravel()[: int(rng.integers(max(value.size, 1)))]
    elif kind == 4:
        arrays[name] = value[None]
    elif kind == 5 and value.dtype.kind == "f" and value.size:
        changed = value.copy()
        changed.flat[int(rng.integers(value.size))] = choice(rng, (np.nan, np.inf, 1e200, -1e9))
        arrays[name] = changed
    elif kind == 6:
        arrays[name] = (
            value.astype(choice(rng, ("S8", "U8", "c16", "bool"))) if value.dtype.kind in "fi" else np.zeros(3)
        )
    elif kind == 7:
        arrays[name] = np.zeros((0, *value.shape[1:])) if value.ndim else np.zeros((3, 3))
    elif kind == 8:
        arrays[name] = value.flat[0] if value.size else np.float64(1.0)  # no array any more
    elif kind == 9 and value.dtype.kind == "f":
        arrays[name] = value * choice(rng, SIZES)
    elif kind == 10 and value.dtype.kind == "f":
        arrays[name] = rng.standard_normal(value.shape) * choice(rng, SIZES)
    elif kind == 11:
        other = choice(rng, sorted(arrays))
        arrays[name], arrays[other] = arrays[other], arrays[name]
    else:
        return mutate_bytes(rng, data)
    return _npz(arrays)
