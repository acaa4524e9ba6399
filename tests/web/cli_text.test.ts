import { expect, test } from 'vitest';
import { decisionText, issueLine } from '../../web/cli/issues_text';
import { describe as describeProgress, duration } from '../../web/cli/progress_line';
import { facts, plain, table } from '../../web/cli/text';

test('control characters of a name never reach the terminal', () => {
  expect(plain('a\u001b[31mred\nb')).toBe('a\\u{1b}[31mred\\u{a}b');
  expect(plain('\u202egnp.exe \u009b')).toBe('\\u{202e}gnp.exe \\u{9b}');
  expect(plain('gewöhnlich, 重み')).toBe('gewöhnlich, 重み');
});

test('a table lines up and has no trailing spaces', () => {
  const text = table(
    [{ title: 'dtype' }, { title: 'bytes', align: 'right' }],
    [
      ['F8_E4M3', '5'],
      ['F32', '1,000'],
    ],
  );
  expect(text).toBe(['  dtype    bytes', '  F8_E4M3      5', '  F32      1,000'].join('\n'));
  expect(
    facts([
      ['a', '1'],
      ['long', '2'],
    ]),
  ).toBe('  a     1\n  long  2');
});

test('an issue says where, what and which code', () => {
  expect(issueLine({ code: 'scale_nan', where: 'a.weight', message: 'the scale is NaN' })).toBe(
    'a.weight: the scale is NaN [scale_nan]',
  );
  expect(issueLine({ code: 'empty_file', where: '', message: 'no bytes' })).toBe('no bytes [empty_file]');
});

test('a decision names the tensors and the words to answer with', () => {
  const text = decisionText({
    code: 'scale_missing',
    subject: "it's",
    tensors: ['a.weight', 'b.weight'],
    count: 5,
    question: 'Where are the scales?',
    choices: [
      { choice: 'unscaled', meaning: 'use the codes as they are' },
      { choice: 'skip', meaning: 'copy the bytes' },
    ],
  });
  expect(text).toContain('a.weight');
  expect(text).toContain('b.weight');
  expect(text).toContain('and 3 more');
  expect(text).toContain("--assume 'it'\\''s=unscaled'  use the codes as they are");
  expect(text).toContain('[scale_missing]');
});

test('progress in words', () => {
  expect(describeProgress({ phase: 'convert', done_bytes: 6e9, total_bytes: 12e9 }, 10)).toBe(
    'converting: 50 %, 6.00 GB of 12.0 GB, 600 MB/s, 10 s left',
  );
  expect(describeProgress({ phase: 'closing', done_bytes: 0, total_bytes: 0 }, 5)).toBe('waiting for the disk');
  expect(describeProgress({ phase: 'scan', done_bytes: 5e6, total_bytes: 0 }, 5)).toBe('reading the scales: 5.00 MB');
  expect(duration(59.6)).toBe('1 min 0 s');
  expect(duration(3 * 3600 + 125)).toBe('3 h 2 min');
});
