// Problems, warnings and open decisions as text; used by every command.
import type { CoreIssue, Decision } from '../engine/report';
import { facts, plain } from './text';

const NAMED_TENSORS_MAX = 20;

export function issueLine({ code, where, message }: CoreIssue): string {
  return plain(where === '' ? `${message} [${code}]` : `${where}: ${message} [${code}]`);
}

export function issueList(title: string, issues: readonly CoreIssue[]): string {
  if (issues.length === 0) return '';
  return [`${title} (${issues.length})`, ...issues.map((issue) => `  - ${issueLine(issue)}`), ''].join('\n');
}

/** Names the tensors, the choices, and the words to answer with. */
export function decisionText(decision: Decision): string {
  const named = decision.tensors.slice(0, NAMED_TENSORS_MAX);
  const more = decision.count - named.length;
  const choices = decision.choices.map(
    ({ choice, meaning }) => [`--assume ${shellWord(`${decision.subject}=${choice}`)}`, meaning] as const,
  );
  return [
    `${plain(decision.question)} [${decision.code}]`,
    ...named.map((name) => `    ${plain(name)}`),
    ...(more > 0 ? [`    and ${more} more`] : []),
    '  answer with',
    facts(choices.map(([words, meaning]) => [`  ${words}`, meaning])),
    '',
  ].join('\n');
}

export function decisionList(decisions: readonly Decision[]): string {
  return decisions.map(decisionText).join('\n');
}

function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
