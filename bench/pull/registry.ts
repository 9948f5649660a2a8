/** The registry of the pulls: Debian's `docker-registry` if it is installed, else a small one that sends the files of an OCI layout. */
import { spawn } from 'node:child_process'
import { createReadStream, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '@selvedge/service-kit/testing'
import { findProgram } from '../../tests/harness/installed.ts'
import { stop } from '../measure.ts'

interface ImageRegistry {
  /** What it is, for people. */
  readonly name: string
  /** Host, port, repository and tag of the image. */
  readonly reference: string
  stop(): Promise<void>
}

/**
 * @param folder for its files
 * @param layout folder with an OCI layout of one image
 * @param push copies the layout to a reference
 */
export async function startImageRegistry(
  folder: string,
  layout: string,
  push: (reference: string) => Promise<unknown>,
): Promise<ImageRegistry> {
  const program = findProgram('docker-registry')
  if (program === undefined) return startOwn(layout)
  const port = await freePort()
  const config = join(folder, 'registry.yml')
  writeFileSync(
    config,
    `version: 0.1\nlog:\n  level: error\nstorage:\n  filesystem:\n    rootdirectory: ${folder}/registry\nhttp:\n  addr: 127.0.0.1:${port}\n`,
  )
  const child = spawn(program, ['serve', config], { stdio: 'ignore' })
  const isUp = () =>
    fetch(`http://127.0.0.1:${port}/v2/`).then(
      ({ ok }) => ok,
      () => false,
    )
  while (!(await isUp())) await sleep(20)
  const reference = `127.0.0.1:${port}/bench/app:1`
  await push(reference)
  return { name: 'docker-registry', reference, stop: () => stop(child) }
}

async function startOwn(layout: string): Promise<ImageRegistry> {
  const [manifest] = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8')).manifests
  const server = createServer(({ url = '' }, response) => {
    const isManifest = url.includes('/manifests/')
    const digest = /sha256:[0-9a-f]{64}$/.exec(url)?.[0]
    if (!isManifest && digest === undefined) return response.end('{}')
    const path = join(layout, 'blobs', (digest ?? manifest.digest).replace(':', '/'))
    response.setHeader('Content-Length', statSync(path).size)
    if (isManifest) response.setHeader('Content-Type', manifest.mediaType)
    return createReadStream(path).pipe(response)
  })
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    name: 'a registry of the bench',
    reference: `127.0.0.1:${port}/bench/app:1`,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
