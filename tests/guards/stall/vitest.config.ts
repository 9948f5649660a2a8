import { defineConfig } from 'vitest/config'
import config from '../../../vitest.config.ts'

export default defineConfig({
  ...config,
  test: {
    ...config.test,
    include: ['tests/guards/stall/blocked.ts'],
    reporters: [['./tests/harness/stall-reporter.ts', { limitMs: 10_000 }]],
    root: process.cwd(),
  },
})
