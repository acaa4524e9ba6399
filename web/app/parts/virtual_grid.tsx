// A table of any length: only the rows in sight are in the document. react-aria's own table builds
// every row first, which takes 9 s and 590 MB for 50,000 rows of ten cells; checkpoints have up to
// 500,000. Rows have one fixed height. Arrow keys walk, Enter opens, Escape closes.
// biome-ignore-all lint/a11y/useSemanticElements: a native table cannot leave out rows, so roles say what this is
// biome-ignore-all lint/a11y/useFocusableInteractive: body rows take the focus; heads, groups and cells do not
// biome-ignore-all lint/a11y/useKeyWithClickEvents: the grid takes the keys for its rows
import { type CSSProperties, type KeyboardEvent, type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import { useNarrow } from '../hooks/use_narrow';

const ROW_PX = 28;
const STACKED_ROW_PX = 48;
const VIEW_PX_MAX = 448;
const OVERSCAN_ROWS = 8;

export interface Column<T> {
  id: string;
  title: string;
  /** a CSS grid track */
  width: string;
  cell: (row: T) => ReactNode;
  numeric?: boolean;
  /** names its row to a screen reader */
  header?: boolean;
}

interface VirtualGridProps<T> {
  label: string;
  className: string;
  testId: string;
  rowTestId: string;
  rows: readonly T[];
  columns: readonly Column<T>[];
  opened?: T | null;
  onOpen?: (row: T | null) => void;
  rowClass?: (row: T) => string;
}

export function VirtualGrid<T>(props: VirtualGridProps<T>): ReactNode {
  const { label, className, testId, rowTestId, rows, columns, opened = null, onOpen, rowClass } = props;
  const box = useRef<HTMLDivElement>(null);
  const rowPx = useNarrow() ? STACKED_ROW_PX : ROW_PX;
  const [first, setFirst] = useState(0);
  const { active, setActive, onKeyDown } = useWalk(rows, rowPx, box, opened, onOpen);

  const inView = Math.ceil(VIEW_PX_MAX / rowPx) + OVERSCAN_ROWS;
  const begin = Math.max(0, Math.min(first, rows.length - inView));
  const indices = Array.from({ length: Math.min(inView, rows.length) }, (_, i) => begin + i);
  // the row that has the focus must not leave the document
  const activeInView = active >= begin && active < begin + indices.length;
  if (!activeInView && active < rows.length) indices.push(active);

  const onScroll = (): void => {
    const top = Math.floor((box.current?.scrollTop ?? 0) / rowPx) - OVERSCAN_ROWS / 2;
    setFirst(Math.max(0, top));
  };
  const tracks = { '--tracks': columns.map((column) => column.width).join(' ') } as CSSProperties;

  return (
    <div
      ref={box}
      role="grid"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      aria-colcount={columns.length}
      className={`grid ${className}`}
      data-testid={testId}
      style={{ ...tracks, maxHeight: VIEW_PX_MAX }}
      onScroll={onScroll}
      onKeyDown={onKeyDown}
      tabIndex={rows.length === 0 ? 0 : -1}
    >
      <GridHead columns={columns} />
      <div role="rowgroup" className="grid-body" style={{ height: rows.length * rowPx }}>
        {indices.map((index) => {
          const row = rows[index];
          if (row === undefined) return null;
          return (
            <GridRow
              key={index}
              row={row}
              index={index}
              columns={columns}
              top={index * rowPx}
              height={rowPx}
              className={rowClass?.(row) ?? ''}
              testId={rowTestId}
              active={index === active}
              opened={row === opened}
              onPress={() => {
                setActive(index);
                onOpen?.(row === opened ? null : row);
              }}
            />
          );
        })}
      </div>
    </div>
  );
}

function GridHead<T>({ columns }: { columns: readonly Column<T>[] }): ReactNode {
  return (
    <div role="rowgroup" className="grid-head">
      <div role="row" aria-rowindex={1} className="grid-row">
        {columns.map((column) => (
          <div key={column.id} role="columnheader" className={cellClass(column)} data-column={column.id}>
            {column.title}
          </div>
        ))}
      </div>
    </div>
  );
}

interface GridRowProps<T> {
  row: T;
  index: number;
  columns: readonly Column<T>[];
  top: number;
  height: number;
  className: string;
  testId: string;
  active: boolean;
  opened: boolean;
  onPress: () => void;
}

function GridRow<T>(props: GridRowProps<T>): ReactNode {
  const { row, index, columns, top, height, className, testId, active, opened, onPress } = props;
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={opened}
      className={`grid-row ${className}`}
      data-testid={testId}
      style={{ top, height }}
      tabIndex={active ? 0 : -1}
      onClick={onPress}
    >
      {columns.map((column) => (
        <div
          key={column.id}
          role={column.header ? 'rowheader' : 'gridcell'}
          className={cellClass(column)}
          data-column={column.id}
        >
          {column.cell(row)}
        </div>
      ))}
    </div>
  );
}

function cellClass<T>(column: Column<T>): string {
  return column.numeric ? 'grid-cell grid-cell-numeric' : 'grid-cell';
}

interface Walk {
  active: number;
  setActive: (index: number) => void;
  onKeyDown: (event: KeyboardEvent) => void;
}

function useWalk<T>(
  rows: readonly T[],
  rowPx: number,
  box: { readonly current: HTMLDivElement | null },
  opened: T | null,
  onOpen: ((row: T | null) => void) | undefined,
): Walk {
  const [wanted, setWanted] = useState({ index: 0, byKey: false });
  const active = Math.min(wanted.index, Math.max(0, rows.length - 1));
  // after a key the active row takes the focus; when rows are only filtered, nothing moves
  useLayoutEffect(() => {
    if (!wanted.byKey) return;
    box.current?.querySelector<HTMLElement>(`[aria-rowindex="${wanted.index + 2}"]`)?.focus({ preventScroll: true });
  }, [wanted, box]);

  const pageRows = Math.floor(VIEW_PX_MAX / rowPx) - 2;

  const go = (index: number): void => {
    const next = Math.max(0, Math.min(rows.length - 1, index));
    const view = box.current;
    if (view) {
      // below the head, which sticks to the top
      const top = next * rowPx;
      if (top < view.scrollTop) view.scrollTop = top;
      else if (top + 2 * rowPx > view.scrollTop + view.clientHeight)
        view.scrollTop = top + 2 * rowPx - view.clientHeight;
    }
    setWanted({ index: next, byKey: true });
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    const steps: Record<string, number> = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + pageRows,
      PageUp: active - pageRows,
      Home: 0,
      End: rows.length - 1,
    };
    const step = steps[event.key];
    if (step !== undefined) go(step);
    else if (event.key === 'Enter' || event.key === ' ') {
      const row = rows[active];
      if (row !== undefined) onOpen?.(row === opened ? null : row);
    } else if (event.key === 'Escape' && opened !== null) onOpen?.(null);
    else return;
    event.preventDefault();
  };

  return { active, setActive: (index) => setWanted({ index, byKey: false }), onKeyDown };
}
