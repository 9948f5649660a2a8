/** Programs and projects that want secrets to be where they do not belong, on a real Podman. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TarEntry } from '../../harness/archives.ts'
import { cgiImage } from '../../harness/cgi-image.ts'
import { cliEnvOf, runCli } from '../../harness/cli.ts'
import { accessToken, createProject, type Developer } from '../../harness/flow.ts'
import { needs } from '../../harness/installed.ts'
import { type Podman, podmanNeeds } from '../../harness/podman.ts'
import { type PodmanServices, startPodmanServices } from '../../harness/podman-services.ts'
import type { Services } from '../../harness/services.ts'

const value = 'Zk9xQm7TrVw2Lp4Ns8Yd'
const tools: TarEntry[] = [
  'base64',
  'cat',
  'chmod',
  'echo',
  'env',
  'find',
  'grep',
  'head',
  'id',
  'ln',
  'ls',
  'mount',
  'mv',
  'od',
  'printf',
  'rm',
  'sed',
  'seq',
  'stat',
  'tr',
  'umount',
].map((name) => ({ path: `bin/${name}`, type: 'SymbolicLink', linkpath: 'busybox' }))

describe('a secret', needs(...podmanNeeds, 'busybox', 'user IDs'), () => {
  let podman: Podman
  let services: Services
  let stack: PodmanServices
  beforeAll(async () => {
    stack = await startPodmanServices()
    ;({ podman, services } = stack)
    await set('db', value)
  })
  afterAll(() => stack?.stop())

  const runtime = () => services.runtime()
  const set = (name: string, text: string, token = services.token) =>
    runtime().setSecret({ edgeAccessToken: token, name, value: text })

  async function deploy(
    name: string,
    script: string,
    { env = {}, config = {}, files = [] as readonly TarEntry[], token = services.token } = {},
  ) {
    const archive = cgiImage({ name, script: `PATH=/bin; ${script}`, config, files: [...files, ...tools] })
    const source = join(services.stack.state, `${name}.tar`)
    writeFileSync(source, archive)
    const { id: image } = await runtime().deployImage({ edgeAccessToken: token, source })
    const spec = { name, image, env: { 'MCM.SECRETS': 'db', ...env } }
    const container = await runtime().deployContainer({ edgeAccessToken: token, spec })
    const run = async () => (await services.call(`${container.basePath}/cgi-bin/run`, { token })).text
    return { ...container, run }
  }
  const remove = (id: string, token = services.token) =>
    runtime().removeContainer({ edgeAccessToken: token, id })
  /** All that callers learn about a container. */
  async function shown(id: string): Promise<string> {
    const { token: edgeAccessToken } = services
    const asked = { edgeAccessToken, id }
    const all = [
      await runtime().getContainers({ edgeAccessToken }),
      await runtime().getContainerLogs({ ...asked, tail: 1000 }),
      await runtime().getContainerHistory(asked),
      await runtime().getSecrets({ edgeAccessToken }),
      await runtime().getMe(),
    ]
    return JSON.stringify(all)
  }
  async function otherProject(): Promise<string> {
    const project = await createProject(services.stack.state, services.developer.email)
    const developer: Developer = { ...services.developer, ...project }
    return accessToken(services.stack, developer)
  }

  describe('that a program gets', () => {
    let hostile: Awaited<ReturnType<typeof deploy>>
    beforeAll(async () => {
      // Its output of a request is an answer to its caller; its log is what the server writes.
      const log = 'exec 3>/proc/1/fd/1 || exec 3>/dev/null;'
      hostile = await deploy('hostile', `${log} eval "$(echo "$QUERY_STRING" | base64 -d)"`)
    })
    const run = async (script: string) => {
      const query = Buffer.from(script).toString('base64')
      return (await services.call(`${hostile.basePath}/cgi-bin/run?${query}`)).text
    }

    it('is a file that every user in the container can read', async () => {
      expect(await run('cat /run/secrets/db; echo; stat -c %a /run/secrets/db')).toBe(`${value}\n444\n`)
    })

    it.each([
      'echo x > /run/secrets/db',
      'rm -f /run/secrets/db && ! ls /run/secrets/db',
      'mv /run/secrets/db /run/secrets/other',
      'chmod 777 /run/secrets/db',
      'ln -s /etc/passwd /run/secrets/link',
      'mount -o remount,rw /run/secrets',
      'umount /run/secrets',
      'mount -t tmpfs x /run/secrets',
    ])('stays as it is: %s', async (attempt) => {
      expect(await run(`(${attempt}) 2>/dev/null && echo done; cat /run/secrets/db`)).toBe(value)
    })

    it.each([
      'env',
      'tr "\\0" "\\n" < /proc/1/environ; tr "\\0" "\\n" < /proc/self/environ',
      'tr "\\0" "\\n" < /proc/1/cmdline; cat /proc/self/mountinfo',
      'find / -xdev -type f -size -100k -not -path "/proc/*" 2>/dev/null | while read f; do cat "$f"; done',
    ])('is nowhere else in the container: %s', async (script) => {
      expect(await run(script)).not.toContain(value)
    })

    it('is in no core dump, also where a program of the device receives them', async () => {
      expect(await run('grep "core file" /proc/self/limits')).toMatch(/Max core file size\s+1\s+1\s/)
    })

    it('is not among the secrets of other containers, by their files or processes', async () => {
      const other = await deploy(
        'other',
        'ls /run/secrets; cat /proc/[0-9]*/root/run/secrets/* 2>/dev/null',
        {
          env: { 'MCM.SECRETS': '' },
        },
      )
      expect(await other.run()).not.toContain('db')
      expect(await other.run()).not.toContain(value)
      await remove(other.id)
    })

    it('is in nothing that the engine shows or stores', async () => {
      const all = podman.run('ps', '--all', '--quiet').trim().split('\n')
      expect(podman.run('inspect', ...all)).not.toContain(value)
      const found = (folder: string) => {
        try {
          return execFileSync('grep', ['-rlsF', '--devices=skip', value, folder], { encoding: 'utf8' })
        } catch {
          return ''
        }
      }
      expect(found(podman.folder)).toBe('')
      expect(found(services.stack.state)).toBe('')
    })

    it('is in no environment and no argument of a process of the device', () => {
      for (const pid of readdirSync('/proc').filter((each) => /^\d+$/.test(each)))
        for (const file of ['cmdline', 'environ']) {
          let content = ''
          try {
            content = readFileSync(`/proc/${pid}/${file}`, 'latin1')
          } catch {
            // It exited.
          }
          expect(content.includes(value)).toBe(false)
        }
    })

    it('is in a folder of the device that only the user of the runtime can enter', async () => {
      const [mount] = (
        JSON.parse(podman.run('inspect', podman.run('ps', '--quiet').trim()))[0].Mounts as {
          Source: string
          Destination: string
        }[]
      ).filter(({ Destination }) => Destination === '/run/secrets')
      expect(statSync(join(mount!.Source, '..')).mode & 0o777).toBe(0o700)
      const as = ['--reuid=65534', '--regid=65534', '--clear-groups']
      expect(() =>
        execFileSync('setpriv', [...as, 'cat', join(mount!.Source, 'db')], { stdio: 'pipe' }),
      ).toThrow()
    })

    it.each([
      ['as it is', 'cat /run/secrets/db; echo'],
      ['in a sentence', 'printf "connecting with %s now\\n" "$(cat /run/secrets/db)"'],
      ['as base64', 'base64 /run/secrets/db'],
      [
        'over the end of a line that is too long',
        'head -c 8185 /dev/zero | tr "\\0" "."; cat /run/secrets/db; echo; echo x',
      ],
      ['one character before that end', 'head -c 8191 /dev/zero | tr "\\0" "."; cat /run/secrets/db; echo'],
    ])('is hidden in the log: %s', async (_, script) => {
      const { id, basePath } = await deploy('talks', 'echo x', {
        config: {
          Cmd: ['/bin/sh', '-c', `(${script}); (${script}) >&2; exec /bin/busybox httpd -f -p 8080 -h /www`],
        },
      })
      await services.call(`${basePath}/index.html`)
      await expect.poll(() => shown(id)).toContain('<secret>')
      const text = await shown(id)
      for (const form of [value, Buffer.from(value).toString('base64').replaceAll('=', '')]) {
        expect(text).not.toContain(form)
        expect(text).not.toContain(form.slice(0, 6))
        expect(text).not.toContain(form.slice(-6))
      }
      await remove(id)
    })

    it('is hidden in the reason of a failed deployment', async () => {
      const failing = deploy('fails', 'x', {
        config: { Cmd: ['/bin/sh', '-c', 'echo "bad password $(cat /run/secrets/db)" >&2; exit 3'] },
      })
      const cause = (await failing.catch((each: unknown) => each)) as { message: string; hint?: string }
      expect(cause.message).toContain('bad password <secret>')
      expect(JSON.stringify([cause.message, cause.hint])).not.toContain(value)
      const id = `${services.developer.clientId}-fails`
      const told = await runtime().getContainerHistory({ edgeAccessToken: services.token, id })
      expect(JSON.stringify(told)).toContain('bad password <secret>')
      expect(JSON.stringify(told)).not.toContain(value)
    })

    it('is hidden in the error of a function that does not load', async () => {
      const thrown = `export default { fetch: () => new Response('') }\nthrow new Error('bad ${value}')`
      const cause = (await services
        .deploy('loads', thrown, { 'MCM.SECRETS': 'db' })
        .catch((each: unknown) => each)) as { message: string }
      expect(cause.message).toContain('bad <secret>')
      expect(cause.message).not.toContain(value)
    })

    it('is in no support bundle', async () => {
      const file = join(services.stack.state, 'bundle.json')
      await run('echo "log $(cat /run/secrets/db)" >&3')
      await runCli(['support', 'bundle', '-o', file, '--with-logs'], cliEnvOf(services.stack))
      const bundle = readFileSync(file, 'latin1')
      expect(bundle).not.toContain(value)
      expect(bundle).not.toContain(Buffer.from(value).toString('base64'))
    })

    it('of before is hidden as well, in what the former program writes late', async () => {
      const late = 'Late-value-1-of-the-test'
      await set('late', late)
      const { id } = await deploy('late', 'echo x', {
        env: { 'MCM.SECRETS': 'late' },
        config: {
          Cmd: [
            '/bin/sh',
            '-c',
            'S=$(cat /run/secrets/late); trap "echo leaving with $S; exit 0" TERM; /bin/busybox httpd -f -p 8080 -h /www & while :; do wait; done',
          ],
        },
      })
      await set('late', 'Late-value-2-of-the-test')
      await expect.poll(() => shown(id)).toContain('leaving with <secret>')
      expect(await shown(id)).not.toContain(late)
      await remove(id)
    })
  })

  describe('of a project', () => {
    it('is not there for another project of the account, whatever name it tries', async () => {
      const token = await otherProject()
      expect(await runtime().getSecrets({ edgeAccessToken: token })).toEqual([])
      await expect(runtime().removeSecret({ edgeAccessToken: token, name: 'db' })).rejects.toMatchObject({
        reason: 'not_found',
      })
      await expect(deploy('thief', 'cat /run/secrets/*', { token })).rejects.toMatchObject({
        reason: 'not_found',
      })
      await set('db', 'of the other project', token)
      const thief = await deploy('thief', 'cat /run/secrets/*', { token })
      expect(await thief.run()).toBe('of the other project')
      await remove(thief.id, token)
      await runtime().removeSecret({ edgeAccessToken: token, name: 'db' })
    })

    it.each(['../db', 'a/db', '', '.', '..', '-x', 'a b', 'a\n', 'ä', 'x'.repeat(64), '%2e%2e'])(
      'has no name such as %j',
      async (name) => {
        await expect(set(name, 'x')).rejects.toMatchObject({ reason: 'invalid_params' })
      },
    )

    it('has a limited size', async () => {
      await expect(set('large', 'x'.repeat(65_537))).rejects.toMatchObject({ reason: 'limit_exceeded' })
      await expect(set('large', 'x'.repeat(98_305))).rejects.toMatchObject({ reason: 'invalid_params' })
      expect(await set('large', 'x'.repeat(65_536))).toMatchObject({ size: 65_536 })
      await runtime().removeSecret({ edgeAccessToken: services.token, name: 'large' })
    })

    it('has a limited number, of which others keep their part', async () => {
      const token = await otherProject()
      let stored = 0
      let refused = ''
      for (; stored < 200 && refused === ''; stored++)
        await set(`s${stored}`, 'x', token).catch((cause: { reason: string }) => {
          refused = cause.reason
        })
      expect([stored, refused]).toEqual([101, 'limit_exceeded'])
      expect(await set('more', 'x')).toMatchObject({ name: 'more' })
    })

    it('is set by no service, also by one that manages others', async () => {
      const source = `export default { async fetch(request) {
        const call = { jsonrpc: '2.0', id: 1, method: 'setSecret', params: { edgeAccessToken: request.headers.get('x-token'), name: 'db', value: 'stolen' } }
        const answer = await fetch('http://127.0.0.1:8083/jsonrpc/v1', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(call) })
        return new Response(await answer.text())
      } }`
      const { id, basePath } = await services.deploy('manages', source, { 'MCM.MANAGE': 'true' })
      const { text } = await services.call(`${basePath}/`, { headers: { 'x-token': services.token } })
      expect(text).toContain('service_not_allowed')
      await remove(id)
    })

    it('is not set without the scope for services', async () => {
      const token = await accessToken(services.stack, services.developer, 'openid')
      await expect(set('db', 'x', token)).rejects.toMatchObject({ reason: 'insufficient_scope' })
    })

    it('stays while a container uses it', async () => {
      await expect(
        runtime().removeSecret({ edgeAccessToken: services.token, name: 'db' }),
      ).rejects.toMatchObject({ reason: 'in_use' })
    })
  })

  it.each([
    ['a volume', { 'MCM.VOLUMES': 'x:/run/secrets' }],
    ['a folder in memory', { 'MCM.TMPFS': '/run/secrets/x' }],
  ])('is replaced by nothing of the settings: %s', async (_, env) => {
    await expect(deploy('over', 'echo x', { env })).rejects.toMatchObject({ reason: 'container_failed' })
  })

  it('is in the container alone with an image that has a link in that place: it harms only itself', async () => {
    const { run, id } = await deploy('link', 'cat /run/secrets/db; ls /run/selvedge', {
      files: [
        { path: 'run', type: 'Directory' },
        { path: 'run/secrets', type: 'SymbolicLink', linkpath: 'selvedge' },
      ],
    }).catch((cause: { reason: string }) => ({ run: async () => cause.reason, id: undefined }))
    // Which of the two folders covers the other one is up to the engine.
    const shown = (await run()).replaceAll(/\s+/g, '')
    expect(shown).toMatch(new RegExp(`^(container_failed|(${value})?(db|host.*)?)$`))
    if (id) await remove(id)
  })

  it('leaves no file in memory when its container is removed, or when the runtime was killed meanwhile', async () => {
    const folders = () =>
      ['/run', '/dev/shm', process.env.XDG_RUNTIME_DIR ?? '/dev/shm'].flatMap((parent) =>
        readdirSync(parent)
          .filter((each) => each.startsWith('selvedge-secrets-'))
          .flatMap((each) => readdirSync(join(parent, each), { recursive: true }).map(String)),
      )
    const before = folders().length
    const { id } = await deploy('passing', 'echo x')
    expect(folders().length).toBeGreaterThan(before)
    await remove(id)
    expect(folders()).toHaveLength(before)
  })

  it('that was damaged makes its services wait, and they start when it is set again', async () => {
    await services.stopRuntime()
    const path = join(services.stack.state, 'runtime/secrets-key.json')
    const changed = (_: string, first: string) => `"key":"${first === 'A' ? 'B' : 'A'}`
    writeFileSync(path, readFileSync(path, 'utf8').replace(/"key":"(.)/, changed))
    await services.restart()
    const { notices } = await runtime().getMe()
    expect(notices?.map(({ reason }) => reason)).toContain('secrets_damaged')
    const hostile = async () => (await shown('hostile')) as string
    await expect.poll(hostile).toContain('cannot be decrypted')
    await set('db', value)
    const isRunning = async () =>
      (await runtime().getContainers({ edgeAccessToken: services.token })).find(
        ({ name }) => name === 'hostile',
      )?.state
    await expect.poll(isRunning).toBe('running')
    rmSync(join(services.stack.state, 'bundle.json'), { force: true })
  })
})
