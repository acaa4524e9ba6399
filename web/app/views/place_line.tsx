// Where an opened checkpoint is read from, and what that has cost so far.
import { type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components';
import type { Traffic } from '../../engine/http_client';
import { formatDecimal } from '../../engine/units';
import { linkTo } from '../deep_link';
import { plural } from '../format';
import type { Place } from '../hooks/use_checkpoint';
import { Name } from '../parts/text';

export function PlaceLine({ place, traffic }: { place: Place; traffic: Traffic | undefined }): ReactNode {
  const { repo, page } = place.located;
  return (
    <div className="place" data-testid="place">
      {repo !== null && page !== null ? (
        <p>
          <a className="link" href={page} target="_blank" rel="noreferrer">
            <Name text={repo.repo} />
          </a>{' '}
          at commit <code title={repo.sha}>{repo.sha.slice(0, 10)}</code>
          {repo.revision !== null && repo.revision !== repo.sha && (
            <>
              {' '}
              (<Name text={repo.revision} />)
            </>
          )}
        </p>
      ) : (
        <p>
          <Name text={withoutQuery(place.address)} />
        </p>
      )}
      {traffic && (
        <p className="soft" data-testid="traffic" data-requests={traffic.requests} data-bytes={traffic.bytes}>
          {spent(traffic)}
        </p>
      )}
      <CopyLink place={place} />
    </div>
  );
}

/** "Read with 3 requests, 98 kB." */
export function spent({ requests, bytes, retries }: Traffic): string {
  const again = retries > 0 ? `, ${plural(retries, 'of them a repetition', 'of them repetitions')}` : '';
  return `Read with ${plural(requests, 'request')}${again}, ${formatDecimal(bytes)}.`;
}

/** A signed address would show its signature to whoever looks over a shoulder. */
function withoutQuery(address: string): string {
  return address.split('?')[0] ?? address;
}

function CopyLink({ place }: { place: Place }): ReactNode {
  const [says, setSays] = useState('');
  const search = linkTo(place, null);
  if (search === null) return null;
  const copy = (): void => {
    navigator.clipboard.writeText(new URL(search, window.location.href).href).then(
      () => setSays('Copied.'),
      () => setSays('The browser did not allow it; the address bar has the same link.'),
    );
  };
  return (
    <p>
      <Button className="button button-small" onPress={copy} data-testid="copy-link">
        Copy a link to this
      </Button>{' '}
      <span role="status" className="soft">
        {says}
      </span>
    </p>
  );
}
