// The page: an introduction until a file is open, then everything about it from top to bottom.
import { type ReactNode, useCallback, useRef, useState } from 'react';
import { Button } from 'react-aria-components';
import { arrange } from './dropped_files';
import { type Checkpoint, type OpenCheckpoint, useCheckpoint } from './hooks/use_checkpoint';
import { usePageDrop } from './hooks/use_page_drop';
import { useWorkingCopies, type WorkingCopiesControls } from './hooks/use_working_copies';
import { ConvertPanel } from './views/convert_panel';
import { DetailsPanel } from './views/details_panel';
import { FourNumbers, Identity } from './views/identity';
import { Intro } from './views/intro';
import { MemoryPanel } from './views/memory_panel';
import { PairsPanel } from './views/pairs_panel';
import { Precision } from './views/precision';
import { Failure, Verdict } from './views/verdict';
import { WorkingCopiesView } from './views/working_copies_view';

export function App(): ReactNode {
  const { checkpoint, open, fail, close } = useCheckpoint();
  const copies = useWorkingCopies();
  const [busy, setBusy] = useState(false);
  const [notice, setNotice] = useState('');
  const input = useRef<HTMLInputElement>(null);

  const take = useCallback(
    (files: File[]) => {
      setNotice(busy ? 'A conversion is running. Cancel it, or wait, before you open another file.' : '');
      if (!busy && files.length > 0) open(arrange(files));
    },
    [busy, open],
  );
  const refuse = useCallback((thrown: unknown) => fail([], thrown), [fail]);
  const over = usePageDrop(take, refuse);
  const choose = (): void => input.current?.click();

  return (
    <div className={over ? 'page page-over' : 'page'}>
      <header className="masthead">
        <Button className="wordmark" onPress={close} isDisabled={busy || checkpoint.phase === 'empty'}>
          Weighbridge
        </Button>
        {checkpoint.phase !== 'empty' && (
          <Button className="button button-small" onPress={choose} isDisabled={busy}>
            Open another file
          </Button>
        )}
        <input
          ref={input}
          type="file"
          multiple
          className="unseen"
          tabIndex={-1}
          aria-label="Checkpoint files"
          data-testid="file-input"
          onChange={({ target }) => {
            take([...(target.files ?? [])]);
            // so that the same file can be chosen again
            target.value = '';
          }}
        />
      </header>
      <main>
        <p role="alert" className="notice">
          {notice}
        </p>
        {checkpoint.phase === 'empty' && <Intro onChoose={choose} onFiles={take} onFault={fail} />}
        <Opened checkpoint={checkpoint} copies={copies} onBusy={setBusy} />
        <WorkingCopiesView copies={copies.copies} onSave={copies.save} onRemove={copies.remove} />
      </main>
      <footer className="footer">
        <p>Runs in this tab. Nothing is uploaded; there is no server behind it.</p>
      </footer>
      {over && <div className="drop-veil">Drop to open</div>}
    </div>
  );
}

interface OpenedProps {
  checkpoint: Checkpoint;
  copies: WorkingCopiesControls;
  onBusy: (busy: boolean) => void;
}

function Opened({ checkpoint, copies, onBusy }: OpenedProps): ReactNode {
  switch (checkpoint.phase) {
    case 'empty':
      return null;
    case 'opening':
      return (
        <p role="status" className="opening">
          Reading {checkpoint.names.join(', ')}…
        </p>
      );
    case 'failed':
      return <Failure names={checkpoint.names} error={checkpoint.error} />;
    case 'open':
      return <Everything key={checkpoint.id} checkpoint={checkpoint} onBusy={onBusy} onCopies={copies.refresh} />;
  }
}

interface EverythingProps {
  checkpoint: OpenCheckpoint;
  onBusy: (busy: boolean) => void;
  onCopies: () => void;
}

function Everything({ checkpoint, onBusy, onCopies }: EverythingProps): ReactNode {
  const { report, ignored } = checkpoint;
  const readable = report.tensor_count > 0;
  return (
    <>
      <Verdict report={report} />
      <Identity report={report} ignored={ignored} />
      {readable && (
        <>
          <FourNumbers report={report} />
          <Precision report={report} />
          <PairsPanel checkpoint={checkpoint} />
          <MemoryPanel ram={report.ram} />
        </>
      )}
      {report.verdict !== 'refused' && <ConvertPanel checkpoint={checkpoint} onBusy={onBusy} onCopies={onCopies} />}
      {readable && <DetailsPanel checkpoint={checkpoint} />}
    </>
  );
}
