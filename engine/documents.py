"""Reading files: what a document says, as the text that a source version keeps.

The kind of a file is told by its content first and its name second, and nothing is guessed in silence: what was
assumed stands in `notes`.
"""

from __future__ import annotations

import codecs
import io
import re
import struct
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import PurePosixPath, PureWindowsPath
from typing import Final

import regex

from engine.errors import InvalidInput

MAX_BYTES: Final = 50_000_000
MAX_PAGES: Final = 2_000
MAX_UNPACKED: Final = 200_000_000
MAX_RATIO: Final = 200

PLAIN: Final = {"": "text/plain", "txt": "text/plain", "text": "text/plain", "log": "text/plain"} | {
    "md": "text/markdown",
    "markdown": "text/markdown",
    "rst": "text/x-rst",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "json": "application/json",
    "jsonl": "application/x-ndjson",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "xml": "application/xml",
}
HTML: Final = {"html", "htm", "xhtml"}
WORD: Final = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
ACCEPTED: Final = sorted({*PLAIN, *HTML, "pdf", "docx"} - {""})
_BOMS: Final = (
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_OLD_OFFICE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_CHARSET: Final = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_VISIBLE: Final = regex.compile(r"[^\s\p{Cf}\p{Cc}]")
# What the readers of broken files are known to raise besides their own errors.
_BROKEN: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)


@dataclass(frozen=True)
class Document:
    """What a file says. `pages` is known for PDFs; `notes` says what had to be assumed."""

    text: str
    media_type: str
    title: str | None = None
    pages: int | None = None
    notes: list[str] = field(default_factory=list)


def base_name(name: str) -> str:
    """Return the last part of a file name, whichever system's paths it has."""
    return PureWindowsPath(PurePosixPath(name).name).name or "file"


def read_document(data: bytes, name: str) -> Document:
    """Return what the file `name` with the content `data` says.

    Raises:
        InvalidInput: it is too large, empty, broken, encrypted, a scan, or not what its name says; the message
            says what to do.
    """
    label = base_name(name)
    if len(data) > MAX_BYTES:
        raise InvalidInput(f"{label} has {len(data):,} bytes; at most {MAX_BYTES:,} are taken. Split it.")
    if not data.strip():
        raise InvalidInput(f"{label} is empty.")
    ending = label.rpartition(".")[2].lower() if "." in label else ""
    if data[:1024].lstrip().startswith(b"%PDF-"):
        document = _pdf(data, label)
        kind = "pdf"
    elif data.startswith(b"PK\x03\x04"):
        document = _docx(data, label)
        kind = "docx"
    elif data.startswith(_OLD_OFFICE):
        raise InvalidInput(
            f"{label} is an Office file of the old kind, or one with a password. Save it as .docx without a password."
        )
    elif ending in ("pdf", "docx"):
        raise InvalidInput(f"{label} is called .{ending} but is not one. Rename it to what it is, or save it again.")
    elif ending in HTML:
        return _checked(_html(data, label), label)
    elif ending in PLAIN:
        text, notes = decode(data, label)
        return _checked(Document(text, PLAIN[ending], notes=notes), label)
    else:
        raise InvalidInput(f"{label}: files ending in .{ending} are not read. Accepted: {', '.join(ACCEPTED)}.")
    if ending and ending != kind:
        raise InvalidInput(f"{label} is called .{ending} but is a {kind.upper()} file. Rename it to .{kind}.")
    return _checked(document, label)


def decode(data: bytes, label: str) -> tuple[str, list[str]]:
    """Return the text of a text file exactly as decoded, and a note where the encoding had to be guessed."""
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            try:
                return data.decode(encoding), []
            except UnicodeDecodeError as error:
                raise InvalidInput(
                    f"{label} begins as {encoding} but is not (offset {error.start}). Save it as UTF-8."
                ) from error
    try:
        return data.decode("utf-8"), []
    except UnicodeDecodeError:
        position = _surrogate(data)
        if position is not None:
            raise InvalidInput(
                f"{label} has half a character (a lone surrogate) at offset {position}, which cannot be stored. "
                "Remove it."
            ) from None
        from charset_normalizer import from_bytes

        best = from_bytes(data).best()
    if best is None:
        raise InvalidInput(f"{label} is no text in any encoding that is known. Save it as UTF-8.")
    return data.decode(best.encoding), [f"{label} does not say its encoding; {best.encoding} was assumed."]


def _surrogate(data: bytes) -> int | None:
    """Return where UTF-8 that is good otherwise has a lone surrogate, in code points; None if it is not such."""
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return None
    return next(at for at, character in enumerate(text) if "\ud800" <= character <= "\udfff")


def _checked(document: Document, label: str) -> Document:
    if not _VISIBLE.search(document.text):
        raise InvalidInput(f"{label} has no text in it.")
    position = document.text.find("\0")
    if position >= 0:
        raise InvalidInput(
            f"{label} has a NUL character at offset {position}, which cannot be stored. "
            "Remove it or, if the file is UTF-16, save it as UTF-8."
        )
    return document


def _pdf(data: bytes, label: str) -> Document:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, PyPdfError

    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise InvalidInput(f"{label} is encrypted. Save a copy without a password.")
        pages = len(reader.pages)
        if pages > MAX_PAGES:
            raise InvalidInput(f"{label} has {pages:,} pages; at most {MAX_PAGES:,} are taken. Split it.")
        texts = [page.extract_text() for page in reader.pages]
        title = reader.metadata.title if reader.metadata else None
    except InvalidInput:
        raise
    except DependencyError as error:
        raise InvalidInput(
            f"{label} is encrypted in a way that is not read. Save a copy without a password."
        ) from error
    except (PyPdfError, *_BROKEN) as error:
        raise InvalidInput(f"{label} is a broken PDF ({error}). Open it and save it again.") from error
    # A PDF can name characters that do not exist; they are no text.
    text = "\n\n".join(texts).replace("\0", "").encode("utf-8", "replace").decode("utf-8")
    if not text.strip():
        raise InvalidInput(f"{label} has no text: it is probably a scan. Recognise its text (OCR) first.")
    bare = sum(1 for page in texts if not page.strip())
    notes = [f"{bare} of {pages} pages of {label} have no text."] if bare else []
    return Document(text, "application/pdf", str(title) if title else None, pages, notes)


def _docx(data: bytes, label: str) -> Document:
    import docx
    from docx.opc.exceptions import PackageNotFoundError
    from lxml.etree import LxmlError

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = archive.infolist()
    except zipfile.BadZipFile as error:
        raise InvalidInput(f"{label} is a broken archive ({error}). Save the document again.") from error
    if not any(part.filename == "word/document.xml" for part in parts):
        raise InvalidInput(f"{label} is an archive but no Word document. Unpack it and add the files in it.")
    unpacked = sum(part.file_size for part in parts)
    if unpacked > MAX_UNPACKED or unpacked > MAX_RATIO * len(data) + 1_000_000:
        raise InvalidInput(f"{label} unpacks to {unpacked:,} bytes, which is not taken. Split the document.")
    try:
        document = docx.Document(io.BytesIO(data))
        lines = []
        for block in document.iter_inner_content():
            if isinstance(block, docx.table.Table):
                # A merged cell comes once for each column it spans.
                rows = [{id(cell._tc): cell.text for cell in row.cells} for row in block.rows]
                lines += ["\t".join(row.values()) for row in rows] + [""]
            else:
                lines += [block.text, ""]
        title = document.core_properties.title
    except (PackageNotFoundError, LxmlError, zipfile.BadZipFile, *_BROKEN) as error:
        raise InvalidInput(f"{label} is a broken Word document ({error}). Open it and save it again.") from error
    return Document("\n".join(lines).strip("\n") + "\n", WORD, title or None)


def _html(data: bytes, label: str) -> Document:
    import trafilatura
    from lxml import etree, html

    decoded, notes = _declared(data) or decode(data, label)
    # lxml takes no declaration of an encoding in what is decoded already.
    decoded = re.sub(r"^\ufeff?\s*<\?xml[^>]*\?>", "", decoded)
    try:
        tree = html.fromstring(decoded)
        text = trafilatura.extract(decoded, include_tables=True, include_comments=False, favor_recall=True)
        title = " ".join((tree.findtext(".//title") or "").split())
        if not text:
            for element in tree.xpath("//script|//style|//template|//title"):
                element.drop_tree()
            text = "\n".join(line.strip() for line in tree.text_content().splitlines() if line.strip())
            notes = [*notes, f"{label} has no recognisable main part; all of its text was taken, navigation included."]
    except (etree.LxmlError, ValueError, AssertionError) as error:
        raise InvalidInput(f"{label} has no text in it, or is no web page ({error}).") from error
    return Document(text, "text/html", title or None, notes=notes)


def _declared(data: bytes) -> tuple[str, list[str]] | None:
    """Return the text in the encoding that a page declares for itself, unless it says none, or a wrong one."""
    match = None if data.startswith(tuple(bom for bom, _ in _BOMS)) else _CHARSET.search(data[:2048])
    if match is None:
        return None
    try:
        return data.decode(codecs.lookup(match[1].decode("ascii")).name), []
    except (LookupError, ValueError):
        return None
