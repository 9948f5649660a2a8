/** What a deployment sets for an OCI container, through the whole runtime, on a real Podman. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { TarEntry } from '../../harness/archives.ts'
import { cgiImage } from '../../harness/cgi-image.ts'
import { needs } from '../../harness/installed.ts'
import { type Podman, podmanNeeds } from '../../harness/podman.ts'
import { type PodmanServices, startPodmanServices } from '../../harness/podman-services.ts'
import type { Services } from '../../harness/services.ts'

const files: TarEntry[] = [
  { path: 'etc/passwd', content: 'root:x:0:0::/:/bin/sh\napp:x:501:502::/:/bin/sh\n' },
  { path: 'etc/group', content: 'root:x:0:\napp:x:502:\nextra:x:503:\n' },
  ...['cat', 'df', 'dd', 'echo', 'id', 'pwd', 'sleep', 'touch', 'head', 'grep', 'stat'].map(
    (name): TarEntry => ({ path: `bin/${name}`, type: 'SymbolicLink', linkpath: 'busybox' }),
  ),
]
const serve = 'exec /bin/busybox httpd -f -p 8080 -h /www'

describe('a setting of an OCI container', needs(...podmanNeeds, 'busybox'), () => {
  let podman: Podman
  let services: Services
  let stack: PodmanServices
  beforeAll(async () => {
    stack = await startPodmanServices()
    ;({ podman, services } = stack)
  })
  afterEach(() => stack.removeContainers())
  afterAll(() => stack?.stop())

  /** By what they are made of: each image is installed once, and stays when its containers are removed. */
  const images = new Map<string, string>()
  async function imageOf(script: string, config: object): Promise<string> {
    const key = JSON.stringify([script, config])
    const found = images.get(key)
    if (found !== undefined) return found
    const image = { name: `set-${images.size}`, script: `PATH=/bin; ${script}`, files, config }
    const { id } = await services.deployImage(cgiImage(image))
    images.set(key, id)
    return id
  }
  async function deploy(script: string, env: Record<string, string>, config = {}) {
    const spec = { name: 'set', image: await imageOf(script, config), env }
    const container = await services.runtime().deployContainer({ edgeAccessToken: services.token, spec })
    const path = `${container.basePath}/cgi-bin/run`
    return { ...container, run: async () => (await services.call(path)).text.trim() }
  }
  const remove = (id: string) => services.runtime().removeContainer({ edgeAccessToken: services.token, id })
  const logOf = async (id: string) => {
    const { lines } = await services
      .runtime()
      .getContainerLogs({ edgeAccessToken: services.token, id, tail: 100 })
    return lines.map(({ text }) => text)
  }

  it('replaces the program and its arguments: MCM.COMMAND, MCM.ARGS', async () => {
    const program = `echo "got $0 $1" > /www/index.html; ${serve}`
    const command = JSON.stringify(['/bin/sh', '-c', program])
    const config = { Entrypoint: ['/bin/false'], Cmd: ['of the image'] }
    const one = await deploy(
      'echo x',
      { 'MCM.COMMAND': command, 'MCM.ARGS': '["--a","b c\\n;$(id)"]' },
      config,
    )
    expect((await services.call(`${one.basePath}/index.html`)).text).toBe('got --a b c\n;$(id)\n')
    // Without arguments of its own, the program gets no arguments of the image.
    const two = await deploy('echo x', { 'MCM.COMMAND': command }, config)
    expect((await services.call(`${two.basePath}/index.html`)).text).toBe('got /bin/sh \n')
    const three = await deploy(
      'echo x',
      { 'MCM.ARGS': JSON.stringify([program, 'zero', 'one']) },
      {
        ...config,
        Entrypoint: ['/bin/sh', '-c'],
      },
    )
    expect((await services.call(`${three.basePath}/index.html`)).text).toBe('got zero one\n')
  })

  it('sets the user and the working directory: MCM.USER, MCM.WORKDIR', async () => {
    const config = { User: '0:0', WorkingDir: '/www' }
    const { run } = await deploy(
      'id -u; id -g; pwd',
      { 'MCM.USER': 'app:extra', 'MCM.WORKDIR': '/data' },
      config,
    )
    // The working directory of a CGI program is its own folder.
    expect((await run()).split('\n').slice(0, 2)).toEqual(['501', '503'])
    expect(podman.run('exec', podman.run('ps', '--quiet').trim(), '/bin/pwd').trim()).toBe('/data')
  })

  it('may open as many files as it is set, and has the time zone of the device: MCM.NOFILE, MCM.LOCAL_TIME', async () => {
    const script =
      'ulimit -Sn; ulimit -Hn; cat /etc/timezone; head -c 4 /etc/localtime; echo; touch /etc/localtime 2>&1'
    const usual = await deploy('ulimit -Hn; cat /etc/timezone 2>&1', {})
    expect(await usual.run()).toMatch(/^1024\ncat: .*No such file/)
    const set = await deploy(script, { 'MCM.NOFILE': '4096', 'MCM.LOCAL_TIME': 'true' })
    const [soft, hard, zone, magic, refusal] = (await set.run()).split('\n')
    expect([soft, hard, magic]).toEqual(['4096', '4096', 'TZif'])
    expect(zone).toMatch(/^[A-Z][\w+/-]+$/)
    expect(refusal).toContain('Read-only file system')
  })

  it('has a root that is read-only, with folders and shared memory in memory, and names: MCM.ROOT, MCM.TMPFS, MCM.SHM_MB, MCM.HOSTS', async () => {
    const { run, isolation } = await deploy(
      `for each in / /www /run /tmp /var/tmp; do touch $each/x 2>/dev/null && echo $each; done; stat -c %F /run/selvedge/host
      echo of memory; df -m /cache /dev/shm; grep db /etc/hosts; dd if=/dev/zero of=/cache/x bs=1M count=9 2>&1`,
      {
        'MCM.ROOT': 'read-only',
        'MCM.TMPFS': '/cache:8',
        'MCM.SHM_MB': '100',
        'MCM.HOSTS': 'db=10.0.0.5',
      },
    )
    const [root = '', memory = ''] = (await run()).split('of memory\n')
    expect(root.trim().split('\n')).toEqual(['/run', '/tmp', '/var/tmp', 'socket'])
    expect(isolation).toContain('read-only root')
    expect(memory).toMatch(/^tmpfs\s+8\s.*\/cache$/m)
    expect(memory).toMatch(/^shm\s+100\s.*\/dev\/shm$/m)
    expect(memory).toMatch(/^10\.0\.0\.5 db$/m)
    expect(memory).toContain('No space left on device')
  })

  /** Exits by one signal only, after some work. */
  const stopping = (work: string) =>
    JSON.stringify([
      '/bin/sh',
      '-c',
      `for each in TERM INT USR1 QUIT; do trap "echo got $each; ${work}" $each; done
      /bin/busybox httpd -f -p 8080 -h /www & while :; do wait; done`,
    ])

  it('stops by the signal of the image, and gets the time that is set: MCM.STOP_SEC', async () => {
    // It needs longer than the usual 10 s to store what it has.
    const env = { 'MCM.STOP_SEC': '60', 'MCM.COMMAND': stopping('sleep 12; echo stored; kill %1; exit 0') }
    const { id } = await deploy('echo x', env, { StopSignal: 'SIGINT' })
    await services.runtime().stopContainer({ edgeAccessToken: services.token, id })
    const log = await logOf(id)
    expect(log.filter((each) => each.startsWith('got '))).toEqual(['got INT'])
    expect(log).toContain('stored')
    expect(log.join('\n')).not.toContain('killed')
  })

  it('stops by the signal that is set, and is killed if it does not exit in time: MCM.STOP_SIGNAL', async () => {
    const env = { 'MCM.STOP_SIGNAL': 'SIGUSR1', 'MCM.STOP_SEC': '1', 'MCM.COMMAND': stopping('echo stays') }
    const { id } = await deploy('echo x', env, { StopSignal: 'SIGINT' })
    await services.runtime().stopContainer({ edgeAccessToken: services.token, id })
    const log = await logOf(id)
    expect(log.filter((each) => each.startsWith('got '))).toEqual(['got USR1'])
    const problem = 'it did not exit within 1 s of SIGUSR1, and was killed (MCM.STOP_SEC)'
    expect(log).toContain(problem)
    const happened = async () =>
      (await services.runtime().getContainerHistory({ edgeAccessToken: services.token, id })).history
    const kills = async () => (await happened()).filter(({ event }) => event === 'killed')
    expect((await kills()).map(({ rule, by }) => [rule, by])).toEqual([
      [expect.stringMatching(/in its time/), null],
    ])
    await services.runtime().startContainer({ edgeAccessToken: services.token, id })
    await deploy('echo x', {}, { StopSignal: 'SIGINT' })
    // The one before is stopped while its successor serves.
    await expect.poll(async () => (await kills()).length).toBe(2)
    for (const { detail } of await kills()) expect(detail).toContain(problem)
  })

  it('is ready as MCM.READY defines', async () => {
    const command = (text: string) => ({ 'MCM.COMMAND': JSON.stringify(['/bin/sh', '-c', text]) })
    const worker = 'echo "ready to work" >&2; exec sleep 1000'
    const said = await deploy('echo x', { ...command(worker), 'MCM.READY': 'log:ready to' })
    expect(said.state).toBe('running')
    const quiet = await deploy('echo x', { ...command('exec sleep 1000'), 'MCM.READY': 'none' })
    expect(quiet.state).toBe('running')
    const udpOnly = { ExposedPorts: { '5683/udp': {} } }
    const datagrams = await deploy('echo x', command('exec sleep 1000'), udpOnly)
    expect(datagrams.state).toBe('running')
    await remove(datagrams.id)
    // The last one is to listen within its time, also on a machine with other work.
    for (const [env, seconds, problem] of [
      [
        { ...command(worker), 'MCM.READY': 'log:other' },
        '1',
        'it did not write a line with "other" (MCM.READY)',
      ],
      [{ ...command(worker), 'MCM.READY': 'tcp' }, '1', 'it did not listen on its port'],
      [
        { ...command('while :; do echo no | /bin/busybox nc -l -p 8080; done'), 'MCM.READY': 'http' },
        '10',
        'it is not healthy: /',
      ],
    ] as const)
      await expect(deploy('echo x', { ...env, 'MCM.HEALTH_SEC': seconds })).rejects.toMatchObject({
        reason: 'container_failed',
        message: expect.stringContaining(problem),
      })
    const http = await deploy('echo well', { 'MCM.READY': 'http' })
    expect(await http.run()).toBe('well')
  })

  it('is healthy while a command succeeds, of the setting or of the image: MCM.HEALTH_CMD', async () => {
    // Each check is a program of the engine that starts in the container: slow checks are few.
    const config = { Healthcheck: { Test: ['CMD-SHELL', 'sleep 1; cat /well >/dev/null'], Interval: 1 } }
    const short = { 'MCM.HEALTH_SEC': '10' }
    await expect(deploy('echo x', short, config)).rejects.toMatchObject({
      reason: 'container_failed',
      message: expect.stringMatching(/it is not healthy: .*exited with 1/),
    })
    const unchecked = await deploy('echo x', { ...short, 'MCM.HEALTH_CMD': '[]' }, config)
    expect(unchecked.health).toBe('unknown')
    await remove(unchecked.id)
    const own = { ...short, 'MCM.HEALTH_CMD': '["/bin/stat","/www/index.html"]' }
    expect((await deploy('echo x', own, config)).health).toBe('healthy')
    const missing = { 'MCM.HEALTH_SEC': '1', 'MCM.HEALTH_CMD': '["/no/such"]' }
    await expect(deploy('echo x', missing, config)).rejects.toMatchObject({ reason: 'container_failed' })
  })

  it('gets a request at the times of MCM.CRON, which no caller can send: MCM.CRON_PATH', async () => {
    const script =
      'PATH=/bin; [ "$REQUEST_METHOD" = POST ] && echo "$CONTENT_TYPE|$HTTP_X_SELVEDGE_SCHEDULED|$(head -c $CONTENT_LENGTH)" >> /tmp/seen; cat /tmp/seen'
    const times = { 'MCM.CRON': '0 0 29 2 *', 'MCM.CRON_PATH': '/cgi-bin/run' }
    const { id, basePath, run, schedule } = await deploy(script, times)
    expect(schedule?.nextAt).toMatch(/-02-29T00:00:00/)
    const ask = { edgeAccessToken: services.token, id }
    expect(await services.runtime().runScheduled(ask)).toEqual({ outcome: 'succeeded', detail: null })
    const forged = {
      'X-Selvedge-Scheduled': '* * * * *',
      x_selvedge_scheduled: '* * * * *',
      'Content-Type': 'text/forged',
    }
    await services.call(`${basePath}/cgi-bin/run`, { method: 'POST', headers: forged, body: 'forged' })
    const [own, other] = (await run()).split('\n')
    const [type, cron, body] = own!.split('|')
    expect([type, cron]).toEqual(['application/json', '0 0 29 2 *'])
    expect(JSON.parse(body!)).toEqual({ cron: '0 0 29 2 *', scheduledTime: expect.any(Number) })
    expect(other).toBe('text/forged||forged')

    await remove(id)
    const lost = await deploy('echo x', { ...times, 'MCM.CRON_PATH': '/no/such' })
    expect(await services.runtime().runScheduled({ ...ask, id: lost.id })).toEqual({
      outcome: 'failed',
      detail: 'POST /no/such answered 501',
    })
    await remove(lost.id)
    const slow = await deploy('sleep 1000', { ...times, 'MCM.MAX_EXECUTION_TIME_SEC': '1' })
    expect(await services.runtime().runScheduled({ ...ask, id: slow.id })).toEqual({
      outcome: 'timed_out',
      detail: 'it did not finish within 1 s (MCM.MAX_EXECUTION_TIME_SEC)',
    })
    expect((await services.call(`${slow.basePath}/index.html`)).status).toBe(200)
  })

  it.each([
    ['MCM.VOLUMES', 'x:/proc/self'],
    ['MCM.VOLUMES', 'x:/etc/hosts'],
    ['MCM.VOLUMES', 'x:/a/../run/selvedge'],
    ['MCM.TMPFS', '/run/selvedge'],
    ['MCM.TMPFS', '/dev/shm'],
  ])(
    'is refused where it would replace a folder of the runtime or the kernel: %s %s',
    async (name, value) => {
      await expect(deploy('echo x', { [name]: value })).rejects.toMatchObject({
        reason: expect.stringMatching(/^(container_failed|invalid_params)$/),
        message: expect.stringContaining(name),
      })
      expect(await podman.volumes()).toEqual([])
      expect(await podman.containers(true)).toEqual([])
    },
  )
})
