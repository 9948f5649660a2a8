/** Devices and folders of the device for containers, on a real Podman: what the configuration grants works as it does elsewhere. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { TarEntry } from '../../harness/archives.ts'
import { cgiImage } from '../../harness/cgi-image.ts'
import { needs } from '../../harness/installed.ts'
import { type Podman, podmanNeeds } from '../../harness/podman.ts'
import { type PodmanServices, startPodmanServices } from '../../harness/podman-services.ts'
import type { Services } from '../../harness/services.ts'
import { gpsdImage, nginxImage } from './public-images.ts'

const tools = ['cat', 'ls', 'echo', 'head', 'id', 'stat', 'su', 'touch', 'wc', 'ip'].map(
  (name): TarEntry => ({ path: `bin/${name}`, type: 'SymbolicLink', linkpath: 'busybox' }),
)
const users: TarEntry = { path: 'etc/passwd', content: 'root:x:0:0::/:/bin/sh\nguest:x:99:99::/:/bin/sh\n' }

/** A pseudo-terminal on which a receiver sends a position again and again; it prints the path of its other end. */
const receiver = `import os, pty, time, tty
one, other = pty.openpty()
tty.setraw(other)
os.chmod(os.ttyname(other), 0o666)
print(os.ttyname(other), flush=True)
def line(text):
    total = 0
    for each in text: total ^= ord(each)
    return ('$%s*%02X\\r\\n' % (text, total)).encode()
while True:
    now = time.strftime('%H%M%S', time.gmtime())
    day = time.strftime('%d%m%y', time.gmtime())
    os.write(one, line('GPGGA,%s.00,4717.11437,N,00833.91522,E,1,08,1.01,499.6,M,48.0,M,,' % now))
    os.write(one, line('GPRMC,%s.00,A,4717.11437,N,00833.91522,E,0.004,77.52,%s,,,A' % (now, day)))
    time.sleep(0.2)
`

describe('a container gets of the device', needs(...podmanNeeds, 'busybox', 'user IDs'), () => {
  let podman: Podman
  let services: Services
  let stack: PodmanServices
  let node: string
  let folder: string
  beforeAll(async () => {
    stack = await startPodmanServices()
    ;({ podman, services } = stack)
    node = `/dev/selvedge-test-${process.pid}`
    folder = join(stack.podman.folder, 'srv')
    mkdirSync(folder)
    const { clientId } = services.developer
    const to = (name: string) => `service=${clientId}-${name}`
    await services.restart('SIGTERM', {}, [
      `--oci.socket=${podman.socket}`,
      `--services.devices=${node} ${to('dev')},${node} ${to('gpsd')},v.com/c=a ${to('dev')}`,
      `--oci.cdiFolders=${join(folder, 'cdi')}`,
      `--services.mounts=${folder}:rw ${to('dev')},${folder} ${to('nginx')}`,
      `--services.hostNetwork=${to('dev')}`,
    ])
  })
  afterEach(async () => {
    await stack.removeContainers()
    rmSync(node, { force: true })
  })
  afterAll(() => stack?.stop())

  const makeNode = (minor: number, mode = '0666') =>
    execFileSync('mknod', ['-m', mode, node, 'c', '1', String(minor)])
  const running = () => podman.run('ps', '--format', '{{.Names}}').trim()
  const text = async (path: string) => (await services.call(path)).text.trim()
  async function deploy(script: string, env: Record<string, string>, config = {}) {
    const archive = cgiImage({
      name: 'dev',
      script: `PATH=/bin; ${script}`,
      files: [...tools, users],
      config,
    })
    const { id: image } = await services.deployImage(archive)
    const spec = { name: 'dev', image, env }
    return services.runtime().deployContainer({ edgeAccessToken: services.token, spec })
  }
  const ociHints = async () => (await services.runtime().getEngines()).oci.hints.join()
  const stateOf = async (name: string) =>
    (await services.runtime().getContainers({ edgeAccessToken: services.token })).find(
      (each) => each.name === name,
    )?.state

  it('a device that every user may open, for all users of the container', async () => {
    makeNode(5)
    const { basePath } = await deploy(
      `head -c 4 ${node} | wc -c; su guest -c "head -c 4 ${node}" | wc -c; stat -c %F ${node}`,
      { 'MCM.DEVICES': node },
    )
    expect(await text(`${basePath}/cgi-bin/run`)).toBe('4\n4\ncharacter special file')
  })

  it('a device by a link, as udev makes them', async () => {
    symlinkSync('zero', node)
    const { basePath } = await deploy(`head -c 4 ${node} | wc -c`, { 'MCM.DEVICES': node })
    expect(await text(`${basePath}/cgi-bin/run`)).toBe('4')
  })

  it('a device under a further path', async () => {
    symlinkSync('zero', node)
    const { basePath } = await deploy(
      `for each in /dev/ttyACM0 ${node}; do head -c 4 $each | wc -c; done; su guest -c 'head -c 4 /dev/ttyACM0' | wc -c`,
      {
        'MCM.DEVICES': `${node}:/dev/ttyACM0`,
      },
    )
    expect(await text(`${basePath}/cgi-bin/run`)).toBe('4\n4\n4')
  })

  it('a device that is not there: it is refused with what is there', async () => {
    await expect(deploy('echo x', { 'MCM.DEVICES': node })).rejects.toMatchObject({
      reason: 'engine_unavailable',
      message: expect.stringMatching(
        new RegExp(`MCM.DEVICES has ${node}: ${node} is not there; /dev has \\S`),
      ),
    })
    expect(running()).toBe('')
  })

  it('a device that is unplugged: it waits, and starts when the device is there again', async () => {
    makeNode(5)
    const { basePath } = await deploy(`head -c 4 ${node} | wc -c`, { 'MCM.DEVICES': node })
    rmSync(node)
    podman.run('kill', running())
    await expect.poll(() => stateOf('dev')).not.toBe('running')
    const id = 'dev'
    const history = async () =>
      (await services.runtime().getContainerHistory({ edgeAccessToken: services.token, id })).history
    await expect
      .poll(async () => (await history()).at(-1))
      .toMatchObject({
        event: 'postponed',
        detail: expect.stringContaining('is not there'),
      })
    makeNode(5)
    await expect.poll(() => stateOf('dev')).toBe('running')
    expect(await text(`${basePath}/cgi-bin/run`)).toBe('4')
  })

  it('a device of CDI: nodes, files and variables of its file, when that is there', async () => {
    const script = `head -c 4 ${node} | wc -c; cat /opt/lib; echo; echo $FROM $OWN; echo x >/opt/lib`
    const env = { 'MCM.DEVICES': 'v.com/c=a', OWN: 'own' }
    await expect(deploy(script, env)).rejects.toMatchObject({
      reason: 'engine_unavailable',
      message: expect.stringMatching(/MCM.DEVICES has v.com\/c=a: \S+ have no devices/),
    })
    makeNode(5)
    expect(await ociHints()).toContain(
      'services.devices grants a device that no container gets: v.com/c=a: no',
    )
    mkdirSync(join(folder, 'cdi'))
    writeFileSync(join(folder, 'lib'), 'of the device')
    const content = `---
cdiVersion: 0.6.0
devices:
- containerEdits:
    deviceNodes:
    - path: ${node}
    env: [FROM=cdi, OWN=cdi]
    mounts:
    - containerPath: /opt/lib
      hostPath: ${folder}/lib
      options: [ro, nosuid, rbind, rprivate]
  name: a
kind: v.com/c
`
    writeFileSync(join(folder, 'cdi/v.yaml'), content)
    const { basePath } = await deploy(script, env)
    expect(await text(`${basePath}/cgi-bin/run`)).toBe('4\nof the device\ncdi own')
    expect(readFileSync(join(folder, 'lib'), 'utf8')).toBe('of the device')
    expect(await ociHints()).not.toContain('v.com/c=a')
    rmSync(join(folder, 'cdi'), { recursive: true })
  })

  it('a receiver, which gpsd reads', needs('gpsd', 'python3'), async () => {
    const program: ChildProcess = spawn('python3', ['-u', '-c', receiver], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    try {
      const [line] = (await once(program.stdout!, 'data')) as [Buffer]
      symlinkSync(line.toString().trim(), node)
      const { id: image } = await services.deployImage(gpsdImage(node))
      const spec = { name: 'gpsd', image, env: { 'MCM.DEVICES': node, 'MCM.PORT': '2947' } }
      await services.runtime().deployContainer({ edgeAccessToken: services.token, spec })
      const address = '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}'
      const socket = connect(2947, podman.run('inspect', '--format', address, running()).trim())
      let received = ''
      socket.setEncoding('utf8').on('data', (part) => {
        received += part
      })
      socket.write('?WATCH={"enable":true,"json":true};\n')
      await expect.poll(() => received).toMatch(/"class":"TPV".*"lat":47\.285/)
      socket.destroy()
    } finally {
      program.kill('SIGKILL')
    }
  })

  it('a folder, which nginx serves as it changes', needs('nginx'), async () => {
    writeFileSync(join(folder, 'index.html'), 'one')
    const { id: image } = await services.deployImage(nginxImage())
    const command = JSON.stringify([
      '/bin/sh',
      '-c',
      'sed -i s,PORT_OF_TEMPLATE,80, /etc/nginx/conf.d/default.conf; exec nginx -g "daemon off;"',
    ])
    const { basePath } = await services.runtime().deployContainer({
      edgeAccessToken: services.token,
      spec: {
        name: 'nginx',
        image,
        env: { 'MCM.MOUNTS': `${folder}:/usr/share/nginx/html:ro`, 'MCM.COMMAND': command },
      },
    })
    expect(await text(`${basePath}/index.html`)).toBe('one')
    writeFileSync(join(folder, 'index.html'), 'two')
    expect(await text(`${basePath}/index.html`)).toBe('two')
  })

  it('a folder that it may write to, as far as its users may', async () => {
    mkdirSync(join(folder, 'open'), { mode: 0o777 })
    execFileSync('chmod', ['777', join(folder, 'open')])
    const { basePath } = await deploy(
      'touch /media/open/made && echo made; touch /media/not 2>/dev/null || echo not; stat -c %u /media/open/made',
      { 'MCM.MOUNTS': `${folder}:/media:rw` },
    )
    expect(await text(`${basePath}/cgi-bin/run`)).toBe('made\nnot\n0')
  })

  it('its network, in which it listens on a port of its own', async () => {
    const port = await freePort()
    const config = { Cmd: ['/bin/busybox', 'httpd', '-f', '-p', `127.0.0.1:${port}`, '-h', '/www'] }
    const { basePath, isolation } = await deploy(
      'ip -o addr show lo | wc -l; echo x',
      { 'MCM.NETWORK': 'host', 'MCM.PORT': String(port) },
      config,
    )
    expect(await text(`${basePath}/index.html`)).toBe('dev')
    expect(isolation).not.toContain('own network')
    // A new revision gets the port.
    await deploy('echo two', { 'MCM.NETWORK': 'host', 'MCM.PORT': String(port) }, config)
    expect(await text(`${basePath}/cgi-bin/run`)).toBe('two')
  })
})

async function freePort(): Promise<number> {
  const { createServer } = await import('node:net')
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
