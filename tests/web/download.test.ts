// The download sink against the service worker's own half, joined as the page joins them.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { ToPage } from '../../web/engine/download_protocol';
import { DownloadSink } from '../../web/engine/download_sink';
import { answerDownload, hearDownload } from '../../web/sw/downloads';
import { patternBytes } from './fake_core';

const SCOPE = new URL('https://example.org/tool/');
const content = patternBytes(5_000_000);

/** A page and a service worker, which may fall silent or lose what it knew. */
function joined(name = 'out.safetensors') {
  const { port1, port2 } = new MessageChannel();
  const page = { cut: false, restarted: false, over: false, address: '' };
  const fetched = new Promise<Response>((resolve) => {
    port1.onmessage = ({ data, ports }: MessageEvent<ToPage>) => {
      if (data.kind === 'forward' && !page.cut) {
        const { message } = data;
        const forgotten = page.restarted && message.kind === 'ping';
        hearDownload(forgotten ? { kind: 'ping', id: 'of nobody' } : message, ports[0], SCOPE);
      }
      if (data.kind === 'over') page.over = true;
      if (data.kind === 'fetch') {
        page.address = data.url;
        const response = answerDownload(new URL(data.url), SCOPE);
        if (response) resolve(response);
      }
    };
  });
  return { sink: new DownloadSink(name, port2), fetched, page };
}

async function writeAll(sink: DownloadSink): Promise<void> {
  const heap = new Uint8Array(300_000);
  for (let at = 0; at < content.length; at += heap.length) {
    const chunk = content.subarray(at, at + heap.length);
    heap.set(chunk);
    const writing = sink.write(heap.subarray(0, chunk.length));
    heap.fill(0xee);
    await writing;
  }
}

describe('a download that is fed', () => {
  test('arrives whole, named and sized, and only once', async () => {
    const { sink, fetched, page } = joined("wei'rd (ü).safetensors");
    await sink.open(content.length);
    const response = await fetched;
    const saved = response.arrayBuffer();
    await writeAll(sink);
    await sink.close();
    await sink.commit();
    expect(Buffer.compare(new Uint8Array(await saved), content)).toBe(0);
    expect(response.headers.get('content-length')).toBe(String(content.length));
    expect(response.headers.get('content-disposition')).toBe(
      "attachment; filename*=UTF-8''wei%27rd%20%28%C3%BC%29.safetensors",
    );
    expect(answerDownload(new URL(page.address), SCOPE)?.status).toBe(404);
    await vi.waitFor(() => expect(page.over).toBe(true));
  });

  test('is not whole before commit, and fails when the conversion does', async () => {
    const { sink, fetched } = joined();
    await sink.open(content.length);
    const reader = (await fetched).body?.getReader();
    let gotBytes = 0;
    const reading = (async () => {
      for (;;) {
        const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
        if (done) return 'finished';
        gotBytes += value?.length ?? 0;
      }
    })();
    reading.catch(() => {});
    await writeAll(sink);
    await sink.close();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(gotBytes).toBeLessThan(content.length);
    await sink.abort();
    await expect(reading).rejects.toThrow('stopped');
  });

  test('waits for the browser: no more than three chunks are on their way', async () => {
    const { sink, fetched } = joined();
    await sink.open(content.length);
    await fetched; // and never read
    let written = false;
    void writeAll(sink).then(() => {
      written = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(written).toBe(false);
    await sink.abort();
  });

  test('cancelled in the browser ends the conversion', async () => {
    const { sink, fetched } = joined();
    await sink.open(content.length);
    await (await fetched).body?.cancel();
    await expect(writeAll(sink)).rejects.toMatchObject({ code: 'download_lost' });
    await sink.abort();
  });

  test('bytes that are missing are noticed', async () => {
    const { sink, fetched } = joined();
    await sink.open(content.length + 1);
    void (await fetched).arrayBuffer().catch(() => {});
    await writeAll(sink);
    await expect(sink.close()).rejects.toMatchObject({ code: 'write_failed' });
    await sink.abort();
  });

  test('nothing else is answered, and a guessed address leads nowhere', () => {
    expect(answerDownload(new URL('assets/index.js', SCOPE), SCOPE)).toBeNull();
    expect(answerDownload(new URL('download/guess/x', SCOPE), SCOPE)?.status).toBe(404);
  });
});

describe('the watchdog of a download', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  const settle = () => new Promise((resolve) => setTimeout(resolve, 20));
  async function wait(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      vi.advanceTimersByTime(1000);
      if (second % 5 === 4) await settle();
    }
  }

  test('a slow browser whose service worker answers is waited for', async () => {
    const { sink, fetched } = joined();
    await sink.open(content.length);
    const response = await fetched;
    const writing = writeAll(sink);
    await wait(120);
    const saved = response.arrayBuffer();
    await writing;
    await sink.close();
    await sink.commit();
    expect((await saved).byteLength).toBe(content.length);
  });

  test('a service worker that falls silent ends the conversion', async () => {
    const { sink, fetched, page } = joined();
    await sink.open(content.length);
    await fetched;
    page.cut = true;
    const writing = expect(writeAll(sink)).rejects.toMatchObject({ code: 'download_lost' });
    await wait(30);
    await writing;
    await sink.abort();
  });

  test('one that was started anew and knows nothing ends it at the next ping', async () => {
    const { sink, fetched, page } = joined();
    await sink.open(content.length);
    await fetched;
    page.restarted = true;
    const writing = expect(writeAll(sink)).rejects.toMatchObject({ code: 'download_lost' });
    await wait(6);
    await writing;
    await sink.abort();
  });
});
