// The bench's page, with the engine, its worker and the service worker as the product has them.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const at = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

export default defineConfig({
  root: at('tests/bench/browser'),
  base: './',
  resolve: { alias: { '@core': at('build/wasm-release') } },
  assetsInclude: ['**/*.wasm'],
  worker: { format: 'es' },
  define: { __BUILT__: JSON.stringify({ version: 'bench', files: [] }) },
  build: {
    outDir: at('build/bench-page'),
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: { index: at('tests/bench/browser/index.html'), service_worker: at('web/sw/service_worker.ts') },
      output: { entryFileNames: '[name].js' },
    },
  },
});
