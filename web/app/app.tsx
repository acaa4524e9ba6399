// The page: an introduction until a file is open, then everything about it from top to bottom.
import { type ReactNode, type RefObject, useCallback, useRef, useState } from 'react';
import { Button } from 'react-aria-components';
import type { Choice, Layout } from '../engine/layouts';
import type { GivenFile } from '../engine/protocol';
import { givenFiles } from './dropped_files';
import { type CheckpointControls, type OpenCheckpoint, type Place, useCheckpoint } from './hooks/use_checkpoint';
import { useDeepLink } from './hooks/use_deep_link';
import { usePageDrop } from './hooks/use_page_drop';
import { useWorkingCopies, type WorkingCopiesControls } from './hooks/use_working_copies';
import { type Access, AddressBox, isAboutAccess, NO_ACCESS } from './views/address_box';
import { Chooser } from './views/chooser';
import { ConvertPanel } from './views/convert_panel';
import { DetailsPanel } from './views/details_panel';
import { FourNumbers, Identity } from './views/identity';
import { Intro } from './views/intro';
import { MemoryPanel } from './views/memory_panel';
import { PairsPanel } from './views/pairs_panel';
import { PipelineView } from './views/pipeline_view';
import { PlaceLine, spent } from './views/place_line';
import { Precision } from './views/precision';
import { Failure, Verdict } from './views/verdict';
import { WorkingCopiesView } from './views/working_copies_view';

export function App(): ReactNode {
  const controls = useCheckpoint();
  const { checkpoint, place, open, locate, fail, close } = controls;
  const copies = useWorkingCopies();
  const [busy, setBusy] = useState(false);
  const [notice, setNotice] = useState('');
  const input = useRef<HTMLInputElement>(null);
  const folderInput = useRef<HTMLInputElement>(null);

  const take = useCallback(
    (files: GivenFile[]) => {
      setNotice(busy ? 'A conversion is running. Cancel it, or wait, before you open another file.' : '');
      if (!busy && files.length > 0) open(files);
    },
    [busy, open],
  );
  const access = useRef<Access>(NO_ACCESS);
  const go = useCallback(
    (address: string, given: Access) => {
      access.current = given;
      locate({ address, file: null, ...given });
    },
    [locate],
  );
  useDeepLink(checkpoint, place, locate);
  const refuse = useCallback((thrown: unknown) => fail([], thrown), [fail]);
  const over = usePageDrop(take, refuse);
  const choose = (): void => input.current?.click();
  const chooseFolder = (): void => folderInput.current?.click();

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
        <FileInput input={input} onFiles={take} label="Checkpoint files" testId="file-input" />
        <FileInput input={folderInput} onFiles={take} label="Checkpoint folder" testId="folder-input" folder />
      </header>
      <main>
        <p role="alert" className="notice">
          {notice}
        </p>
        {checkpoint.phase === 'empty' && (
          <Intro onChoose={choose} onChooseFolder={chooseFolder} onFiles={take} onFault={fail} onAddress={go} />
        )}
        <Opened controls={controls} copies={copies} onBusy={setBusy} />
        {checkpoint.phase === 'failed' && isAboutAccess(checkpoint.error.code) && (
          <AddressBox
            address={place?.address ?? checkpoint.names[0] ?? ''}
            page={place?.located.page ?? null}
            access={access.current}
            onGo={go}
            open
          />
        )}
        <WorkingCopiesView copies={copies.copies} onSave={copies.save} onRemove={copies.remove} />
      </main>
      <footer className="footer">
        <p>
          Runs in this tab. Nothing is uploaded; there is no server behind it. Only an address that you give is fetched
          from, and only the parts that are needed.
        </p>
      </footer>
      {over && <div className="drop-veil">Drop to open</div>}
    </div>
  );
}

interface FileInputProps {
  input: RefObject<HTMLInputElement | null>;
  onFiles: (files: GivenFile[]) => void;
  label: string;
  testId: string;
  folder?: boolean;
}

function FileInput({ input, onFiles, label, testId, folder = false }: FileInputProps): ReactNode {
  return (
    <input
      ref={input}
      type="file"
      multiple
      {...(folder ? { webkitdirectory: '' } : {})}
      className="unseen"
      tabIndex={-1}
      aria-label={label}
      data-testid={testId}
      onChange={({ target }) => {
        onFiles(givenFiles([...(target.files ?? [])]));
        // so that the same file can be chosen again
        target.value = '';
      }}
    />
  );
}

interface OpenedProps {
  controls: CheckpointControls;
  copies: WorkingCopiesControls;
  onBusy: (busy: boolean) => void;
}

function Opened({ controls, copies, onBusy }: OpenedProps): ReactNode {
  const { checkpoint, place, pick, pickTogether, choose } = controls;
  switch (checkpoint.phase) {
    case 'empty':
      return null;
    case 'opening':
      return (
        <p role="status" className="opening">
          Reading {shortList(checkpoint.names)}…
          {checkpoint.progress?.traffic && ` ${spent(checkpoint.progress.traffic)}`}
        </p>
      );
    case 'failed':
      return <Failure names={checkpoint.names} error={checkpoint.error} />;
    case 'choosing':
      return (
        <>
          {place && <PlaceLine place={place} traffic={place.located.traffic} />}
          <Chooser
            layout={checkpoint.layout}
            onPick={(choice) => pick(checkpoint.layout, choice)}
            onPickTogether={(choices) => pickTogether(checkpoint.layout, choices)}
          />
        </>
      );
    case 'pipeline':
      return (
        <>
          {place && <PlaceLine place={place} traffic={checkpoint.components.at(-1)?.report.traffic} />}
          <PipelineView
            key={checkpoint.id}
            pipeline={checkpoint}
            repo={place?.located.repo?.repo ?? null}
            onBusy={onBusy}
            onPick={(choice: Choice) => pick(checkpoint.layout, choice)}
            onBack={() => choose(checkpoint.layout)}
          />
        </>
      );
    case 'open':
      return (
        <Everything
          key={checkpoint.id}
          checkpoint={checkpoint}
          place={place}
          onBusy={onBusy}
          onCopies={copies.refresh}
          onBack={choose}
        />
      );
  }
}

const NAMES_MAX = 3;

function shortList(names: readonly string[]): string {
  const more = names.length - NAMES_MAX;
  return names.slice(0, NAMES_MAX).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

interface EverythingProps {
  checkpoint: OpenCheckpoint;
  place: Place | null;
  onBusy: (busy: boolean) => void;
  onCopies: () => void;
  /** to the other checkpoints that were given with this one */
  onBack: (layout: Layout) => void;
}

function Everything({ checkpoint, place, onBusy, onCopies, onBack }: EverythingProps): ReactNode {
  const { report, layout } = checkpoint;
  // A set that is not whole may be converted as far as it goes; the form asks.
  const convertible = report.verdict !== 'refused' || report.error?.code === 'shard_missing';
  const readable = report.tensor_count > 0;
  return (
    <>
      <Verdict report={report} />
      <Identity report={report} place={place} layout={layout} onBack={() => onBack(layout)} />
      {readable && (
        <>
          <FourNumbers report={report} />
          <Precision report={report} />
          <PairsPanel checkpoint={checkpoint} />
          <MemoryPanel ram={report.ram} />
        </>
      )}
      {convertible && <ConvertPanel checkpoint={checkpoint} onBusy={onBusy} onCopies={onCopies} />}
      {readable && <DetailsPanel checkpoint={checkpoint} />}
    </>
  );
}
