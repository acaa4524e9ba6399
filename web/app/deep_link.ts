// Links to something on a server: ?model=owner/repo&rev=sha&file=path&view=pairs. Never a token, never the name of a
// local file, never an address with a query of its own: that may be a signature.
import type { Place } from './hooks/use_checkpoint';

export interface DeepLink {
  /** for `locate` */
  address: string;
  file: string | null;
  view: string | null;
}

export function readLink(search: string): DeepLink | null {
  const given = new URLSearchParams(search);
  const model = given.get('model')?.trim();
  if (!model) return null;
  const revision = given.get('rev');
  const isUrl = /^https?:\/\//i.test(model);
  const address = revision && !isUrl && !model.includes('@') ? `${model}@${revision}` : model;
  return { address, file: given.get('file'), view: given.get('view') };
}

/** The search part of a link; null where there must not be one. */
export function linkTo({ address, located: { repo }, file }: Place, view: string | null): string | null {
  const link = new URLSearchParams();
  if (repo !== null) {
    link.set('model', repo.repo);
    link.set('rev', repo.sha);
    if (file !== null) link.set('file', file);
  } else {
    if (address.includes('?') || address.includes('@')) return null;
    link.set('model', address);
  }
  if (view !== null) link.set('view', view);
  // slashes need no escapes in a query, and are easier to read
  return `?${link.toString().replaceAll('%2F', '/').replaceAll('%3A', ':')}`;
}

/** Who serves the page beside a mirror of the Hub names it in index.html: <meta name="hub-endpoint" content="...">. */
export const PAGE_ENDPOINT =
  (typeof document === 'undefined' ? null : document.querySelector<HTMLMetaElement>('meta[name="hub-endpoint"]'))
    ?.content ?? '';
