import { useSyncExternalStore } from 'react';

// the same bound as in styles/grid.css
const query = window.matchMedia('(max-width: 760px)');

/** Whether tables show stacked rows instead of columns. */
export function useNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => query.matches);
}

function subscribe(onChange: () => void): () => void {
  query.addEventListener('change', onChange);
  return () => query.removeEventListener('change', onChange);
}
