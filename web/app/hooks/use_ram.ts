// What the core says about memory, asked again whenever the question changes; an older answer never replaces a newer.
import { useEffect, useState } from 'react';
import type { EngineClient } from '../../engine/client';
import { type CoreError, toCoreError } from '../../engine/errors';
import type { RamReply, RamRequest } from '../../engine/ram_report';

export type RamAnswer = RamReply | CoreError | null;

/** Null until the first answer. `request` must be the same object while the question is the same; null asks nothing. */
export function useRam(client: EngineClient, request: RamRequest | null): RamAnswer {
  const [answer, setAnswer] = useState<RamAnswer>(null);
  useEffect(() => {
    if (request === null) {
      setAnswer(null);
      return;
    }
    let current = true;
    client.ram(request).then(
      (reply) => current && setAnswer(reply),
      (thrown: unknown) => current && setAnswer(toCoreError(thrown)),
    );
    return () => {
      current = false;
    };
  }, [client, request]);
  return answer;
}
