import { defineConfig } from 'vitest/config'
import { common } from '../../../../vitest.config.ts'

export default defineConfig({
  ...common,
  test: {
    ...common.test,
    include: ['tests/system/guards/stall/blocked.ts'],
    reporters: [['./tests/harness/run/stall-reporter.ts', { limitMs: 10_000 }]],
    root: process.cwd(),
  },
})
