// One conversion from the press of the button to the receipt. Progress comes from the worker, so it
// goes on when this tab is in the background.
import { useCallback, useRef, useState } from 'react';
import type { EngineClient } from '../../engine/client';
import { CoreError, toCoreError } from '../../engine/errors';
import type { Progress, SinkRequest } from '../../engine/protocol';
import type { ConvertOptions, Receipt } from '../../engine/report';
import { type Pace, PaceMeter } from '../rate';
import { downloadPort } from '../service_worker';
import { freeName, listWorkingCopies, openWorkingCopy, whileLocked } from '../working_copies';

/** The finished file: under a link to save it, or already where the user wanted it. */
export type Saved =
  | { kind: 'link'; url: string; name: string; working_copy: string | null }
  | { kind: 'placed'; name: string }
  /** by the browser, where this page cannot read it */
  | { kind: 'downloaded'; name: string };

export type ConversionState<Result = Receipt> =
  | { phase: 'idle' }
  | { phase: 'running'; name: string; progress: Progress | null; pace: Pace; started_at: number }
  | { phase: 'done'; receipt: Result; saved: Saved }
  | { phase: 'failed'; error: CoreError };

export interface ConversionControls<Result = Receipt, To = Target> {
  state: ConversionState<Result>;
  run: (options: ConvertOptions, target: To) => Promise<void>;
  cancel: () => void;
  /** what went wrong before a conversion could begin */
  fail: (thrown: unknown) => void;
  reset: () => void;
}

export type Target =
  | { kind: 'download'; name: string }
  | { kind: 'memory'; name: string }
  /** `goesOn`: with the unfinished working copy of this very name */
  | { kind: 'opfs'; name: string; goesOn?: boolean }
  | FolderTarget
  | { kind: 'picker'; handle: FileSystemFileHandle };

/** A new folder `name` in the one that was chosen. */
export interface FolderTarget {
  kind: 'directory';
  handle: FileSystemDirectoryHandle;
  name: string;
}

const NO_PACE: Pace = { bytes_per_second: null, seconds_left: null };

/** The doing itself: `convertCheckpoint`, or a pipeline's own. */
export type Convert<Result, To> = (
  client: EngineClient,
  options: ConvertOptions,
  target: To,
  onProgress: (progress: Progress) => void,
) => Promise<{ receipt: Result; saved: Saved }>;

/** `convert` must stay the same function from one rendering to the next. */
export function useConversion<Result, To>(
  client: EngineClient,
  convert: Convert<Result, To>,
  nameOf: (target: To) => string,
): ConversionControls<Result, To> {
  const [state, setState] = useState<ConversionState<Result>>({ phase: 'idle' });
  const link = useRef<string | null>(null);

  const forgetLink = useCallback(() => {
    if (link.current !== null) URL.revokeObjectURL(link.current);
    link.current = null;
  }, []);

  const run = useCallback(
    async (options: ConvertOptions, target: To) => {
      forgetLink();
      const meter = new PaceMeter();
      const started_at = Date.now();
      const name = nameOf(target);
      const onProgress = (progress: Progress): void =>
        setState({ phase: 'running', name, progress, pace: meter.add(progress, Date.now()), started_at });
      setState({ phase: 'running', name, progress: null, pace: NO_PACE, started_at });
      try {
        const done = await convert(client, options, target, onProgress);
        if (done.saved.kind === 'link') link.current = done.saved.url;
        setState({ phase: 'done', ...done });
        if (done.saved.kind === 'link') save(done.saved);
      } catch (thrown) {
        setState({ phase: 'failed', error: toCoreError(thrown) });
      }
    },
    [client, convert, nameOf, forgetLink],
  );

  const cancel = useCallback(() => void client.cancel().catch(() => {}), [client]);
  const fail = useCallback((thrown: unknown) => setState({ phase: 'failed', error: toCoreError(thrown) }), []);
  const reset = useCallback(() => {
    forgetLink();
    setState({ phase: 'idle' });
  }, [forgetLink]);

  return { state, run, cancel, fail, reset };
}

export function targetName(target: Target): string {
  return target.kind === 'picker' ? target.handle.name : target.name;
}

export async function convertCheckpoint(
  client: EngineClient,
  options: ConvertOptions,
  target: Target,
  onProgress: (progress: Progress) => void,
): Promise<{ receipt: Receipt; saved: Saved }> {
  const settings = { verify: true, onProgress };
  const finish = async (sink: SinkRequest): Promise<{ receipt: Receipt; blob: Blob | undefined }> => {
    const reply = await client.convert(options, sink, settings);
    // the plan had no open questions, so the core cannot ask any now
    if (reply.kind === 'decisions') throw new CoreError('wrong_state', '', 'the core asks what the plan had settled');
    return { receipt: reply.receipt, blob: reply.blob };
  };

  if (target.kind === 'picker') {
    const { receipt } = await finish({ kind: 'picker', handle: target.handle });
    return { receipt, saved: { kind: 'placed', name: target.handle.name } };
  }
  if (target.kind === 'directory') {
    const { receipt } = await finish(target);
    return { receipt, saved: { kind: 'placed', name: `${target.handle.name}/${target.name}` } };
  }
  if (target.kind === 'download') {
    const { receipt } = await finish({ kind: 'download', name: target.name, page: await downloadPort() });
    return { receipt, saved: { kind: 'downloaded', name: target.name } };
  }
  if (target.kind === 'memory') {
    const { receipt, blob = new Blob() } = await finish({ kind: 'memory' });
    const url = URL.createObjectURL(blob);
    return { receipt, saved: { kind: 'link', url, name: target.name, working_copy: null } };
  }
  const { goesOn = false } = target;
  const taken = (await listWorkingCopies()).map((copy) => copy.name);
  const name = goesOn ? target.name : freeName(target.name, taken);
  const { receipt } = await whileLocked(name, () => finish({ kind: 'opfs', name, goesOn }));
  const url = URL.createObjectURL(await openWorkingCopy(name));
  return { receipt, saved: { kind: 'link', url, name: target.name, working_copy: name } };
}

/** The same as a click on the link that the receipt shows. */
function save({ url, name }: { url: string; name: string }): void {
  const anchor = document.createElement('a');
  anchor.href = url;
  anchor.download = name;
  anchor.click();
}
