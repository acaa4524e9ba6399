import { EngineClient } from '../engine/client';

export function makeClient(): EngineClient {
  return new EngineClient(() => new Worker(new URL('../engine/worker.ts', import.meta.url), { type: 'module' }));
}
