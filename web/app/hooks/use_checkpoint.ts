// The one checkpoint that is open: asked for, read, its rows fetched page by page.
import { useCallback, useRef, useState } from 'react';
import type { EngineClient } from '../../engine/client';
import { type CoreError, toCoreError } from '../../engine/errors';
import type { Progress } from '../../engine/protocol';
import type { PairRow, Report, TensorRow } from '../../engine/report';
import type { Chosen } from '../dropped_files';
import { makeClient } from '../engine_client';

const PAGE_ROWS = 2000;

export interface OpenCheckpoint {
  phase: 'open';
  /** another number for every file opened; keys the views */
  id: number;
  client: EngineClient;
  names: string[];
  ignored: string[];
  report: Report;
  tensors: readonly TensorRow[];
  pairs: readonly PairRow[];
  /** which rows are here: pairs come first, then tensors; or why they did not come */
  rows: 'none' | 'pairs' | 'all' | CoreError;
}

export type Checkpoint =
  | { phase: 'empty' }
  | { phase: 'opening'; names: string[]; progress: Progress | null }
  | { phase: 'failed'; names: string[]; error: CoreError }
  | OpenCheckpoint;

export interface CheckpointControls {
  checkpoint: Checkpoint;
  open: (chosen: Chosen) => void;
  fail: (names: string[], thrown: unknown) => void;
  close: () => void;
}

export function useCheckpoint(): CheckpointControls {
  const [checkpoint, setCheckpoint] = useState<Checkpoint>({ phase: 'empty' });
  const client = useRef<EngineClient | null>(null);
  const current = useRef(0);

  const start = useCallback((): number => {
    client.current?.dispose();
    client.current = null;
    current.current += 1;
    return current.current;
  }, []);

  const fail = useCallback(
    (names: string[], thrown: unknown) => {
      start();
      setCheckpoint({ phase: 'failed', names, error: toCoreError(thrown) });
    },
    [start],
  );

  const open = useCallback(
    (chosen: Chosen) => {
      const id = start();
      const engine = makeClient();
      client.current = engine;
      const show = (next: Checkpoint): void => {
        if (id === current.current) setCheckpoint(next);
      };
      void read(engine, id, chosen, show);
    },
    [start],
  );

  const close = useCallback(() => {
    start();
    setCheckpoint({ phase: 'empty' });
  }, [start]);

  return { checkpoint, open, fail, close };
}

async function read(client: EngineClient, id: number, chosen: Chosen, show: (next: Checkpoint) => void): Promise<void> {
  const names = chosen.files.map((file) => file.name);
  show({ phase: 'opening', names, progress: null });
  try {
    const report = await client.open(chosen.files, (progress) => show({ phase: 'opening', names, progress }));
    const shown: OpenCheckpoint = {
      phase: 'open',
      id,
      client,
      names,
      ignored: chosen.ignored,
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
    const pairs = await allRows((first, count) => client.pairs(first, count));
    show({ ...shown, pairs, rows: 'pairs' });
    const tensors = await allRows((first, count) => client.tensors(first, count));
    show({ ...shown, pairs, tensors, rows: 'all' });
  } catch (thrown) {
    show({ ...shown, rows: toCoreError(thrown) });
  }
}

async function allRows<T>(page: (first: number, count: number) => Promise<T[]>): Promise<T[]> {
  const all: T[] = [];
  for (;;) {
    const rows = await page(all.length, PAGE_ROWS);
    for (const row of rows) all.push(row);
    if (rows.length < PAGE_ROWS) return all;
  }
}
