/** Secrets of services through the whole runtime: functions, containers of a real Podman, PostgreSQL, the command line. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { TarEntry } from '../../harness/archives.ts'
import { cgiImage } from '../../harness/cgi-image.ts'
import { cliEnvOf, cliPath } from '../../harness/cli.ts'
import { needs } from '../../harness/installed.ts'
import { type Podman, podmanNeeds } from '../../harness/podman.ts'
import { type PodmanServices, startPodmanServices } from '../../harness/podman-services.ts'
import type { Services } from '../../harness/services.ts'
import { postgresImage } from './public-images.ts'

const tools = ['cat', 'ls', 'echo', 'kill'].map(
  (name): TarEntry => ({ path: `bin/${name}`, type: 'SymbolicLink', linkpath: 'busybox' }),
)
/** A module worker that answers with its secrets. */
const worker = `export default { fetch: (request, env, ctx) => Response.json({
  db: ctx.secrets.get('db'), unnamed: ctx.secrets.get('unnamed'), env: Object.keys(env) }) }`
const handler = `mimikModule.exports = (context, request, response) => response.end(context.secrets.get('db'))`

describe('secrets of services', needs(...podmanNeeds, 'busybox', 'user IDs'), () => {
  let podman: Podman
  let services: Services
  let stack: PodmanServices
  beforeAll(async () => {
    stack = await startPodmanServices()
    ;({ podman, services } = stack)
  })
  afterEach(async () => {
    await stack.removeContainers()
    for (const { name } of await list())
      await services.runtime().removeSecret({ edgeAccessToken: services.token, name })
  })
  afterAll(() => stack?.stop())

  const set = (name: string, value: string) =>
    services.runtime().setSecret({ edgeAccessToken: services.token, name, value })
  const list = () => services.runtime().getSecrets({ edgeAccessToken: services.token })
  const text = async (path: string) => (await services.call(path)).text.trim()
  const history = async (id: string) =>
    (await services.runtime().getContainerHistory({ edgeAccessToken: services.token, id })).history
  const record = async (name: string) =>
    (await services.runtime().getContainers({ edgeAccessToken: services.token })).find(
      (each) => each.name === name,
    )

  async function deployCgi(script: string, env: Record<string, string>, config = {}) {
    const { id: image } = await services.deployImage(
      cgiImage({ name: 'uses', script: `PATH=/bin; ${script}`, files: tools, config }),
    )
    const spec = { name: 'uses', image, env }
    return services.runtime().deployContainer({ edgeAccessToken: services.token, spec })
  }

  it('functions of both kinds read those that their settings name', async () => {
    await set('db', 'größe\nof two lines')
    await set('unnamed', 'x')
    const one = await services.deploy('worker', worker, { 'MCM.SECRETS': 'db' })
    expect(JSON.parse(await text(`${one.basePath}/`))).toMatchObject({
      db: 'größe\nof two lines',
      unnamed: null,
    })
    const two = await services.deploy('handler', handler, { 'MCM.SECRETS': 'db' })
    expect(await text(`${two.basePath}/`)).toBe('größe\nof two lines')
  })

  it('a function gets a value of the largest size, whatever characters it has', async () => {
    const value = '\u0001"é'.repeat(16_384)
    await set('db', value)
    const { basePath } = await services.deploy('large', handler, { 'MCM.SECRETS': 'db' })
    expect((await services.call(`${basePath}/`)).text).toBe(value)
  })

  it('containers read them as files, under the name or the path of the setting', async () => {
    await set('db', 'one')
    await set('key', 'two')
    const { basePath } = await deployCgi('cd /run/secrets; for each in *; do echo $each $(cat $each); done', {
      'MCM.SECRETS': 'db, key:/run/secrets/tls.pem',
      'MCM.ROOT': 'read-only',
    })
    expect(await text(`${basePath}/cgi-bin/run`)).toBe('db one\ntls.pem two')
  })

  it('one that is not set refuses the deployment with its name', async () => {
    await expect(deployCgi('echo x', { 'MCM.SECRETS': 'unset' })).rejects.toMatchObject({
      reason: 'not_found',
      message: expect.stringContaining('the secret "unset" of the project is not set'),
      hint: 'Set it: selvedge secret set unset',
    })
  })

  it('one that is set again starts a new revision, and the history has the reason', async () => {
    await set('db', 'old')
    const { basePath, id } = await deployCgi('cat /run/secrets/db', { 'MCM.SECRETS': 'db' })
    expect(await set('db', 'new')).toMatchObject({ containers: [id] })
    await expect.poll(() => text(`${basePath}/cgi-bin/run`)).toBe('new')
    expect((await history(id)).at(-1)).toMatchObject({
      event: 'renewed',
      rule: 'a secret was set (setSecret)',
      detail: expect.stringContaining('revision 2'),
    })
    await services.restart('SIGKILL')
    await expect.poll(() => text(`${basePath}/cgi-bin/run`)).toBe('new')
  })

  it('one with which the new revision is not healthy leaves the revision before as it was', async () => {
    await set('db', 'good')
    const config = {
      Cmd: [
        '/bin/sh',
        '-c',
        '[ "$(cat /run/secrets/db)" = good ] && exec /bin/busybox httpd -f -p 8080 -h /www',
      ],
    }
    const { basePath, id } = await deployCgi('cat /run/secrets/db', { 'MCM.SECRETS': 'db' }, config)
    await set('db', 'wrong')
    await expect.poll(async () => (await history(id)).at(-1)?.event).toBe('rolled back')
    expect(await text(`${basePath}/cgi-bin/run`)).toBe('good')
    expect(await record('uses')).toMatchObject({
      state: 'running',
      reason: expect.stringContaining('rolled back'),
    })
  })

  it('one that is set again is announced by a signal, if the settings have one: the program continues', async () => {
    await set('db', 'old')
    const config = {
      Cmd: [
        '/bin/sh',
        '-c',
        'cp() { cat /run/secrets/db > /www/index.html; }; cp; trap cp HUP; /bin/busybox httpd -f -p 8080 -h /www & while :; do wait; done',
      ],
    }
    const env = { 'MCM.SECRETS': 'db', 'MCM.SECRETS_SIGNAL': 'SIGHUP' }
    const { basePath } = await deployCgi('echo x', env, config)
    const before = podman.run('ps', '--format', '{{.ID}} {{.Names}}')
    await set('db', 'new')
    await expect.poll(() => text(`${basePath}/index.html`)).toBe('new')
    expect(podman.run('ps', '--format', '{{.ID}} {{.Names}}')).toBe(before)
  })

  it('PostgreSQL reads its password from a file after it gave up root', needs('postgres'), async () => {
    await set('pg', 'Pa55-of-the-test')
    const { id: image } = await services.deployImage(postgresImage())
    const env = { 'MCM.SECRETS': 'pg', POSTGRES_PASSWORD_FILE: '/run/secrets/pg' }
    const spec = { name: 'postgres', image, env }
    const { id } = await services.runtime().deployContainer({ edgeAccessToken: services.token, spec })
    const name = podman.run('ps', '--format', '{{.Names}}').trim()
    const sql = (password: string) => {
      const url = `postgresql://postgres:${password}@127.0.0.1/postgres`
      try {
        return podman.run('exec', name, 'psql', url, '-Atc', 'select 42').trim()
      } catch (cause) {
        return String((cause as { stderr: string }).stderr)
      }
    }
    await expect.poll(() => sql('Pa55-of-the-test')).toBe('42')
    expect(sql('wrong')).toContain('password authentication failed')
    expect(JSON.stringify([await record('postgres'), await history(id)])).not.toContain('Pa55')
  })

  it('the command line sets them from a file or from standard input, and shows no value', async () => {
    const file = join(services.stack.state, 'value')
    writeFileSync(file, 'of a file\n')
    const tokenFile = join(services.stack.state, 'token')
    writeFileSync(tokenFile, services.token)
    const cli = (args: readonly string[], input = '') => {
      const all = [cliPath, ...args, '--token-file', tokenFile]
      const options = { env: cliEnvOf(services.stack), input, encoding: 'utf8' } as const
      const { status, stdout } = spawnSync(process.execPath, all, options)
      return { code: status, out: stdout }
    }
    expect(cli(['secret', 'set', 'one', '--file', file])).toMatchObject({ code: 0 })
    expect(cli(['secret', 'set', 'two'], 'of standard input\n')).toMatchObject({ code: 0 })
    const { out } = cli(['secret', 'list'])
    expect(out).toMatch(/one\s+10\s/)
    expect(out).toMatch(/two\s+17\s/)
    expect(out).not.toContain('of a file')
    expect(cli(['secret', 'set', 'three', 'value on the command line']).code).not.toBe(0)
    expect(cli(['secret', 'remove', 'one'])).toMatchObject({ code: 0 })
    expect((await list()).map(({ name }) => name)).toEqual(['two'])
  })
})
