/** A page of a list. `Details`: the other members of the response. */
export type Page<Item, Details = unknown> = Details & {
  items: Item[];
  /** Null on the last page. */
  nextCursor: string | null;
};

/** A paginated list. Iterate over items, iterate over pages, or fetch a single page. */
export class Pages<Item, Details = unknown> implements AsyncIterable<Item> {
  readonly #load: (cursor?: string) => Promise<Page<Item, Details>>;

  constructor(load: (cursor?: string) => Promise<Page<Item, Details>>) {
    this.#load = load;
  }

  /** Fetches the first page, or the page at `cursor` (the `nextCursor` of another page). */
  page(cursor?: string): Promise<Page<Item, Details>> {
    return this.#load(cursor);
  }

  async *pages(cursor?: string): AsyncGenerator<Page<Item, Details>, void> {
    let page = await this.#load(cursor);
    yield page;
    while (page.nextCursor !== null) {
      page = await this.#load(page.nextCursor);
      yield page;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void> {
    for await (const page of this.pages()) yield* page.items;
  }
}
