import { defineConfig } from 'vite'
import { outlines } from './build/outlines.ts'

/** The pages are built into the folder of the program that serves them. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/',
  logLevel: 'warn',
  plugins: [outlines()],
  resolve: { conditions: ['source', 'import', 'module', 'browser', 'default'] },
  build: {
    outDir: '../identity/dist/console',
    emptyOutDir: true,
    target: 'es2022',
    // Nothing inline: the policy of the pages allows only files of their own origin.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // MapLibre is one file of 1.1 MB, which only pages with a map load.
    chunkSizeWarningLimit: 1200,
    // Its advice about slow plugins comes on slow machines, to people who start the stack.
    rolldownOptions: {
      checks: { bundlerTimings: false },
      // What every page needs, and what most need, is one file each: smaller files compress worse.
      output: {
        codeSplitting: {
          groups: [
            { name: 'base', test: /preact|src\/(?:api|session|parts\/(?:icon|link|view|lazy-view))\b/ },
            { name: 'parts', test: /src\/(?:state\/(?:use-call|step-up)|parts\/(?:action|busy|capital))\b/ },
            // The lists and the map begin without a form.
            { name: 'forms', test: /src\/parts\/(?:dialog|form|guarded|permissions)\b/ },
          ],
        },
      },
    },
  },
})
