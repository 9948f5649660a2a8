import { defineConfig } from 'vitest/config'
import { common } from '../../../../vitest.config.ts'

export default defineConfig({
  ...common,
  test: {
    ...common.test,
    include: ['tests/system/guards/gate/attempts.ts'],
    root: process.cwd(),
  },
})
