// `inspect --json` and `ram --json`: one object, written in pieces so that no string holds all of it.
import type { Checkpoint } from '../engine/pipeline';
import type { Report } from '../engine/report';
import { pages } from './pages';
import type { Print } from './print';

export async function printReportJson(checkpoint: Checkpoint, report: Report, print: Print): Promise<void> {
  // A refusal stands first, where a person sees it too.
  const { error, ...rest } = report;
  const head = JSON.stringify(error === undefined ? rest : { error, ...rest });
  await print(head.slice(0, -1));
  await printRows('tensors', (first, count) => checkpoint.tensors(first, count), print);
  await printRows('pairs', (first, count) => checkpoint.pairs(first, count), print);
  await print('}\n');
}

async function printRows<Row>(
  key: string,
  fetchPage: (first: number, count: number) => Row[],
  print: Print,
): Promise<void> {
  await print(`,"${key}":[`);
  let separator = '';
  for (const rows of pages(fetchPage)) {
    await print(separator + JSON.stringify(rows).slice(1, -1));
    separator = ',';
  }
  await print(']');
}
