/** A start that takes long, as on slow storage, while packets of the local network come in. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { on, once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deploymentsFormat } from '../../../apps/runtime/src/services/deployments/deployments.ts'
import { slotContent } from '../../../packages/service-kit/src/store/slot.ts'
import { needs } from '../../harness/installed.ts'
import { makeNetworks, type Networks } from '../../harness/networks.ts'
import { freePorts, startProgram, temporaryFolder } from '../../harness/processes.ts'

/** Asks for services by multicast DNS, twenty times a second; writes a line for each answer of another host. */
const asker = `
  const socket = require('node:dgram').createSocket({ type: 'udp4', reuseAddr: true })
  const labels = (...names) => Buffer.concat([...names.map((name) => Buffer.concat([Buffer.from([name.length]), Buffer.from(name)])), Buffer.from([0])])
  const question = (type) => Buffer.concat([Buffer.from([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]), labels(type, '_tcp', 'local'), Buffer.from([0, 12, 0, 1])])
  socket.bind(5353, () => {
    socket.addMembership('224.0.0.251', process.argv[1])
    socket.setMulticastInterface(process.argv[1])
    socket.setMulticastTTL(255)
    process.stdout.write('asking\\n')
    setInterval(() => {
      for (const type of ['_selvedge', '_http']) socket.send(question(type), 5353, '224.0.0.251')
      process.stdout.write('asked\\n')
    }, 50)
  })
  process.stdout.on('error', () => process.exit())
  socket.on('message', (packet, { address }) => {
    if (address !== process.argv[1] && packet[2] & 0x80) process.stdout.write('answer\\n')
  })`

describe('a runtime that is asked sixty times before it has started', needs('networks'), () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let networks: Networks
  let neighbour: ChildProcess
  beforeAll(async () => {
    folder = await temporaryFolder()
    networks = makeNetworks({ slow: { lan: '10.71.9.1' }, peer: { lan: '10.71.9.2' } })
    neighbour = spawn(
      'ip',
      ['netns', 'exec', networks.spaceOf('peer'), process.execPath, '-e', asker, '10.71.9.2'],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    await once(neighbour.stdout!, 'data')
  })
  afterAll(async () => {
    neighbour.kill('SIGKILL')
    networks.remove()
    await folder.remove()
  })

  it('is not ended by packets that come meanwhile, and answers them once it has started', async () => {
    const state = join(folder.path, 'runtime')
    mkdirSync(state)
    // Reading it blocks until a writer opens it, like a slow disk.
    const slow = join(state, 'deployments.a')
    execFileSync('mkfifo', [slow])
    const starting = startProgram(
      'runtime',
      { SELVEDGE_STATE: folder.path, SELVEDGE_LINK_LOCAL: 'true', ...freePorts },
      [],
      { space: networks.spaceOf('slow') },
    )
    let asked = 0
    for await (const [text] of on(neighbour.stdout!, 'data')) {
      asked += String(text).split('asked').length - 1
      if (asked >= 60) break
    }
    const writer = await open(slow, 'w')
    const { version, initial } = deploymentsFormat
    await writer.write(slotContent(1, version, Buffer.from(JSON.stringify(initial)), true))
    await writer.close()
    const runtime = await starting
    const answered = (async () => {
      for await (const text of neighbour.stdout!) if (String(text).includes('answer')) return true
      return false
    })()
    expect(await answered).toBe(true)
    expect([runtime.process.exitCode, runtime.process.signalCode]).toEqual([null, null])
    expect(runtime.errors()).toBe('')
    await runtime.stop()
  })
})
