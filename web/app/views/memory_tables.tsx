// The two tables that need no machine: by dtype, and the load stages of the InvokeAI fix.
import type { ReactNode } from 'react';
import type { DtypeBytes, LoadStages as Stages } from '../../engine/ram_report';
import { formatBinary, formatBytes, formatFileGb, formatMemoryGb } from '../../engine/units';
import { HELD_AS_WORDS } from '../memory_words';
import { Bar } from '../parts/bar';

interface Scale {
  max: number;
  /** this machine's memory, when the user said it */
  mark: number | null;
}

interface MemoryTablesProps {
  perDtype: readonly DtypeBytes[];
  /** of a single checkpoint */
  stages: Stages | null;
  mark: number | null;
}

export function MemoryTables({ perDtype, stages, mark }: MemoryTablesProps): ReactNode {
  const max = Math.max(
    1,
    ...perDtype.map(({ bytes }) => bytes),
    ...(stages ? [stages.peak_f32_bytes, stages.peak_bf16_bytes] : []),
  );
  const scale = { max, mark };
  return (
    <div className="memory-tables">
      <PerDtype rows={perDtype} scale={scale} />
      {stages && <LoadStages stages={stages} scale={scale} />}
    </div>
  );
}

function PerDtype({ rows, scale }: { rows: readonly DtypeBytes[]; scale: Scale }): ReactNode {
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
              {HELD_AS_WORDS[row.dtype]}
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

function LoadStages({ stages, scale }: { stages: Stages; scale: Scale }): ReactNode {
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
