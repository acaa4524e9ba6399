import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Button, ProgressBar } from 'react-aria-components';
import type { Phase } from '../../engine/protocol';
import { formatDecimal } from '../../engine/units';
import { duration, percent } from '../format';
import type { ConversionState } from '../hooks/use_conversion';
import { Name } from '../parts/text';
import { spent } from './place_line';

const PHASES: Record<Phase, string> = {
  header: 'Reading the header',
  scan: 'Reading the scales',
  recheck: 'Checking what is there already',
  convert: 'Converting',
  verify: 'Reading the new file back to check it',
  closing: 'Finishing the file. The browser may check all of it first; do not close the tab',
};

const STEP_ANNOUNCED_PERCENT = 10;
const CONFIRM_AFTER_MS = 60_000;

interface ConvertProgressProps {
  state: Extract<ConversionState<unknown>, { phase: 'running' }>;
  /** the component at hand as a person would name it */
  component?: string | undefined;
  onCancel: () => void;
}

export function ConvertProgress({ state, component, onCancel }: ConvertProgressProps): ReactNode {
  const { progress, pace, name } = state;
  const phase = progress?.phase ?? 'header';
  const total = progress?.total_bytes ?? 0;
  const done = progress?.done_bytes ?? 0;
  const known = total > 0 && phase !== 'closing';
  return (
    <div className="progress" data-testid="progress" data-phase={phase}>
      <p className="progress-name">
        Writing <Name text={name} />
        {component !== undefined && (
          <>
            , component <Name text={component} />
          </>
        )}
      </p>
      <ProgressBar
        className="progress-bar"
        aria-label={PHASES[phase]}
        value={percent(done, total)}
        isIndeterminate={!known}
      >
        <span className="progress-track">
          <span
            className={known ? 'progress-fill' : 'progress-fill progress-fill-unknown'}
            style={known ? { width: `${(done / total) * 100}%` } : {}}
          />
        </span>
      </ProgressBar>
      <p className="progress-line">
        <span>{PHASES[phase]}</span>
        {known && (
          <>
            <span className="progress-percent">{percent(done, total)}%</span>
            <span>
              {formatDecimal(done)} of {formatDecimal(total)}
            </span>
            {pace.bytes_per_second !== null && <span>{formatDecimal(pace.bytes_per_second)}/s</span>}
            {pace.seconds_left !== null && <span>about {duration(pace.seconds_left)} left</span>}
          </>
        )}
      </p>
      {progress?.traffic && <p className="soft">{spent(progress.traffic)}</p>}
      <Announcer phase={phase} percentDone={known ? percent(done, total) : null} />
      <CancelButton startedAt={state.started_at} onCancel={onCancel} />
      <p className="soft">Keep this tab open. It goes on in the background.</p>
    </div>
  );
}

/** Tells a screen reader each phase and every tenth; more would drown everything else. */
function Announcer({ phase, percentDone }: { phase: Phase; percentDone: number | null }): ReactNode {
  const step = percentDone === null ? 0 : Math.floor(percentDone / STEP_ANNOUNCED_PERCENT) * STEP_ANNOUNCED_PERCENT;
  return (
    <p role="status" className="unseen">
      {PHASES[phase]}
      {step > 0 && `, ${step}%`}
    </p>
  );
}

/** Asks again only when there is a minute's work to lose. */
function CancelButton({ startedAt, onCancel }: { startedAt: number; onCancel: () => void }): ReactNode {
  const [step, setStep] = useState<'ready' | 'sure' | 'stopping'>('ready');
  const first = useRef<HTMLButtonElement>(null);
  useEffect(() => first.current?.focus(), []);

  const stop = (): void => {
    setStep('stopping');
    onCancel();
  };
  const press = (): void => {
    if (step === 'ready' && Date.now() - startedAt > CONFIRM_AFTER_MS) setStep('sure');
    else stop();
  };
  return (
    <div className="progress-cancel">
      <Button
        ref={first}
        className="button"
        onPress={press}
        isDisabled={step === 'stopping'}
        data-testid="cancel-button"
      >
        {step === 'stopping' ? 'Stopping…' : step === 'sure' ? 'Yes, stop' : 'Cancel'}
      </Button>
      {step === 'sure' && (
        <>
          <Button className="button" onPress={() => setStep('ready')}>
            Go on
          </Button>
          <span role="alert">What is written so far will be deleted.</span>
        </>
      )}
    </div>
  );
}
