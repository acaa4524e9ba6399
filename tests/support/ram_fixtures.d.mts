// Types of ram_fixtures.mjs for the tests that are TypeScript.
export type RamFixtureName = 'krea2' | 'flux2' | 'qwen_image' | 'qwen3_vl' | 'llama';
export const RAM_FIXTURES: Record<RamFixtureName, { tensors: object[]; config?: object }>;
export function ramFixture(name: RamFixtureName): { header: Buffer; size: number };
export function writeRamFixture(name: RamFixtureName, folder: string): string;
