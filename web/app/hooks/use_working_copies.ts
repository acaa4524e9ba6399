import { useCallback, useEffect, useState } from 'react';
import { listWorkingCopies, openWorkingCopy, removeWorkingCopy, type WorkingCopy } from '../working_copies';

/** The browser needs the URL only until the download has begun. */
const URL_LIFE_MS = 60_000;

export interface WorkingCopiesControls {
  copies: readonly WorkingCopy[];
  refresh: () => void;
  save: (copy: WorkingCopy) => void;
  remove: (copy: WorkingCopy) => void;
}

export function useWorkingCopies(): WorkingCopiesControls {
  const [copies, setCopies] = useState<readonly WorkingCopy[]>([]);
  const refresh = useCallback(() => void listWorkingCopies().then(setCopies), []);
  useEffect(refresh, [refresh]);

  const save = useCallback(
    (copy: WorkingCopy) => {
      openWorkingCopy(copy.name).then((file) => {
        const url = URL.createObjectURL(file);
        const anchor = document.createElement('a');
        anchor.href = url;
        anchor.download = copy.name;
        anchor.click();
        setTimeout(() => URL.revokeObjectURL(url), URL_LIFE_MS);
      }, refresh);
    },
    [refresh],
  );

  const remove = useCallback(
    (copy: WorkingCopy) => void removeWorkingCopy(copy.name).then(refresh, refresh),
    [refresh],
  );
  return { copies, refresh, save, remove };
}
