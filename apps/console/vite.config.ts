import { defineConfig } from 'vite'

/** The pages are built into the folder of the program that serves them. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/',
  logLevel: 'warn',
  resolve: { conditions: ['source', 'import', 'module', 'browser', 'default'] },
  build: {
    outDir: '../identity/dist/console',
    emptyOutDir: true,
    target: 'es2022',
    // Nothing inline: the policy of the pages allows only files of their own origin.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
})
