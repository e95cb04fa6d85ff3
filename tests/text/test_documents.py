"""Reading files: what they say, and what is refused with a reason."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import docx
import pytest
from fpdf import FPDF
from pypdf import PdfReader, PdfWriter

from engine.documents import MAX_BYTES, base_name, read_document
from engine.errors import InvalidInput


def a_pdf(*pages: str, password: str = "") -> bytes:
    pdf = FPDF()
    pdf.set_font("Helvetica", size=12)
    for page in pages:
        pdf.add_page()
        if page:
            pdf.multi_cell(0, 8, page)
    data = bytes(pdf.output())
    if not password:
        return data
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(data)))
    writer.encrypt(password)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def a_docx() -> bytes:
    document = docx.Document()
    document.add_heading("Launch plan", 1)
    document.add_paragraph("The launch is on 12 June.")
    table = document.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "Ann", "Lead"
    document.add_paragraph("The hall holds 400 people.")
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def test_text_is_kept_exactly_as_decoded() -> None:
    text = "\ufeffOne\r\nTwo\tthree  four\u00a0five\n"
    assert read_document(text.encode("utf-8"), "a.txt").text == text
    assert read_document("Größe €".encode("utf-16"), "a.md").text.lstrip("\ufeff") == "Größe €"


def test_a_guessed_encoding_is_announced() -> None:
    text = "Die Größe beträgt fünf Meter, und die Straße führt über die Brücke nach Süden.\n" * 5
    document = read_document(text.encode("cp1252"), "a.txt")
    assert document.text == text
    assert "was assumed" in document.notes[0]


def test_a_pdf_is_read_page_by_page() -> None:
    document = read_document(a_pdf("The launch is on 12 June.", "", "The hall holds 400 people."), "plan.pdf")
    assert "The launch is on 12 June." in document.text
    assert "The hall holds 400 people." in document.text
    assert document.pages == 3
    assert document.notes == ["1 of 3 pages of plan.pdf have no text."]


def test_a_word_document_is_read_with_its_tables_in_order() -> None:
    text = read_document(a_docx(), "plan.docx").text
    assert text.index("12 June") < text.index("Ann\tLead") < text.index("400 people")


def test_a_merged_cell_is_read_once() -> None:
    document = docx.Document()
    table = document.add_table(rows=2, cols=2)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "Team"
    table.cell(1, 0).text, table.cell(1, 1).text = "Ann", "Lead"
    out = io.BytesIO()
    document.save(out)
    assert read_document(out.getvalue(), "team.docx").text.splitlines() == ["Team", "Ann\tLead"]


def test_a_web_page_is_read_in_the_encoding_that_it_declares() -> None:
    html = (
        '<html><head><meta charset="windows-1251"><title>План</title></head><body><p>Запуск в июле.</p></body></html>'
    )
    document = read_document(html.encode("cp1251"), "plan.html")
    assert "Запуск в июле." in document.text
    assert (document.title, document.notes) == ("План", [])


def test_a_web_page_is_read_without_its_navigation() -> None:
    html = (
        "<html><head><title>Plan</title><script>alert(1)</script></head><body><nav><a href='/'>Home</a> <a>About</a>"
        "</nav><article><h1>Plan</h1><p>The launch is on 12 June, as the board decided in its last meeting.</p>"
        "<p>The hall holds 400 people &amp; a stage.</p></article></body></html>"
    )
    text = read_document(html.encode(), "plan.html").text
    assert "The launch is on 12 June" in text
    assert "400 people & a stage." in text
    assert "alert" not in text


@pytest.mark.parametrize(
    ("data", "name", "says"),
    [
        (b"", "a.txt", "empty"),
        (b"  \n", "a.txt", "empty"),
        (b"hello", "a.pdf", "is called .pdf but is not one"),
        (b"hello", "a.exe", "Accepted"),
        (b"one\0two", "a.txt", "NUL"),
        ("hello there".encode("utf-16-le"), "a.txt", "UTF-16"),
        (b"one \xed\xa0\x80 two", "a.txt", "surrogate\\) at offset 4"),
        ("\ufeff\u200b\n".encode(), "a.txt", "no text"),
        (b"<!-- nothing -->", "a.html", "no text"),
        (b'<?xml version="1.0" encoding="utf-8"?><html><body></body></html>', "a.html", "no text"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 old", "a.docx", "password"),
        (b"%PDF-1.4 nonsense", "a.pdf", "broken PDF"),
        (b"PK\x03\x04nonsense", "a.docx", "broken archive"),
        (b"x" * (MAX_BYTES + 1), "a.txt", "Split it"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_to_do(data: bytes, name: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        read_document(data, name)


def test_scans_and_locked_files_are_refused() -> None:
    with pytest.raises(InvalidInput, match="scan"):
        read_document(a_pdf(""), "scan.pdf")
    with pytest.raises(InvalidInput, match="encrypted"):
        read_document(a_pdf("Secret text.", password="pass"), "locked.pdf")


def test_a_file_under_another_ending_is_named_for_what_it_is() -> None:
    with pytest.raises(InvalidInput, match="PDF"):
        read_document(a_pdf("Text."), "plan.docx")


def test_an_archive_bomb_and_a_foreign_archive_are_refused() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"0" * 30_000_000)
    with pytest.raises(InvalidInput, match="unpacks to"):
        read_document(out.getvalue(), "bomb.docx")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("readme.txt", b"hello")
    with pytest.raises(InvalidInput, match="no Word document"):
        read_document(out.getvalue(), "files.docx")


def test_entities_of_a_document_are_not_expanded() -> None:
    good = a_docx()
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(good)) as archive, zipfile.ZipFile(out, "w") as evil:
        for part in archive.infolist():
            data = archive.read(part)
            if part.filename == "word/document.xml":
                body = data.partition(b"?>")[2].replace(b"12 June", b"&xxe;")
                data = b'<?xml version="1.0"?><!DOCTYPE w [<!ENTITY xxe SYSTEM "file:///etc/hostname">]>' + body
            evil.writestr(part, data)
    try:
        text = read_document(out.getvalue(), "evil.docx").text
    except InvalidInput:
        return
    assert Path("/etc/hostname").read_text(encoding="utf-8").strip() not in text


def test_names_lose_their_paths() -> None:
    assert base_name("../../etc/passwd") == "passwd"
    assert base_name("C:\\Users\\ann\\plan.docx") == "plan.docx"
