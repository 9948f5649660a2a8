/** Images and containers by the command line alone, as a person would. */
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sha256 } from '../../harness/archives.ts'
import { cliEnvOf, cliPath, jsonOf } from '../../harness/cli.ts'
import { runCliHere as runCli } from '../../harness/cli-here.ts'
import { temporaryFolder } from '../../harness/processes.ts'
import { type Services, startServices } from '../../harness/services.ts'

let services: Services
let folder: { path: string; remove: () => Promise<void> }
beforeAll(async () => {
  services = await startServices()
  folder = await temporaryFolder()
})
afterAll(async () => {
  await services.stop()
  await folder.remove()
})

const env = () => ({ ...cliEnvOf(services.stack), SELVEDGE_ACCESS_TOKEN: services.token })
const run = (...args: string[]) => runCli(args, env())
const json = (...args: string[]) => jsonOf(run(...args, '--json'))
const path = (name: string) => join(folder.path, name)
const idOf = (name: string) => `${services.developer.clientId}-${name}`

describe('from an empty folder to a service that answers', () => {
  it('init, pack, deploy image, deploy container, call', async () => {
    expect((await json('init', 'function', path('hello'))).files).toContain('index.ts')
    const packed = await json('image', 'pack', path('hello'), '-o', path('hello.tar'))
    expect(packed).toMatchObject({ name: 'hello', version: '1.0.0' })
    expect((await json('image', 'deploy', path('hello.tar'))).digest).toBe(packed.digest)
    const container = await json(
      'container',
      'deploy',
      '--name',
      'hello',
      '--image',
      'hello',
      '--env',
      'MCM.BASE_API_PATH=/hello/v1',
      '--env',
      'A=1',
    )
    expect(container).toMatchObject({ id: idOf('hello'), state: 'running', env: { A: '1' } })
    expect(JSON.parse((await services.call(`${container.basePath}/x`)).text)).toMatchObject({
      hello: 'from the edge',
      visits: 1,
    })
  })

  it('the same files make the same archive, byte for byte', async () => {
    await json('image', 'pack', path('hello'), '-o', path('again.tar'))
    expect(sha256(readFileSync(path('again.tar')))).toBe(sha256(readFileSync(path('hello.tar'))))
    writeFileSync(path('hello/package.json'), '{"name":"@me/named","version":"2.1.0"}')
    expect(await json('image', 'pack', path('hello'), '-o', path('named.tar'))).toMatchObject({
      name: 'me-named',
      version: '2.1.0',
    })
  })

  it('takes what to deploy from files, options last', async () => {
    writeFileSync(
      path('spec.json'),
      JSON.stringify({ name: 'filed', image: 'hello', env: { A: 'payload', B: 'payload', C: 'payload' } }),
    )
    writeFileSync(path('vars'), '# a comment\nB=file\n\nC=file\n')
    const { env: merged } = await json(
      'container',
      'deploy',
      '--payload',
      path('spec.json'),
      '--env-file',
      path('vars'),
      '--env',
      'C=option',
    )
    expect(merged).toMatchObject({ A: 'payload', B: 'file', C: 'option' })
  })
})

describe('what a person sees', () => {
  it('lists with state, time, memory, restarts, path', async () => {
    const { out } = await run('container', 'list')
    expect(out).toMatch(/id +state +uptime +memory +restarts +path/)
    expect(out).toMatch(
      new RegExp(
        `${idOf('hello')} +running +\\d+ (s|min) +\\d+\\.\\d MiB +0 +/${services.developer.clientId}/hello/v1`,
      ),
    )
    expect((await run('image', 'list')).out).toMatch(/hello +function +\d+ +2 /)
  })

  it('why: what happened, when, by whom, by which rule', async () => {
    const { out } = await run('why', 'hello')
    expect(out).toMatch(
      /^\d{4}-\S+Z {2}deployed\n {2}by +account \S+, client \S+\n {2}rule +deployContainer\n {2}detail +revision 1/,
    )
  })

  it('doctor: what is there and which layers hold', async () => {
    const { out } = await run('doctor')
    expect(out).toMatch(/ok {4}runtime/)
    expect(out).toMatch(/ok {4}functions +\S+deno: language permissions/)
    expect(out).toMatch(/(ok|miss) {2,4}oci/)
  })

  it.each([
    [
      ['container', 'deploy', '--name', 'x', '--image', 'nothing'],
      1,
      /cannot find image with name "nothing"[\s\S]*hint: Deployed are: hello/,
    ],
    [['container', 'deploy', '--name', 'x'], 2, /image[\s\S]*hint: Give the name of an image/],
    [['container', 'deploy', '--name', 'x', '--image', 'hello', '--env', 'novalue'], 2, /not KEY=value/],
    [['container', 'wait', 'nobody'], 1, /there is no container/],
    [['container', 'logs', 'nobody'], 1, /there is no container "nobody" of client/],
    [['image', 'deploy', '/nowhere.tar'], 2, /there is no file/],
    [['image', 'pack', '/tmp/no-such-folder'], 2, /there is no folder/],
    [['init', 'rust', '/tmp/x'], 2, /function, oci, wasm, worker/],
  ])('%j: says what was wrong and what to do', async (args, code, message) => {
    const ran = await run(...args)
    expect(ran.code).toBe(code)
    expect(ran.errors).toMatch(message)
    expect(ran.errors).toMatch(/hint: /)
  })

  it('a token without the right scope is exit code 4', async () => {
    const { accessToken } = await import('../../harness/flow.ts')
    const token = await accessToken(services.stack, services.developer, 'openid')
    const ran = await runCli(['image', 'list'], { ...env(), SELVEDGE_ACCESS_TOKEN: token })
    expect(ran).toMatchObject({ code: 4, errors: expect.stringContaining('insufficient_scope') })
  })
})

describe('through its life', () => {
  it('stop, start, wait, logs, remove', async () => {
    const id = idOf('hello')
    expect((await json('container', 'stop', id)).state).toBe('stopped')
    expect((await json('container', 'wait', 'hello', '--for', 'stopped')).state).toBe('stopped')
    const late = await run('container', 'wait', id, '--for', 'running', '--timeout', '0.5')
    expect(late).toMatchObject({ code: 1, errors: expect.stringContaining('is stopped') })
    expect((await json('container', 'start', id)).state).toBe('running')
    await json('init', 'worker', path('talker'))
    await json('image', 'pack', path('talker'), '-o', path('talker.tar'))
    await json('image', 'deploy', path('talker.tar'))
    const { basePath } = await json('container', 'deploy', '--name', 'talker', '--image', 'talker')
    await services.call(`${basePath}/one`)
    await expect
      .poll(async () => (await run('container', 'logs', idOf('talker'))).out)
      .toMatch(/\d\d:\d\d:\d\d\.\d{3} {3}GET \/one/)
    expect((await json('container', 'logs', idOf('talker'), '--since', '0s')).lines).toEqual([])
    expect(
      (await json('container', 'logs', idOf('talker'), '--since', '1h', '--tail', '1')).lines,
    ).toHaveLength(1)
    for (const name of ['hello', 'filed', 'talker'])
      expect(await json('container', 'remove', idOf(name))).toEqual({ id: idOf(name) })
    expect(await json('container', 'list')).toEqual([])
    for (const name of ['hello', 'talker'])
      expect(await json('image', 'remove', idOf(name))).toEqual({ id: idOf(name) })
  })

  it('logs --follow and dev: lines as they are written, the next version as soon as it is saved', async () => {
    await json('init', 'worker', path('live'))
    const child = spawn(process.execPath, [cliPath, 'dev', path('live')], { env: env() })
    let out = ''
    let errors = ''
    child.stdout.on('data', (chunk) => {
      out += chunk
    })
    child.stderr.on('data', (chunk) => {
      errors += chunk
    })
    await expect.poll(() => errors).toMatch(/deployed \S+-live \(function\)/)
    const base = `/${services.developer.clientId}/live`
    await services.call(`${base}/first`)
    await expect.poll(() => out).toContain('GET /first')
    writeFileSync(
      path('live/index.ts'),
      'export default { fetch() { console.log("second version"); return new Response("two") } }',
    )
    await expect.poll(async () => (await services.call(base)).text).toBe('two')
    await expect.poll(() => out).toContain('second version')
    writeFileSync(path('live/index.ts'), 'throw new Error("at the start")\nexport default {}')
    await expect.poll(() => errors).toMatch(/not deployed: rolled back/)
    expect((await services.call(base)).text).toBe('two')
    child.kill('SIGINT')
    await new Promise((resolve) => child.once('exit', resolve))
    expect(child.exitCode).toBe(0)
  })
})
