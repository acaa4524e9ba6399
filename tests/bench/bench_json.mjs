// The one writer of build/bench.json and build/bench.md: each bench adds its part, the table is made of all of them.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const JSON_FILE = join(ROOT, 'build/bench.json');
const TABLE_FILE = join(ROOT, 'build/bench.md');

function known() {
  try {
    return JSON.parse(readFileSync(JSON_FILE, 'utf8'));
  } catch {
    return {};
  }
}

/** Replaces what an earlier run of the same part left. `table` is Markdown. */
export function addToBench(part, results, table) {
  const all = { ...known(), [part]: { at: new Date().toISOString(), ...results, table } };
  mkdirSync(dirname(JSON_FILE), { recursive: true });
  writeFileSync(JSON_FILE, `${JSON.stringify(all, null, 1)}\n`);
  const tables = Object.entries(all).map(([name, { at, table: text }]) => `## ${name} (${at})\n\n${text}\n`);
  writeFileSync(TABLE_FILE, tables.join('\n'));
}
