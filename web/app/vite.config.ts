// The page's build. Every path it writes is relative, so any static host and any folder will do.
import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

const atRoot = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

// For hosts that send no headers; where they can be set, public/_headers says the same and more. Element styles
// (style-src-attr) place the rows of virtualized tables. React needs no inline script and no eval.
const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "worker-src 'self'",
  "style-src 'self'",
  "style-src-attr 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/** Not while developing: Vite's own client is an inline script and inline styles. */
function contentSecurityPolicy(): Plugin {
  const meta = `<meta http-equiv="Content-Security-Policy" content="${POLICY}" />`;
  return {
    name: 'content-security-policy',
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
