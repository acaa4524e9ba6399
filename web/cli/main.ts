// The command line: arguments in, an exit code out. 0 done, 1 refused or failed, 2 wrong usage,
// 3 a decision is needed, 130 interrupted.
import { version } from '../../package.json';
import { type CoreError, toCoreError } from '../engine/errors';
import { type Command, parseCommand, USAGE } from './args';
import { convert, verify } from './convert';
import { loadCore } from './core_loader';
import { inspect } from './inspect';
import { issueLine } from './issues_text';
import { preview } from './preview';
import { printError, printOut, quietOnClosedPipe } from './print';
import { ram } from './ram';
import { UsageError } from './usage_error';

export async function main(argv: readonly string[], coreFolder: URL): Promise<number> {
  quietOnClosedPipe();
  let command: Command;
  try {
    command = parseCommand(argv);
  } catch (thrown) {
    if (!(thrown instanceof UsageError)) throw thrown;
    printError(`weighbridge: ${thrown.message}\n\n${USAGE}`);
    return 2;
  }
  try {
    return await run(command, coreFolder);
  } catch (thrown) {
    return fail(toCoreError(thrown), 'json' in command && command.json);
  }
}

async function run(command: Command, coreFolder: URL): Promise<number> {
  if (command.kind === 'help') {
    await printOut(USAGE);
    return 0;
  }
  if (command.kind === 'version') {
    await printOut(`weighbridge ${version}\n`);
    return 0;
  }
  const core = await loadCore(coreFolder);
  switch (command.kind) {
    case 'inspect':
      return inspect(core, command, printOut);
    case 'ram':
      return ram(core, command, printOut);
    case 'preview':
      return preview(core, command, printOut);
    case 'convert':
      return convert(core, command, printOut);
    case 'verify':
      return verify(core, command, printOut);
  }
}

async function fail(error: CoreError, json: boolean): Promise<number> {
  if (json) await printOut(`${JSON.stringify({ error: error.toObject() })}\n`);
  printError(`weighbridge: ${issueLine(error.toObject())}`);
  return error.code === 'cancelled' ? 130 : 1;
}
