import type { ReactNode } from 'react';

/** Where something was read. Following it is the only thing here that leaves the page. */
export function SourceLink({ url, text }: { url: string; text: string }): ReactNode {
  return (
    <a href={url} rel="noreferrer" target="_blank">
      {text}
    </a>
  );
}
