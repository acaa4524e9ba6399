// What is open: files are listed, one choice of them is opened, its rows are fetched page by page.
import { useCallback, useRef, useState } from 'react';
import type { EngineClient } from '../../engine/client';
import { type CoreError, toCoreError } from '../../engine/errors';
import { choose as chooseIn, together } from '../../engine/file_tree';
import type { Choice, Layout } from '../../engine/layouts';
import type { ComponentReport } from '../../engine/pipeline_sum';
import type { GivenFile, Located, Progress } from '../../engine/protocol';
import type { PairRow, Report, TensorRow } from '../../engine/report';
import { makeClient } from '../engine_client';

const PAGE_ROWS = 2000;

export interface OpenCheckpoint {
  phase: 'open';
  /** another number for every choice opened; keys the views */
  id: number;
  client: EngineClient;
  layout: Layout;
  choice: Choice;
  report: Report;
  tensors: readonly TensorRow[];
  pairs: readonly PairRow[];
  /** which rows are here: the first pairs, all pairs, then tensors; or why they did not come */
  rows: 'none' | 'some' | 'pairs' | 'all' | CoreError;
}

export interface OpenPipeline {
  phase: 'pipeline';
  /** another number for every choice opened; keys the views */
  id: number;
  client: EngineClient;
  layout: Layout;
  choice: Choice;
  components: readonly ComponentReport[];
}

export type Checkpoint =
  | { phase: 'empty' }
  | { phase: 'opening'; names: string[]; progress: Progress | null }
  | { phase: 'failed'; names: string[]; error: CoreError }
  /** several checkpoints, and a person has to say which; or none among what was given */
  | { phase: 'choosing'; layout: Layout }
  | OpenPipeline
  | OpenCheckpoint;

export interface CheckpointControls {
  checkpoint: Checkpoint;
  /** where it is, when it is on a server */
  place: Place | null;
  locate: (request: PlaceRequest) => void;
  open: (files: GivenFile[]) => void;
  /** one choice, or component, of what was listed */
  pick: (layout: Layout, choice: Choice) => void;
  /** files of one folder that are one checkpoint because a person says so */
  pickTogether: (layout: Layout, choices: readonly Choice[]) => void;
  /** back to all choices */
  choose: (layout: Layout) => void;
  fail: (names: string[], thrown: unknown) => void;
  close: () => void;
}

/** A server's files: how to say where they are, and which of them is open. */
export interface Place {
  address: string;
  located: Located;
  /** of the choice that is open */
  file: string | null;
}

export interface PlaceRequest {
  address: string;
  file: string | null;
  endpoint: string;
  token: string;
}

export function useCheckpoint(): CheckpointControls {
  const [checkpoint, setCheckpoint] = useState<Checkpoint>({ phase: 'empty' });
  const [place, setPlace] = useState<Place | null>(null);
  const client = useRef<EngineClient | null>(null);
  const current = useRef(0);

  /** Every step gets a number; an answer to an older one is not shown. */
  const next = useCallback((): ((shown: Checkpoint) => void) => {
    current.current += 1;
    const id = current.current;
    return (shown) => {
      if (id === current.current) setCheckpoint(shown);
    };
  }, []);

  const dispose = useCallback(() => {
    client.current?.dispose();
    client.current = null;
  }, []);

  const fail = useCallback(
    (names: string[], thrown: unknown) => {
      dispose();
      next()({ phase: 'failed', names, error: toCoreError(thrown) });
    },
    [dispose, next],
  );

  const pick = useCallback(
    (layout: Layout, choice: Choice) => {
      const show = next();
      const id = current.current;
      const engine = client.current;
      setPlace((known) => known && { ...known, file: choice.id });
      if (engine !== null) void openChoice(engine, id, layout, choice, show);
    },
    [next],
  );

  const pickTogether = useCallback(
    (layout: Layout, choices: readonly Choice[]) => {
      const files = choices.flatMap((choice) => choice.files);
      const show = next();
      const id = current.current;
      const engine = client.current;
      // no link can say which files these are
      setPlace((known) => known && { ...known, file: null });
      const choice = together(files, choices[0]?.sideFiles ?? [], layout);
      const paths = files.map(({ path }) => path);
      if (engine !== null) void openChoice(engine, id, layout, choice, show, paths);
    },
    [next],
  );

  const open = useCallback(
    (files: GivenFile[]) => {
      dispose();
      setPlace(null);
      const engine = makeClient();
      client.current = engine;
      const show = next();
      const names = files.map(({ path }) => path);
      show({ phase: 'opening', names, progress: null });
      engine.list(files).then(
        (layout) => {
          if (client.current !== engine) return;
          const preferred = layout.choices.find(({ id }) => id === layout.preferred);
          if (preferred) pick(layout, preferred);
          else show({ phase: 'choosing', layout });
        },
        (thrown: unknown) => show({ phase: 'failed', names, error: toCoreError(thrown) }),
      );
    },
    [dispose, next, pick],
  );

  const locate = useCallback(
    (request: PlaceRequest) => {
      dispose();
      setPlace(null);
      const engine = makeClient();
      client.current = engine;
      const show = next();
      const names = [request.address];
      show({ phase: 'opening', names, progress: null });
      engine.locate(request).then(
        (located) => {
          if (client.current !== engine) return;
          const { layout, chosen } = located;
          const choice = choiceOf(layout, chosen);
          setPlace({ address: request.address, located, file: chosen });
          if (choice) pick(layout, choice);
          else show({ phase: 'choosing', layout });
        },
        (thrown: unknown) => show({ phase: 'failed', names, error: toCoreError(thrown) }),
      );
    },
    [dispose, next, pick],
  );

  const choose = useCallback((layout: Layout) => next()({ phase: 'choosing', layout }), [next]);

  const close = useCallback(() => {
    dispose();
    setPlace(null);
    next()({ phase: 'empty' });
  }, [dispose, next]);

  return { checkpoint, place, open, locate, pick, pickTogether, choose, fail, close };
}

function choiceOf(layout: Layout, id: string | null): Choice | null {
  if (id === null) return null;
  try {
    return chooseIn(layout, '', id);
  } catch {
    return null;
  }
}

async function openChoice(
  client: EngineClient,
  id: number,
  layout: Layout,
  choice: Choice,
  show: (next: Checkpoint) => void,
  paths?: readonly string[],
): Promise<void> {
  const names = choice.files.map(({ path }) => path);
  const onProgress = (progress: Progress): void => show({ phase: 'opening', names, progress });
  show({ phase: 'opening', names, progress: null });
  try {
    if (choice.kind === 'pipeline') {
      const components = await client.weigh(choice.id, onProgress);
      show({ phase: 'pipeline', id, client, layout, choice, components });
      return;
    }
    const report = await client.open(choice.id, onProgress, paths);
    const shown: OpenCheckpoint = {
      phase: 'open',
      id,
      client,
      layout,
      choice,
      report,
      tensors: [],
      pairs: [],
      rows: 'none',
    };
    show(shown);
    await fetchRows(shown, show);
  } catch (thrown) {
    show({ phase: 'failed', names, error: toCoreError(thrown) });
  }
}

async function fetchRows(shown: OpenCheckpoint, show: (next: OpenCheckpoint) => void): Promise<void> {
  const { client } = shown;
  try {
    // What is looked at first is there at once; all of 300,000 take a while.
    const firstPairs = await client.pairs(0, PAGE_ROWS);
    if (firstPairs.length === PAGE_ROWS) show({ ...shown, pairs: firstPairs, rows: 'some' });
    const pairs = await allRows((first, count) => client.pairs(first, count), firstPairs);
    show({ ...shown, pairs, rows: 'pairs' });
    const beginning = await client.tensors(0, PAGE_ROWS);
    show({ ...shown, pairs, tensors: beginning, rows: 'pairs' });
    const tensors = await allRows((first, count) => client.tensors(first, count), beginning);
    show({ ...shown, pairs, tensors, rows: 'all' });
  } catch (thrown) {
    show({ ...shown, rows: toCoreError(thrown) });
  }
}

/** `beginning` and what comes after it; a page that is not full is the last. */
async function allRows<T>(
  page: (first: number, count: number) => Promise<T[]>,
  beginning: readonly T[],
): Promise<readonly T[]> {
  if (beginning.length < PAGE_ROWS) return beginning;
  const all = [...beginning];
  while (all.length % PAGE_ROWS === 0) {
    const rows = await page(all.length, PAGE_ROWS);
    if (rows.length === 0) break;
    for (const row of rows) all.push(row);
  }
  return all;
}
