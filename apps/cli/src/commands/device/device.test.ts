import { existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { ConnectionFailure } from '@selvedge/client'
import { beforeEach, expect, it } from 'vitest'
import type { Context } from '../../context/context.ts'
import { deviceAdopt } from './adopt.ts'
import { devicePrepareImage } from './prepare-image.ts'

let state: string
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'selvedge-device-'))
  add('runtime/node-key.json')
})

function add(path: string): void {
  mkdirSync(dirname(join(state, path)), { recursive: true })
  writeFileSync(join(state, path), '')
}

function run(
  { run: execute }: typeof deviceAdopt,
  args: string[],
  options = {},
  getMe: () => Promise<unknown> = () => Promise.reject(new ConnectionFailure('not_running', 'no runtime')),
): Promise<unknown> {
  const context = {
    state: { path: state, isNamed: true },
    runtime: { getMe },
    terminal: { ask: async () => undefined },
  }
  return execute(context as unknown as Context, { args, options })
}

it('marks the one state that was set aside, and removes the mark again', async () => {
  add('set-aside/a/node-key.json')
  add('set-aside/taken/machine.json')
  expect(await run(deviceAdopt, [])).toMatchObject({ adopts: join(state, 'set-aside/a') })
  expect(existsSync(join(state, 'set-aside/a/adopt'))).toBe(true)
  await run(deviceAdopt, [], { cancel: true })
  expect(existsSync(join(state, 'set-aside/a/adopt'))).toBe(false)
})

it('marks one of several, and never two', async () => {
  add('set-aside/a/node-key.json')
  add('set-aside/b/node-key.json')
  await expect(run(deviceAdopt, [])).rejects.toThrow('2 states were set aside')
  await expect(run(deviceAdopt, ['../runtime'])).rejects.toThrow('there is no state ../runtime')
  await run(deviceAdopt, ['a'])
  await run(deviceAdopt, ['b'])
  expect(['a', 'b'].filter((id) => existsSync(join(state, 'set-aside', id, 'adopt')))).toEqual(['b'])
})

it('has nothing to adopt before a start on another machine', async () => {
  await expect(run(deviceAdopt, [])).rejects.toThrow('no state was set aside')
})

it('removes what makes one device of a state folder, and only that', async () => {
  for (const path of ['set-aside/a/node-key.json', 'api-key', 'other']) add(path)
  await expect(run(devicePrepareImage, [])).rejects.toThrow('nothing was removed')
  expect(existsSync(join(state, 'runtime/node-key.json'))).toBe(true)
  await run(devicePrepareImage, [], { yes: true })
  expect(readdirSync(state)).toEqual(['other'])
})

it.each([
  ['the runtime runs', async () => ({})],
  ['the runtime refuses to answer', () => Promise.reject(new ConnectionFailure('timeout', 'too late'))],
])('removes nothing while %s', async (_, getMe) => {
  await expect(run(devicePrepareImage, [], { yes: true }, getMe)).rejects.toThrow('the runtime runs')
  expect(existsSync(join(state, 'runtime/node-key.json'))).toBe(true)
})

it.each(['identity', 'discovery'])('removes nothing from a state that holds the %s service', async (name) => {
  add(`${name}/lock`)
  await expect(run(devicePrepareImage, [], { yes: true })).rejects.toThrow(`the ${name} service as well`)
})

it('names the option where the folder holds no device', async () => {
  state = join(state, 'missing')
  await expect(run(deviceAdopt, [])).rejects.toThrow('holds no device')
})
