/** The engine of OCI containers on a device that has no user IDs for containers, and on one that had or gets them later; on a real Podman. */
import { request } from 'node:http'
import { join } from 'node:path'
import { readSettings } from '@selvedge/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Content } from '../../../apps/runtime/src/services/deployments/deployments.ts'
import type { Engine, Instance, Plan } from '../../../apps/runtime/src/services/engines/engine.ts'
import { createOciEngine } from '../../../apps/runtime/src/services/engines/oci/oci-engine.ts'
import { type Blobs, openBlobs } from '../../../apps/runtime/src/services/images/blobs.ts'
import { admitImage } from '../../harness/admit-image.ts'
import { cgiImage } from '../../harness/cgi-image.ts'
import { idleHost } from '../../harness/host.ts'
import { needs } from '../../harness/installed.ts'
import { type Podman, podmanNeeds, startPodman } from '../../harness/podman.ts'
import { temporaryFolder } from '../../harness/processes.ts'

describe('without user IDs for containers', needs(...podmanNeeds, 'busybox', 'user IDs'), () => {
  let podman: Podman
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let blobs: Blobs
  let content: Content
  const engines: Engine[] = []
  const running: Instance[] = []
  beforeEach(async () => {
    podman = await startPodman()
    folder = await temporaryFolder()
    blobs = await openBlobs(join(folder.path, 'images'))
    const script = `/bin/busybox grep -E '^(CapEff|CapBnd|NoNewPrivs):' /proc/self/status; /bin/busybox cat /proc/self/uid_map
      /bin/busybox touch /data/x /tmp/mine && /bin/busybox chown 7:7 /data/x && /bin/busybox stat -c '%u' /data/x`
    content = await admitImage(blobs, chunksOf(cgiImage({ name: 'few', script })))
  })
  afterEach(async () => {
    await Promise.all(running.splice(0).map((each) => each.stop(0)))
    await Promise.all(engines.splice(0).map((each) => each.close(false)))
    await podman.stop()
    await folder.remove()
  })

  const engineWith = (hasIds: boolean) => {
    const missing = { uid: '/nonexistent', gid: '/nonexistent' }
    const engine = createOciEngine({
      state: folder.path,
      socket: podman.socket,
      blobs,
      ...(!hasIds && { subordinates: missing }),
    })
    engines.push(engine)
    return engine
  }
  const start = async (engine: Engine, revision: number) => {
    const env = { 'MCM.VOLUMES': 'data:/data' }
    const plan: Plan = {
      id: 'client-few',
      key: 'few',
      dataKey: 'few',
      asking: {
        accountId: 'account',
        clientId: 'client',
        name: 'service',
        image: 'image',
        digest: 'sha256:00',
      },
      revision,
      content,
      env,
      settings: readSettings(env),
      info: { httpPort: 1, nodeId: 'n', apiRoot: 'http://127.0.0.1:1', serviceType: 'few' },
      host: idleHost,
      log: () => undefined,
    }
    const instance = await engine.start(plan)
    running.push(instance)
    return { instance, text: await get(instance, '/cgi-bin/run') }
  }

  it('a container has the few capabilities with which programs give up root, and the report shows how to get more', async () => {
    const engine = engineWith(false)
    const { instance, text } = await start(engine, 1)
    // CHOWN, FOWNER, KILL, SETGID, SETUID, NET_BIND_SERVICE.
    expect(text).toMatch(/CapEff:\s+00000000000004e9\nCapBnd:\s+00000000000004e9\nNoNewPrivs:\s+1\n/)
    expect(text).toMatch(/^\s+0\s+0\s+4294967295\n7$/m)
    expect(instance.isolation).toContain('few capabilities')
    expect(instance.isolation).not.toContain('user namespace')
    const { isolation, hints } = await engine.describe()
    expect(isolation).toContain('few capabilities')
    expect(hints.join('\n')).toContain(
      "echo 'containers:2147483647:2147483648' | sudo tee -a /etc/subuid /etc/subgid",
    )
  })

  it('its volumes keep their owners when the device gets user IDs: it runs without a user namespace from then on', async () => {
    await start(engineWith(false), 1)
    const { instance, text } = await start(engineWith(true), 2)
    expect(text).toMatch(/\n7$/)
    expect(instance.isolation).toContain('few capabilities')
    expect((await engines[1]!.describe()).isolation).toContain('user namespace')
  })

  it('a container with volumes of IDs that are gone is refused, and not given the files of others', async () => {
    await start(engineWith(true), 1)
    await expect(start(engineWith(false), 2)).rejects.toMatchObject({
      reason: 'engine_unavailable',
      message: expect.stringContaining('the files in its volumes belong to users from'),
    })
  })
})

async function* chunksOf(archive: Buffer): AsyncGenerator<Buffer> {
  yield archive
}

const get = ({ upstream }: Instance, path: string): Promise<string> =>
  new Promise((resolve, reject) => {
    request({ ...upstream, path, agent: false }, async (response) =>
      resolve(
        Buffer.concat(await response.toArray())
          .toString()
          .trimEnd(),
      ),
    )
      .on('error', reject)
      .end()
  })
