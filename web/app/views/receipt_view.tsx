// What a finished conversion says about itself, and the file it made.
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Button } from 'react-aria-components';
import type { EngineClient } from '../../engine/client';
import { type CoreError, toCoreError } from '../../engine/errors';
import type { Receipt } from '../../engine/report';
import { summedChecks } from '../../engine/source_checks';
import { formatBytes, formatCount, formatDecimal } from '../../engine/units';
import { plural } from '../format';
import type { Saved } from '../hooks/use_conversion';
import { Fact, Facts } from '../parts/facts';
import { Fault } from '../parts/fault';
import { Fold } from '../parts/fold';
import { Name, Prose } from '../parts/text';
import { RECIPE_SAYS, WORDS } from '../words';
import { removeWorkingCopy } from '../working_copies';
import { spent } from './place_line';

const WRITTEN_AS = { bf16: 'of bf16', f16: 'of fp16', stored: 'as they were' } as const;

interface ReceiptViewProps {
  receipt: Receipt;
  saved: Saved;
  client: EngineClient;
  onAgain: () => void;
  onCopies: () => void;
}

export function ReceiptView({ receipt: first, saved, client, onAgain, onCopies }: ReceiptViewProps): ReactNode {
  const [receipt, setReceipt] = useState(first);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <div className="receipt" data-testid="receipt">
      <h3 ref={heading} tabIndex={-1}>
        Done: {formatDecimal(receipt.output_bytes)} {WRITTEN_AS[receipt.to]}
        {receipt.verified ? <span data-testid="verified">, read back and verified</span> : ', not verified'}
      </h3>
      {saved.kind === 'downloaded' && !receipt.verified && (
        <CheckSaved name={saved.name} client={client} onChecked={setReceipt} />
      )}
      <SavedFile saved={saved} bytes={receipt.output_bytes} onCopies={onCopies} />
      <ReceiptFacts receipt={receipt} />
      <div className="receipt-actions">
        <CopyReceipt receipt={receipt} />
        <Button className="button" onPress={onAgain}>
          Convert again
        </Button>
      </div>
    </div>
  );
}

function SavedFile({ saved, bytes, onCopies }: { saved: Saved; bytes: number; onCopies: () => void }): ReactNode {
  const [copy, setCopy] = useState<'there' | 'deleted' | string>('there');
  if (saved.kind === 'placed') {
    return (
      <p>
        Written to <Name text={saved.name} />, where you chose.
      </p>
    );
  }
  if (saved.kind === 'downloaded') {
    return (
      <p>
        Your browser saved <Name text={saved.name} /> to the downloads folder.
      </p>
    );
  }
  const { working_copy } = saved;
  if (copy === 'deleted')
    return (
      <p role="status" data-testid="copy-deleted">
        The working copy is deleted.
      </p>
    );
  const remove = (): void => {
    if (working_copy === null) return;
    removeWorkingCopy(working_copy).then(
      () => {
        setCopy('deleted');
        onCopies();
      },
      (thrown: unknown) => setCopy(toCoreError(thrown).message),
    );
  };
  return (
    <div className="saved">
      <p>
        Your browser is saving it to the downloads folder. If it is not,{' '}
        <a className="link" href={saved.url} download={saved.name} data-testid="save-link">
          save {saved.name}
        </a>
        .
      </p>
      {working_copy !== null && (
        <p>
          <Button className="button button-small" onPress={remove} data-testid="delete-copy">
            Delete the working copy
          </Button>{' '}
          <span className="soft">
            {formatDecimal(bytes)} in the browser’s storage. Do it once the download has finished; the page cannot see
            that.
          </span>
          {copy !== 'there' && <span role="alert">{copy}</span>}
        </p>
      )}
    </div>
  );
}

/** The page may not read the downloads folder, but a person can hand it the file. */
function CheckSaved({ name, client, onChecked }: CheckSavedProps): ReactNode {
  const input = useRef<HTMLInputElement>(null);
  const [state, setState] = useState<'ready' | 'checking' | CoreError>('ready');
  const check = (file: File | undefined): void => {
    if (file === undefined) return;
    setState('checking');
    client.check(file).then(onChecked, (thrown: unknown) => setState(toCoreError(thrown)));
  };
  return (
    <div className="saved">
      <p>
        <input
          ref={input}
          type="file"
          className="unseen"
          tabIndex={-1}
          aria-label="Saved file"
          data-testid="saved-input"
          onChange={(event) => check(event.target.files?.[0])}
        />
        <Button
          className="button button-small"
          onPress={() => input.current?.click()}
          isDisabled={state === 'checking'}
          data-testid="check-saved"
        >
          {state === 'checking' ? 'Checking…' : 'Check the saved file'}
        </Button>{' '}
        <span className="soft">
          A page cannot see what the browser saved. Choose {name} in the downloads folder, and every byte is read back.
        </span>
      </p>
      <div role="alert">{state instanceof Error && <Fault issue={state} />}</div>
    </div>
  );
}

interface CheckSavedProps {
  name: string;
  client: EngineClient;
  onChecked: (receipt: Receipt) => void;
}

export function ReceiptFacts({ receipt }: { receipt: Receipt }): ReactNode {
  const { assumed, nan_tensors, dropped_names } = receipt;
  return (
    <Facts>
      <Fact name="Recipe">
        {receipt.copies_only ? (
          'nothing was computed; every byte of the tensors is that of the input'
        ) : (
          <>
            <code>{receipt.recipe}</code> {RECIPE_SAYS[receipt.recipe]}
          </>
        )}
      </Fact>
      <Fact name="Tensors">
        {formatCount(receipt.tensors)}: {formatCount(receipt.dequantized)} dequantized, {formatCount(receipt.cast)}{' '}
        cast, {formatCount(receipt.copied)} copied unchanged
      </Fact>
      <Fact name="Left out">
        {dropped_names.length === 0 ? (
          'nothing'
        ) : (
          <Fold title={plural(receipt.dropped, 'tensor')} level={4}>
            <ul className="plain-list name-list">
              {dropped_names.map((name) => (
                <li key={name}>
                  <Name text={name} />
                </li>
              ))}
            </ul>
          </Fold>
        )}
      </Fact>
      <Fact name="Assumed">
        {assumed.length === 0 && 'nothing'}
        {assumed.map(({ subject, choice, tensors }) => (
          <p key={subject}>
            <Name text={subject} /> = {choice}, {plural(tensors, 'tensor')}
          </p>
        ))}
      </Fact>
      {receipt.to === 'f16' && (
        <Fact name="fp16 range">
          {plural(receipt.f16_overflow, 'value')} became infinite, {plural(receipt.f16_underflow, 'value')} became zero
        </Fact>
      )}
      {nan_tensors.length > 0 && (
        <Fact name="Not a number">
          {WORDS.nan_codes}
          {nan_tensors.map((row) => (
            <p key={row.name}>
              <Name text={row.name} />: {formatCount(row.count)}
            </p>
          ))}
        </Fact>
      )}
      {receipt.beside && <WrittenFiles receipt={receipt} />}
      {receipt.notes.length > 0 && (
        <Fact name="Notes">
          {receipt.notes.map((note) => (
            <p key={note}>
              <Prose text={note} />
            </p>
          ))}
        </Fact>
      )}
      <Fact name="Size">{formatBytes(receipt.output_bytes)}</Fact>
      {receipt.output_xxh64 !== '' && (
        <Fact name="XXH64">
          <code data-testid="xxh64">{receipt.output_xxh64}</code>
        </Fact>
      )}
      {summedChecks(receipt.source_checks ?? []).map(({ name, sha256, says }) => (
        <Fact key={name} name="Source">
          <Name text={name} />: SHA-256 {says} {sha256 !== null && <code data-testid="source-sha256">{sha256}</code>}
        </Fact>
      ))}
      {receipt.resumed_bytes !== undefined && (
        <Fact name="Resumed">{formatDecimal(receipt.resumed_bytes)} were there already, and were checked</Fact>
      )}
      {receipt.traffic && <Fact name="Transfer">{spent(receipt.traffic)}</Fact>}
      <Fact name="Made by">Weighbridge {receipt.version}</Fact>
    </Facts>
  );
}

function WrittenFiles({ receipt: { files, beside = [] } }: { receipt: Receipt }): ReactNode {
  return (
    <Fact name="Files">
      <Fold title={plural(files.length, 'file of tensors', 'files of tensors')} level={4}>
        <ul className="plain-list name-list">
          {files.map(({ name, bytes }) => (
            <li key={name}>
              <Name text={name} /> <span className="soft">{formatBytes(bytes)}</span>
            </li>
          ))}
        </ul>
      </Fold>
      {beside.map(({ name, changes }) => (
        <p key={name}>
          <Name text={name} /> <span className="soft">{changes.length === 0 ? 'as it was' : changes.join(', ')}</span>
        </p>
      ))}
    </Fact>
  );
}

function CopyReceipt({ receipt }: { receipt: Receipt }): ReactNode {
  const [says, setSays] = useState('');
  const copy = (): void => {
    navigator.clipboard.writeText(JSON.stringify(receipt, null, 2)).then(
      () => setSays('Copied.'),
      () => setSays('The browser did not allow it.'),
    );
  };
  return (
    <>
      <Button className="button" onPress={copy}>
        Copy the receipt (JSON)
      </Button>
      <span role="status">{says}</span>
    </>
  );
}
