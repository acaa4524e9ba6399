import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  resolve: { alias: { '@core': fileURLToPath(new URL('./build/wasm-release', import.meta.url)) } },
  test: { include: ['tests/web/**/*.test.{ts,tsx}'], environment: 'node' },
});
