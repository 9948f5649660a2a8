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
// Hints name commands as they are typed here; an installed program of this name may be another one.
if (process.env.npm_command === 'exec') process.env.SELVEDGE_PROGRAM = 'npx selvedge'
await import(program.href)
