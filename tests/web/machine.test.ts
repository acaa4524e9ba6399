// The machine that memory is compared with: presets, changes of one number, and what is kept in this browser.
import { describe, expect, test } from 'vitest';
import { changed, type MachineForm, PRESETS, presetOf, recall, remember, toMachine } from '../../web/app/machine';

const PC: MachineForm = { kind: 'windows', ram: 32, free: 22, swap: 8, vram: 16 };

class Shelf {
  items = new Map<string, string>();
  getItem = (key: string): string | null => this.items.get(key) ?? null;
  setItem = (key: string, value: string): void => void this.items.set(key, value);
  removeItem = (key: string): void => void this.items.delete(key);
}

const storage = (shelf: Shelf) => () => shelf as unknown as Storage;
const refused = (): Storage => {
  throw new DOMException('denied', 'SecurityError');
};

describe('presets', () => {
  test('have their own names, and free memory that is there', () => {
    expect(new Set(PRESETS.map(({ id }) => id)).size).toBe(PRESETS.length);
    for (const { form } of PRESETS) {
      expect(form.free).toBeLessThan(form.ram);
      expect(form.kind === 'unified' ? form.vram : typeof form.vram).toBe(form.kind === 'unified' ? null : 'number');
    }
  });

  test('are recognised until a number is changed', () => {
    expect(presetOf(PC)?.id).toBe('windows-32');
    expect(presetOf({ ...PC, free: 21 })).toBeNull();
  });
});

describe('a change of one number', () => {
  test('free memory keeps its share, and never exceeds what there is', () => {
    expect(changed(PC, { ram: 64 })).toEqual({ ...PC, ram: 64, free: 44 });
    expect(changed(PC, { free: 40 }).free).toBe(32);
  });

  test('shared memory has no card of its own; another kind may have one', () => {
    const mac = changed(PC, { kind: 'unified' });
    expect(mac.vram).toBeNull();
    expect(changed(mac, { kind: 'linux' }).vram).toBe(0);
    expect(changed({ ...PC, kind: 'unified', vram: null }, { kind: 'linux', vram: 8 }).vram).toBe(8);
  });
});

test('the core is asked in bytes, and of a card only when somebody spoke of one', () => {
  expect(toMachine(PC)).toEqual({
    kind: 'windows',
    ram_bytes: 32 * 2 ** 30,
    free_bytes: 22 * 2 ** 30,
    swap_bytes: 8 * 2 ** 30,
    vram_bytes: 16 * 2 ** 30,
  });
  expect(toMachine({ ...PC, kind: 'unified', vram: null })).not.toHaveProperty('vram_bytes');
});

describe('what is kept', () => {
  test('comes back, and is gone when forgotten', () => {
    const shelf = new Shelf();
    remember({ form: PC, loader: 'vllm' }, storage(shelf));
    expect(recall(storage(shelf))).toEqual({ form: PC, loader: 'vllm' });
    remember(null, storage(shelf));
    expect(recall(storage(shelf))).toBeNull();
    expect(shelf.items.size).toBe(0);
  });

  test('storage that is refused changes nothing', () => {
    expect(recall(refused)).toBeNull();
    expect(() => remember({ form: PC, loader: '' }, refused)).not.toThrow();
  });

  test('what cannot be a machine is not believed', () => {
    const bad = [
      'null',
      '{',
      '[]',
      '{"form":{}}',
      JSON.stringify({ form: { ...PC, kind: 'toaster' } }),
      JSON.stringify({ form: { ...PC, free: 33 } }),
      JSON.stringify({ form: { ...PC, ram: -1 } }),
      JSON.stringify({ form: { ...PC, swap: 'much' } }),
      JSON.stringify({ form: { ...PC, vram: 1e9 } }),
    ];
    for (const text of bad) {
      const shelf = new Shelf();
      shelf.setItem('weighbridge.machine', text);
      expect(recall(storage(shelf)), text).toBeNull();
    }
  });
});
