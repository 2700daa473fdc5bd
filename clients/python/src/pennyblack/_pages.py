"""Paginated lists."""

from dataclasses import dataclass
from typing import AsyncIterator, Awaitable, Callable, Generic, Iterator, List, Optional, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True)
class Page(Generic[Item]):
    items: List[Item]
    #: None on the last page.
    next_cursor: Optional[str]


class Pages(Generic[Item]):
    """A paginated list. Iterate over the items, or fetch a single page."""

    def __init__(self, load: Callable[[Optional[str]], Page[Item]]) -> None:
        self._load = load

    def page(self, cursor: Optional[str] = None) -> Page[Item]:
        """Fetches the first page, or the page at `cursor` (the `next_cursor` of another page)."""
        return self._load(cursor)

    def __iter__(self) -> Iterator[Item]:
        page = self._load(None)
        yield from page.items
        while page.next_cursor is not None:
            page = self._load(page.next_cursor)
            yield from page.items


class AsyncPages(Generic[Item]):
    """A paginated list. Iterate over the items with `async for`, or fetch a single page."""

    def __init__(self, load: Callable[[Optional[str]], Awaitable[Page[Item]]]) -> None:
        self._load = load

    async def page(self, cursor: Optional[str] = None) -> Page[Item]:
        """Fetches the first page, or the page at `cursor` (the `next_cursor` of another page)."""
        return await self._load(cursor)

    async def __aiter__(self) -> AsyncIterator[Item]:
        page = await self._load(None)
        for item in page.items:
            yield item
        while page.next_cursor is not None:
            page = await self._load(page.next_cursor)
            for item in page.items:
                yield item
