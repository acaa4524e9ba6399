// How much memory this file takes, by the dtype it is held in and by the way it is loaded.
import { type ReactNode, useId, useState } from 'react';
import type { LoaderApplies, RamReport } from '../../engine/ram_report';
import { formatBinary, formatBytes, formatFileGb, formatMemoryGb } from '../../engine/units';
import { Bar } from '../parts/bar';
import { Section } from '../parts/section';

const DTYPE_NAMES: Record<RamReport['per_dtype'][number]['dtype'], string> = {
  as_stored: 'as stored',
  bf16: 'bf16',
  f16: 'fp16',
  f32: 'float32',
  fp8: 'fp8',
};

interface Scale {
  max: number;
  /** this machine's memory, when the user said it */
  mark: number | null;
}

export function MemoryPanel({ ram }: { ram: RamReport }): ReactNode {
  const [own, setOwn] = useState<number | null>(null);
  const stages = ram.load_stages;
  const loaders = ram.loaders.filter((loader) => loader.applies);
  const highest = Math.max(
    ...ram.per_dtype.map((row) => row.bytes),
    ...loaders.map((loader) => loader.peak_bytes),
    stages.peak_f32_bytes,
    stages.peak_bf16_bytes,
  );
  const scale = { max: highest, mark: own };
  return (
    <Section title="Memory" says={<OwnMemory onChange={setOwn} />}>
      <div className="memory-tables">
        <PerDtype rows={ram.per_dtype} scale={scale} />
        <LoadStages stages={stages} scale={scale} />
      </div>
      {loaders.length > 0 && <Loaders loaders={loaders} scale={scale} />}
      <p className="soft">
        Weights only. GB is 1,000,000,000 bytes, GiB is 1,073,741,824. The size of the file is rounded, memory that must
        be there is rounded up. Converting here takes about 100 MB, whatever the size of the file.
      </p>
    </Section>
  );
}

function OwnMemory({ onChange }: { onChange: (bytes: number | null) => void }): ReactNode {
  const id = useId();
  return (
    <span className="own-memory">
      <label htmlFor={id}>Memory of your machine</label>
      <input
        id={id}
        type="number"
        inputMode="decimal"
        min="1"
        max="4096"
        placeholder="32"
        onChange={({ target }) => {
          const gib = target.valueAsNumber;
          onChange(gib > 0 ? gib * 2 ** 30 : null);
        }}
      />
      GiB
    </span>
  );
}

function PerDtype({ rows, scale }: { rows: RamReport['per_dtype']; scale: Scale }): ReactNode {
  return (
    <table className="memory-table">
      <caption>Held in memory, by dtype</caption>
      <thead>
        <tr>
          <th scope="col">Dtype</th>
          <th scope="col" className="numeric">
            Memory
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.dtype}>
            <th scope="row">
              {DTYPE_NAMES[row.dtype]}
              <Bar value={row.bytes} max={scale.max} mark={scale.mark} />
            </th>
            <Amount
              bytes={row.bytes}
              testId={`ram-${row.dtype}`}
              mark={scale.mark}
              isFile={row.dtype === 'as_stored'}
            />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function LoadStages({ stages, scale }: { stages: RamReport['load_stages']; scale: Scale }): ReactNode {
  const { max, mark } = scale;
  return (
    <table className="memory-table">
      <caption>While a loader dequantizes it</caption>
      <thead>
        <tr>
          <th scope="col">Stage</th>
          <th scope="col" className="numeric">
            Held then
          </th>
          <th scope="col" className="numeric">
            Peak on the way
          </th>
        </tr>
      </thead>
      <tbody>
        <tr>
          <th scope="row">
            File read
            <Bar value={stages.file_read_bytes} max={max} mark={mark} />
          </th>
          <Amount bytes={stages.file_read_bytes} testId="stage-file" mark={mark} isFile />
          <td className="numeric soft">–</td>
        </tr>
        <tr>
          <th scope="row">
            After dequantizing to float32
            <Bar value={stages.dequantized_f32_bytes} peak={stages.peak_f32_bytes} max={max} mark={mark} />
          </th>
          <Amount bytes={stages.dequantized_f32_bytes} testId="stage-f32" mark={mark} />
          <Amount bytes={stages.peak_f32_bytes} testId="peak-f32" mark={mark} />
        </tr>
        <tr>
          <th scope="row">
            After dequantizing straight to bf16
            <Bar value={stages.dequantized_bf16_bytes} peak={stages.peak_bf16_bytes} max={max} mark={mark} />
          </th>
          <Amount bytes={stages.dequantized_bf16_bytes} testId="stage-bf16" mark={mark} />
          <Amount bytes={stages.peak_bf16_bytes} testId="peak-bf16" mark={mark} />
        </tr>
      </tbody>
    </table>
  );
}

function Loaders({ loaders, scale }: { loaders: LoaderApplies[]; scale: Scale }): ReactNode {
  return (
    <table className="memory-table memory-loaders">
      <caption>By loader</caption>
      <thead>
        <tr>
          <th scope="col">Loader</th>
          <th scope="col" className="numeric">
            Kept
          </th>
          <th scope="col" className="numeric">
            Peak
          </th>
        </tr>
      </thead>
      <tbody>
        {loaders.map((loader) => (
          <tr key={loader.loader}>
            <th scope="row">
              {loader.title} {loader.source !== '' && <span className="soft">{loader.source}</span>}
              <Bar value={loader.steady_bytes} peak={loader.peak_bytes} max={scale.max} mark={scale.mark} />
            </th>
            <Amount bytes={loader.steady_bytes} mark={scale.mark} />
            <Amount bytes={loader.peak_bytes} mark={scale.mark} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface AmountProps {
  bytes: number;
  mark: number | null;
  testId?: string;
  /** the size of a file is rounded, memory that must be there is rounded up */
  isFile?: boolean;
}

/** The rounded number as people say it, the exact one in both units beneath. */
function Amount({ bytes, mark, testId, isFile = false }: AmountProps): ReactNode {
  const over = mark !== null && bytes > mark;
  return (
    <td className="numeric" data-testid={testId} data-bytes={bytes}>
      <span className="amount" title={formatBytes(bytes)}>
        {isFile ? formatFileGb(bytes) : formatMemoryGb(bytes)}
      </span>
      {bytes >= 1000 && (
        <span className="soft amount-exact">
          <span className="amount-bytes">{formatBytes(bytes)}</span>
          <span>{formatBinary(bytes)}</span>
        </span>
      )}
      {over && <span className="over">more than you have</span>}
    </td>
  );
}
