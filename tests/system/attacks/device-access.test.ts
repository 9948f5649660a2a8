/** Deployments and programs that want more of the device than its configuration grants, on a real Podman. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { TarEntry } from '../../harness/archives.ts'
import { cgiImage } from '../../harness/cgi-image.ts'
import { accessToken, createProject } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { type Podman, podmanNeeds } from '../../harness/podman.ts'
import { type PodmanServices, startPodmanServices } from '../../harness/podman-services.ts'
import type { Services } from '../../harness/services.ts'

const tools = [
  'cat',
  'chmod',
  'cp',
  'echo',
  'head',
  'id',
  'ip',
  'ls',
  'mkdir',
  'mknod',
  'mount',
  'stat',
  'su',
  'sysctl',
  'touch',
].map((name): TarEntry => ({ path: `bin/${name}`, type: 'SymbolicLink', linkpath: 'busybox' }))
const users: TarEntry = { path: 'etc/passwd', content: 'root:x:0:0::/:/bin/sh\nguest:x:99:99::/:/bin/sh\n' }

describe('a device gives away', needs(...podmanNeeds, 'busybox', 'user IDs'), () => {
  let podman: Podman
  let services: Services
  let stack: PodmanServices
  let node: string
  let folder: string
  const granted: string[] = []
  beforeAll(async () => {
    stack = await startPodmanServices()
    ;({ podman, services } = stack)
    node = `/dev/selvedge-attack-${process.pid}`
    folder = join(podman.folder, 'srv')
    // For the rules and the tests.
    for (const each of ['media', 'open', 'secret', 'shared'])
      mkdirSync(join(folder, each), { recursive: true })
    writeFileSync(join(folder, 'media/song'), 'la')
    writeFileSync(join(folder, 'secret/file'), 'secret of the device')
    chmodSync(join(folder, 'open'), 0o777)
    await grant()
  })
  afterEach(async () => {
    await stack.removeContainers()
    rmSync(node, { force: true })
    rmSync(`${node}-disk`, { force: true })
  })
  afterAll(() => stack?.stop())

  const to = (name: string) => `service=${services.developer.clientId}-${name}`
  const places = () => [
    ...['/', '/proc', '/proc/1', '/sys', '/sys/kernel', '/dev', '/etc', '/etc/shadow', '/run', '/var'],
    ...[
      services.stack.state,
      join(services.stack.state, 'runtime'),
      join(services.stack.state, 'runtime.sock'),
    ],
    ...[podman.socket, podman.folder, join(podman.folder, 'graph')],
  ]
  /** Restarts the runtime with a configuration that grants too much, by mistake. */
  async function grant(hasRules = true, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const mounts = [
      ...places().filter((each) => each !== '/' && /^[\w./-]+$/.test(each)),
      ...['media', 'open/link', 'open/swapped', 'shared/in'].map((each) => join(folder, each)),
    ]
    granted.splice(0, granted.length, ...mounts)
    const rules = [
      `--services.devices=${['', '-disk'].map((each) => `${node}${each} ${to('evil')}`).join(',')}`,
      `--services.mounts=${mounts.map((each) => `${each} ${to('evil')}`).join(',')},${join(folder, 'shared')}:rw ${to('evil')}`,
      `--services.hostNetwork=${to('evil')}`,
    ]
    await services.restart(signal, {}, [`--oci.socket=${podman.socket}`, ...(hasRules ? rules : [])])
  }

  async function deploy(
    env: Record<string, string>,
    script = 'echo x',
    { name = 'evil', token = services.token, config = {}, files = [] as readonly TarEntry[] } = {},
  ) {
    const archive = cgiImage({
      name,
      script: `PATH=/bin; ${script}`,
      files: [...tools, users, ...files],
      config,
    })
    const source = join(services.stack.state, `${name}.tar`)
    writeFileSync(source, archive)
    const { id: image } = await services.runtime().deployImage({ edgeAccessToken: token, source })
    const spec = { name, image, env }
    const container = await services.runtime().deployContainer({ edgeAccessToken: token, spec })
    return {
      ...container,
      run: async () => (await services.call(`${container.basePath}/cgi-bin/run`, { token })).text,
    }
  }
  const refusal = async (work: Promise<unknown>) => {
    const cause = (await work.then(
      () => ({ reason: 'accepted', message: '' }),
      (each: unknown) => each,
    )) as { reason: string; message: string }
    return `${cause.reason}: ${cause.message}`
  }

  it.each([
    { 'MCM.DEVICES': '/dev/zero' },
    { 'MCM.DEVICES': 'gpu' },
    { 'MCM.DEVICES': 'v.com/c=a' },
    { 'MCM.MOUNTS': '/srv:/srv' },
  ])('nothing that no rule grants: %j', async (env) => {
    expect(await refusal(deploy(env))).toMatch(/^invalid_params: .* which this device does not grant/)
  })

  it('nothing to another service of the project, or to another project with the same name', async () => {
    const env = { 'MCM.MOUNTS': `${folder}/media:/media`, 'MCM.NETWORK': 'host' }
    expect(await refusal(deploy(env, 'echo x', { name: 'evil2' }))).toContain('does not grant')
    const project = await createProject(services.stack.state, services.developer.email)
    const token = await accessToken(services.stack, { ...services.developer, ...project })
    expect(await refusal(deploy(env, 'echo x', { token }))).toContain('does not grant')
  })

  it('a folder for reading to no container that wants to write to it', async () => {
    expect(await refusal(deploy({ 'MCM.MOUNTS': `${folder}/media:/media:rw` }))).toContain('does not grant')
    const { run } = await deploy(
      { 'MCM.MOUNTS': `${folder}/media:/media` },
      'for each in "touch /media/x" "chmod 777 /media/song" "mount -o remount,rw /media"; do $each 2>/dev/null && echo "$each"; done; cat /media/song',
    )
    expect(await run()).toBe('la')
  })

  it('not itself, whatever the configuration grants by mistake', async () => {
    const answers: string[] = []
    for (const each of granted.filter((path) => places().includes(path)))
      answers.push(`${each} ${await refusal(deploy({ 'MCM.MOUNTS': `${each}:/host` }))}`)
    expect(
      answers.filter(
        (each) => !/container_failed: .*(?:no container gets|of the kernel|root of the device)/.test(each),
      ),
    ).toEqual([])
    expect(answers.length).toBeGreaterThan(10)
  })

  it('no folder over one that the container has of its own', async () => {
    for (const target of [
      '/proc',
      '/proc/sys',
      '/dev/shm',
      '/sys',
      '/run',
      '/run/secrets',
      '/run/selvedge/x',
    ])
      expect(await refusal(deploy({ 'MCM.MOUNTS': `${folder}/media:${target}` }))).toMatch(
        /container_failed: .* its own/,
      )
  })

  it('no disk, and no device that shows its memory or its log', async () => {
    execFileSync('mknod', [`${node}-disk`, 'b', '7', '0'])
    expect(await refusal(deploy({ 'MCM.DEVICES': `${node}-disk` }))).toContain('it is a disk')
    for (const minor of ['1', '2', '4', '11']) {
      execFileSync('mknod', [node, 'c', '1', minor])
      expect(await refusal(deploy({ 'MCM.DEVICES': node }))).toContain('memory or the log of the device')
      rmSync(node)
    }
    writeFileSync(node, 'no device')
    expect(await refusal(deploy({ 'MCM.DEVICES': node }))).toContain('it is not a device')
  })

  it('no other device to a container that has one', async () => {
    execFileSync('mknod', ['-m', '0666', node, 'c', '1', '5'])
    const { run } = await deploy(
      { 'MCM.DEVICES': node },
      `mknod /made c 1 1 2>/dev/null && echo made; mknod /made2 b 7 0 2>/dev/null && echo made2; ls /dev; head -c 1 ${node} | head -c 0 && echo read; echo x > ${node} && echo written`,
    )
    const lines = (await run()).trim().split('\n')
    expect(lines).not.toContain('made')
    expect(lines).not.toContain('made2')
    expect(lines).toContain('read')
    const usual = [
      'console',
      'core',
      'fd',
      'full',
      'mqueue',
      'null',
      'ptmx',
      'pts',
      'random',
      'shm',
      'stderr',
      'stdin',
      'stdout',
      'tty',
      'urandom',
      'zero',
    ]
    const devices = lines.filter((each) => !['read', 'written'].includes(each))
    expect(devices.filter((each) => !usual.includes(each))).toEqual([node.slice('/dev/'.length)])
  })

  it('no set-user-ID program and no device in a folder', async () => {
    const shared = join(folder, 'shared')
    execFileSync('cp', ['/bin/busybox', join(shared, 'suid')])
    chmodSync(join(shared, 'suid'), 0o4755)
    execFileSync('mknod', ['-m', '0666', join(shared, 'zero'), 'c', '1', '5'])
    const { run } = await deploy(
      { 'MCM.MOUNTS': `${shared}:/shared:rw` },
      'su guest -c "/shared/suid id -u"; head -c 1 /shared/zero 2>/dev/null || echo denied',
    )
    expect(await run()).toMatch(/^(?:99\n)?denied\n$/)
    for (const each of ['suid', 'zero']) rmSync(join(shared, each))
  })

  it('nothing by a link that others than root could have made', async () => {
    symlinkSync(join(folder, 'secret'), join(folder, 'open/link'))
    expect(await refusal(deploy({ 'MCM.MOUNTS': `${folder}/open/link:/x` }, 'cat /x/file'))).toContain(
      'others than root may change the folder that it is in',
    )
    rmSync(join(folder, 'open/link'))
  })

  it('nothing by a link that a container makes in a folder that it may write to', async () => {
    const shared = join(folder, 'shared')
    execFileSync('chmod', ['777', shared])
    const writer = await deploy(
      { 'MCM.MOUNTS': `${shared}:/shared:rw` },
      `/bin/busybox ln -s ${folder}/secret /shared/in && echo linked`,
    )
    expect(await writer.run()).toBe('linked\n')
    expect(await refusal(deploy({ 'MCM.MOUNTS': `${shared}/in:/x` }, 'cat /x/file'))).toContain('is a link')
    rmSync(join(shared, 'in'))
  })

  it('nothing by a name that changes between the check and its use', async () => {
    const swapped = join(folder, 'open/swapped')
    mkdirSync(swapped)
    writeFileSync(join(swapped, 'file'), 'own')
    const loop = `import os
os.symlink('${folder}/secret', '${swapped}-link')
while True:
    os.rename('${swapped}', '${swapped}-own'); os.rename('${swapped}-link', '${swapped}')
    os.rename('${swapped}', '${swapped}-link'); os.rename('${swapped}-own', '${swapped}')
`
    const racer: ChildProcess = spawn('python3', ['-c', loop], { stdio: 'ignore' })
    try {
      const seen = new Set<string>()
      for (let round = 0; round < 6; round++) {
        const answer = await deploy({ 'MCM.MOUNTS': `${swapped}:/x` }, 'cat /x/file').then(
          ({ run }) => run(),
          (cause: { message: string }) => cause.message,
        )
        seen.add(answer)
      }
      expect([...seen].filter((each) => each.includes('secret of the device'))).toEqual([])
    } finally {
      racer.kill('SIGKILL')
    }
  })

  it('no file of itself by an image with a link where the folder belongs', async () => {
    const answer = await refusal(
      deploy({ 'MCM.MOUNTS': `${folder}/media:/media/here` }, 'cat /media/here/song', {
        files: [{ path: 'media', type: 'SymbolicLink', linkpath: 'data' }],
      }),
    )
    expect(answer).toContain('is not what was checked; it is not started')
    expect(existsSync('/media/here')).toBe(false)
  })

  it('its network only to what may have it, and no change of it', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as { port: number }
    try {
      const env = { 'MCM.NETWORK': 'host', 'MCM.PORT': String(port) }
      expect(await refusal(deploy(env))).toContain(`another program of the device listens on port ${port}`)
    } finally {
      server.close()
    }
    const config = { Cmd: ['/bin/busybox', 'httpd', '-f', '-p', `127.0.0.1:${port}`, '-h', '/www'] }
    const { run } = await deploy(
      { 'MCM.NETWORK': 'host', 'MCM.PORT': String(port) },
      'for each in "ip link set lo down" "ip addr add 10.9.9.9/32 dev lo" "ip route add 10.9.9.0/24 dev lo" "sysctl -w net.ipv4.ip_forward=0"; do $each >/dev/null 2>&1 && echo "$each"; done; echo end',
      { config },
    )
    expect(await run()).toBe('end\n')
  })

  it('what it granted only as long as it grants it', async () => {
    const { id } = await deploy({ 'MCM.MOUNTS': `${folder}/media:/media` })
    await grant(false, 'SIGKILL')
    const history = async () =>
      JSON.stringify(await services.runtime().getContainerHistory({ edgeAccessToken: services.token, id }))
    await expect.poll(history).toContain('does not grant')
    expect(podman.run('ps', '--quiet').trim()).toBe('')
    await grant()
  })
})
