// Rows of a checkpoint page by page: the core holds them, nobody else needs all of them at once.

export const PAGE_ROWS = 2000;

export function* pages<Row>(fetchPage: (first: number, count: number) => Row[]): Generator<Row[]> {
  for (let first = 0; ; first += PAGE_ROWS) {
    const rows = fetchPage(first, PAGE_ROWS);
    if (rows.length > 0) yield rows;
    if (rows.length < PAGE_ROWS) return;
  }
}
