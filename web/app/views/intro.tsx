// Before a file is open: what this does, where to put a file, examples, and what happens to the file.
import { type ReactNode, useEffect, useState } from 'react';
import { Button } from 'react-aria-components';
import type { GivenFile } from '../../engine/protocol';
import { formatDecimal } from '../../engine/units';
import { givenFiles } from '../dropped_files';
import { type Example, fetchExample, listExamples } from '../examples';
import { type Access, AddressBox, NO_ACCESS } from './address_box';

interface IntroProps {
  onAddress: (address: string, access: Access) => void;
  onChoose: () => void;
  onChooseFolder: () => void;
  onFiles: (files: GivenFile[]) => void;
  onFault: (names: string[], thrown: unknown) => void;
}

export function Intro({ onAddress, onChoose, onChooseFolder, onFiles, onFault }: IntroProps): ReactNode {
  return (
    <div className="intro">
      <h1>Weigh a model checkpoint before you load it, and write fp8 models as bf16.</h1>
      <div className="drop-zone">
        <Button className="button button-main" onPress={onChoose}>
          Choose .safetensors files
        </Button>{' '}
        <Button className="button" onPress={onChooseFolder}>
          Choose a folder
        </Button>
        <p>
          or drop files and folders anywhere on this page: a single file, all parts of a sharded model with its index
          and <code>config.json</code>, or a whole pipeline.
        </p>
      </div>
      <AddressBox access={NO_ACCESS} onGo={onAddress} />
      <Examples onFiles={onFiles} onFault={onFault} />
      <ol className="how">
        <li>It reads the header and the small scales, so a 12 GB file opens at once.</li>
        <li>It pairs every quantized weight with its scale and says how much memory each way of loading takes.</li>
        <li>It writes a bf16 or fp16 file piece by piece, in about 100 MB of memory.</li>
      </ol>
      <p className="privacy">
        Your files stay on this machine: nothing is uploaded, there is no account and no tracking. From an address, only
        what is needed is fetched, by your browser, from the server that you name.
      </p>
    </div>
  );
}

function Examples({ onFiles, onFault }: Pick<IntroProps, 'onFiles' | 'onFault'>): ReactNode {
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
                fetchExample(example).then(
                  (files) => onFiles(givenFiles(files)),
                  (thrown: unknown) => onFault([example.file], thrown),
                );
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
