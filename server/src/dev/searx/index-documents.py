"""Builds a full-text index of Debian's packaged documentation for searx.

    /usr/bin/python3 index-documents.py FOLDER

Prints the path of the index in FOLDER and builds it if it does not exist. The file name is derived from the package
versions and this file, so a change of either creates a new index. Concurrent runs wait for the one that builds. Every
page has the URL at which its authors publish it, so results are real links.

Written in Python because searx is, and installs lxml. Progress goes to stderr.
"""

import fcntl
import gzip
import hashlib
import html
import multiprocessing
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import lxml.etree
import lxml.html

HERE = Path(__file__).resolve().parent

# Local folder and public URL of each book.
BOOKS = [
    ("/usr/share/doc/postgresql-doc-15/html", "https://www.postgresql.org/docs/15/"),
    ("/usr/share/doc/python3.11/html", "https://docs.python.org/3.11/"),
    ("/usr/share/doc/apache2-doc/manual/en", "https://httpd.apache.org/docs/2.4/en/"),
    ("/usr/share/doc/git-doc", "https://www.kernel.org/pub/software/scm/git/docs/"),
    ("/usr/share/doc/debian-handbook/html/en-US", "https://debian-handbook.info/browse/stable/"),
    ("/usr/share/doc/debian-policy/policy.html", "https://www.debian.org/doc/debian-policy/"),
    ("/usr/share/doc/developers-reference/docs", "https://www.debian.org/doc/manuals/developers-reference/"),
    ("/usr/share/debian-reference", "https://www.debian.org/doc/manuals/debian-reference/"),
]
MAN_PACKAGES = ["manpages", "manpages-dev"]
MAN_URL = "https://manpages.debian.org/bookworm/{package}/{page}.en.html"

# Word indexes, which would match every query, and a single-page copy of a whole book.
NOT_PAGES = re.compile(r"^(?:(?:gen|book|py-mod|quick-)?index.*|search|developers-reference)\.html$")

NOT_TEXT = lxml.etree.XPath(
    "//script | //style | //head | //nav | //*[@role='navigation' or @id='page-header' or @id='quickview' or"
    " @id='footer' or contains(@class, 'navheader') or contains(@class, 'navfooter') or"
    " contains(@class, 'sphinxsidebar') or contains(@class, 'bottomlang') or contains(@class, 'related')]"
)


def main(folder):
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    index = folder / f"documents-{fingerprint()}.sqlite"
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not index.exists():
            build(index)
    print(index)


def fingerprint():
    packages = (HERE / "packages.txt").read_text(encoding="ascii").split()
    versions = subprocess.run(["dpkg-query", "-W", *packages], check=True, capture_output=True).stdout
    return hashlib.sha256(versions + Path(__file__).read_bytes()).hexdigest()[:16]


def build(index):
    started = time.monotonic()
    # Built under another name, so that an interrupted build is never used as an index.
    unfinished = index.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    database = sqlite3.connect(unfinished)
    # Durability does not matter: an interrupted build starts over.
    database.executescript("pragma journal_mode = off; pragma synchronous = off")
    database.execute(
        "create virtual table documents using fts5(title, content, url unindexed, tokenize = 'porter unicode61')"
    )
    count = 0
    for document in documents():
        database.execute("insert into documents (title, url, content) values (?, ?, ?)", document)
        count += 1
        if count % 500 == 0:
            report(f"{count} documents indexed")
    database.execute("insert into documents (documents) values ('optimize')")
    database.commit()
    database.close()
    if count == 0:
        sys.exit("No documents found: the packages are installed without their documentation.")
    unfinished.rename(index)
    report(f"{count} documents indexed in {time.monotonic() - started:.1f} s")


def documents():
    pages = [page for book in BOOKS for page in pages_of(*book)]
    with multiprocessing.Pool() as pool:
        yield from filter(None, pool.imap(read_page, pages, chunksize=32))
    for package in MAN_PACKAGES:
        yield from man_pages(package)


def pages_of(folder, url):
    for path in sorted(Path(folder).rglob("*.html")):
        if path.is_file() and not path.is_symlink() and not NOT_PAGES.match(path.name):
            yield path, url + path.relative_to(folder).as_posix()


def read_page(page):
    path, url = page
    tree = lxml.html.parse(str(path), lxml.html.HTMLParser(encoding="utf-8"))
    title = one_line(tree.findtext(".//title") or "")
    for element in NOT_TEXT(tree):
        element.drop_tree()
    # Selecting elements skips comments. Joining with a space keeps words of adjacent cells apart.
    content = one_line(" ".join(tree.getroot().itertext(lxml.etree.Element)))
    return (title, url, content) if title and content else None


def man_pages(package):
    """Renders all manual pages of a package with one mandoc run, which outputs one HTML document per page, in order."""
    listing = subprocess.run(["dpkg", "-L", package], check=True, capture_output=True, text=True).stdout
    paths = [Path(line) for line in listing.splitlines() if re.search(r"/man/man\d\w*/.*\.gz$", line)]
    with tempfile.TemporaryDirectory() as folder:
        sources = []
        for path in paths:
            # Symbolic links and pages that only include another are aliases of pages already listed.
            if not path.is_file() or path.is_symlink():
                continue
            source = gzip.decompress(path.read_bytes())
            if not source.startswith(b".so "):
                # Decompress here: with many files, mandoc skips decompressing some of them.
                sources.append(Path(folder, path.stem))
                sources[-1].write_bytes(source)
        if not sources:
            return
        mandoc = subprocess.run(["mandoc", "-T", "html", *sources], capture_output=True, text=True, check=True)
    pages = mandoc.stdout.split("<!DOCTYPE html>")[1:]
    assert len(pages) == len(sources), f"mandoc rendered {len(pages)} of {len(sources)} pages"
    for source, page in zip(sources, pages):
        text = one_line(html.unescape(re.sub(r"<[^>]*>", " ", page.partition("<body>")[2])))
        about = re.search(r"\bNAME (.{1,90}?) (?:LIBRARY|SYNOPSIS|DESCRIPTION|CONFIGURATION)\b", text)
        title = f"{source.stem}({source.suffix[1:]})" + (f": {about.group(1)}" if about else "")
        yield title, MAN_URL.format(package=package, page=source.name), text


def one_line(text):
    return " ".join(text.split())


def report(line):
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Usage: index-documents.py FOLDER")
    main(Path(sys.argv[1]))
