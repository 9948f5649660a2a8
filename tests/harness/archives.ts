/** Image archives for tests: sound ones, and every kind of broken one. */
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Header } from 'tar'

export interface TarEntry {
  readonly path: string
  readonly content?: string | Buffer
  readonly type?: 'File' | 'Directory' | 'SymbolicLink' | 'Link' | 'CharacterDevice' | 'BlockDevice' | 'FIFO'
  readonly linkpath?: string
  readonly mode?: number
}

const block = 512
export const sha256 = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex')

export function tarOf(entries: readonly TarEntry[]): Buffer {
  const parts = entries.flatMap(({ path, content = '', type = 'File', linkpath = '', mode = 0o755 }) => {
    const bytes = Buffer.from(content)
    const size = type === 'File' ? bytes.length : 0
    const header = new Header({ path, size, type, linkpath, mode, uid: 0, gid: 0, mtime: new Date(0) })
    header.encode()
    return [header.block!, bytes.subarray(0, size), Buffer.alloc((block - (size % block)) % block)]
  })
  return Buffer.concat([...parts, Buffer.alloc(2 * block)])
}

export interface ImageOptions {
  readonly layers: readonly Buffer[]
  readonly name?: string
  readonly config?: object
  /** Unpacked layers, where those given are compressed. */
  readonly unpacked?: readonly Buffer[]
  /** Annotations of the manifest in the index of a layout. Default: a reference with the name. */
  readonly annotations?: Readonly<Record<string, string>>
}

const configOf = ({ layers, unpacked = layers, config = {} }: ImageOptions): string =>
  JSON.stringify({
    architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
    os: 'linux',
    config,
    rootfs: { type: 'layers', diff_ids: unpacked.map((each) => `sha256:${sha256(each)}`) },
  })

/** The files of a `docker save` archive. */
export function savedFiles(options: ImageOptions): TarEntry[] {
  const config = configOf(options)
  const { layers, name = 'test' } = options
  const paths = layers.map((layer, at) => `${at}-${sha256(layer)}/layer.tar`)
  return [
    { path: `${sha256(config)}.json`, content: config },
    ...layers.map((content, at) => ({ path: paths[at]!, content })),
    {
      path: 'manifest.json',
      content: JSON.stringify([
        { Config: `${sha256(config)}.json`, RepoTags: [`${name}:1.0`], Layers: paths },
      ]),
    },
  ]
}

export const savedImage = (options: ImageOptions): Buffer => tarOf(savedFiles(options))

/** A function image with one file. */
export const functionImage = (source: string | Buffer, name = 'function', file = 'index.js'): Buffer =>
  savedImage({ name, layers: [tarOf([{ path: file, content: source }])] })

/** The files of an OCI layout. */
export function layoutFiles(options: ImageOptions): TarEntry[] {
  const config = configOf(options)
  const blob = (content: string | Buffer) => ({ path: `blobs/sha256/${sha256(content)}`, content })
  const describe = (mediaType: string, content: string | Buffer) => ({
    mediaType,
    digest: `sha256:${sha256(content)}`,
    size: Buffer.byteLength(content),
  })
  const manifest = JSON.stringify({
    schemaVersion: 2,
    config: describe('application/vnd.oci.image.config.v1+json', config),
    layers: options.layers.map((each) => describe('application/vnd.oci.image.layer.v1.tar', each)),
  })
  const index = {
    schemaVersion: 2,
    manifests: [
      {
        ...describe('application/vnd.oci.image.manifest.v1+json', manifest),
        annotations: options.annotations ?? {
          'org.opencontainers.image.ref.name': `${options.name ?? 'test'}:1.0`,
        },
      },
    ],
  }
  return [
    { path: 'oci-layout', content: '{"imageLayoutVersion":"1.0.0"}' },
    { path: 'index.json', content: JSON.stringify(index) },
    blob(manifest),
    blob(config),
    ...options.layers.map(blob),
  ]
}

export function writeFile(folder: string, name: string, content: string | Buffer): string {
  mkdirSync(folder, { recursive: true })
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}
