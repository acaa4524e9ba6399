import { describe, expect, test } from 'vitest';
import { Job, OUTPUT_SOURCE, Status } from '../../web/engine/core';
import { CoreCrash } from '../../web/engine/errors';
import { Checkpoint } from '../../web/engine/pipeline';
import type { Progress } from '../../web/engine/protocol';
import type { ConvertOptions } from '../../web/engine/report';
import { type ByteSink, MemorySink } from '../../web/engine/sink';
import { type ByteSource, CountingSource, MemorySource } from '../../web/engine/source';
import { FakeModule, type FakeScript, patternBytes, windowsOf } from './fake_core';

const content = patternBytes(10_000);
const header = new TextEncoder().encode('the new header');
const OPTIONS: ConvertOptions = { to: 'bf16', others: 'keep', assume: {} };

const SCRIPT: FakeScript = {
  outputHeader: header,
  windows: {
    [Job.Inspect]: windowsOf(0, 3000, 1000),
    [Job.Scan]: windowsOf(3000, 4000, 1000),
    [Job.Convert]: windowsOf(4000, 10_000, 1000),
    [Job.Verify]: windowsOf(0, 6014, 3007, OUTPUT_SOURCE),
  },
};

/** A sink that tells in which order it was called. */
class LoggingSink implements ByteSink {
  readonly inner = new MemorySink();

  constructor(readonly calls: string[]) {}

  open(sizeBytes: number): Promise<void> {
    this.calls.push(`sink.open ${sizeBytes}`);
    return this.inner.open(sizeBytes);
  }

  write(bytes: Uint8Array): void | Promise<void> {
    this.calls.push(`sink.write ${bytes.length}`);
    this.inner.write(bytes);
  }

  close(): Promise<void> {
    this.calls.push('sink.close');
    return this.inner.close();
  }

  readBack(): Promise<ByteSource> {
    this.calls.push('sink.readBack');
    return this.inner.readBack();
  }

  commit(): Promise<void> {
    this.calls.push('sink.commit');
    return this.inner.commit();
  }

  abort(): Promise<void> {
    this.calls.push('sink.abort');
    return this.inner.abort();
  }
}

async function opened(script: FakeScript) {
  const module = new FakeModule(script);
  const source = new CountingSource(new MemorySource('in', content));
  const sideFiles = [{ name: 'config.json', bytes: new TextEncoder().encode('{}') }];
  const checkpoint = await Checkpoint.open(module.core, { sources: [source], sideFiles });
  return { module, source, checkpoint, sink: new LoggingSink(module.calls) };
}

async function outputOf(sink: LoggingSink): Promise<Uint8Array> {
  return new Uint8Array(await sink.inner.blob().arrayBuffer());
}

function expected(): Uint8Array {
  return Buffer.concat([header, content.subarray(4000)]);
}

describe('inspecting', () => {
  test('adds the sources, then the side files, then reads', async () => {
    const { module, source } = await opened(SCRIPT);
    expect(module.calls).toEqual([
      'addSource in 10000',
      'addSideFile config.json {}',
      'begin Inspect',
      'read 0-1000',
      'read 1000-2000',
      'feed 1000',
      'read 2000-3000',
      'feed 1000',
      'feed 1000',
    ]);
    expect([source.reads, source.outstanding, source.mostOutstanding]).toEqual([3, 0, 2]);
  });

  test('asks again when the next window was not known yet', async () => {
    const { module } = await opened({ ...SCRIPT, knownAtOnce: 1 });
    expect(module.calls.slice(3)).toEqual([
      'read 0-1000',
      'feed 1000',
      'read 1000-2000',
      'feed 1000',
      'read 2000-3000',
      'feed 1000',
    ]);
  });

  test('replies are values', async () => {
    const { checkpoint } = await opened(SCRIPT);
    expect(checkpoint.report()).toEqual({ verdict: 'sound', warnings: [] });
    expect(checkpoint.tensors(5, 7)).toEqual([{ name: 't5', count: 7 }]);
    expect(checkpoint.pairs(6, 8)).toEqual([{ weight: 'p6', count: 8 }]);
  });

  test('a failed read closes everything', async () => {
    const module = new FakeModule({ windows: { [Job.Inspect]: windowsOf(0, 20_000, 4000) } });
    const input = { sources: [new MemorySource('in', content)], sideFiles: [] };
    await expect(Checkpoint.open(module.core, input)).rejects.toMatchObject({ code: 'read_failed', where: 'in' });
    expect(module.liveSessions).toBe(0);
  });

  test('a heap that moves with every window changes nothing', async () => {
    const { checkpoint, sink } = await opened({ ...SCRIPT, growing: true });
    await checkpoint.convert(OPTIONS, sink, true);
    expect(Buffer.compare(await outputOf(sink), expected())).toBe(0);
  });

  test('a core without memory is an error of its own', async () => {
    const module = new FakeModule({ ...SCRIPT, outOfMemory: true });
    const input = { sources: [new MemorySource('in', content)], sideFiles: [] };
    await expect(Checkpoint.open(module.core, input)).rejects.toMatchObject({ code: 'out_of_memory' });
  });
});

describe('converting', () => {
  test('scans, plans, claims the room, writes, closes, verifies and only then commits', async () => {
    const { module, source, checkpoint, sink } = await opened(SCRIPT);
    module.calls.length = 0;
    const reply = await checkpoint.convert(OPTIONS, sink, true);
    expect(reply).toEqual({ kind: 'converted', receipt: { recipe: 'f32-mul-rne', notes: [] } });
    const steps = module.calls.filter((call) => !/^(read|feed|resume)/.test(call));
    expect(steps).toEqual([
      `setOptions ${JSON.stringify(OPTIONS)}`,
      'begin Scan',
      'plan',
      'sink.open 6014',
      'begin Convert',
      'sink.write 14',
      ...Array.from({ length: 6 }, () => 'sink.write 1000'),
      'sink.close',
      'sink.readBack',
      'begin Verify',
      'receipt',
      'sink.commit',
    ]);
    expect(Buffer.compare(await outputOf(sink), expected())).toBe(0);
    expect([source.reads, source.outstanding, source.mostOutstanding]).toEqual([10, 0, 2]);
  });

  test('reads the next window while the core works on this one, and no further', async () => {
    const { module, checkpoint, sink } = await opened(SCRIPT);
    const begin = module.calls.length;
    await checkpoint.convert(OPTIONS, sink, false);
    const calls = module.calls.slice(begin).filter((call) => /^(read [4-9]|feed)/.test(call));
    expect(calls.slice(1, 7)).toEqual([
      'read 4000-5000',
      'read 5000-6000',
      'feed 1000',
      'read 6000-7000',
      'feed 1000',
      'read 7000-8000',
    ]);
  });

  test('does not verify when told not to', async () => {
    const { module, checkpoint, sink } = await opened(SCRIPT);
    await checkpoint.convert(OPTIONS, sink, false);
    expect(module.calls).not.toContain('begin Verify');
    expect(module.calls).toContain('sink.commit');
  });

  test('touches no sink while a decision is open', async () => {
    const decisions = [{ code: 'scale_missing', subject: 'scale_missing', tensors: ['a'], count: 1 }];
    const planReply = { status: Status.Decisions, value: { decisions } };
    const { module, checkpoint, sink } = await opened({ ...SCRIPT, planReply });
    expect(await checkpoint.convert(OPTIONS, sink, true)).toEqual({ kind: 'decisions', decisions });
    expect(await checkpoint.plan(OPTIONS)).toEqual({ kind: 'decisions', decisions });
    expect(module.calls.filter((call) => call.startsWith('sink'))).toEqual([]);
  });

  test('converts nothing from a refused input', async () => {
    const error = { code: 'duplicate_tensor', where: 'a', message: 'twice' };
    const { module, checkpoint, sink } = await opened({ ...SCRIPT, report: { verdict: 'refused', error } });
    await expect(checkpoint.convert(OPTIONS, sink, true)).rejects.toMatchObject(error);
    expect(module.calls).not.toContain('begin Scan');
  });

  test('tells progress by phase', async () => {
    const { checkpoint, sink } = await opened(SCRIPT);
    const heard: Progress[] = [];
    await checkpoint.convert(OPTIONS, sink, true, { onProgress: (progress) => heard.push(progress) });
    expect(heard.map(({ phase }) => phase)).toEqual(['scan', 'convert', 'closing', 'verify']);
    expect(heard[1]).toEqual({ phase: 'convert', done_bytes: 0, total_bytes: 6000 });
    expect(heard[3]).toEqual({ phase: 'verify', done_bytes: 0, total_bytes: 6014 });
  });
});

describe('when it goes wrong', () => {
  test('a failing step aborts the sink and is told with its own code', async () => {
    const failure = { job: Job.Convert, window: 3, code: 'scale_nan' } as const;
    const { module, source, checkpoint, sink } = await opened({ ...SCRIPT, failure });
    await expect(checkpoint.convert(OPTIONS, sink, true)).rejects.toMatchObject({ code: 'scale_nan', where: 'w' });
    expect(module.calls).toContain('sink.abort');
    expect(module.calls).not.toContain('sink.commit');
    expect(source.outstanding).toBe(1);
  });

  test('a trap aborts the sink', async () => {
    const { module, checkpoint, sink } = await opened({ ...SCRIPT, trap: { job: Job.Convert, window: 0 } });
    await expect(checkpoint.convert(OPTIONS, sink, true)).rejects.toThrow(WebAssembly.RuntimeError);
    expect(module.calls.at(-1)).toBe('sink.abort');
  });

  test('a failed verification aborts', async () => {
    const failure = { job: Job.Verify, window: 1, code: 'verify_failed' } as const;
    const { module, checkpoint, sink } = await opened({ ...SCRIPT, failure });
    await expect(checkpoint.convert(OPTIONS, sink, true)).rejects.toMatchObject({ code: 'verify_failed' });
    expect(module.calls.at(-1)).toBe('sink.abort');
  });

  test('an output of another size than planned aborts', async () => {
    const { module, checkpoint, sink } = await opened({ ...SCRIPT, outputBytes: 7000 });
    await expect(checkpoint.convert(OPTIONS, sink, true)).rejects.toMatchObject({ code: 'verify_failed' });
    expect(module.calls.at(-1)).toBe('sink.abort');
  });

  test('a failing write aborts', async () => {
    const { module, checkpoint, sink } = await opened({ ...SCRIPT, outputBytes: 3000 });
    await expect(checkpoint.convert(OPTIONS, sink, true)).rejects.toMatchObject({ code: 'write_failed' });
    expect(module.calls.at(-1)).toBe('sink.abort');
  });

  test('a cancel stops within a chunk and aborts', async () => {
    const { module, checkpoint, sink } = await opened(SCRIPT);
    const stop = new AbortController();
    const write = sink.write.bind(sink);
    sink.write = (bytes) => {
      if (bytes.length === 1000) stop.abort();
      return write(bytes);
    };
    const converting = checkpoint.convert(OPTIONS, sink, true, { signal: stop.signal });
    await expect(converting).rejects.toMatchObject({ code: 'cancelled' });
    expect(module.calls.filter((call) => call === 'sink.write 1000')).toHaveLength(1);
    expect(module.calls.at(-1)).toBe('sink.abort');
  });

  test('afterwards the checkpoint works again, in a fresh session', async () => {
    const { module, checkpoint, sink } = await opened(SCRIPT);
    const stop = AbortSignal.abort();
    await expect(checkpoint.convert(OPTIONS, sink, true, { signal: stop })).rejects.toMatchObject({
      code: 'cancelled',
    });
    const again = new LoggingSink(module.calls);
    await checkpoint.convert(OPTIONS, again, true);
    expect(Buffer.compare(await outputOf(again), expected())).toBe(0);
    expect(module.liveSessions).toBe(1);
    await checkpoint.close();
    expect(module.liveSessions).toBe(0);
  });

  test('an input that changed meanwhile is not passed off as converted', async () => {
    const { module, source, checkpoint, sink } = await opened(SCRIPT);
    source.fingerprint = async () => 'another';
    await expect(checkpoint.convert(OPTIONS, sink, true)).rejects.toMatchObject({ code: 'source_changed' });
    expect(module.calls.at(-1)).toBe('sink.abort');
  });

  test('a core that wants input and names no window is a bug of ours', async () => {
    const module = new FakeModule({ ...SCRIPT, knownAtOnce: 0 });
    const input = { sources: [new MemorySource('in', content)], sideFiles: [] };
    await expect(Checkpoint.open(module.core, input)).rejects.toMatchObject({ code: 'wrong_state' });
  });

  test('an unknown code in a reply is a crash', async () => {
    const planReply = { status: Status.Error, value: { error: { code: 'no_such_code' } } };
    const { checkpoint } = await opened({ ...SCRIPT, planReply });
    await expect(checkpoint.plan(OPTIONS)).rejects.toThrow(CoreCrash);
  });
});
