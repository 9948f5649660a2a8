/**
 * Several callers redeploy and remove one service at the same time. The quick run needs some seconds;
 * `SELVEDGE_REDEPLOY_SECONDS=60 npm test -- services/redeploys` is the campaign.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { functionImage, writeFile } from '../../harness/archives.ts'
import { type Services, startServices } from '../../harness/services.ts'

const seconds = Number(process.env.SELVEDGE_REDEPLOY_SECONDS ?? 3)
const name = 'shared'

let services: Services
beforeEach(async () => {
  services = await startServices()
})
afterEach(() => services.stop())

const blobs = () => readdirSync(join(services.stack.state, 'runtime/images/sha256'))
/** Blobs of function images, when each has other content than the others: the configuration and the file. */
const blobsOfImage = 2

/** Each outcome of a call with its count: `ok`, `not_found`, or why the call failed. */
type Outcomes = Record<string, number>

/** One caller that deploys an image and a container under the same name as the others, and removes the container at times. */
async function redeploy(caller: number, outcomes: Outcomes, isOver: () => boolean): Promise<void> {
  const { token: edgeAccessToken, stack } = services
  const runtime = services.runtime()
  const count = (work: Promise<unknown>) =>
    work.then(
      () => 'ok',
      ({ reason, message }) => (reason === 'not_found' ? reason : `${reason}: ${message}`),
    )
  for (let round = 0; !isOver(); round++) {
    const text = `export default { fetch: () => new Response("${caller}.${round}") }`
    const source = writeFile(`${stack.state}/archives`, `${caller}.tar`, functionImage(text, name))
    const calls = [
      () => runtime.deployImage({ edgeAccessToken, source }),
      () => runtime.deployContainer({ edgeAccessToken, spec: { name, image: name, env: {} } }),
      ...(round % 3 === 2 ? [() => runtime.removeContainer({ edgeAccessToken, id: name })] : []),
    ]
    for (const call of calls) {
      if (isOver()) return
      const outcome = await count(call())
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
    }
  }
}

async function redeployTogether(callers: number, isOver: () => boolean): Promise<Outcomes> {
  const outcomes: Outcomes = {}
  await Promise.all(Array.from({ length: callers }, (_, caller) => redeploy(caller, outcomes, isOver)))
  return outcomes
}

describe.each([2, 8])('%i callers that redeploy and remove one service', (callers) => {
  it(
    'always find the content that they deploy, and leave no unused content',
    async () => {
      const end = performance.now() + seconds * 1000
      const outcomes = await redeployTogether(callers, () => performance.now() > end)
      console.log(`${callers} callers for ${seconds} s: ${JSON.stringify(outcomes)}`)
      // Another caller may have removed the container before.
      const { ok = 0, not_found: _, ...failures } = outcomes
      expect(failures).toEqual({})
      expect(ok).toBeGreaterThan(callers)
      const edgeAccessToken = services.token
      await services
        .runtime()
        .removeContainer({ edgeAccessToken, id: name })
        .catch(() => undefined)
      await expect.poll(blobs).toHaveLength(blobsOfImage)
    },
    (seconds + 60) * 1000,
  )
})

it('content that nothing uses is removed when the runtime was killed in the middle of redeploys', async () => {
  let isOver = false
  const redeploys = redeployTogether(4, () => isOver)
  const edgeAccessToken = services.token
  const isDeployed = async () => (await services.runtime().getContainers({ edgeAccessToken })).length > 0
  await expect.poll(isDeployed).toBe(true)
  const restarted = services.restart('SIGKILL')
  isOver = true
  await Promise.all([restarted, redeploys])
  const images = await services.runtime().getImages({ edgeAccessToken })
  const digests = new Set(images.map(({ digest }) => digest))
  const containers = await services.runtime().getContainers({ edgeAccessToken })
  // A container may still run the version before the image that was deployed last.
  const most = digests.size + containers.length
  expect(blobs().length).toBeLessThanOrEqual(most * blobsOfImage)
  for (const { id } of containers) await services.runtime().removeContainer({ edgeAccessToken, id })
  await expect.poll(blobs).toHaveLength(digests.size * blobsOfImage)
})
