import { createHash } from 'node:crypto'
import type { Content } from '../../deployments/deployments.ts'
import type { Blobs } from '../../images/blobs.ts'

const block = 512

async function header(path: string, size: number): Promise<Buffer> {
  const { Header } = await import('../../images/tar.lazy.ts')
  const made = new Header({ path, size, mode: 0o644, type: 'File', uid: 0, gid: 0, mtime: new Date(0) })
  made.encode()
  return made.block!
}

const padding = (size: number): Buffer => Buffer.alloc((block - (size % block)) % block)

/**
 * An image of the store as a `docker save` archive, which every engine loads. Nothing is written on the way.
 *
 * @param config the configuration that the engine gets, as JSON
 */
export async function* saveStream(
  blobs: Blobs,
  layers: Content['layers'],
  config: Buffer,
  tag: string,
): AsyncGenerator<Uint8Array> {
  const configPath = `${createHash('sha256').update(config).digest('hex')}.json`
  const pathOf = (digest: string) => `${digest.replace('sha256:', '')}.tar`
  const manifest = [
    { Config: configPath, RepoTags: [tag], Layers: layers.map(({ digest }) => pathOf(digest)) },
  ]
  for (const [path, content] of [
    ['manifest.json', Buffer.from(JSON.stringify(manifest))],
    [configPath, config],
  ] as const) {
    yield await header(path, content.length)
    yield content
    yield padding(content.length)
  }
  const written = new Set<string>()
  for (const { digest, size } of layers) {
    if (written.has(digest)) continue
    written.add(digest)
    yield await header(pathOf(digest), size)
    yield* blobs.read(digest)
    yield padding(size)
  }
  yield Buffer.alloc(2 * block)
}
