/** Makes the `docker save` archive of a function image. The same files make the same archive, byte for byte. */
import { hash } from 'node:crypto'
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, extname, join, resolve, sep } from 'node:path'
import { Header } from 'tar'
import { UsageError } from '../failure.ts'
import { type Builder, createBuilder } from './bundler/builder.ts'
import { findEntry, needsBundling } from './bundler/entry.ts'
import { isComponent } from './component/is-component.ts'

const block = 512
const sha256 = (content: string | Buffer): string => hash('sha256', content, 'hex')

/** A ustar archive: no times, no owners, files in the order they are given. */
function tar(files: readonly (readonly [path: string, content: Buffer])[]): Buffer {
  const parts = files.flatMap(([path, content]) => {
    const header = new Header({
      path,
      size: content.length,
      mode: 0o644,
      type: 'File',
      uid: 0,
      gid: 0,
      mtime: new Date(0),
    })
    header.encode()
    return [header.block!, content, Buffer.alloc((block - (content.length % block)) % block)]
  })
  return Buffer.concat([...parts, Buffer.alloc(2 * block)])
}

export interface Packed {
  readonly name: string
  readonly version: string
  /** Digest of the image configuration, as the runtime will show it. */
  readonly digest: string
  readonly archive: Buffer
  /** Paths of the modules in it, if it was bundled. */
  readonly modules: readonly string[]
}

export interface PackOptions {
  /** Default: the name of package.json, else the name of the folder. */
  readonly name?: string
  /** Default: the version of package.json, else 1.0.0. */
  readonly version?: string
  /** Bundles; without it, a new one is started and stopped. */
  readonly builder?: Builder
}

/**
 * The image of a folder with a function: `main` of its package.json, or index.ts, index.js or index.wasm. TypeScript and imports are
 * bundled into one file; see docs/services.md for what may be imported.
 *
 * @throws UsageError
 */
export async function packFolder(folder: string, options: PackOptions = {}): Promise<Packed> {
  const { main, ...named } = readPackage(folder)
  const path = findEntry(folder, main)
  const source = readOwnFile(folder, path)
  const isWasm = extname(path) === '.wasm'
  const entry = `index${isWasm && !isComponent(source) ? '.wasm' : '.js'}`
  const described = {
    name: cleanName(basename(resolve(folder))),
    version: '1.0.0',
    ...named,
    ...given(options),
  }
  if (!needsBundling(path, source, existsSync(join(folder, 'package.json'))))
    return { ...packFile(entry, source, described), modules: [] }
  const builder = options.builder ?? createBuilder()
  try {
    const { code, files } = isWasm
      ? await builder.transpile(source, path)
      : await builder.bundle(folder, path)
    return { ...packFile(entry, Buffer.from(code), described), modules: files }
  } finally {
    if (options.builder === undefined) builder.close()
  }
}

const given = ({ name, version }: PackOptions) => ({
  ...(name !== undefined && { name }),
  ...(version !== undefined && { version }),
})

/** @param entry `index.js` or `index.wasm` */
function packFile(
  entry: string,
  content: Buffer,
  { name, version }: { readonly name: string; readonly version: string },
): Omit<Packed, 'modules'> {
  if (!/^[a-z0-9][a-z0-9._-]*(?:\/[a-z0-9][a-z0-9._-]*)*$/.test(name))
    throw new UsageError(
      `the name of the image is ${JSON.stringify(name)}`,
      'Use lower-case letters, digits, ".", "_" and "-", such as --name hello',
    )
  if (!/^\w[\w.-]{0,127}$/.test(version))
    throw new UsageError(
      `the version of the image is ${JSON.stringify(version)}`,
      'Use up to 128 letters, digits, ".", "_" and "-", such as --image-version 1.0.0',
    )
  const layer = tar([[entry, content]])
  const layerId = sha256(layer)
  const config = JSON.stringify({
    // Runs anywhere; a constant, so that every machine makes the same archive.
    architecture: 'amd64',
    os: 'linux',
    config: { Labels: { 'dev.selvedge.entry': entry } },
    rootfs: { type: 'layers', diff_ids: [`sha256:${layerId}`] },
    history: [{ created_by: 'selvedge image pack' }],
  })
  const configId = sha256(config)
  const repoTag = `${name}:${version}`
  const text = (content: unknown) =>
    Buffer.from(typeof content === 'string' ? content : JSON.stringify(content))
  const archive = tar([
    [`${configId}.json`, text(config)],
    [`${layerId}/VERSION`, text('1.0')],
    [`${layerId}/json`, text({ id: layerId })],
    [`${layerId}/layer.tar`, layer],
    [
      'manifest.json',
      text([{ Config: `${configId}.json`, RepoTags: [repoTag], Layers: [`${layerId}/layer.tar`] }]),
    ],
    ['repositories', text({ [name]: { [version]: layerId } })],
  ])
  return { name, version, digest: `sha256:${configId}`, archive }
}

function readPackage(folder: string): { name?: string; version?: string; main?: unknown } {
  const path = join(folder, 'package.json')
  if (!existsSync(path)) return {}
  let json: { name?: unknown; version?: unknown; main?: unknown }
  try {
    json = Object(JSON.parse(readOwnFile(folder, 'package.json').toString()))
  } catch (cause) {
    if (cause instanceof UsageError) throw cause
    throw new UsageError(`${path} is not JSON: ${(cause as Error).message}`, 'Correct the file.')
  }
  const { name, version, main } = json
  return {
    main,
    ...(typeof name === 'string' && name !== '' && { name: cleanName(name) }),
    // Build metadata (SemVer § 10) has no place in a tag.
    ...(typeof version === 'string' && version !== '' && { version: version.replaceAll('+', '-') }),
  }
}

/** A file of the folder itself: a link that leads out of it would pack a file of the user. @throws UsageError */
function readOwnFile(folder: string, name: string): Buffer {
  const path = realpathSync(join(folder, name))
  if (!path.startsWith(realpathSync(folder) + sep) || !statSync(path).isFile())
    throw new UsageError(
      `${join(folder, name)} leads to ${path}, which is no file of the folder`,
      'Copy the file into the folder.',
    )
  return readFileSync(path)
}

/** A name that images may have. */
export const cleanName = (name: string): string =>
  name
    .toLowerCase()
    .replace(/^@/, '')
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '') || 'function'
