// Bundles the command line into one file that Node runs as it is: build/cli/main.mjs.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const atRoot = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

export default defineConfig({
  root: atRoot('web/cli'),
  publicDir: false,
  build: {
    ssr: atRoot('web/cli/main.ts'),
    outDir: atRoot('build/cli'),
    emptyOutDir: true,
    target: 'node20',
    minify: false,
    rolldownOptions: { output: { entryFileNames: 'main.mjs' } },
  },
});
