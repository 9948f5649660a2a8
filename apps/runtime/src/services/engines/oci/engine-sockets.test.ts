import { chmodSync, lchownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../../../../tests/harness/installed.ts'
import { findEngineSocket } from './engine-sockets.ts'

let base: string
let servers: Server[]
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'selvedge-'))
  servers = []
})
afterEach(() => {
  for (const each of servers) each.close()
  rmSync(base, { recursive: true, force: true })
})

async function listen(path: string): Promise<string> {
  const full = join(base, path)
  mkdirSync(dirname(full), { recursive: true })
  const server = createServer()
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(full, resolve))
  return full
}

/** Below `base`: the folder of a user, one for temporary files, and the root of a system. */
const find = (env: Record<string, string> = {}) =>
  findEngineSocket({
    env,
    home: join(base, 'home'),
    temporary: join(base, 'tmp'),
    system: join(base, 'system'),
  })

describe('the socket of an engine', () => {
  it.each([
    'system/run/podman/podman.sock',
    'system/var/run/docker.sock',
    'home/.docker/run/docker.sock',
    'home/.docker/desktop/docker.sock',
    'tmp/podman/podman-machine-default-api.sock',
    'home/.local/share/containers/podman/machine/podman.sock',
    'home/.local/share/containers/podman/machine/qemu/podman.sock',
  ])('is found at %s', async (path) => {
    const socket = await listen(path)
    expect(find().path).toBe(socket)
  })

  it('is that of the system, which is a link to that of the user', async () => {
    const socket = await listen('home/.docker/run/docker.sock')
    mkdirSync(join(base, 'system/var/run'), { recursive: true })
    symlinkSync(socket, join(base, 'system/var/run/docker.sock'))
    expect(find().path).toBe(join(base, 'system/var/run/docker.sock'))
  })

  it('is that of CONTAINER_HOST, then of DOCKER_HOST, then of the user, then of the system', async () => {
    const system = await listen('system/run/docker.sock')
    expect(find().path).toBe(system)
    const user = await listen('user/podman/podman.sock')
    const env = { XDG_RUNTIME_DIR: join(base, 'user') }
    expect(find(env).path).toBe(user)
    const docker = await listen('d.sock')
    expect(find({ ...env, DOCKER_HOST: `unix://${docker}` }).path).toBe(docker)
    const podman = await listen('p.sock')
    const both = { ...env, DOCKER_HOST: `unix://${docker}`, CONTAINER_HOST: `unix://${podman}` }
    expect(find(both).path).toBe(podman)
  })

  it.each([
    'tcp://127.0.0.1:2375',
    'ssh://root@host/run/podman.sock',
    'unix://relative.sock',
    'unix://',
    'unix:///a\0b',
  ])('is not one that a variable has as %j', async (value) => {
    const system = await listen('system/run/docker.sock')
    expect(find({ DOCKER_HOST: value, CONTAINER_HOST: value }).path).toBe(system)
  })

  it('is searched in no more than 16 machines', async () => {
    const folder = 'home/.local/share/containers/podman/machine'
    for (let at = 0; at < 20; at++)
      mkdirSync(join(base, folder, `m${String(at).padStart(2, '0')}`), { recursive: true })
    await listen(`${folder}/m16/podman.sock`)
    expect(find().path).toBeUndefined()
    expect(find().searched.filter((each) => each.includes('/m'))).toHaveLength(17)
    const socket = await listen(`${folder}/m15/podman.sock`)
    expect(find().path).toBe(socket)
  })
})

describe('another path', () => {
  it('is not used if it is a file, a folder or a link that leads nowhere', () => {
    mkdirSync(join(base, 'system/run/docker.sock'), { recursive: true })
    mkdirSync(join(base, 'system/run/podman'), { recursive: true })
    writeFileSync(join(base, 'system/run/podman/podman.sock'), '')
    symlinkSync('/nowhere', join(base, 'system/run/balena-engine.sock'))
    const { path, searched } = find()
    expect(path).toBeUndefined()
    expect(searched).toContain(`${join(base, 'system/run/docker.sock')} (it is no socket)`)
    expect(searched).toContain(`${join(base, 'system/run/podman/podman.sock')} (it is no socket)`)
    expect(searched).toContain(join(base, 'system/run/balena-engine.sock'))
  })

  it.each([
    ['its folder', 'system/run'],
    ['a folder above', 'system'],
  ])('is not used if other users can write to %s', async (_, folder) => {
    const socket = await listen('system/run/docker.sock')
    chmodSync(join(base, folder), 0o777)
    expect(find()).toEqual({
      path: undefined,
      searched: expect.arrayContaining([`${socket} (other users can write to ${join(base, folder)})`]),
    })
    // There, they cannot replace what is not theirs.
    chmodSync(join(base, folder), 0o1777)
    expect(find().path).toBe(socket)
  })

  it('is not used if others may replace the link that leads to it', async () => {
    const socket = await listen('home/.docker/run/x.sock')
    mkdirSync(join(base, 'system/run'), { recursive: true })
    symlinkSync(socket, join(base, 'system/run/docker.sock'))
    expect(find().path).toBeDefined()
    chmodSync(join(base, 'system/run'), 0o777)
    expect(find().path).toBeUndefined()
  })

  describe('of another user', needs('root'), () => {
    it('is not used, nor one in a folder of another user, nor a link of another user', async () => {
      const socket = await listen('system/run/docker.sock')
      const link = join(base, 'system/run/podman/podman.sock')
      mkdirSync(dirname(link))
      lchownSync(socket, 1234, 1234)
      expect(find().searched).toContain(`${socket} (it belongs to another user (uid 1234))`)
      lchownSync(socket, 0, 0)
      lchownSync(join(base, 'system'), 1234, 1234)
      expect(find().searched).toContain(`${socket} (another user (uid 1234) owns ${join(base, 'system')})`)
      lchownSync(join(base, 'system'), 0, 0)
      symlinkSync(socket, link)
      lchownSync(link, 1234, 1234)
      expect(find()).toEqual({
        path: socket,
        searched: [`${link} (it is a link of another user (uid 1234))`],
      })
    })
  })
})
