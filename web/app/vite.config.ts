// The page's build. Every path it writes is relative, so any static host and any folder will do.
import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const atRoot = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

export default defineConfig({
  root: atRoot('web/app'),
  base: './',
  plugins: [react()],
  // CMake's wasm-release preset leaves weighbridge_core.{mjs,wasm} there
  resolve: { alias: { '@core': atRoot('build/wasm-release') } },
  assetsInclude: ['**/*.wasm'],
  worker: { format: 'es' },
  server: { fs: { allow: [atRoot('.')] } },
  build: {
    outDir: atRoot('build/page'),
    emptyOutDir: true,
    target: 'es2022',
    // a wasm or worker inlined as data: would not load under the page's CSP
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
