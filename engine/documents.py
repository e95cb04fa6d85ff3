"""Reading files: what a document says, as the text that a source version keeps.

The kind of a file is told by its content first and its name second, and nothing is guessed in silence: what was
assumed stands in `notes`.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass, field
from pathlib import PurePosixPath, PureWindowsPath
from typing import Final

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
        from charset_normalizer import from_bytes

        best = from_bytes(data).best()
    if best is None:
        raise InvalidInput(f"{label} is no text in any encoding that is known. Save it as UTF-8.")
    return data.decode(best.encoding), [f"{label} does not say its encoding; {best.encoding} was assumed."]


def _checked(document: Document, label: str) -> Document:
    if not document.text.strip():
        raise InvalidInput(f"{label} has no text in it.")
    position = document.text.find("\0")
    if position >= 0:
        raise InvalidInput(f"{label} has a NUL character at offset {position}, which cannot be stored. Remove it.")
    return document


def _pdf(data: bytes, label: str) -> Document:
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise InvalidInput(f"{label} is encrypted. Save a copy without a password.")
        pages = len(reader.pages)
        if pages > MAX_PAGES:
            raise InvalidInput(f"{label} has {pages:,} pages; at most {MAX_PAGES:,} are taken. Split it.")
        texts = [page.extract_text() for page in reader.pages]
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, RecursionError, OSError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"{label} is a broken PDF ({error}). Open it and save it again.") from error
    # A PDF can name characters that do not exist; they are no text.
    text = "\n\n".join(texts).replace("\0", "").encode("utf-8", "replace").decode("utf-8")
    if not text.strip():
        raise InvalidInput(f"{label} has no text: it is probably a scan. Recognise its text (OCR) first.")
    bare = sum(1 for page in texts if not page.strip())
    notes = [f"{bare} of {pages} pages of {label} have no text."] if bare else []
    title = reader.metadata.title if reader.metadata else None
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
                lines += ["\t".join(cell.text for cell in row.cells) for row in block.rows] + [""]
            else:
                lines += [block.text, ""]
    except (PackageNotFoundError, LxmlError, KeyError, ValueError, zipfile.BadZipFile, OSError) as error:
        raise InvalidInput(f"{label} is a broken Word document ({error}). Open it and save it again.") from error
    title = document.core_properties.title
    return Document("\n".join(lines).strip("\n") + "\n", WORD, title or None)


def _html(data: bytes, label: str) -> Document:
    import trafilatura
    from lxml import html

    decoded, notes = decode(data, label)
    text = trafilatura.extract(decoded, include_tables=True, include_comments=False, favor_recall=True)
    if not text:
        tree = html.fromstring(decoded)
        for element in tree.xpath("//script|//style|//template"):
            element.drop_tree()
        text = "\n".join(line.strip() for line in tree.text_content().splitlines() if line.strip())
        notes = [*notes, f"{label} has no recognisable main part; all of its text was taken, navigation included."]
    return Document(text, "text/html", notes=notes)
