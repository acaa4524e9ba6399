// Before a file is open: what this does, where to put a file, examples, and what happens to the file.
import { type ReactNode, useEffect, useState } from 'react';
import { Button } from 'react-aria-components';
import { formatDecimal } from '../../engine/units';
import { type Example, fetchExample, listExamples } from '../examples';

interface IntroProps {
  onChoose: () => void;
  onFiles: (files: File[]) => void;
  onFault: (names: string[], thrown: unknown) => void;
}

export function Intro({ onChoose, onFiles, onFault }: IntroProps): ReactNode {
  return (
    <div className="intro">
      <h1>Weigh a model checkpoint before you load it, and write fp8 models as bf16.</h1>
      <div className="drop-zone">
        <Button className="button button-main" onPress={onChoose}>
          Choose .safetensors files
        </Button>
        <p>
          or drop them anywhere on this page. Choose all parts of a sharded model, and its <code>config.json</code> if
          there is one.
        </p>
      </div>
      <Examples onFiles={onFiles} onFault={onFault} />
      <ol className="how">
        <li>It reads the header and the small scales, so a 12 GB file opens at once.</li>
        <li>It pairs every quantized weight with its scale and says how much memory each way of loading takes.</li>
        <li>It writes a bf16 or fp16 file piece by piece, in about 100 MB of memory.</li>
      </ol>
      <p className="privacy">
        Your files stay on this machine: nothing is uploaded, there is no account and no tracking.
      </p>
    </div>
  );
}

function Examples({ onFiles, onFault }: Omit<IntroProps, 'onChoose'>): ReactNode {
  const [examples, setExamples] = useState<Example[]>([]);
  useEffect(() => {
    let gone = false;
    listExamples().then(
      (found) => !gone && setExamples(found),
      () => {},
    );
    return () => {
      gone = true;
    };
  }, []);
  if (examples.length === 0) return null;
  return (
    <section aria-labelledby="examples-title" className="examples">
      <h2 id="examples-title">Try an example</h2>
      <ul>
        {examples.map((example) => (
          <li key={example.file}>
            <Button
              className="link"
              onPress={() => {
                fetchExample(example).then(onFiles, (thrown: unknown) => onFault([example.file], thrown));
              }}
            >
              {example.title}
            </Button>{' '}
            <span className="soft">{formatDecimal(example.size_bytes)}</span>
            <p>{example.says}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}
