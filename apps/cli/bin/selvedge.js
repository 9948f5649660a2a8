#!/usr/bin/env node
// In a clone nothing may be built yet: then it is built first.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const program = new URL('../dist/main.cjs', import.meta.url)
const bundler = new URL('../../../scripts/bundle.mjs', import.meta.url)
if (!existsSync(program) && existsSync(bundler)) {
  spawnSync(process.execPath, [fileURLToPath(bundler)], { stdio: ['ignore', 2, 2] })
}
await import(program.href)
