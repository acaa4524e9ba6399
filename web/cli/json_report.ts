// `inspect --json` and `ram --json`: one object, written in pieces so that no string holds all of it.
import type { Checkpoint } from '../engine/pipeline';
import type { Report } from '../engine/report';
import { PAGE_ROWS } from './pages';
import type { Print } from './print';

const EMPTY_LIST_BYTES = 2;

export async function printReportJson(checkpoint: Checkpoint, report: Report, print: Print): Promise<void> {
  // A refusal stands first, where a person sees it too.
  const { error, ...rest } = report;
  const head = JSON.stringify(error === undefined ? rest : { error, ...rest });
  await print(head.slice(0, -1));
  await printRows('tensors', checkpoint, print);
  await printRows('pairs', checkpoint, print);
  await print('}\n');
}

async function printRows(kind: 'tensors' | 'pairs', checkpoint: Checkpoint, print: Print): Promise<void> {
  await print(`,"${kind}":[`);
  for (let first = 0; ; first += PAGE_ROWS) {
    const list = checkpoint.rowsBytes(kind, first, PAGE_ROWS);
    if (list.length === EMPTY_LIST_BYTES) break;
    if (first > 0) await print(',');
    await print(list.subarray(1, -1));
  }
  await print(']');
}
