// The address bar follows what is open on a server, and opens what it says when the page is loaded.
import { useEffect, useRef } from 'react';
import { linkTo, PAGE_ENDPOINT, readLink } from '../deep_link';
import type { Checkpoint, Place, PlaceRequest } from './use_checkpoint';

export function useDeepLink(
  checkpoint: Checkpoint,
  place: Place | null,
  locate: (request: PlaceRequest) => void,
): void {
  const view = useRef<string | null>(null);
  const read = useRef(false);

  useEffect(() => {
    if (read.current) return;
    read.current = true;
    const link = readLink(window.location.search);
    if (link === null) return;
    view.current = link.view;
    // A link has no say in where a token goes: it opens from the page's own endpoint, without one.
    locate({ address: link.address, file: link.file, endpoint: PAGE_ENDPOINT, token: '' });
  }, [locate]);

  const { phase } = checkpoint;
  useEffect(() => {
    if (phase === 'empty' && readLink(window.location.search) !== null && !read.current) return;
    const search = place === null ? null : linkTo(place, view.current);
    // while something opens, or when it failed, the link that was followed stays
    if (place === null && phase !== 'empty' && phase !== 'open' && phase !== 'choosing') return;
    if (place === null && phase === 'empty' && window.location.search === '') return;
    window.history.replaceState(null, '', `${window.location.pathname}${search ?? ''}`);
  }, [phase, place]);

  useEffect(() => {
    if (phase !== 'open' || view.current === null) return;
    const section = document.querySelector(`[data-view="${CSS.escape(view.current)}"]`);
    section?.scrollIntoView();
    view.current = null;
  }, [phase]);
}
