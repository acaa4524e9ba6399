// The page's build. Every path it writes is relative, so any static host and any folder will do.
import { createHash } from 'node:crypto';
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

const SERVICE_WORKER = 'service_worker';
/** What the page can do without: read when somebody asks for it, by whoever hosts it, or never by a browser. */
const NOT_KEPT = /^examples\/|^_headers$|\.map$/;

/** The service worker gets the list of everything that was built, to keep it for a page without a network. */
function keptFiles(): Plugin {
  return {
    name: 'kept-files',
    generateBundle: {
      order: 'post',
      handler(_, bundle) {
        const worker = bundle[`${SERVICE_WORKER}.js`];
        if (worker?.type !== 'chunk' || worker.imports.length > 0) this.error('the service worker is not one file');
        const files = Object.keys(bundle).filter((name) => name !== worker.fileName && !NOT_KEPT.test(name));
        files.push('icon.svg'); // of the public folder, which is copied beside the bundle
        const hash = createHash('sha256');
        for (const name of files) {
          const file = bundle[name];
          hash.update(name).update(file?.type === 'chunk' ? file.code : (file?.source ?? ''));
        }
        const built = { version: hash.digest('hex').slice(0, 12), files };
        worker.code = `const __BUILT__ = ${JSON.stringify(built)};\n${worker.code}`;
      },
    },
  };
}

export default defineConfig({
  root: atRoot('web/app'),
  base: './',
  plugins: [react(), contentSecurityPolicy(), keptFiles()],
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
    rolldownOptions: {
      input: { index: atRoot('web/app/index.html'), [SERVICE_WORKER]: atRoot('web/sw/service_worker.ts') },
      output: {
        // its address is its identity, so no hash
        entryFileNames: ({ name }) => (name === SERVICE_WORKER ? '[name].js' : 'assets/[name]-[hash].js'),
      },
    },
  },
});
