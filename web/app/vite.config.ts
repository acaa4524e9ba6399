// The page's build. Every path it writes is relative, so any static host and any folder will do.
import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';
import { HEADERS, META_POLICY } from '../../scripts/policy.mjs';

const atRoot = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/**
 * In index.html for hosts that send no headers, and as _headers for those that read such a file. Not while developing:
 * Vite's own client is an inline script and inline styles.
 */
function contentSecurityPolicy(): Plugin {
  const meta = `<meta http-equiv="Content-Security-Policy" content="${META_POLICY}" />`;
  const lines = Object.entries(HEADERS).map(([name, value]) => `  ${name}: ${value}\n`);
  return {
    name: 'content-security-policy',
    generateBundle() {
      this.emitFile({ type: 'asset', fileName: '_headers', source: `/*\n${lines.join('')}` });
    },
    transformIndexHtml: {
      order: 'pre',
      handler: (html, context) => html.replace(/<!-- %CSP%.*?-->/, context.server ? '' : meta),
    },
  };
}

export default defineConfig({
  root: atRoot('web/app'),
  base: './',
  plugins: [react(), contentSecurityPolicy()],
  // CMake's wasm-release preset leaves weighbridge_core.{mjs,wasm} there
  resolve: { alias: { '@core': atRoot('build/wasm-release') } },
  assetsInclude: ['**/*.wasm'],
  worker: { format: 'es' },
  server: { fs: { allow: [atRoot('.')] } },
  build: {
    outDir: atRoot('build/page'),
    emptyOutDir: true,
    target: 'es2022',
    // a wasm or worker inlined as data: would not load under the policy
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
