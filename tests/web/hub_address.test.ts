// Whatever a person pastes: a repo, a page of the Hub, a file somewhere.
import { expect, test } from 'vitest';
import { checkedEndpoint, looksRemote, parseAddress } from '../../web/engine/hub_address';

const repo = (revision: string | null = null, path = '') => ({
  kind: 'repo',
  repo: 'deepseek-ai/DeepSeek-V3',
  revision,
  path,
});

test.each([
  ['deepseek-ai/DeepSeek-V3', repo()],
  ['  deepseek-ai/DeepSeek-V3/ ', repo()],
  ['deepseek-ai/DeepSeek-V3@v1.0', repo('v1.0')],
  ['deepseek-ai/DeepSeek-V3@refs/pr/7', repo('refs/pr/7')],
  ['deepseek-ai/DeepSeek-V3@refs%2Fpr%2F7/config.json', repo('refs/pr/7', 'config.json')],
  ['hf://deepseek-ai/DeepSeek-V3', repo()],
  ['HF://deepseek-ai/DeepSeek-V3@main/sub/model.safetensors', repo('main', 'sub/model.safetensors')],
  ['hf://deepseek-ai/DeepSeek-V3/sub', repo(null, 'sub')],
  ['huggingface.co/deepseek-ai/DeepSeek-V3', repo()],
  ['https://huggingface.co/deepseek-ai/DeepSeek-V3', repo()],
  ['https://huggingface.co/deepseek-ai/DeepSeek-V3?library=transformers', repo()],
  ['https://huggingface.co/deepseek-ai/DeepSeek-V3/tree/main', repo('main')],
  ['https://huggingface.co/deepseek-ai/DeepSeek-V3/tree/main/sub%20folder', repo('main', 'sub folder')],
  ['https://huggingface.co/deepseek-ai/DeepSeek-V3/blob/main/model.safetensors', repo('main', 'model.safetensors')],
  [
    'https://huggingface.co/deepseek-ai/DeepSeek-V3/resolve/refs%2Fpr%2F2/a/model.safetensors?download=true',
    repo('refs/pr/2', 'a/model.safetensors'),
  ],
  ['https://huggingface.co/deepseek-ai/DeepSeek-V3/tree/refs/pr/2/sub', repo('refs/pr/2', 'sub')],
  ['https://huggingface.co/deepseek-ai/DeepSeek-V3/discussions/2', repo('refs/pr/2')],
  ['https://huggingface.co/deepseek-ai/DeepSeek-V3/discussions', repo()],
  ['https://huggingface.co/deepseek-ai/DeepSeek-V3/commit/4c2e', repo('4c2e')],
  ['https://hf.co/deepseek-ai/DeepSeek-V3', repo()],
  [
    'https://example.org/a/model.safetensors?X-Sig=1#top',
    { kind: 'url', url: 'https://example.org/a/model.safetensors?X-Sig=1' },
  ],
  [
    'https://example.org/model.safetensors.index.json',
    { kind: 'url', url: 'https://example.org/model.safetensors.index.json' },
  ],
  ['http://localhost:8000/m.safetensors', { kind: 'url', url: 'http://localhost:8000/m.safetensors' }],
])('%s', (text, address) => {
  expect(parseAddress(text)).toEqual(address);
});

test.each([
  '',
  'deepseek-ai',
  'deepseek-ai/DeepSeek-V3@',
  'a b/c',
  '../etc/passwd',
  'owner/repo/../../x',
  'https://huggingface.co/',
  'https://huggingface.co/deepseek-ai',
  'https://huggingface.co/datasets/owner/name',
  'https://huggingface.co/owner/repo/blob/main/a%2F..%2Fb.safetensors',
  'https://huggingface.co/owner/repo/blob/main/%zz',
  'https://example.org/page.html',
  'http://example.org/model.safetensors',
  'https://user:secret@example.org/model.safetensors',
  'https://',
])('%j is refused with its reason', (text) => {
  expect(() => parseAddress(text)).toThrowError(expect.objectContaining({ code: 'bad_address' }));
});

test('a mirror counts as the Hub, also below a path, and the Hub is still known', () => {
  const mirror = 'https://mirror.test/hf';
  expect(parseAddress('https://mirror.test/hf/deepseek-ai/DeepSeek-V3/tree/main', mirror)).toEqual(repo('main'));
  expect(parseAddress('https://huggingface.co/deepseek-ai/DeepSeek-V3', mirror)).toEqual(repo());
});

test('an endpoint is an https address and nothing else', () => {
  expect(checkedEndpoint('https://mirror.test/hf/')).toBe('https://mirror.test/hf');
  expect(checkedEndpoint('http://localhost:8080')).toBe('http://localhost:8080');
  for (const text of ['http://mirror.test', 'mirror', 'https://u:p@mirror.test', 'https://mirror.test/?a=1']) {
    expect(() => checkedEndpoint(text)).toThrowError(expect.objectContaining({ code: 'bad_address' }));
  }
});

test('what is an address and what may be a file', () => {
  expect(['hf://a/b', 'https://x', 'http://x', ' HTTPS://x'].every(looksRemote)).toBe(true);
  expect(['a/b', './a', '/tmp/hf', 'C:\\https', 'model.safetensors'].some(looksRemote)).toBe(false);
});
