// Links to something on a server: what is read from them, and what never gets into one.
import { expect, test } from 'vitest';
import { linkTo, readLink } from '../../web/app/deep_link';
import type { Place } from '../../web/app/hooks/use_checkpoint';

const SHA = 'b'.repeat(40);

function place(address: string, file: string | null, isRepo = true): Place {
  const repo = isRepo ? { repo: 'owner/repo', revision: 'main', sha: SHA, gated: false } : null;
  const layout = { choices: [], preferred: null, ignored: [] };
  const traffic = { requests: 0, bytes: 0, retries: 0 };
  return { address, file, located: { layout, repo, page: null, chosen: null, traffic } };
}

test('a link says repo, commit, file and view, and is read back as it was', () => {
  const link = linkTo(place('owner/repo@main', 'unet/a b.safetensors'), 'pairs');
  expect(link).toBe(`?model=owner/repo&rev=${SHA}&file=unet/a+b.safetensors&view=pairs`);
  expect(readLink(link ?? '')).toEqual({ address: `owner/repo@${SHA}`, file: 'unet/a b.safetensors', view: 'pairs' });
});

test('an address of its own, but not one with a query or a name in it', () => {
  const url = 'https://example.org/a/model.safetensors';
  expect(linkTo(place(url, 'model.safetensors', false), null)).toBe(`?model=${url}`);
  expect(linkTo(place(`${url}?X-Amz-Signature=secret`, 'model.safetensors', false), null)).toBe(null);
  expect(linkTo(place('https://me:secret@example.org/model.safetensors', null, false), null)).toBe(null);
});

test('what is no link, and what a link has no say in', () => {
  expect(readLink('')).toBe(null);
  expect(readLink('?file=a.safetensors')).toBe(null);
  expect(readLink('?model=%20')).toBe(null);
  expect(readLink('?model=o/r&token=hf_x&endpoint=https://evil.test')).toEqual({
    address: 'o/r',
    file: null,
    view: null,
  });
});
