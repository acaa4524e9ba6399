// What the first weights of a tensor would be under each answer to a question, side by side.
import { type CSSProperties, type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components';
import { type CoreError, toCoreError } from '../../engine/errors';
import { histogramColumns } from '../../engine/preview_text';
import type { PreviewChoice, PreviewReport } from '../../engine/report';
import { formatCount } from '../../engine/units';
import { Fact, Facts } from '../parts/facts';
import { Fault } from '../parts/fault';
import { Name } from '../parts/text';

interface PreviewsProps {
  tensors: readonly string[];
  load: (tensor: string) => Promise<PreviewReport>;
}

type State =
  | { phase: 'closed' }
  | { phase: 'loading' }
  | { phase: 'shown'; preview: PreviewReport }
  | { phase: 'failed'; error: CoreError };

/** Nothing is read before somebody asks. */
export function Previews({ tensors, load }: PreviewsProps): ReactNode {
  const [at, setAt] = useState(0);
  const [state, setState] = useState<State>({ phase: 'closed' });
  const tensor = tensors[at];
  if (tensor === undefined) return null;

  const show = async (index: number): Promise<void> => {
    const name = tensors[index];
    if (name === undefined) return;
    setAt(index);
    setState({ phase: 'loading' });
    try {
      setState({ phase: 'shown', preview: await load(name) });
    } catch (thrown) {
      setState({ phase: 'failed', error: toCoreError(thrown) });
    }
  };

  return (
    <div className="previews" aria-busy={state.phase === 'loading'}>
      <div className="previews-buttons">
        <Button className="button" onPress={() => void show(at)} data-testid="preview-button">
          {state.phase === 'shown' ? 'Compare again' : 'Compare what each answer gives'}
        </Button>
        {state.phase === 'shown' && tensors.length > 1 && (
          <Button className="button" onPress={() => void show((at + 1) % tensors.length)}>
            Another tensor
          </Button>
        )}
      </div>
      <div role="status">
        {state.phase === 'loading' && <p className="soft">Reading the first weights…</p>}
        {state.phase === 'failed' && <Fault issue={state.error} />}
        {state.phase === 'shown' && <Shown preview={state.preview} />}
      </div>
    </div>
  );
}

function Shown({ preview }: { preview: PreviewReport }): ReactNode {
  const histograms = histogramColumns(preview.choices);
  return (
    <>
      <p className="soft">
        The first {formatCount(preview.choices[0]?.values ?? 0)} weights of <Name text={preview.tensor} />
      </p>
      <div className="preview-list">
        {preview.choices.map((each, index) => (
          <Answer key={each.choice} answer={each} columns={histograms[index] ?? []} />
        ))}
      </div>
    </>
  );
}

interface AnswerProps {
  answer: PreviewChoice;
  columns: readonly { exponent: number; count: number }[];
}

function Answer({ answer, columns }: AnswerProps): ReactNode {
  const most = Math.max(1, ...columns.map(({ count }) => count));
  const { largest, rms, zeros, nan, infinite, first } = answer;
  return (
    <figure className="preview" data-testid="preview">
      <figcaption className="preview-title">{answer.choice.replaceAll('_', ' ')}</figcaption>
      <div className="histogram" aria-hidden="true">
        {columns.map(({ exponent, count }) => (
          <span
            key={exponent}
            className="histogram-bar"
            title={`2^${exponent}: ${formatCount(count)}`}
            style={{ '--share': count / most } as CSSProperties}
          />
        ))}
      </div>
      <p className="histogram-axis soft" aria-hidden="true">
        <span>≤ 2^{columns[0]?.exponent}</span>
        <span>magnitude</span>
        <span>2^{columns.at(-1)?.exponent}</span>
      </p>
      <Facts>
        <Fact name="largest">{largest.toPrecision(4)}</Fact>
        <Fact name="typical (rms)">{rms.toPrecision(4)}</Fact>
        <Fact name="zeros">{formatCount(zeros)}</Fact>
        {nan + infinite > 0 && <Fact name="not finite">{formatCount(nan + infinite)}</Fact>}
        <Fact name="first">{first.map((value) => (value === null ? 'NaN' : value.toPrecision(3))).join(', ')}</Fact>
      </Facts>
    </figure>
  );
}
