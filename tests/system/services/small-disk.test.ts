/** A disk of 64 MiB: what is removed when room is needed, what never is, and what happens when there is none. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { functionImage } from '../../harness/archives.ts'
import { needs } from '../../harness/installed.ts'
import { temporaryFolder } from '../../harness/processes.ts'
import { callUrl, type Services, startServices } from '../../harness/services.ts'

const megabyte = 1024 * 1024
const reserve = 20 * megabyte

describe('on a small disk', needs('mounts'), () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let services: Services
  beforeAll(async () => {
    folder = await temporaryFolder()
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m,mode=0700', 'tmpfs', folder.path])
    services = await startServices({
      args: [`--images.reserve=${reserve}`],
      env: { SELVEDGE_STATE: folder.path },
    })
  })
  afterAll(async () => {
    await services.stop()
    execFileSync('umount', ['-l', folder.path])
    await folder.remove()
  })

  /** A function of so many MiB that no compression makes smaller; its archive goes up, and is on this disk only while it does. */
  const upload = (name: string, size: number) =>
    callUrl(`${services.url()}/mcm/v1/images`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-tar' },
      token: services.token,
      body: functionImage(
        `// ${randomBytes(Math.floor((size * megabyte) / 2)).toString('hex')}\nexport default { fetch: () => new Response("${name}") }`,
        name,
      ),
    })
  const names = async () =>
    (await services.runtime().getImages({ edgeAccessToken: services.token })).map(({ name }) => name).sort()

  it('images that nothing uses make room, the longest unused first; what a container uses stays', async () => {
    for (const name of ['used', 'old', 'newer']) expect((await upload(name, 6)).status, name).toBe(200)
    const spec = { name: 'keeper', image: 'used', env: {} }
    const { basePath } = await services.runtime().deployContainer({ edgeAccessToken: services.token, spec })
    // The archive and its content need half of an image more than fits, whatever else the services store.
    const { bavail, bsize } = statfsSync(folder.path)
    const fitting = (bavail * bsize - reserve) / megabyte
    expect((await upload('big', (fitting + 3) / 2)).status).toBe(200)
    expect(await names()).toEqual(['big', 'newer', 'used'])
    expect((await services.call(basePath)).text).toBe('used')
  })

  it('what does not fit is refused, and nothing of it is left', async () => {
    const before = await names()
    const { status, text } = await upload('huge', 40)
    expect({ status, reason: JSON.parse(text).error.reason }).toEqual({ status: 507, reason: 'storage_full' })
    expect(await names()).toEqual(before)
  })

  it('a full disk stops nothing that runs', async () => {
    const filler = join(folder.path, 'filler')
    try {
      writeFileSync(filler, Buffer.alloc(64 * megabyte))
    } catch {
      // Full, as it should be.
    }
    const { basePath } = (await services.runtime().getContainers({ edgeAccessToken: services.token }))[0]!
    expect((await services.call(basePath)).text).toBe('used')
    const spec = { name: 'late', image: 'used', env: { A: 'x'.repeat(10_000) } }
    await expect(
      services.runtime().deployContainer({ edgeAccessToken: services.token, spec }),
    ).rejects.toMatchObject({ reason: 'storage_full' })
    expect(
      (await services.runtime().getContainers({ edgeAccessToken: services.token })).map(({ name }) => name),
    ).toEqual(['keeper'])
    execFileSync('rm', [filler])
    expect((await services.runtime().deployContainer({ edgeAccessToken: services.token, spec })).state).toBe(
      'running',
    )
  })
})
