/** What every engine must do, tried on both: functions on Deno, and OCI containers on a real Podman. */
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { readSettings } from '@selvedge/protocol'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { admitImage } from '../../../../../tests/harness/admit-image.ts'
import { functionImage, savedImage, tarOf } from '../../../../../tests/harness/archives.ts'
import { idleHost } from '../../../../../tests/harness/host.ts'
import { needs } from '../../../../../tests/harness/installed.ts'
import { processesOf, socketFolder } from '../../../../../tests/harness/instances.ts'
import { type Podman, podmanNeeds, startPodman } from '../../../../../tests/harness/podman.ts'
import { root, temporaryFolder } from '../../../../../tests/harness/processes.ts'
import type { Content } from '../deployments/deployments.ts'
import { type Blobs, openBlobs } from '../images/blobs.ts'
import type { Engine, Instance, Plan, Upstream } from './engine.ts'
import { createFunctionEngine } from './function/function-engine.ts'
import { createOciEngine } from './oci/oci-engine.ts'

interface Subject {
  readonly engine: Engine
  /** Serves its environment variable GREETING, and prints "started" on standard output. */
  readonly good: Content
  /** Ends with an error before it listens. */
  readonly broken: Content
  /** Kills the processes of every instance, as the kernel would. */
  kill(): void
  close(): Promise<void>
}

const greeter = `console.log('started')
export default { fetch: (request, env) => new Response(env.GREETING) }`
const busybox = '/bin/busybox'

async function contentOf(blobs: Blobs, archive: Buffer): Promise<Content> {
  const chunks = (async function* () {
    yield archive
  })()
  return admitImage(blobs, chunks)
}

const subjects: Record<string, { needed: ReturnType<typeof needs>; create: () => Promise<Subject> }> = {
  function: {
    needed: needs('bwrap'),
    async create() {
      const folder = await temporaryFolder()
      const blobs = await openBlobs(join(folder.path, 'images'))
      const program = join(root, 'apps/runtime/dist/function-host.mjs')
      return {
        engine: createFunctionEngine({ state: folder.path, program, blobs }),
        good: await contentOf(blobs, functionImage(greeter)),
        broken: await contentOf(blobs, functionImage('throw new Error("broken on purpose")')),
        kill() {
          for (const pid of processesOf(socketFolder(folder.path))) process.kill(pid, 'SIGKILL')
        },
        close: folder.remove,
      }
    },
  },
  oci: {
    needed: needs(...podmanNeeds, 'busybox'),
    async create() {
      const folder = await temporaryFolder()
      const podman: Podman = await startPodman()
      const blobs = await openBlobs(join(folder.path, 'images'))
      const image = (script: string) =>
        savedImage({
          config: { Cmd: ['/bin/sh', '-c', script], ExposedPorts: { '9000/tcp': {} } },
          layers: [
            tarOf([
              { path: 'bin', type: 'Directory' },
              { path: 'bin/busybox', content: readFileSync(busybox) },
              { path: 'bin/sh', type: 'SymbolicLink', linkpath: '/bin/busybox' },
              { path: 'tmp', type: 'Directory' },
            ]),
          ],
        })
      const serve =
        'echo started; /bin/busybox mkdir /tmp/www; printf %s "$GREETING" > /tmp/www/index.html; exec /bin/busybox httpd -f -p $PORT -h /tmp/www'
      return {
        engine: createOciEngine({ state: folder.path, socket: podman.socket, blobs }),
        good: await contentOf(blobs, image(serve)),
        broken: await contentOf(blobs, image('echo "broken on purpose" >&2; exit 3')),
        kill: () => podman.run('kill', '--all'),
        async close() {
          await podman.stop()
          await folder.remove()
        },
      }
    },
  },
}

describe.each(Object.entries(subjects))('the %s engine', (kind, { needed, create }) => {
  describe('keeps the promises of an engine', needed, () => {
    let subject: Subject
    const running: Instance[] = []
    beforeAll(async () => {
      subject = await create()
    })
    afterEach(async () => {
      await Promise.all(running.splice(0).map((each) => each.stop(0)))
    })
    afterAll(async () => {
      await subject.engine.close(false)
      await subject.close()
    })

    const logs: string[] = []
    const plan = (
      content: Content,
      env: Record<string, string> = {},
      id = 'client-service',
      revision = 1,
    ): Plan => ({
      id,
      key: id,
      dataKey: id,
      asking: {
        accountId: 'account',
        clientId: 'client',
        name: 'service',
        image: 'image',
        digest: 'sha256:00',
      },
      revision,
      content,
      env: { GREETING: 'hello', ...env },
      settings: readSettings(env),
      info: { httpPort: 1, nodeId: 'n', apiRoot: 'http://127.0.0.1:1', serviceType: id },
      host: idleHost,
      log: (stream, text) => logs.push(`${stream} ${text}`),
    })
    const start = async (...args: Parameters<typeof plan>) => {
      const instance = await subject.engine.start(plan(...args))
      running.push(instance)
      return instance
    }

    it('describes itself and its isolation', async () => {
      const { available, isolation } = await subject.engine.describe()
      expect(available).toBe(true)
      expect(isolation).toContain('namespaces')
    })

    it('starts an instance that answers, passes on what it writes, and knows its memory', async () => {
      logs.length = 0
      const instance = await start(subject.good)
      expect(await get(instance.upstream)).toBe('hello')
      await expect.poll(() => logs).toContain('stdout started')
      expect(await instance.memory()).toBeGreaterThan(100_000)
      expect(await instance.responds()).toBe(true)
      expect(instance.isolation.length).toBeGreaterThan(2)
    })

    it('stops one in order, and leaves nothing', async () => {
      const instance = await start(subject.good)
      await instance.stop(5)
      await instance.ended
      await expect(get(instance.upstream)).rejects.toThrow()
    })

    it('runs several of one container at once', async () => {
      const first = await start(subject.good, { GREETING: 'one' })
      const second = await start(subject.good, { GREETING: 'two' }, 'client-service', 2)
      expect([await get(first.upstream), await get(second.upstream)]).toEqual(['one', 'two'])
    })

    it('refuses what does not start, with its last output', async () => {
      logs.length = 0
      await expect(start(subject.broken, { 'MCM.HEALTH_SEC': '5' })).rejects.toMatchObject({
        reason: 'container_failed',
        message: expect.stringContaining('broken on purpose'),
      })
      await expect.poll(() => logs.join('\n')).toContain('broken on purpose')
    })

    it('reports when one ends by itself', async () => {
      const instance = await start(subject.good, {}, 'client-killed')
      subject.kill()
      expect(await instance.ended).toMatchObject({ reason: 'exited', why: expect.stringMatching(/ended/) })
    })

    // Without control groups, the kernel alone sees to it, at the end of the runtime.
    it('leaves nothing of an earlier run', kind === 'function' ? needs('root') : {}, async () => {
      const instance = await start(subject.good, {}, 'client-left')
      await subject.engine.recover(new Map(), new Set())
      expect(await instance.ended).toBeTruthy()
    })

    it('adopts only the same container and revision', async () => {
      await start(subject.good, {}, 'client-adopted', 4)
      expect(await subject.engine.adopt(plan(subject.good, {}, 'client-adopted', 5))).toBeUndefined()
      expect(await subject.engine.adopt(plan(subject.good, {}, 'client-other', 4))).toBeUndefined()
      const again = await subject.engine.adopt(plan(subject.good, {}, 'client-adopted', 4))
      // What ends with the runtime has nothing to adopt.
      if (kind === 'oci') expect(await get(again!.upstream)).toBe('hello')
      else expect(again).toBeUndefined()
    })
  })
})

function get(upstream: Upstream): Promise<string> {
  return new Promise((resolve, reject) => {
    request({ ...upstream, path: '/', agent: false }, (response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => resolve(text))
    })
      .on('error', reject)
      .end()
  })
}
