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
const hexOf = (digest: string): string => digest.replace('sha256:', '')

/** An image of the store as a `docker save` archive, which every engine loads. Nothing is written on the way. */
export async function* saveStream(
  blobs: Blobs,
  { config, layers }: Content,
  tag: string,
): AsyncGenerator<Uint8Array> {
  const manifest = Buffer.from(
    JSON.stringify([
      {
        Config: `${hexOf(config.digest)}.json`,
        RepoTags: [tag],
        Layers: layers.map(({ digest }) => `${hexOf(digest)}.tar`),
      },
    ]),
  )
  yield await header('manifest.json', manifest.length)
  yield manifest
  yield padding(manifest.length)
  const written = new Set<string>()
  for (const [{ digest, size }, suffix] of [
    [config, 'json'] as const,
    ...layers.map((each) => [each, 'tar'] as const),
  ]) {
    const name = `${hexOf(digest)}.${suffix}`
    if (written.has(name)) continue
    written.add(name)
    yield await header(name, size)
    yield* blobs.read(digest)
    yield padding(size)
  }
  yield Buffer.alloc(2 * block)
}
