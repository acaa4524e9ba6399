// Types of deepseek_set.mjs for the tests that are TypeScript.
import type { Given } from './hub_server.mjs';

export const SHARDS: number;
export function deepseekSet(): { files: Record<string, Given>; headerBytes: number; tensors: number };
