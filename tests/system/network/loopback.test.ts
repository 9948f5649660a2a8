/** All daemons listen on both addresses of the loopback where the machine has them, and start without IPv6 as well. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../harness/installed.ts'
import { makeNetworks, type Networks } from '../../harness/networks.ts'
import { type Program, root, startProgram, temporaryFolder } from '../../harness/processes.ts'

/** A path of each daemon that anyone may ask for. */
const daemons = { runtime: '/healthz', identity: '/healthz', discovery: '/healthz' } as const
type Name = keyof typeof daemons

describe('on the loopback', needs('networks', 'curl'), () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let networks: Networks
  let program: Program
  beforeAll(async () => {
    folder = await temporaryFolder()
    networks = makeNetworks({ both: { lan: '10.78.1.1' }, old: { lan: '10.78.1.2' } })
    networks.disableIpv6('old')
  })
  afterEach(() => program?.stop())
  afterAll(async () => {
    networks?.remove()
    await folder?.remove()
  })

  const start = async (name: Name, space: string) => {
    program = await startProgram(
      name,
      { SELVEDGE_STATE: join(folder.path, space, name) },
      ['--listen.port=18999'],
      {
        space: networks.spaceOf(space),
      },
    )
    return program.url
  }
  const run = async (space: string, ...command: string[]) =>
    (await promisify(execFile)('ip', ['netns', 'exec', networks.spaceOf(space), ...command])).stdout
  /** @returns status of the answer */
  const ask = (space: string, url: string, ...headers: string[]) =>
    run(
      space,
      ...['curl', '-s', '-o', '/dev/null', '-w', '%{http_code}'],
      ...headers.flatMap((each) => ['-H', each]),
      url,
    )

  describe.each(Object.keys(daemons) as Name[])('%s', (name) => {
    it('answers on both, and refuses names and pages of others on both', async () => {
      expect(await start(name, 'both')).toBe('http://127.0.0.1:18999')
      for (const host of ['127.0.0.1', '[::1]', 'localhost']) {
        const url = `http://${host}:18999${daemons[name]}`
        expect(await ask('both', url)).toBe('200')
        if (name !== 'discovery') expect(await ask('both', url, 'Host: foreign.example:18999')).toBe('403')
        if (name === 'runtime') {
          expect(await ask('both', url, 'Origin: http://foreign.example')).toBe('403')
          expect(await ask('both', url, 'Origin: http://[::1]:18999')).toBe('200')
        }
      }
      if (name !== 'runtime') return
      const cli = [process.execPath, join(root, 'apps/cli/bin/selvedge.js'), 'status', '--json', '--url']
      for (const host of ['[::1]', 'localhost'])
        expect(await run('both', ...cli, `http://${host}:18999`)).toContain('nodeId')
    })

    it('starts without IPv6', async () => {
      await start(name, 'old')
      expect(await ask('old', `http://127.0.0.1:18999${daemons[name]}`)).toBe('200')
    })
  })
})
