/** An image of usual size and content: two large programs, and thousands of files of npm packages, in five layers with gzip. */
import { createHash } from 'node:crypto'
import { createReadStream, mkdirSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { create } from 'tar'
import { sha256 } from '../../tests/harness/archives.ts'
import { root } from '../measure.ts'

const packages = join(root, 'node_modules')

/** What the layers hold: a folder, and names in it. */
const contents: readonly (readonly [folder: string, names: readonly string[]])[] = [
  [dirname(process.execPath), [basename(process.execPath)]],
  [packages, ['@deno']],
  [packages, ['@typescript', 'vite', 'playwright-core', 'rxjs']],
  [packages, ['maplibre-gl', '@maplibre', '@rolldown', 'knip', 'zod']],
  [packages, ['@babel', '@stryker-mutator', 'world-atlas', 'typescript', 'vitest', 'fastify']],
]

interface PulledImage {
  /** Bytes of all layers, as they are transferred. */
  readonly bytes: number
  readonly layers: number
}

interface Layer {
  readonly digest: string
  readonly size: number
  /** Digest of the layer unpacked. */
  readonly diffId: string
}

/** Writes the image to a folder, as an OCI layout. */
export async function writeImage(folder: string): Promise<PulledImage> {
  const blobs = join(folder, 'blobs/sha256')
  mkdirSync(blobs, { recursive: true })
  const layers: Layer[] = []
  for (const content of contents) layers.push(await writeLayer(blobs, ...content))
  const store = (mediaType: string, document: object) => {
    const text = JSON.stringify(document)
    writeFileSync(join(blobs, sha256(text)), text)
    return { mediaType, digest: `sha256:${sha256(text)}`, size: Buffer.byteLength(text) }
  }
  const config = store('application/vnd.oci.image.config.v1+json', {
    architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
    os: 'linux',
    config: { Cmd: ['/node'] },
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
  })
  const mediaType = 'application/vnd.oci.image.layer.v1.tar+gzip'
  const manifest = store('application/vnd.oci.image.manifest.v1+json', {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config,
    layers: layers.map(({ digest, size }) => ({ mediaType, digest, size })),
  })
  writeFileSync(join(folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}')
  writeFileSync(join(folder, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [manifest] }))
  return { bytes: layers.reduce((sum, { size }) => sum + size, 0), layers: layers.length }
}

async function writeLayer(blobs: string, cwd: string, names: readonly string[]): Promise<Layer> {
  const file = join(blobs, 'new')
  // A name that begins with @ would be that of an archive.
  await create(
    { file, cwd, gzip: { level: 6 }, portable: true, mtime: new Date(0) },
    names.map((each) => `./${each}`),
  )
  const [packed, unpacked] = [createHash('sha256'), createHash('sha256')]
  await pipeline(createReadStream(file), packed)
  await pipeline(createReadStream(file), createGunzip(), unpacked)
  const digest = packed.digest('hex')
  renameSync(file, join(blobs, digest))
  return {
    digest: `sha256:${digest}`,
    size: statSync(join(blobs, digest)).size,
    diffId: `sha256:${unpacked.digest('hex')}`,
  }
}
