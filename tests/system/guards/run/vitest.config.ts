import { defineConfig } from 'vitest/config'
import { common } from '../../../../vitest.config.ts'

export default defineConfig({
  ...common,
  test: {
    ...common.test,
    include: ['tests/system/guards/run/attempts.ts'],
    reporters: ['./tests/harness/run/count-reporter.ts'],
    root: process.cwd(),
  },
})
