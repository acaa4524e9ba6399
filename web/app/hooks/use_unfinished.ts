// Conversions of what is open that an earlier visit did not finish.
import { useCallback, useEffect, useState } from 'react';
import type { EngineClient } from '../../engine/client';
import type { Unfinished } from '../../engine/protocol';
import { listWorkingCopies, removeWorkingCopy } from '../working_copies';

export interface UnfinishedControls {
  unfinished: readonly Unfinished[];
  discard: (copy: Unfinished) => void;
}

/** Looks anew whenever `isIdle` becomes true: only then is no conversion of this tab at work on one. */
export function useUnfinished(client: EngineClient, isIdle: boolean, onCopies: () => void): UnfinishedControls {
  const [unfinished, setUnfinished] = useState<readonly Unfinished[]>([]);
  const refresh = useCallback(() => {
    find(client).then(setUnfinished, () => setUnfinished([]));
  }, [client]);
  useEffect(() => {
    if (isIdle) refresh();
    else setUnfinished([]);
  }, [isIdle, refresh]);

  const discard = useCallback(
    ({ name }: Unfinished) => {
      const done = (): void => {
        refresh();
        onCopies();
      };
      removeWorkingCopy(name).then(done, done);
    },
    [refresh, onCopies],
  );
  return { unfinished, discard };
}

/** Those that no other tab is writing at the moment. */
async function find(client: EngineClient): Promise<readonly Unfinished[]> {
  const [found, copies] = await Promise.all([client.unfinished(), listWorkingCopies()]);
  const busy = new Set(copies.flatMap((copy) => (copy.busy ? [copy.name] : [])));
  return found.filter(({ name }) => !busy.has(name));
}
