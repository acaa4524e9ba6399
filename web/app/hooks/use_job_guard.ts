// While a conversion runs: ask before the tab is closed, keep the screen awake, and show the percent
// in the tab's title. Everything is undone when it ends.
import { useEffect } from 'react';
import type { Progress } from '../../engine/protocol';
import { percent } from '../format';
import type { ConversionState } from './use_conversion';

const TITLE = 'Weighbridge';

/** `onBusy` hears when it begins and ends. */
export function useJobGuard(state: ConversionState<unknown>, onBusy: (busy: boolean) => void): void {
  const running = state.phase === 'running';
  const percentDone = running ? percentOf(state.progress) : null;
  useEffect(() => {
    onBusy(running);
    return () => onBusy(false);
  }, [running, onBusy]);

  useEffect(() => {
    if (!running) return;
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    window.addEventListener('beforeunload', ask);
    const release = keepAwake();
    return () => {
      window.removeEventListener('beforeunload', ask);
      release();
    };
  }, [running]);

  useEffect(() => {
    document.title = percentDone === null ? TITLE : `${percentDone}% – ${TITLE}`;
    return () => {
      document.title = TITLE;
    };
  }, [percentDone]);
}

function percentOf(progress: Progress | null): number {
  return progress === null ? 0 : percent(progress.done_bytes, progress.total_bytes);
}

/** A wake lock is lost whenever the tab is hidden, so it is asked for again. */
function keepAwake(): () => void {
  let lock: WakeLockSentinel | null = null;
  let over = false;
  const request = (): void => {
    if (over || document.visibilityState !== 'visible' || !('wakeLock' in navigator)) return;
    navigator.wakeLock.request('screen').then(
      (granted) => {
        lock = granted;
        if (over) void granted.release();
      },
      // refused on battery saver: the conversion goes on all the same
      () => {},
    );
  };
  document.addEventListener('visibilitychange', request);
  request();
  return () => {
    over = true;
    document.removeEventListener('visibilitychange', request);
    void lock?.release();
  };
}
