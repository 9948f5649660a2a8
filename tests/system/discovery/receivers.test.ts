/** Receivers as they are: gpsd with the recordings of its own project (gpsfake), and NMEA 0183 from a pipe. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createDiscoveryClient } from '@selvedge/client'
import { distanceBetween } from '@selvedge/geo'
import { createGpsdReader, createNmeaReader, type Reading } from '@selvedge/geo/receivers'
import { freePort } from '@selvedge/service-kit/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { cliEnvOf, runCli } from '../../harness/cli.ts'
import { accessToken, createDeveloper, runtimeOf } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import {
  type Program,
  type Stack,
  startProgram,
  startStack,
  temporaryFolder,
} from '../../harness/processes.ts'
import { readRecording, recordings } from '../../harness/recordings.ts'

const fakes: ChildProcess[] = []
let folder: Awaited<ReturnType<typeof temporaryFolder>>
beforeAll(async () => {
  folder = await temporaryFolder()
})
afterAll(() => folder.remove())

/** A file of a recording's sentences alone, which is removed at the end. */
async function writeSentences(name: (typeof recordings)[number]): Promise<string> {
  const path = join(folder.path, `${name}.nmea`)
  await writeFile(path, readRecording(name).sentences)
  return path
}

/** gpsd on a port, with a recording in place of a receiver, over and over. */
async function fakeReceiver(name: (typeof recordings)[number], port?: number): Promise<number> {
  port ??= await freePort()
  const fake = spawn('gpsfake', ['-P', String(port), '-c', '0.005', await writeSentences(name)], {
    stdio: 'ignore',
    detached: true,
  })
  fakes.push(fake)
  return port
}
async function endFakes(): Promise<void> {
  for (const fake of fakes.splice(0)) {
    if (fake.exitCode !== null || fake.signalCode !== null) continue
    process.kill(-fake.pid!, 'SIGTERM')
    await once(fake, 'exit')
  }
}

/** The first reports of a gpsd, which may still have to start. */
async function reportsOf(port: number, count: number): Promise<Reading[]> {
  const read = createGpsdReader()
  const found: Reading[] = []
  while (found.length < count) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.on('connect', () => socket.write('?WATCH={"enable":true,"json":true};\n'))
    socket.on('data', (chunk) => found.push(...read(chunk.toString())))
    while (!socket.destroyed && found.length < count) await sleep(50)
    socket.destroy()
  }
  return found
}

describe('recorded receivers', () => {
  let stack: Stack
  let token: string
  beforeAll(async () => {
    stack = await startStack()
    token = await accessToken(stack, await createDeveloper(stack.state))
    await runtimeOf(stack).associateAccount({ edgeAccessToken: token })
    await stack.runtime.stop()
  })
  let runtime: Program | undefined
  afterEach(async () => {
    await runtime?.stop()
    runtime = undefined
    await endFakes()
  })
  afterAll(() => stack.stop())

  const start = async (source: string) => {
    runtime = await startProgram(
      'runtime',
      {
        SELVEDGE_STATE: stack.state,
        SELVEDGE_RUNTIME_PORT: '0',
        SELVEDGE_IDENTITY_URL: stack.identity.url,
        SELVEDGE_DISCOVERY_URL: stack.discovery.url,
      },
      [`--gps.source=${source}`],
    )
    return runtime
  }
  const fix = () => runtimeOf({ runtime: runtime! }).getGps({ edgeAccessToken: token })

  it.each(recordings)(
    '%s: our reading of the sentences is what gpsd says of them',
    needs('gpsd', 'gpsfake'),
    async (name) => {
      const own = createNmeaReader()(readRecording(name).sentences)
      const theirs = await reportsOf(await fakeReceiver(name), 12)
      for (const each of theirs) {
        const same = own.find(
          (mine) => distanceBetween(mine.longitude, mine.latitude, each.longitude, each.latitude) < 0.5,
        )
        // The first place after a stretch without a fix, gpsd believes before GSA confirms it.
        if (!same && each.mode === 2) continue
        expect(same, JSON.stringify(each)).toBeDefined()
      }
      const both = theirs.filter(
        (each) => each.time !== undefined && own.some((mine) => mine.time === each.time),
      )
      for (const each of both) {
        const mine = own.find(({ time }) => time === each.time)!
        if (each.speed > 0) expect(mine.speed).toBeCloseTo(each.speed, 1)
        if (each.bearing > 0) expect(mine.bearing).toBeCloseTo(each.bearing, 1)
      }
    },
  )

  it(
    'the runtime follows gpsd without any client, and comes back when gpsd was away',
    needs('gpsd', 'gpsfake'),
    async () => {
      const port = await fakeReceiver('garmin-10x')
      const program = await start(`gpsd://127.0.0.1:${port}`)
      await expect.poll(fix).toMatchObject({ source: 'gpsd', accuracy: expect.any(Number) })
      const { nodeId } = await runtimeOf({ runtime: program }).getMe()
      const discovery = createDiscoveryClient({ url: stack.discovery.url })
      await expect
        .poll(() => discovery.lastFix(nodeId, token).catch(() => undefined))
        .toMatchObject({ source: 'gpsd' })
      await endFakes()
      const notices = async () =>
        (await runtimeOf({ runtime: program }).getMe()).notices.map(({ reason }) => reason)
      await expect.poll(notices).toEqual(['receiver_unavailable'])
      await fakeReceiver('garmin-10x', port)
      await expect.poll(notices).toEqual([])
    },
  )

  it('a receiver on a pipe: partial lines, noise, then fixes', async () => {
    const pipe = join(folder.path, 'receiver')
    execFileSync('mkfifo', [pipe])
    const output = createWriteStream(pipe)
    const log = readRecording('bu353s4').sentences
    try {
      await start(`nmea:${pipe}`)
      output.write('\u0000\u00ff$GPRM')
      for (let at = 0; at < log.length; at += 700) {
        output.write(log.slice(at, at + 700))
        await sleep(5)
      }
      await expect.poll(fix).toMatchObject({ source: 'nmea' })
      const { latitude, longitude, accuracy } = await fix()
      expect(distanceBetween(Number(longitude), Number(latitude), 175.3149, -37.7848)).toBeLessThan(500)
      expect(accuracy).toBeGreaterThan(5)
    } finally {
      output.destroy()
      await runtime?.stop()
    }
  })

  it('the command follows a file, and records what is worth it', async () => {
    await start('')
    const env = { ...cliEnvOf(stack), SELVEDGE_RUNTIME_URL: runtime!.url, SELVEDGE_ACCESS_TOKEN: token }
    const { out, code, errors } = await runCli(
      ['gps', 'follow', '--nmea', await writeSentences('bt451'), '--json'],
      env,
    )
    expect(code, errors).toBe(0)
    const { read, recorded } = JSON.parse(out) as { read: number; recorded: number }
    expect(recorded).toBeGreaterThan(1)
    expect(recorded).toBeLessThan(read / 2)
    expect(await fix()).toMatchObject({ source: 'api' })
  })

  it.each([
    ['u-blox', Buffer.from('b56201075c00', 'hex'), 'it is probably UBX'],
    ['SiRF', Buffer.from('a0a20029020000', 'hex'), 'it is probably SiRF binary'],
    ['no receiver', Buffer.from('hello\n'), 'it is not the log of a receiver'],
  ])('the command names what is wrong with a file of %s', async (_, content, why) => {
    await start('')
    const env = { ...cliEnvOf(stack), SELVEDGE_RUNTIME_URL: runtime!.url, SELVEDGE_ACCESS_TOKEN: token }
    const path = join(stack.state, 'receiver.log')
    await writeFile(path, content)
    const { code, errors } = await runCli(['gps', 'follow', '--nmea', path], env)
    expect(errors).toContain(`${path} has no usable sentence: `)
    expect(errors).toContain(why)
    expect(code).toBe(1)
  })

  it('a source that is none is refused at the start', async () => {
    await expect(start('/dev/ttyUSB0')).rejects.toThrow(/gps\.source is "\/dev\/ttyUSB0"; expected gpsd:/)
  })
})
