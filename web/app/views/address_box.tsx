// One box for everything on a server; beneath it, on demand, a token and a mirror. Both stay in this page's memory.
import { type FormEvent, type ReactNode, useState } from 'react';
import { Button, Input, Label, TextField } from 'react-aria-components';
import type { ErrorCode } from '../../engine/errors';
import { HUB_ENDPOINT } from '../../engine/hub_address';
import { PAGE_ENDPOINT } from '../deep_link';
import { Fold } from '../parts/fold';

export interface Access {
  /** "" is the Hub itself */
  endpoint: string;
  token: string;
}

export const NO_ACCESS: Access = { endpoint: PAGE_ENDPOINT, token: '' };

/** Errors that another token, or a corrected address, may mend. */
export function isAboutAccess(code: ErrorCode): boolean {
  return ['login_required', 'access_denied', 'not_found', 'bad_address', 'offline', 'rate_limited'].includes(code);
}

interface AddressBoxProps {
  address?: string;
  access: Access;
  /** the model's own page, where its licence is */
  page?: string | null;
  /** with the token's field in sight */
  open?: boolean;
  onGo: (address: string, access: Access) => void;
}

export function AddressBox({
  address: given = '',
  access,
  page = null,
  open = false,
  onGo,
}: AddressBoxProps): ReactNode {
  const [address, setAddress] = useState(given);
  const [endpoint, setEndpoint] = useState(access.endpoint);
  const [token, setToken] = useState(access.token);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (address.trim() !== '') onGo(address, { endpoint, token });
  };
  return (
    <form className="address-box" onSubmit={submit} autoComplete="off">
      {page !== null && (
        <p>
          <a className="link" href={page} target="_blank" rel="noreferrer">
            The model’s page
          </a>
        </p>
      )}
      <TextField className="address-field" value={address} onChange={setAddress}>
        <Label>Or read one on a server, without downloading it</Label>
        <div className="address-row">
          <Input
            placeholder="owner/repo, owner/repo@revision, a huggingface.co or .safetensors address"
            spellCheck="false"
            autoCapitalize="off"
            data-testid="address"
          />
          <Button className="button" type="submit" data-testid="address-go">
            Look
          </Button>
        </div>
      </TextField>
      <Fold title="Token, mirror" open={open}>
        <TextField className="address-field" type="password" value={token} onChange={setToken}>
          <Label>Read token, for gated and private repos</Label>
          <Input placeholder="hf_…" autoComplete="off" data-testid="token" />
        </TextField>
        <p className="soft">
          Kept in this page’s memory until it is closed, and sent to the server below only, never to where it redirects.
        </p>
        <TextField className="address-field" value={endpoint} onChange={setEndpoint}>
          <Label>Server that stands for the Hub</Label>
          <Input placeholder={HUB_ENDPOINT} spellCheck="false" data-testid="endpoint" />
        </TextField>
      </Fold>
    </form>
  );
}
