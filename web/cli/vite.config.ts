// Bundles what Node runs as it is: build/cli/main.mjs, the command line, and library.mjs, the same for programs.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const atRoot = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

export default defineConfig({
  root: atRoot('web/cli'),
  publicDir: false,
  // what is built runs without node_modules
  ssr: { noExternal: true },
  build: {
    ssr: true,
    outDir: atRoot('build/cli'),
    emptyOutDir: true,
    target: 'node20',
    minify: false,
    rolldownOptions: {
      input: { main: atRoot('web/cli/main.ts'), library: atRoot('web/cli/library.ts') },
      output: { entryFileNames: '[name].mjs', chunkFileNames: 'shared.mjs' },
    },
  },
});
