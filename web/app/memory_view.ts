// What the memory section shows, worked out without drawing anything.
import type {
  Arrangement,
  Fit,
  LoaderApplies,
  LoaderRefuses,
  LoaderTimeline,
  MachineKind,
  MemoryStage,
  MemoryTerm,
  TermKind,
} from '../engine/ram_report';
import type { MachineForm } from './machine';
import { FITS } from './memory_words';

/** One piece of a bar. */
export interface Segment {
  kind: TermKind;
  bytes: number;
}

/** The order in a bar: what must be there first, what can be dropped last. */
const SEGMENT_KINDS: readonly TermKind[] = ['anonymous', 'transient', 'file_pages', 'device'];

/** Terms of one place, summed by kind; on shared memory both places are one. */
export function segmentsOf({ terms }: MemoryStage, place: MemoryTerm['place'], kind: MachineKind | null): Segment[] {
  const here = terms.filter((term) => term.place === place || (kind === 'unified' && place === 'ram'));
  return SEGMENT_KINDS.flatMap((each) => {
    const bytes = here.reduce((sum, term) => sum + (term.kind === each ? term.bytes : 0), 0);
    return bytes > 0 ? [{ kind: each, bytes }] : [];
  });
}

export function sumOfSegments(segments: readonly Segment[]): number {
  return segments.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** A line across the bars. */
export interface Mark {
  name: 'free' | 'ram' | 'vram';
  bytes: number;
}

export function marksOf(form: MachineForm | null, place: MemoryTerm['place']): Mark[] {
  const gib = 2 ** 30;
  if (form === null) return [];
  if (place === 'device')
    return form.vram === null || form.vram === 0 ? [] : [{ name: 'vram', bytes: form.vram * gib }];
  return [
    { name: 'free', bytes: form.free * gib },
    { name: 'ram', bytes: form.ram * gib },
  ];
}

/** The longest bar of all rows; a machine's line far beyond it would make every bar a dot, so it is left out there. */
export function scaleOf(rows: readonly LoaderApplies[], form: MachineForm | null): number {
  const kind = form?.kind ?? null;
  const longest = Math.max(
    1,
    ...rows.flatMap(({ stages }) =>
      stages.flatMap((stage) => [sumOfSegments(segmentsOf(stage, 'ram', kind)), stage.device_bytes]),
    ),
  );
  const [free] = marksOf(form, 'ram');
  return free !== undefined && free.bytes <= longest * 2 ? Math.max(longest, free.bytes * 1.04) : longest;
}

export interface Grouped {
  /** programs that run the model */
  rows: LoaderApplies[];
  /** tensors for a program of one's own */
  tensors: LoaderApplies[];
  /** nothing can be used where it was loaded */
  conversions: LoaderApplies[];
  refused: LoaderRefuses[];
}

/**
 * Rows of one arrangement, the best for this machine first; without a machine those that need least. Programs that
 * read the weights wrong come after those that do not, since nobody is helped by noise that fits.
 */
export function groupLoaders(
  loaders: readonly LoaderTimeline[],
  arrangement: Arrangement | null,
  isWrong: (loader: string) => boolean,
): Grouped {
  const mine = loaders.filter((row) => arrangement === null || (row.arrangement ?? 'together') === arrangement);
  const applying = mine.filter((row) => row.applies);
  const order = (row: LoaderApplies): number => (row.verdict ? FITS.indexOf(row.verdict.fit) : 0);
  const sorted = applying.toSorted(
    (a, b) =>
      Number(isWrong(a.loader)) - Number(isWrong(b.loader)) ||
      order(a) - order(b) ||
      a.firm_peak_bytes - b.firm_peak_bytes ||
      a.peak_bytes - b.peak_bytes,
  );
  return {
    rows: sorted.filter(({ purpose }) => purpose === 'program'),
    tensors: sorted.filter(({ purpose }) => purpose === 'tensors'),
    conversions: sorted.filter(({ purpose }) => purpose === 'conversion'),
    refused: mine.filter((row) => !row.applies),
  };
}

/** How many rows have each verdict, best first; empty without a machine. */
export function countFits(rows: readonly LoaderApplies[]): { fit: Fit; count: number }[] {
  return FITS.flatMap((fit) => {
    const count = rows.filter(({ verdict }) => verdict?.fit === fit).length;
    return count > 0 ? [{ fit, count }] : [];
  });
}

export function arrangementsOf(loaders: readonly LoaderTimeline[]): Arrangement[] {
  return [...new Set(loaders.flatMap(({ arrangement }) => (arrangement === undefined ? [] : [arrangement])))];
}

/** Key of a row; a pipeline has each loader once per arrangement. */
export function rowKey({ loader, arrangement }: LoaderTimeline): string {
  return `${loader} ${arrangement ?? ''}`;
}
