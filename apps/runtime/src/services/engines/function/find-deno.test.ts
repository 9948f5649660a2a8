import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { denoHint, findDeno } from './find-deno.ts'

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function addProgram(folder: string, path: string): string {
  const file = join(folder, path)
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, '')
  return file
}

it.each([
  ['linux', 'x64', 'linux-x64-glibc'],
  ['linux', 'arm64', 'linux-arm64-glibc'],
  ['darwin', 'x64', 'darwin-x64'],
  ['darwin', 'arm64', 'darwin-arm64'],
])('finds the Deno for %s on %s in a folder above the program, and no other', (platform, arch, name) => {
  const folder = makeFolder()
  const start = join(folder, 'apps/runtime/dist')
  mkdirSync(start, { recursive: true })
  for (const other of ['linux-x64-glibc', 'linux-arm64-glibc', 'darwin-x64', 'darwin-arm64'])
    if (other !== name) addProgram(folder, `node_modules/@deno/${other}/deno`)
  expect(findDeno(start, { platform, arch })).toBeUndefined()
  const own = addProgram(folder, `node_modules/@deno/${name}/deno`)
  expect(findDeno(start, { platform, arch })).toBe(own)
  expect(denoHint({ platform, arch })).toContain(`@deno/${name}`)
})

it('prefers the Deno that an installed runtime brings, on every machine', () => {
  const folder = makeFolder()
  const start = join(folder, 'runtime/dist')
  mkdirSync(start, { recursive: true })
  const own = addProgram(folder, 'deno')
  addProgram(folder, 'node_modules/@deno/linux-x64-glibc/deno')
  for (const platform of ['linux', 'win32']) expect(findDeno(start, { platform, arch: 'x64' })).toBe(own)
})

it('finds nothing for another machine, and the hint lists those that run functions', () => {
  const machine = { platform: 'win32', arch: 'x64' }
  expect(findDeno(makeFolder(), machine)).toBeUndefined()
  expect(denoHint(machine)).toBe(
    'Functions run on linux x64, linux arm64, darwin x64, darwin arm64; this machine runs OCI images only.',
  )
})
