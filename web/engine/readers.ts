// Who reads a checkpoint correctly: what the core's table of readers (src/readers/) says, as types, and the words that
// the page and the command line share.

export type ReadAnswer = 'reads_right' | 'reads_wrong' | 'unknown';

export type ReadOutcome =
  | 'correct'
  | 'scale_ignored'
  | 'wrong_scale'
  | 'wrong_layout'
  | 'codes_as_numbers'
  | 'precision_lost'
  | 'refused'
  | 'crash'
  | 'unknown';

/** What one rule says about some of the weights; without a rule nobody knows. */
export interface ReaderFinding {
  answer: ReadAnswer;
  outcome: ReadOutcome;
  weights: number;
  /** "plain": parameters of a checkpoint without anything quantized */
  scheme: string;
  /** name of the first of these weights */
  example: string;
  rule?: string;
  /** one sentence */
  says?: string;
  /** the rule's condition in words: the evidence */
  because?: string;
  source?: { url: string; place: string };
}

export interface ReaderRow {
  reader: string;
  title: string;
  versions: string;
  models: 'image' | 'language' | 'any';
  /** the worst of the findings, of which there is at least one; the worst stands first */
  answer: ReadAnswer;
  findings: ReaderFinding[];
}

export const ANSWER_WORDS: Record<ReadAnswer, string> = {
  reads_right: 'right',
  reads_wrong: 'wrong',
  unknown: 'not known',
};

export const OUTCOME_WORDS: Record<ReadOutcome, string> = {
  correct: 'weights as they are meant',
  scale_ignored: 'scale ignored: noise',
  wrong_scale: 'scale applied to the wrong weights',
  wrong_layout: 'another byte order: noise',
  codes_as_numbers: 'codes taken for weights: noise',
  precision_lost: 'precision lost',
  refused: 'refused',
  crash: 'stops with an error',
  unknown: 'not known',
};

/** The finding that decides a row's answer. */
export function worstFinding(row: ReaderRow): ReaderFinding {
  const [worst] = row.findings;
  if (worst === undefined) throw new Error(`reader ${row.reader} has no finding`);
  return worst;
}

/** Weights of a checkpoint that its readers are judged by. */
export function judgedWeights(row: ReaderRow): number {
  return row.findings.reduce((sum, { weights }) => sum + weights, 0);
}
