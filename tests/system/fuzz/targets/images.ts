import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { RpcError } from '@selvedge/protocol'
import { openBlobs } from '../../../../apps/runtime/src/services/images/blobs.ts'
import { admitImage } from '../../../harness/admit-image.ts'
import {
  functionImage,
  layoutFiles,
  savedFiles,
  savedImage,
  sha256,
  tarOf,
} from '../../../harness/archives.ts'
import { mutateJson } from '../engine/mutate-json.ts'
import { expectThat, type Mutator, outcomeOfLater, type Parser, type Target } from '../engine/target.ts'

/** Unpacked bytes that an image may have here, in both passes. */
const maxUnpacked = 8 * 1024 * 1024
const block = 512

/** Admits archives into a store of its own, and expects that nothing is left of what was refused. */
async function openImages(archiveOf: (input: Buffer) => Buffer): Promise<Parser> {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-fuzz-'))
  const blobs = await openBlobs(folder)
  return {
    async parse(input) {
      let work = 0
      let files = 1
      const take = (bytes: number) => {
        work += bytes
        if (work > maxUnpacked) throw new RpcError('limit_exceeded', 'the image is too large')
      }
      const counting = {
        ...blobs,
        draft: (...args: Parameters<typeof blobs.draft>) => {
          // A file costs some system calls, however small it is.
          files += 20
          return blobs.draft(...args)
        },
      }
      const archive = archiveOf(input)
      const outcome = await outcomeOfLater(async () => {
        const { kind, layers } = await admitImage(counting, pieces(archive), take)
        return `${kind} with ${layers.length} layers`
      }, [RpcError])
      const left = readdirSync(join(folder, 'incoming'))
      expectThat(left.length === 0, `${left.length} files are left`)
      // Blobs that were stored are removed, so that the folder does not grow.
      if (readdirSync(join(folder, 'sha256')).length > 50) await blobs.keepOnly(new Set())
      return { outcome, work: work + archive.length, calls: files }
    },
    close: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

async function* pieces(content: Buffer): AsyncGenerator<Buffer> {
  const size = content.length % 3 === 0 ? 1000 : 64 * 1024
  for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size)
}

const isHeader = (input: Buffer, at: number) => input.toString('latin1', at + 257, at + 262) === 'ustar'

/** Makes the checksum of a header right again (POSIX.1-2017 pax, ustar interchange format). */
function seal(input: Buffer, at: number): void {
  input.fill(0x20, at + 148, at + 156)
  let sum = 0
  for (let each = at; each < at + block; each++) sum += input[each]!
  input.write(`${sum.toString(8).padStart(6, '0')}\0 `, at + 148, 'latin1')
}

const checksums: Mutator = (input) => {
  const changed = Buffer.from(input)
  for (let at = 0; at + block <= changed.length; at += block) if (isHeader(changed, at)) seal(changed, at)
  return changed
}

const fields = {
  name: [0, 100],
  mode: [100, 8],
  size: [124, 12],
  mtime: [136, 12],
  type: [156, 1],
  link: [157, 100],
  prefix: [345, 155],
} as const
const names = [
  '../x',
  '/x',
  'a/../../x',
  'index.js',
  './index.js',
  'index.wasm',
  '',
  'a\\..\\b',
  'x/',
  'manifest.json',
  'a\0b',
]
const sizes = [
  '00000000000',
  '77777777777',
  '00000001000',
  '-0000000001',
  '\x80\0\0\0\0\0\0\0\0\0\0\x05',
  '\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff',
]

/** Changes one field of one header. */
const setField: Mutator = (input, random) => {
  const changed = Buffer.from(input)
  const found = []
  for (let at = 0; at + block <= changed.length && found.length < 100; at += block)
    if (isHeader(changed, at)) found.push(at)
  if (found.length === 0) return input
  const at = random.pick(found)
  const field = random.pick(Object.keys(fields) as (keyof typeof fields)[])
  const [start, length] = fields[field]
  const value =
    field === 'type'
      ? random.pick([...'01234567xgLKNSDVMX', '\0'])
      : field === 'size' || field === 'mtime' || field === 'mode'
        ? random.pick(sizes)
        : random.pick(names)
  changed.fill(0, at + start, at + start + length)
  changed.write(value.slice(0, length), at + start, 'latin1')
  seal(changed, at)
  return changed
}

const compress: Mutator = (input, random) =>
  random.oneIn(2) ? gzipSync(input, { level: 1 }) : Buffer.from(zstdCompressSync(input))
/** Many times the same, which compresses to nearly nothing. */
const bomb: Mutator = (_, random) => {
  const content = Buffer.alloc(random.size(64) * 1024 * 256)
  return compress(
    tarOf([{ path: 'index.js', content: content.subarray(0, random.below(content.length)) }]),
    random,
  )
}
const pax = (records: string) => {
  const entry = tarOf([{ path: 'PaxHeader', content: records }])
  const header = entry.subarray(0, entry.length - 2 * block)
  header.write('x', 156, 'latin1')
  seal(header, 0)
  return header
}
/** A pax header before everything else, whose records may lie about their length. */
const addPax: Mutator = (input, random) => {
  const value = random.pick([
    'path=../x',
    'size=99999999999',
    'size=-1',
    `path=${'a/'.repeat(200)}`,
    'linkpath=/etc',
    'GNU.sparse.map=1',
  ])
  const record = ` ${value}\n`
  const length = random.oneIn(3) ? random.below(1000) : record.length + 2
  return Buffer.concat([pax(`${length}${record}`.repeat(random.size(20))), input])
}

const tarMutators = [checksums, setField, setField, addPax]
const words = [
  'ustar\x0000',
  'ustar  \0',
  'index.js',
  'index.wasm',
  '\x1f\x8b\x08',
  '\x28\xb5\x2f\xfd',
  '../',
]
const source = 'export default { fetch() { return new Response("x") } }'
const layers = (): Buffer[] => [
  tarOf([{ path: 'index.js', content: source }]),
  tarOf([{ path: 'index.js', content: `${source}//${'x'.repeat(30_000)}` }]),
  tarOf([
    { path: 'bin', type: 'Directory' },
    { path: 'bin/sh', content: 'x'.repeat(2000) },
    { path: 'bin/ash', type: 'SymbolicLink', linkpath: 'sh' },
    { path: 'bin/link', type: 'Link', linkpath: 'bin/sh' },
  ]),
]

/** Layers, inside an archive whose digests are right. */
export const layer: Target = {
  name: 'layer',
  covers: [
    'apps/runtime/src/services/images/layer.ts',
    'apps/runtime/src/services/images/tar-stream.ts',
    'apps/runtime/src/services/images/admit.ts',
  ],
  seeds: () => [...layers(), gzipSync(layers()[0]!), Buffer.from(zstdCompressSync(layers()[1]!))],
  mutators: [...tarMutators, compress, bomb],
  words,
  maxBytes: 256 * 1024,
  open: () =>
    openImages((input) => savedImage({ layers: [input], unpacked: [input], config: { Cmd: ['/bin/sh'] } })),
}

/** Whole archives: of `docker save`, and OCI layouts. */
export const archive: Target = {
  name: 'archive',
  covers: ['apps/runtime/src/services/images/archive.ts', 'apps/runtime/src/services/images/blobs.ts'],
  seeds: () => [
    functionImage(source),
    functionImage(`${source}//${'x'.repeat(30_000)}`),
    gzipSync(functionImage(source)),
    tarOf(layoutFiles({ layers: [layers()[0]!] })),
    tarOf(layoutFiles({ layers: layers(), config: { Cmd: ['/bin/sh'] } })),
    tarOf([...savedFiles({ layers: [layers()[0]!] }), { path: 'x', type: 'SymbolicLink', linkpath: 'y' }]),
  ],
  mutators: [...tarMutators, compress],
  words: [...words, 'manifest.json', 'index.json', 'blobs/sha256/'],
  maxBytes: 256 * 1024,
  open: () => openImages((input) => input),
}

const one = layers()[0]!
const config = {
  architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
  os: 'linux',
  config: {
    Cmd: ['/bin/sh'],
    ExposedPorts: { '8080/tcp': {} },
    Env: Array(100).fill('NAME=a value of this variable'),
  },
  rootfs: { type: 'layers', diff_ids: [`sha256:${sha256(one)}`] },
}
const manifest = {
  schemaVersion: 2,
  config: { digest: 'CONFIG', size: 1 },
  layers: [{ digest: `sha256:${sha256(one)}`, size: one.length }],
}
const index = {
  manifests: [
    {
      mediaType: '',
      digest: 'MANIFEST',
      size: 1,
      platform: { os: 'linux', architecture: config.architecture },
    },
  ],
}
const saved = [{ Config: 'config.json', RepoTags: ['a:1'], Layers: ['layer.tar'] }]

/** Lays three lines of JSON out as the documents of an image; the words CONFIG and MANIFEST stand for digests. */
function documentsOf(input: Buffer): Buffer {
  const [first = '', second = '', third = ''] = input.toString().split('\n')
  if (third === '')
    return tarOf([
      { path: 'manifest.json', content: first },
      { path: 'config.json', content: second },
      { path: 'layer.tar', content: one },
    ])
  const put = (text: string, word: string, content: string) =>
    text.replaceAll(word, `sha256:${sha256(content)}`)
  const manifestText = put(second, 'CONFIG', third)
  const blob = (content: string | Buffer) => ({ path: `blobs/sha256/${sha256(content)}`, content })
  return tarOf([
    { path: 'index.json', content: put(first, 'MANIFEST', manifestText) },
    blob(manifestText),
    blob(third),
    blob(one),
  ])
}

/** Manifests, indexes and configurations. */
export const documents: Target = {
  name: 'documents',
  covers: ['apps/runtime/src/services/images/manifest.ts', 'apps/runtime/src/services/images/archive.ts'],
  seeds: () =>
    [
      [saved, config],
      [index, manifest, config],
    ].map((parts) => Buffer.from(parts.map((each) => JSON.stringify(each)).join('\n'))),
  mutators: [mutateJson],
  words: [
    'CONFIG',
    'MANIFEST',
    '"layers":[]',
    '"diff_ids":',
    '"platform":{}',
    '../',
    '"Config":"layer.tar"',
    '\n',
  ],
  open: () => openImages(documentsOf),
}
