import { expect, test } from 'vitest';
import { outputFolderName, outputName } from '../../web/app/file_name';
import { freeName } from '../../web/app/working_copies';

test.each([
  ['model.safetensors', 'bf16', 'model-bf16.safetensors'],
  ['model.SafeTensors', 'f16', 'model-fp16.safetensors'],
  ['krea2_fp8_scaled.safetensors', 'bf16', 'krea2_fp8_scaled-bf16.safetensors'],
  ['model-00001-of-00002.safetensors', 'bf16', 'model-bf16.safetensors'],
  ['no ending', 'bf16', 'no ending-bf16.safetensors'],
  ['', 'bf16', 'model-bf16.safetensors'],
  ['.safetensors', 'bf16', 'model-bf16.safetensors'],
  ['../../etc/passwd', 'bf16', '_.._etc_passwd-bf16.safetensors'],
  ['a\\b:c*d?.safetensors', 'bf16', 'a_b_c_d_-bf16.safetensors'],
  ['con.safetensors', 'bf16', 'con_-bf16.safetensors'],
  ['x\u202etxt.safetensors', 'bf16', 'x_txt-bf16.safetensors'],
  ['line\r\nbreak.safetensors', 'bf16', 'line_break-bf16.safetensors'],
  ['  ..hidden.. .safetensors', 'bf16', 'hidden-bf16.safetensors'],
  ['重み.safetensors', 'bf16', '重み-bf16.safetensors'],
] as const)('%j to %s is saved as %j', (input, to, output) => expect(outputName(input, to)).toBe(output));

test('a name stays short enough for every file system', () => {
  expect(outputName(`${'x'.repeat(500)}.safetensors`, 'bf16').length).toBeLessThan(150);
});

test('a working copy never takes the name of another', () => {
  expect(freeName('m.safetensors', [])).toBe('m.safetensors');
  expect(freeName('m.safetensors', ['m.safetensors', 'm (2).safetensors'])).toBe('m (3).safetensors');
});

test.each([
  ['', 'model-00001-of-000163.safetensors', 'model-bf16'],
  ['models/DeepSeek-V3', 'model-00001-of-000163.safetensors', 'DeepSeek-V3-bf16'],
  ['..', 'x.safetensors', 'model-bf16'],
] as const)('a set in %j goes into a folder', (folder, file, name) =>
  expect(outputFolderName(folder, file, 'bf16')).toBe(name),
);
