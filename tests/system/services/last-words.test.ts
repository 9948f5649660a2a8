/** What a service wrote last, also without a newline at its end: it is in the log, in the error for the caller, and in `selvedge why`. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cgiImage } from '../../harness/cgi-image.ts'
import { cliEnvOf, runCli } from '../../harness/cli.ts'
import { needs } from '../../harness/installed.ts'
import { type Podman, podmanNeeds, startPodman } from '../../harness/podman.ts'
import { root } from '../../harness/processes.ts'
import { type Services, startServices } from '../../harness/services.ts'

const words = 'fatal: sensor lost'
const failed = 'it ended with exit code 3: '
/** Restarted at once, and not with the next request. */
const always = { 'MCM.IDLE_SEC': '0' }

let services: Services
const idOf = (name: string) => `${services.developer.clientId}-${name}`
async function logOf(name: string): Promise<string[]> {
  const query = { edgeAccessToken: services.token, id: idOf(name), tail: 50 }
  const { lines } = await services.runtime().getContainerLogs(query)
  return lines.map(({ stream, text }) => `${stream} ${text}`)
}
const why = async (name: string) => {
  const env = { ...cliEnvOf(services.stack), SELVEDGE_ACCESS_TOKEN: services.token }
  return (await runCli(['why', idOf(name)], env)).out
}
const errorOf = (deploying: Promise<unknown>): Promise<Error & { hint?: string }> =>
  deploying.then(
    () => expect.unreachable('the deployment succeeded'),
    (cause) => cause,
  )

describe('an OCI container', needs(...podmanNeeds, 'busybox'), () => {
  let podman: Podman
  beforeAll(async () => {
    podman = await startPodman()
    services = await startServices({ args: [`--oci.socket=${podman.socket}`] })
  })
  afterAll(async () => {
    await services.stop()
    await podman.stop()
  })

  async function deploy(name: string, command: string, env: Record<string, string> = {}) {
    const config = { Cmd: ['/bin/sh', '-c', command] }
    const image = cgiImage({ name, script: '/bin/busybox touch /tmp/end', config })
    const { id } = await services.deployImage(image)
    const spec = { name, image: id, env }
    return services.runtime().deployContainer({ edgeAccessToken: services.token, spec })
  }
  const serve = '/bin/busybox httpd -p 8080 -h /www'
  const untilAsked = 'until [ -e /tmp/end ]; do /bin/busybox sleep 0.05; done'

  const streams = [
    ['stderr', '>&2'],
    ['stdout', ''],
  ] as const
  describe.each(streams)('that writes its last words to %s', (stream, target) => {
    const last = `printf '${words}' ${target}`

    it('ends at its first start', async () => {
      const name = `first-${stream}`
      const { message } = await errorOf(deploy(name, `${last}; exit 3`))
      expect(message).toBe(failed + words)
      expect(await why(name)).toContain(failed + words)
    })

    it('ends at the start of its next revision', async () => {
      const name = `next-${stream}`
      await deploy(name, `${serve} -f`)
      const { message } = await errorOf(deploy(name, `echo begins; ${last}; exit 3`))
      expect(message).toContain(failed)
      expect(message).toContain(words)
      expect(await logOf(name)).toContain(`${stream} ${words}`)
      expect(await why(name)).toMatch(new RegExp(`rolled back[^]*${words}`))
    })

    it('does not listen in time', async () => {
      const name = `deaf-${stream}`
      const env = { 'MCM.HEALTH_SEC': '10' }
      const { message } = await errorOf(deploy(name, `${last}; exec /bin/busybox sleep 600`, env))
      expect(message).toBe(
        `it did not listen on its port 8080 (MCM.PORT) for 10 s (MCM.HEALTH_SEC): ${words}`,
      )
    })

    it('ends after it has served', async () => {
      const name = `later-${stream}`
      const { basePath } = await deploy(name, `${serve}; ${untilAsked}; ${last}; exit 3`, always)
      expect((await services.call(`${basePath}/cgi-bin/run`)).status).toBe(200)
      await expect.poll(() => logOf(name)).toContain(`${stream} ${words}`)
      await expect.poll(() => why(name)).toContain(failed + words)
    })
  })
})

describe('a function', needs('bwrap'), () => {
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services.stop())

  it('in JavaScript ends at its start', async () => {
    const source = `console.error('${words}'); throw new Error('no sensor')`
    const { message, hint } = await errorOf(services.deploy('script', source))
    expect(message).toContain('no sensor')
    expect(hint).toContain(words)
    expect(await why('script')).toContain(words)
  })

  it('in JavaScript ends while it runs', async () => {
    const source = `export default { fetch() {
      console.error('${words}')
      for (const all = []; ; ) all.push(new Uint8Array(1e6).fill(1))
    } }`
    const { basePath } = await services.deploy('memory', source, { ...always, 'MCM.MEMORY_MB': '64' })
    expect((await services.call(basePath)).status).toBeGreaterThanOrEqual(500)
    await expect.poll(() => logOf('memory')).toContain(`stderr ${words}`)
    await expect.poll(() => why('memory')).toMatch(new RegExp(`memory limit.*${words}`))
  })

  it('in WASM ends in the middle of a line', async () => {
    const wasm = readFileSync(join(root, 'tests/system/services/last-words.wasm'))
    const { basePath } = await services.deploy('wasm', wasm, {}, 'index.wasm')
    const { status, text } = await services.call(basePath)
    expect(status).toBe(500)
    expect(text).not.toContain(words)
    await expect
      .poll(() => logOf('wasm'))
      .toEqual(expect.arrayContaining([`stderr ${words}`, 'stdout battery low']))
  })
})
