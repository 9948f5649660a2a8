/** Tests of one container: what it may do, how it starts and stops, and what it reports when its files are not usable. */
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRuntimeClient } from '@selvedge/client'
import { createNodeFetch } from '@selvedge/client/node'
import { expect, it } from 'vitest'
import { whereProgramsStart } from '../../harness/limits.ts'
import type { Podman } from '../../harness/podman.ts'
import { version } from './images.ts'

const restricted = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges']
const image = (name: string): string => `localhost/selvedge-${name}:${version}`

/** @param podman it is started before the tests run */
function createContainers(podman: () => Podman) {
  let count = 0
  /** Starts a container without a network. @returns its name */
  function start(name: string, options: readonly string[] = [], args: readonly string[] = []): string {
    const own = `single-${++count}`
    const common = ['run', '--detach', '--name', own, '--network', 'none', ...restricted]
    podman().run(...common, ...options, image(name), ...args)
    return own
  }
  const inspect = (name: string, format: string): string =>
    podman().run('inspect', '--format', format, name).trim()
  const isHealthy = (name: string): boolean => {
    try {
      podman().run('healthcheck', 'run', name)
      return true
    } catch {
      return false
    }
  }
  /** Waits for the end of a container that cannot start. @returns its exit code and its log */
  function end(name: string): { code: number; log: string } {
    const code = Number(podman().run('wait', name))
    return { code, log: podman().logs(name) }
  }
  return { start, inspect, isHealthy, end }
}

/** Declares the tests. */
export function testSingleContainers(podman: () => Podman): void {
  const containers = createContainers(podman)
  testLife(podman, containers)
  testRefusals(podman, containers)
}

type Containers = ReturnType<typeof createContainers>

function testLife(podman: () => Podman, { start, inspect, isHealthy }: Containers): void {
  it.each(['identity', 'discovery'])(
    'of %s stores its state in a volume, stops on SIGTERM and starts again',
    async (name) => {
      const volume = ['--volume', `${name}-state:/var/lib/selvedge`]
      for (let round = 0; round < 2; round++) {
        const container = start(name, volume)
        await expect.poll(() => isHealthy(container), whereProgramsStart).toBe(true)
        const top = podman()
          .run('top', container, 'hpid', 'huser', 'capeff', 'args')
          .trim()
          .split('\n')
          .slice(1)
        expect(top[0]).toMatch(/\b10001 +none +\/usr\/lib\/selvedge-/)
        expect(top).toHaveLength(1)
        podman().run('stop', '--time', '20', container)
        expect(inspect(container, '{{.State.ExitCode}}')).toBe('0')
        expect(podman().logs(container)).not.toMatch(/warn|error/)
      }
    },
  )

  it('of the runtime serves its API on the socket of its volume', async () => {
    const container = start('runtime', ['--init', '--volume', 'runtime-state:/var/lib/selvedge'])
    await expect.poll(() => isHealthy(container), whereProgramsStart).toBe(true)
    const folder = podman().run('volume', 'inspect', '--format', '{{.Mountpoint}}', 'runtime-state').trim()
    const fetch = createNodeFetch({ socketPath: join(folder, 'state/runtime.sock') })
    const { nodeId } = await createRuntimeClient({ url: 'http://localhost', fetch }).getMe()
    expect(nodeId).toMatch(/^[0-9a-f]+$/)
    podman().run('stop', '--time', '20', container)
    expect(inspect(container, '{{.State.ExitCode}}')).toBe('0')
  })

  it('waits for room on a full file system, and starts when there is some', async () => {
    const folder = join(podman().folder, 'small')
    mkdirSync(folder)
    const mount = (...args: string[]) => execFileSync('mount', [...args, 'tmpfs', folder])
    mount('-t', 'tmpfs', '-o', 'size=256k')
    chownSync(folder, 10_001, 10_001)
    try {
      const container = start('identity', ['--volume', `${folder}:/var/lib/selvedge`])
      await expect
        .poll(() => podman().logs(container), whereProgramsStart)
        .toContain('the disk is full; the start waits')
      expect(isHealthy(container)).toBe(false)
      mount('-o', 'remount,size=64m')
      await expect.poll(() => isHealthy(container), whereProgramsStart).toBe(true)
      podman().run('rm', '--force', '--time', '0', container)
    } finally {
      execFileSync('umount', ['--lazy', folder])
    }
  })
}

function testRefusals(podman: () => Podman, { start, end }: Containers): void {
  it('names what to do about a volume of another user', () => {
    const folder = join(podman().folder, 'foreign')
    mkdirSync(folder, { mode: 0o755 })
    chownSync(folder, 1234, 1234)
    const { code, log } = end(start('identity', ['--volume', `${folder}:/var/lib/selvedge`]))
    expect(code).toBe(78)
    expect(log).toMatch(
      /can't use the state folder \/var\/lib\/selvedge\/state: this user may not write there/,
    )
  })

  it('names what to do without a volume', () => {
    const { code, log } = end(start('identity'))
    expect(code).toBe(78)
    expect(log).toMatch(/state folder \/var\/lib\/selvedge\/state: the file system is read-only/)
  })

  it.each([
    ['of another user', 0o400, 1234, 'secret', /permission denied|EACCES/],
    ['without keys', 0o444, 10_001, 'secret', /\/run\/secrets\/keys/],
  ])('reports a file with keys that is %s', (_, mode, owner, content, message) => {
    const file = join(podman().folder, `keys-${owner}`)
    writeFileSync(file, content)
    chmodSync(file, mode)
    chownSync(file, owner, owner)
    const options = ['--volume', `${file}:/run/secrets/keys:ro`, '--volume', 'other-state:/var/lib/selvedge']
    const { code, log } = end(start('identity', options, ['--secrets.keyFile=/run/secrets/keys']))
    expect([1, 78]).toContain(code)
    expect(log.trim().split('\n')).toHaveLength(1)
    expect(log).toMatch(message)
    expect(log).not.toMatch(/^ +at /m)
  })

  it('reports a password that it may not read, with the owner and mode of the file', () => {
    const file = join(podman().folder, 'password')
    writeFileSync(file, 'secret', { mode: 0o400 })
    const options = ['--volume', `${file}:/run/secrets/password:ro`]
    const args = ['--store=postgres://selvedge@database/x', '--storePasswordFile=/run/secrets/password']
    const { code, log } = end(start('discovery', options, args))
    expect(code).toBe(78)
    expect(log).toMatch(/runs as user 10001, which may not read it. It belongs to user 0 \(mode 0400\)/)
  })
}
