/** An app of two containers on a real Podman: its members find each other by name, and nothing else finds them. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { watchEvents } from '@selvedge/client/node'
import type { AppPlan, AppRecord } from '@selvedge/protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cgiImage } from '../../harness/cgi-image.ts'
import { needs } from '../../harness/installed.ts'
import { type Podman, podmanNeeds } from '../../harness/podman.ts'
import { type PodmanServices, startPodmanServices } from '../../harness/podman-services.ts'
import type { Services } from '../../harness/services.ts'

/** Answers its version; with a query, what the program at that address answers. */
const script = `
if [ -z "$QUERY_STRING" ]; then echo "version $VERSION"; exit; fi
/bin/busybox timeout 5 /bin/busybox wget -q -O - "http://$QUERY_STRING" 2>&1 || echo "not reached"`

describe('an app', needs(...podmanNeeds, 'busybox', 'user IDs'), () => {
  let podman: Podman
  let services: Services
  let stack: PodmanServices
  let image: string
  beforeAll(async () => {
    stack = await startPodmanServices()
    ;({ podman, services } = stack)
    image = (await services.deployImage(cgiImage({ name: 'member', script }))).id
  })
  afterAll(() => stack?.stop())

  const member = (name: string, env: Record<string, string>, aliases: string[] = []) => ({
    ...{ name, image, pull: 'never' as const, platform: null, hostname: null },
    ...{ isBehindGateway: name === 'web', dependsOn: [], restart: 'always' as const, maxRestarts: null },
    ...{ needsInit: false, addCapabilities: [], dropCapabilities: [], volumes: [], secrets: [], configs: [] },
    env: { ...(name === 'web' && { 'MCM.BASE_API_PATH': '/pair', 'MCM.ACCESS': 'public' }), ...env },
    networks: [{ network: 'default', aliases }],
  })
  const deploy = (...members: AppPlan['services']) =>
    services.runtime().deployApp({
      edgeAccessToken: services.token,
      plan: {
        ...{ name: 'pair', services: members, networks: [{ name: 'default', isInternal: false }] },
        ...{ volumes: [], secrets: [], configs: [] },
      },
    })
  /** What a container gets from an address. */
  const reached = async (path: string, query: string) => {
    const answer = await fetch(`${services.url()}${path}/cgi-bin/run?${query}`)
    return (await answer.text()).trim()
  }
  let web: string
  const seen = (query: string) => reached(web, query)
  const names = () => podman.run('ps', '--format', '{{.Names}}').trim().split('\n')
  const page = 'cgi-bin/run'

  it('members find each other by the name of the service and by aliases', async () => {
    const { members } = await deploy(member('db', { VERSION: '1' }, ['sql']), member('web', { VERSION: '1' }))
    web = members.find(({ service }) => service === 'web')!.container!.basePath
    expect(await seen(`db:8080/${page}`)).toBe('version 1')
    expect(await seen(`SQL:8080/${page}`)).toBe('version 1')
    expect(await seen(`other:8080/${page}`)).toContain('not reached')
  })

  it('a redeployed member has its name again, and the others continue', async () => {
    await deploy(member('db', { VERSION: '2' }), member('web', { VERSION: '1' }))
    await expect.poll(() => names().length).toBe(2)
    expect(
      names()
        .map((name) => name.replace(/^.*-/, ''))
        .toSorted(),
    ).toEqual(['r1', 'r2'])
    await expect.poll(() => seen(`db:8080/${page}`)).toBe('version 2')
  })

  it('a member that fails rolls the whole app back', async () => {
    const before = names().toSorted()
    const failing = { VERSION: '3', 'MCM.COMMAND': '["/bin/busybox","false"]' }
    await expect(deploy(member('db', { VERSION: '3' }), member('web', failing))).rejects.toMatchObject({
      reason: 'container_failed',
      message: expect.stringContaining('pair-web'),
    })
    await expect.poll(() => names().toSorted()).toEqual(before)
    await expect.poll(() => seen(`db:8080/${page}`)).toBe('version 2')
  })

  it('another container reaches no member, neither by name nor by address', async () => {
    const env = { 'MCM.ACCESS': 'public', 'MCM.OUTBOUND': 'public' }
    const outside = await services.runtime().deployContainer({
      edgeAccessToken: services.token,
      spec: { name: 'outside', image, env },
    })
    const address = podman
      .run('inspect', '--format', '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}', ...names())
      .trim()
      .split('\n')
    expect(await reached(outside.basePath, `db:8080/${page}`)).toContain('not reached')
    for (const each of address.filter((text) => /^\d/.test(text)))
      expect(await reached(outside.basePath, `${each}:8080/${page}`)).not.toContain('version 2')
    await services.runtime().removeContainer({ edgeAccessToken: services.token, id: outside.id })
  })

  it('continues after a restart of the runtime, and its members still find each other', async () => {
    await services.restart()
    await expect.poll(() => seen(`db:8080/${page}`)).toBe('version 2')
  })

  it('stops and starts as one, and stays stopped when the runtime restarts', async () => {
    const query = { edgeAccessToken: services.token, name: 'pair' }
    const states = (app: AppRecord) => app.members.map(({ container }) => container?.state)
    expect(states(await services.runtime().stopApp(query))).toEqual(['stopped', 'stopped'])
    await services.restart()
    const [app] = await services.runtime().getApps({ edgeAccessToken: services.token })
    expect([states(app!), names().filter(Boolean)]).toEqual([['stopped', 'stopped'], []])
    expect(states(await services.runtime().startApp(query))).toEqual(['running', 'running'])
    await expect.poll(() => seen(`db:8080/${page}`)).toBe('version 2')
  })

  it('a member has the host name, capabilities, volumes and secrets of the plan', async () => {
    const token = { edgeAccessToken: services.token }
    const only: AppPlan['services'][number] = {
      ...member('only', {}),
      hostname: 'chosen.host',
      networks: [],
      dropCapabilities: ['ALL'],
      addCapabilities: ['CHOWN'],
      volumes: [
        { volume: 'fixed', target: '/fixed', isReadOnly: true },
        { volume: 'data', target: '/data', isReadOnly: false },
      ],
      secrets: [{ secret: 'key', file: 'key' }],
    }
    const deployOne = (service: typeof only, value: string) =>
      services.runtime().deployApp({
        edgeAccessToken: services.token,
        plan: {
          ...{ name: 'one', services: [service], networks: [], configs: [] },
          volumes: [{ name: 'fixed' }, { name: 'data' }],
          secrets: [{ name: 'key', from: 'environment', variable: 'KEY' }],
        },
        secrets: [{ name: 'key', value: Buffer.from(value).toString('base64') }],
      })
    const others = names()
    await deployOne(only, 'hidden')
    const name = names().find((each) => !others.includes(each))
    const [found] = JSON.parse(podman.run('inspect', name!)) as [
      {
        Config: { Hostname: string }
        EffectiveCaps: string[]
        Mounts: { Destination: string; RW: boolean }[]
      },
    ]
    const isWritable = (path: string) => found.Mounts.find((each) => each.Destination === path)?.RW
    expect([found.Config.Hostname, found.EffectiveCaps]).toEqual(['chosen.host', ['CAP_CHOWN']])
    expect([isWritable('/fixed'), isWritable('/data')]).toEqual([false, true])
    expect(podman.run('exec', name!, '/bin/busybox', 'cat', '/run/secrets/key')).toBe('hidden')
    const seen = [found, await services.runtime().getApps(token), await services.runtime().getSecrets(token)]
    for (const value of ['hidden', Buffer.from('hidden').toString('base64')])
      expect(JSON.stringify(seen)).not.toContain(value)
    const failing = { ...only, env: { 'MCM.COMMAND': '["/bin/busybox","false"]' } }
    await expect(deployOne(failing, 'other')).rejects.toMatchObject({ reason: 'container_failed' })
    expect(await services.runtime().getSecrets(token)).toHaveLength(1)
    await services.runtime().removeApp({ ...token, name: 'one' })
    expect(await services.runtime().getSecrets(token)).toEqual([])
  })

  describe('while it is deployed', () => {
    const token = () => ({ edgeAccessToken: services.token })
    /** Waits for a file before it serves. */
    const slow = (name: string, dependsOn: readonly string[]) => ({
      ...member(name, {
        // Another app has the usual path.
        ...(name === 'web' && { 'MCM.BASE_API_PATH': '/slow' }),
        'MCM.COMMAND': JSON.stringify([
          ...['/bin/busybox', 'sh', '-c'],
          `until [ -e /tmp/go ]; do sleep 0.1; done; exec /bin/busybox httpd -f -p 8080`,
        ]),
      }),
      dependsOn: dependsOn.map((service) => ({ service, condition: 'healthy' as const, isRequired: true })),
    })
    const deployment = 'a-deployment-of-the-test'
    const deploySlow = (signal?: AbortSignal) =>
      services.runtime().deployApp(
        {
          ...{ edgeAccessToken: services.token, deployment },
          plan: {
            ...{ name: 'slow', services: [slow('db', []), slow('web', ['db'])] },
            networks: [{ name: 'default', isInternal: false }],
            ...{ volumes: [], secrets: [], configs: [] },
          },
        },
        ...(signal ? [{ signal }] : []),
      )
    const letGo = (name: string) =>
      podman.run('exec', containerOf(`slow-${name}`)!, '/bin/busybox', 'touch', '/tmp/go')
    const containerOf = (name: string) =>
      podman
        .run('ps', '--format', '{{index .Labels "dev.selvedge.container"}} {{.ID}}')
        .split('\n')
        .find((each) => each.includes(`/${name} `))
        ?.replace(/^.* /, '')
    /** Reads events until the members are in these states. */
    const seeing = async (...expected: readonly string[]) => {
      const done = new AbortController()
      const connection = { url: services.url(), edgeAccessToken: services.token }
      for await (const event of watchEvents(connection, ['apps'], { signal: done.signal })) {
        const found = event.topic === 'apps' && event.data.find((each) => each.deployment === deployment)
        const states = (found ? found.members : []).map(({ service, state, waitingFor }) =>
          [service, state, ...waitingFor].join(' '),
        )
        if (found && found.state === 'failed') throw new Error(`${found.why}: ${states}`)
        if (JSON.stringify(states) !== JSON.stringify(expected)) continue
        done.abort()
        return states
      }
      throw new Error('the stream was closed')
    }

    it('shows its members, continues when the call is cut, and gives the result to the next call', async () => {
      const cut = new AbortController()
      const first = deploySlow(cut.signal)
      await seeing('db starting', 'web waiting db')
      cut.abort()
      await expect(first).rejects.toMatchObject({ reason: 'aborted' })
      await expect.poll(() => containerOf('slow-db')).toBeDefined()
      letGo('db')
      await seeing('db healthy', 'web starting')
      const second = deploySlow()
      await expect.poll(() => containerOf('slow-web')).toBeDefined()
      letGo('web')
      expect(await second).toMatchObject({ name: 'slow', revision: 1 })
      await seeing('db healthy', 'web healthy')
      await services.runtime().removeApp({ ...token(), name: 'slow' })
    })
  })

  describe('with files of its own', () => {
    const token = () => ({ edgeAccessToken: services.token })
    const file = (target: string, more: object = {}) => ({
      ...{ config: 'site', target, mode: '0444', uid: 0, gid: 0 },
      ...more,
    })
    const deployFiles = (content: string) =>
      services.runtime().deployApp({
        ...token(),
        plan: {
          name: 'files',
          services: [
            {
              ...member('reader', {
                'MCM.COMMAND': JSON.stringify(['/bin/busybox', 'sh', '-c', '/start.sh']),
                'MCM.READY': 'none',
              }),
              configs: [
                file('/etc/nginx/conf.d/site.conf'),
                file('/etc/owned', { mode: '0640', uid: 101, gid: 7 }),
                { ...file('/start.sh', { mode: '0755' }), config: 'start' },
                { ...file('/data/in-volume', {}), config: 'start' },
                file('/www/main.conf'),
                file('/www/rules/one.conf', { mode: '0555' }),
                { ...file('/etc/bytes', {}), config: 'bytes' },
              ],
              configFolders: ['/www'],
              volumes: [{ volume: 'data', target: '/data', isReadOnly: false }],
            },
          ],
          networks: [{ name: 'default', isInternal: false }],
          ...{ volumes: [{ name: 'data' }], secrets: [] },
          configs: [
            { name: 'site', content },
            { name: 'start', content: '#!/bin/sh\nexec /bin/busybox sleep 1000000\n' },
            { name: 'bytes', content: '/wD+', encoding: 'base64' },
          ],
        },
      })
    const reader = () =>
      podman
        .run('ps', '--format', '{{index .Labels "dev.selvedge.container"}} {{.ID}}')
        .split('\n')
        .find((each) => each.includes('/files-reader '))
        ?.replace(/^.* /, '')
    const inside = (commands: string) =>
      podman.run('exec', reader()!, '/bin/busybox', 'sh', '-c', `(${commands}) 2>&1 || true`).trim()

    it('a member gets them at their paths, with permissions and owner, and cannot change them', async () => {
      await deployFiles('listen 80;\n')
      expect(inside('cat /etc/nginx/conf.d/site.conf /data/in-volume')).toBe(
        'listen 80;\n#!/bin/sh\nexec /bin/busybox sleep 1000000',
      )
      expect(inside('od -An -tx1 /etc/bytes')).toBe('ff 00 fe')
      expect(inside('stat -c "%a %u:%g %F" /etc/owned /start.sh /etc/nginx/conf.d/site.conf')).toBe(
        '640 101:7 regular file\n755 0:0 regular file\n444 0:0 regular file',
      )
      expect(inside('echo x >/etc/nginx/conf.d/site.conf')).toContain('Read-only file system')
      expect(inside('chmod 666 /etc/owned')).toContain('Read-only file system')
      expect(inside('rm /start.sh')).toMatch(/busy|denied/i)
      expect(inside('mount -o remount,rw /start.sh')).toMatch(/denied|not permitted|must be superuser/i)
    })

    it('a folder of files is in place of that of the image, and cannot be changed', () => {
      expect(inside('find /www | sort')).toBe('/www\n/www/main.conf\n/www/rules\n/www/rules/one.conf')
      expect(inside('cat /www/main.conf /www/rules/one.conf')).toBe('listen 80;\nlisten 80;')
      expect(inside('stat -c %a /www /www/rules /www/rules/one.conf')).toBe('755\n755\n555')
      expect(inside('touch /www/x')).toContain('Read-only file system')
      expect(inside('rm -r /www/rules')).toContain('Read-only file system')
    })

    it('continues with them when the runtime is killed, and has them after a restart', async () => {
      const found = reader()
      await services.restart('SIGKILL')
      expect(reader()).toBe(found)
      expect(inside('cat /etc/nginx/conf.d/site.conf')).toBe('listen 80;')
      // A runtime that is stopped before it follows a container again leaves it to the next start.
      const state = async () =>
        (await services.runtime().getContainers(token())).find(({ name }) => name === 'files-reader')?.state
      await expect.poll(state).toBe('running')
      await services.restart()
      await expect.poll(() => reader() ?? found).not.toBe(found)
      expect(inside('cat /etc/nginx/conf.d/site.conf')).toBe('listen 80;')
      await services.runtime().stopApp({ ...token(), name: 'files' })
      await services.runtime().startApp({ ...token(), name: 'files' })
      expect(inside('cat /etc/nginx/conf.d/site.conf')).toBe('listen 80;')
    })

    it('gets changed ones by a deployment', async () => {
      const found = reader()
      await deployFiles('listen 81;\n')
      await expect.poll(() => reader() ?? found).not.toBe(found)
      expect(inside('cat /etc/nginx/conf.d/site.conf')).toBe('listen 81;')
    })

    it('is removed with its files', async () => {
      await services.runtime().removeApp({ ...token(), name: 'files' })
      await expect.poll(reader).toBeUndefined()
      const folder = join(services.stack.state, 'runtime/configs')
      expect(readdirSync(folder, { recursive: true })).toEqual([])
    })
  })

  describe('with a member that runs once', () => {
    const token = () => ({ edgeAccessToken: services.token })
    /** Members that wait for one that runs a script of the shell. */
    const deployTask = (commands: string, env: Record<string, string> = {}) =>
      services.runtime().deployApp({
        ...token(),
        plan: {
          name: 'shop',
          services: [
            member('db', { VERSION: '1' }),
            {
              ...member('task', {
                'MCM.COMMAND': JSON.stringify(['/bin/busybox', 'sh', '-c', commands]),
                ...env,
              }),
              dependsOn: [{ service: 'db', condition: 'healthy', isRequired: true }],
              restart: 'no',
            },
            {
              ...member('after', { VERSION: '1' }),
              dependsOn: [{ service: 'task', condition: 'completed', isRequired: true }],
            },
          ],
          networks: [{ name: 'default', isInternal: false }],
          ...{ volumes: [], secrets: [], configs: [] },
        },
      })
    const states = async () => {
      const apps = await services.runtime().getApps(token())
      const app = apps.find(({ name }) => name === 'shop')
      return app?.members.map(({ container }) => [container?.state, container?.completed?.exitCode])
    }
    const completed = [
      ['running', undefined],
      ['completed', 0],
      ['running', undefined],
    ]
    const outputOf = async (id: string) => {
      const { lines } = await services.runtime().getContainerLogs({ ...token(), id, tail: 50 })
      return lines.flatMap(({ stream, text }) => (stream === 'stdout' ? [text] : []))
    }

    it('runs it to its end, on the network of the app, before those that wait for it start', async () => {
      const others = names().length
      const { members } = await deployTask(`/bin/busybox wget -q -O - http://db:8080/${page}; echo complete`)
      expect(await states()).toEqual(completed)
      expect(names().length).toBe(others + 2)
      const task = members.find(({ service }) => service === 'task')!.container!
      expect([task.basePath, await outputOf(task.id)]).toEqual(['', ['version 1', 'complete']])
    })

    it('does not run it again when the runtime restarts', async () => {
      const before = names().toSorted()
      await services.restart()
      await expect.poll(states).toEqual(completed)
      await expect.poll(() => names().toSorted()).toEqual(before)
    })

    it.each<[string, string, Record<string, string>, string]>([
      ['exits with another code', 'echo no table; exit 3', {}, 'exit code 3'],
      [
        'never exits',
        'exec /bin/busybox sleep 3600',
        { 'MCM.HEALTH_SEC': '1', 'MCM.STOP_SEC': '1' },
        'did not exit within 1 s',
      ],
    ])('rolls the app back if it %s', async (_, commands, env, expected) => {
      const before = names().toSorted()
      await expect(deployTask(commands, env)).rejects.toMatchObject({
        reason: 'container_failed',
        message: expect.stringContaining(expected),
      })
      expect(await states()).toEqual(completed)
      await expect.poll(() => names().toSorted()).toEqual(before)
    })

    it('removes it with the app', async () => {
      await services.runtime().removeApp({ ...token(), name: 'shop' })
      expect(await states()).toBeUndefined()
    })
  })

  it('is removed with all its containers', async () => {
    await services.runtime().removeApp({ edgeAccessToken: services.token, name: 'pair' })
    expect(await services.runtime().getApps({ edgeAccessToken: services.token })).toEqual([])
    await expect.poll(() => names().filter(Boolean)).toEqual([])
    expect(podman.run('network', 'ls', '--format', '{{.Name}}')).not.toContain('selvedge')
  })
})
