/** Each context has a device of its own: a device that turns hostile gets no secret of another one, whatever the command. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Ran } from '../harness/cli.ts'
import { runHere } from '../harness/cli-here.ts'
import { temporaryFolder } from '../harness/processes.ts'
import { type Recorder, startRecorder } from '../harness/recorder.ts'
import { everyCommand } from '../harness/run-in.ts'
import { everyCall } from './cli-commands.ts'

const secret = 'secret-of-the-kitchen'
let folder: Awaited<ReturnType<typeof temporaryFolder>>
let kitchen: Recorder
let garage: Recorder
const inFolder = (name: string) => join(folder.path, name)

beforeAll(async () => {
  folder = await temporaryFolder()
  mkdirSync(inFolder('home'))
  kitchen = await startRecorder()
  garage = await startRecorder()
  mkdirSync(inFolder('function'))
  writeFileSync(inFolder('function/index.js'), 'export default {}')
  for (const name of ['image.tar', 'track.nmea']) writeFileSync(inFolder(name), 'x')
  writeFileSync(inFolder('kitchen-key'), `${secret}-key`, { mode: 0o600 })
  writeFileSync(inFolder('garage-key'), 'key-of-the-garage', { mode: 0o600 })
  const add = (name: string, url: string) => [
    ...['context', 'add', name, '--url', url, '--identity-url', url, '--discovery-url', url],
    ...['--api-key-file', inFolder(`${name}-key`)],
  ]
  expect(await run(add('kitchen', kitchen.url))).toMatchObject({ code: 0 })
  expect(await run([...add('garage', garage.url), '--use'])).toMatchObject({ code: 0 })
})
afterAll(async () => {
  await kitchen.close()
  await garage.close()
  await folder.remove()
})
beforeEach(() => {
  kitchen.received.length = 0
  garage.received.length = 0
})

/** The environment of a person who works with the kitchen. */
const environment = () => ({
  HOME: inFolder('home'),
  SELVEDGE_ACCESS_TOKEN: `${secret}-token`,
  SELVEDGE_API_KEY: `${secret}-environment-key`,
})
const run = (args: readonly string[], env: Record<string, string> = {}, lasts = false): Promise<Ran> =>
  runHere(folder.path, args, {
    env: { ...environment(), ...env },
    untilShown: lasts ? 'deployed' : undefined,
  })

describe('with --context, no command', () => {
  it('sends a secret of another context or of the environment', everyCommand, async () => {
    writeFileSync(inFolder('developer'), 'developer-token-that-the-user-names')
    const calls = everyCall({
      folder: folder.path,
      secret: 'harmless',
      tokenFile: '',
      developerTokenFile: inFolder('developer'),
    })
      .filter(({ title }) => !/^context |--token-file/.test(title))
      .filter(({ title }) => title !== 'login')
    let reached = 0
    for (const { title, args, lasts } of calls) {
      const addresses = { SELVEDGE_RUNTIME_URL: kitchen.url, SELVEDGE_IDENTITY_URL: kitchen.url }
      await run([...args, '--context', 'garage'], addresses, lasts)
      const received = garage.received.splice(0).join('\n')
      if (received !== '') reached++
      expect({ title, leaked: received.includes(secret) }).toEqual({ title, leaked: false })
      expect({ title, kitchen: kitchen.received.splice(0) }).toEqual({ title, kitchen: [] })
    }
    // The calls do arrive at the device of the context.
    expect(reached).toBeGreaterThan(15)
  })
})

describe('the context in use', () => {
  it('is where a command goes, with its own key only', async () => {
    expect(await run(['me'])).toMatchObject({ code: 0 })
    expect(garage.received.join('\n')).toContain('Bearer key-of-the-garage')
    expect(garage.received.join('\n')).not.toContain(secret)
    expect(kitchen.received).toEqual([])
  })

  it('is not used where an option or the environment names the device, and its key stays', async () => {
    await run(['me', '--url', kitchen.url])
    await run(['me'], { SELVEDGE_RUNTIME_URL: kitchen.url })
    expect(kitchen.received).toHaveLength(2)
    expect(kitchen.received.join('\n')).not.toContain('key-of-the-garage')
    expect(garage.received).toEqual([])
  })

  it('explains that the token of the environment is not used', async () => {
    const ran = await run(['ps'])
    expect(ran).toMatchObject({ code: 4, out: '' })
    expect(ran.errors).toContain('SELVEDGE_ACCESS_TOKEN is not used with the context garage')
    expect(garage.received).toEqual([])
  })

  it('without a state folder has no operator: no other identity service gets the command', async () => {
    const ran = await run(['admin', 'account', 'list'])
    expect(ran).toMatchObject({ code: 2, errors: expect.stringContaining('names no state folder') })
  })

  it('is not used if others can read its key file: nothing is sent', async () => {
    writeFileSync(inFolder('open-key'), 'key', { mode: 0o644 })
    const named = ['--url', garage.url, '--api-key-file', inFolder('open-key')]
    expect(await run(['context', 'add', 'open', ...named])).toMatchObject({ code: 0 })
    const ran = await run(['me', '--context', 'open'])
    expect(ran).toMatchObject({ code: 2, errors: expect.stringContaining('with mode 644') })
    expect(garage.received).toEqual([])
  })
})
