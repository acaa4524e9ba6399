import { describe, expect, test } from 'vitest';
import { rewriteConfig, rewrittenFile, staleConfigs } from '../../web/engine/config_rewrite';
import { addMember, editJson } from '../../web/engine/json_edit';

const EDITS = { remove: ['q', 'r'], replace: { dtype: 'bfloat16' } };
const edited = (text: string) => editJson(text, EDITS)?.text;

describe('editing a JSON text', () => {
  test.each([
    ['{"q":1}', '{}'],
    ['{ "q" : {"a":[1,{"b":"}"}]} , "k" : 1.0 }', '{ "k" : 1.0 }'],
    ['{"k":10000.0,"q":1}', '{"k":10000.0}'],
    ['{"k":1e-05,"q":1,"r":2}', '{"k":1e-05}'],
    ['{"q":1,"k":9007199254740993,"r":2}', '{"k":9007199254740993}'],
    ['{"q":1,"r":2,"k":3}', '{"k":3}'],
    ['{"q":1,"r":2}', '{}'],
    ['{"a":{"q":1,"k":2},"b":[{"r":1},{"k":{"q":null}}]}', '{"a":{"k":2},"b":[{},{"k":{}}]}'],
    ['{"\\u0071":1,"k":"q"}', '{"k":"q"}'],
    ['{"k":"\\"q\\":1, \\\\","q":"}"}', '{"k":"\\"q\\":1, \\\\"}'],
    ['{"dtype":"float8","q":0,"x":{"dtype":"float32"}}', '{"dtype":"bfloat16","x":{"dtype":"bfloat16"}}'],
    ['{"dtype":{"q":1,"dtype":"a"}}', '{"dtype":{"dtype":"bfloat16"}}'],
    ['{"dtype":null,"__proto__":1,"constructor":2}', '{"dtype":null,"__proto__":1,"constructor":2}'],
    ['{\n  "a": 1,\n  "q": {\n    "b": 2\n  }\n}\n', '{\n  "a": 1\n}\n'],
    ['{\n  "q": 1,\n  "a": 1\n}', '{\n  "a": 1\n}'],
    ['{}', '{}'],
  ])('%j', (text, wanted) => {
    expect(edited(text)).toBe(wanted);
    expect(() => JSON.parse(edited(text) ?? '')).not.toThrow();
  });

  test('says what it did, by path', () => {
    const result = editJson('{"q":1,"a":{"r":2,"dtype":"x"},"dtype":"bfloat16"}', EDITS);
    expect(result).toMatchObject({ removed: ['q', 'a.r'], replaced: ['a.dtype'] });
  });

  test.each(['', 'no', '[]', 'null', '{"a":1', '{"a":1}x', '\ufeff{}'])('%j is left alone', (text) => {
    expect(editJson(text, EDITS)).toBeNull();
  });

  test('nesting without end is left alone too', () => {
    expect(editJson(`${'{"a":'.repeat(40)}{"q":1}${'}'.repeat(40)}`, EDITS)?.removed).toHaveLength(1);
    expect(editJson(`${'{"a":'.repeat(100)}{"q":1}${'}'.repeat(100)}`, EDITS)).toBeNull();
    expect(edited(`{"a":${'['.repeat(3000)}${']'.repeat(3000)},"q":1}`)).toBe(
      `{"a":${'['.repeat(3000)}${']'.repeat(3000)}}`,
    );
  });

  test.each([
    ['{}', '{"a": "b"}'],
    ['{"x": 1}', '{"x": 1,"a": "b"}'],
    ['{\n  "x": 1\n}\n', '{\n  "x": 1,\n  "a": "b"\n}\n'],
  ])('a member added to %j', (text, wanted) => expect(addMember(text, 'a', 'b')).toBe(wanted));
});

describe('a config after a conversion', () => {
  const PLAN = { to: 'bf16', dequantized: 3, cast: 0, kept_quantized: 0 } as const;
  const CONFIG = `{
  "model_type": "tiny",
  "rope_theta": 10000.0,
  "text_config": {
    "dtype": "float8_e4m3fn",
    "quantization_config": { "quant_method": "fp8" }
  },
  "torch_dtype": "float16",
  "expert_dtype": "fp4",
  "quantization_config": { "quant_method": "fp8" }
}
`;

  test('the quantization is gone, nested too, the dtypes are the new one, the rest is untouched', () => {
    expect(rewriteConfig('config.json', CONFIG, PLAN)).toEqual({
      text: `{
  "model_type": "tiny",
  "rope_theta": 10000.0,
  "text_config": {
    "dtype": "bfloat16"
  },
  "torch_dtype": "bfloat16"
}
`,
      changes: [
        'text_config.quantization_config removed',
        'expert_dtype removed',
        'quantization_config removed',
        'text_config.dtype set to bfloat16',
        'torch_dtype set to bfloat16',
      ],
    });
    expect(rewriteConfig('x/config.json', CONFIG, { ...PLAN, to: 'f16' }).text).toContain('"torch_dtype": "float16"');
  });

  test('a dtype that nobody states is stated, in a config of a language model', () => {
    expect(rewriteConfig('config.json', '{"model_type":"a"}', PLAN).text).toBe(
      '{"model_type":"a","torch_dtype": "bfloat16"}',
    );
    expect(rewriteConfig('config.json', '{"_class_name":"UNet"}', PLAN)).toEqual({
      text: '{"_class_name":"UNet"}',
      changes: [],
    });
  });

  test('weights that stay quantized keep their description; without a conversion the dtype stays', () => {
    expect(rewriteConfig('config.json', CONFIG, { ...PLAN, kept_quantized: 1 })).toEqual({ text: CONFIG, changes: [] });
    const copied = rewriteConfig('config.json', CONFIG, { ...PLAN, dequantized: 0 });
    expect(copied.text).toContain('"torch_dtype": "float16"');
    expect(copied.changes).toHaveLength(3);
  });

  test('files that say nothing but the quantization are left out; others pass as they are', () => {
    const bytes = new Uint8Array([0xff, 0xfe, 0]);
    expect(rewrittenFile('hf_quant_config.json', bytes, PLAN).bytes).toBeNull();
    expect(rewrittenFile('tokenizer.json', bytes, PLAN)).toEqual({ bytes, changes: [] });
    expect(rewrittenFile('config.json', bytes, PLAN)).toEqual({ bytes, changes: [] });
  });

  test('where no config is written, a person is told which one to change', () => {
    const file = (name: string, text: string) => ({ name, bytes: new TextEncoder().encode(text) });
    const notes = staleConfigs([file('config.json', CONFIG), file('params.json', '{}')], PLAN);
    expect(notes).toHaveLength(1);
    expect(notes[0]).toContain('config.json still describes the quantization');
  });
});
