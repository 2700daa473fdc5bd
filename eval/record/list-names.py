"""Prints the title and the headings of every page that index-documents.py indexes, as one JSON object per line.

    /usr/bin/python3 list-names.py
"""

import importlib.util
import json
from pathlib import Path

import lxml.etree
import lxml.html

SCRIPT = Path(__file__).parents[2] / "server/src/dev/searx/index-documents.py"
spec = importlib.util.spec_from_file_location("index_documents", SCRIPT)
index_documents = importlib.util.module_from_spec(spec)
spec.loader.exec_module(index_documents)

HEADINGS = lxml.etree.XPath("//h1 | //h2 | //h3 | //h4 | //h5")


def main():
    for book in index_documents.BOOKS:
        for page in index_documents.pages_of(*book):
            if index_documents.read_page(page) is not None:
                write(*names_of(*page))
    for package in index_documents.MAN_PACKAGES:
        for title, url, _ in index_documents.man_pages(package):
            write(url, title, [])


def names_of(path, url):
    tree = lxml.html.parse(str(path), lxml.html.HTMLParser(encoding="utf-8"))
    title = index_documents.one_line(tree.findtext(".//title") or "")
    for element in index_documents.NOT_TEXT(tree):
        element.drop_tree()
    return url, title, [index_documents.one_line(heading.text_content()) for heading in HEADINGS(tree)]


def write(url, title, headings):
    print(json.dumps({"url": url, "title": title, "headings": headings}))


if __name__ == "__main__":
    main()
