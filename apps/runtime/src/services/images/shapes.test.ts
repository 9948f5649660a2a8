/**
 * Archives in the shapes that tools give them, after their documents and code: what differs are names, links, documents beside
 * the image, compression, and layers that change nothing.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import type { RpcError } from '@selvedge/protocol'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { admitImage } from '../../../../../tests/harness/admit-image.ts'
import { sha256, type TarEntry, tarOf } from '../../../../../tests/harness/archives.ts'
import { temporaryFolder } from '../../../../../tests/harness/processes.ts'
import { type Blobs, openBlobs } from './blobs.ts'
import { ownArchitecture } from './manifest.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let blobs: Blobs
beforeEach(async () => {
  folder = await temporaryFolder()
  blobs = await openBlobs(folder.path)
})
afterEach(() => folder.remove())

async function* inPieces(content: Buffer) {
  for (let at = 0; at < content.length; at += 700) yield content.subarray(at, at + 700)
}
const admit = (entries: readonly TarEntry[]) => admitImage(blobs, inPieces(tarOf(entries)))
const refusal = async (entries: readonly TarEntry[]) => {
  const cause: RpcError = await admit(entries).then(
    () => expect.unreachable(),
    (refused) => refused,
  )
  expect([
    ...readdirSync(join(folder.path, 'incoming')),
    ...readdirSync(join(folder.path, 'sha256')),
  ]).toEqual([])
  return `${cause.reason}: ${cause.message}`
}

const root = tarOf([
  { path: './', type: 'Directory' },
  { path: './etc', type: 'Directory' },
  { path: './etc/app', content: 'x' },
])
const code = tarOf([{ path: 'index.js', content: 'export default {}' }])
/** What Docker makes of a step that changes nothing: two blocks of zeros, and the same after Go's gzip (moby, `layer/empty.go`). */
const empty = Buffer.alloc(1024)
const emptyGzip = Buffer.from('1f8b080000096e8800ff621805a360148c5800080000ffff2eafb5ef00040000', 'hex')

const platform = { os: 'linux', architecture: ownArchitecture() }
interface Parts {
  readonly layers: readonly Buffer[]
  readonly unpacked?: readonly Buffer[]
  readonly more?: object
}
const configOf = ({ layers, unpacked = layers, more = {} }: Parts) =>
  JSON.stringify({
    ...platform,
    config: { Cmd: ['/etc/app'] },
    rootfs: { type: 'layers', diff_ids: unpacked.map((each) => `sha256:${sha256(each)}`) },
    history: unpacked.flatMap(() => [{ created_by: 'COPY' }, { created_by: 'ENV a=b', empty_layer: true }]),
    ...more,
  })

const descriptor = (content: string | Buffer, mediaType: string, more: object = {}) => ({
  mediaType,
  digest: `sha256:${sha256(content)}`,
  size: Buffer.byteLength(content),
  ...more,
})
const types = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
}
const blob = (content: string | Buffer): TarEntry => ({ path: `blobs/sha256/${sha256(content)}`, content })
const manifestOf = (parts: Parts, more: object = {}) =>
  JSON.stringify({
    schemaVersion: 2,
    mediaType: types.manifest,
    config: descriptor(configOf(parts), types.config),
    layers: parts.layers.map((each) => descriptor(each, types.layer)),
    ...more,
  })
const indexOf = (manifests: readonly object[], more: object = {}) =>
  JSON.stringify({ schemaVersion: 2, mediaType: types.index, manifests, ...more })
/** An OCI layout in which the index is what is given, and the blobs are those of the parts and some more. */
function layout(parts: Parts, index: string, ...documents: readonly string[]): TarEntry[] {
  const all = new Map(
    [configOf(parts), ...documents, ...parts.layers].map((each) => [sha256(each), blob(each)]),
  )
  return [
    { path: 'blobs', type: 'Directory' },
    { path: 'blobs/sha256', type: 'Directory' },
    ...all.values(),
    { path: 'index.json', content: index },
    { path: 'oci-layout', content: '{"imageLayoutVersion":"1.0.0"}' },
  ]
}
const plainLayout = (parts: Parts, more: object = {}): TarEntry[] => {
  const manifest = manifestOf(parts, more)
  return layout(parts, indexOf([descriptor(manifest, types.manifest)]), manifest)
}

interface Saved {
  /** Name of the configuration in the archive, by its digest in hex. */
  readonly config?: (hex: string) => string
  readonly layer?: (hex: string, at: number) => string
  readonly tags?: readonly string[] | null
}
const hexOfConfig = (hex: string) => `${hex}.json`
function saved(
  parts: Parts,
  { config = hexOfConfig, layer = (hex) => `${hex}/layer.tar`, tags = ['app:1'] }: Saved = {},
): TarEntry[] {
  const text = configOf(parts)
  const paths = parts.layers.map((each, at) => layer(sha256(each), at))
  const files = new Map(parts.layers.map((content, at) => [paths[at]!, { path: paths[at]!, content }]))
  const manifest = [{ Config: config(sha256(text)), RepoTags: tags, Layers: paths }]
  return [
    ...files.values(),
    { path: config(sha256(text)), content: text },
    { path: 'manifest.json', content: JSON.stringify(manifest) },
  ]
}

const hexTarGz = { config: (hex: string) => `sha256:${hex}`, layer: (hex: string) => `${hex}.tar.gz` }
const id = 'a'.repeat(64)
const legacy = (folderOf: string): TarEntry[] => [
  { path: folderOf, type: 'Directory' },
  { path: `${folderOf}/VERSION`, content: '1.0' },
  { path: `${folderOf}/json`, content: JSON.stringify({ id: folderOf, os: 'linux' }) },
]
const gzipped: Parts = { layers: [gzipSync(root), emptyGzip], unpacked: [root, empty] }
const attestation = manifestOf({ layers: [Buffer.from('{}')] })
const signature = manifestOf(
  { layers: [Buffer.from('{"critical":{}}')] },
  { artifactType: 'application/vnd.dev.cosign.simplesigning.v1+json' },
)
const image = manifestOf(gzipped)
const inner = indexOf([
  descriptor(manifestOf({ layers: [code] }), types.manifest, {
    platform: { os: 'linux', architecture: 's390x' },
  }),
  descriptor(image, types.manifest, { platform }),
  descriptor(attestation, types.manifest, {
    platform: { os: 'unknown', architecture: 'unknown' },
    annotations: {
      'vnd.docker.reference.type': 'attestation-manifest',
      'vnd.docker.reference.digest': `sha256:${sha256(image)}`,
    },
  }),
])

describe('the archive of a tool', () => {
  it.each<[string, () => TarEntry[]]>([
    [
      'docker save before version 25: a folder for each layer, and links',
      () => [
        ...legacy(id),
        ...saved(
          { layers: [root, empty] },
          { layer: (hex, at) => (at === 0 ? `${id}/layer.tar` : `${hex}/layer.tar`) },
        ),
        { path: 'repositories', content: JSON.stringify({ app: { '1': id } }) },
      ],
    ],
    [
      'docker save since version 25: a layout with a manifest.json',
      () => [
        ...plainLayout({ layers: [root, empty] }),
        ...saved(
          { layers: [root, empty] },
          { config: (hex) => `blobs/sha256/${hex}`, layer: (hex) => `blobs/sha256/${hex}` },
        ).filter(({ path }) => path === 'manifest.json'),
        { path: 'repositories', content: '{}' },
      ],
    ],
    [
      'podman save, skopeo: layers by digest, and links to them from folders',
      () => [
        ...saved({ layers: [root, empty] }, { layer: (hex) => `${hex}.tar` }),
        ...legacy(id),
        { path: `${id}/layer.tar`, type: 'SymbolicLink', linkpath: `../${sha256(root)}.tar` },
      ],
    ],
    ['skopeo without a name', () => saved({ layers: [root] }, { layer: (hex) => `${hex}.tar`, tags: null })],
    ['crane, ko and kaniko: compressed layers, and a colon in a name', () => saved(gzipped, hexTarGz)],
    [
      'nix: a name for the archive of its own, ./ before each',
      () =>
        saved({ layers: [root] }, { layer: (hex) => `${hex.slice(0, 32)}/layer.tar` }).map((each) => ({
          ...each,
          path: `./${each.path}`,
        })),
    ],
    [
      'BuildKit: an index in the index, with an attestation',
      () => layout(gzipped, indexOf([descriptor(inner, types.index)]), inner, image, attestation),
    ],
    [
      'BuildKit, the attestation first and without its platform',
      () => {
        const type = { annotations: { 'vnd.docker.reference.type': 'attestation-manifest' } }
        const all = [descriptor(attestation, types.manifest, type), descriptor(image, types.manifest)]
        return layout(gzipped, indexOf(all), image, attestation)
      },
    ],
    [
      'cosign: a signature beside the image, and first',
      () => {
        const artifactType = 'application/vnd.dev.cosign.simplesigning.v1+json'
        const all = [
          descriptor(signature, types.manifest, { artifactType }),
          descriptor(image, types.manifest),
        ]
        return layout(gzipped, indexOf(all), image, signature)
      },
    ],
    ['buildah and umoci: one manifest', () => plainLayout(gzipped)],
    [
      'a registry of Docker: its own media types',
      () => {
        const manifest = JSON.stringify({
          schemaVersion: 2,
          mediaType: 'application/vnd.docker.distribution.manifest.v2+json',
          config: descriptor(configOf(gzipped), 'application/vnd.docker.container.image.v1+json'),
          layers: gzipped.layers.map((each) =>
            descriptor(each, 'application/vnd.docker.image.rootfs.diff.tar.gzip'),
          ),
        })
        const list = JSON.stringify({
          schemaVersion: 2,
          mediaType: 'application/vnd.docker.distribution.manifest.list.v2+json',
          manifests: [descriptor(manifest, '', { platform: { ...platform, variant: 'v8' } })],
        })
        return layout(gzipped, indexOf([descriptor(list, '')]), list, manifest)
      },
    ],
    [
      'a layer that may not be given on, which is there, with the place that it is from',
      () => {
        const layers = gzipped.layers.map((each) =>
          descriptor(each, 'application/vnd.oci.image.layer.nondistributable.v1.tar+gzip', {
            urls: ['https://storage.example/layer'],
          }),
        )
        return plainLayout(gzipped, { layers })
      },
    ],
    [
      'a configuration with members of others',
      () =>
        plainLayout({
          layers: [root],
          more: { history: undefined, variant: 'v8', moby: {}, 'os.features': [], author: '' },
        }),
    ],
  ])('is read: %s', async (_name, make) => {
    const { kind, layers } = await admit(make())
    expect(kind).toBe('oci')
    expect(layers[0]).toMatchObject({ diffId: `sha256:${sha256(root)}` })
    expect(await Promise.all(layers.map(({ digest }) => blobs.has(digest)))).not.toContain(false)
    expect(readdirSync(join(folder.path, 'incoming'))).toEqual([])
  })
})

describe('a layer that changes nothing', () => {
  it('is the one that is in very many public images', () => {
    expect(sha256(empty)).toMatch(/^5f70bf18a086007016e948b04aed3b82/)
    expect(sha256(emptyGzip)).toMatch(/^a3ed95caeb02ffe68cdd9fd84406680a/)
  })

  const forms: [string, Buffer, Buffer][] = [
    ['two blocks of zeros', empty, empty],
    ['two blocks of zeros, as Docker compresses them', emptyGzip, empty],
    ['two blocks of zeros, zstd', zstdCompressSync(empty), empty],
    ['a record of GNU tar', Buffer.alloc(10_240), Buffer.alloc(10_240)],
    ['a record of GNU tar, gzip', gzipSync(Buffer.alloc(10_240)), Buffer.alloc(10_240)],
    ['one block of zeros', Buffer.alloc(512), Buffer.alloc(512)],
    ['no byte', Buffer.alloc(0), Buffer.alloc(0)],
    ['no byte, gzip', gzipSync(''), Buffer.alloc(0)],
    [
      'the root folder alone',
      tarOf([{ path: './', type: 'Directory' }]),
      tarOf([{ path: './', type: 'Directory' }]),
    ],
  ]
  it.each(forms)(
    'is read, in archives and layouts, before, behind and several times: %s',
    async (_name, layer, unpacked) => {
      const parts: Parts = {
        layers: [layer, gzipSync(root), layer, layer],
        unpacked: [unpacked, root, unpacked, unpacked],
      }
      for (const entries of [saved(parts), plainLayout(parts)]) {
        const { kind, layers } = await admit(entries)
        expect(kind).toBe('oci')
        expect(layers.map(({ diffId }) => diffId)).toEqual(
          parts.unpacked!.map((each) => `sha256:${sha256(each)}`),
        )
        expect(await blobs.has(`sha256:${sha256(layer)}`)).toBe(true)
      }
    },
  )

  it.each(forms)('makes a function no other image: %s', async (_name, layer, unpacked) => {
    const { kind } = await admit(plainLayout({ layers: [code, layer], unpacked: [code, unpacked] }))
    expect(kind).toBe('function')
  })

  it('is no place to hide anything: what follows zeros is read, and the digest is that of all of it', async () => {
    const hidden = Buffer.concat([Buffer.alloc(512), root])
    expect(await refusal(plainLayout({ layers: [hidden], unpacked: [empty] }))).toMatch(/^digest_mismatch/)
    const text = Buffer.concat([Buffer.alloc(700), Buffer.from('no archive')])
    expect(await refusal(plainLayout({ layers: [root, text] }))).toMatch(/^invalid_image/)
  })

  it('makes no archive of an image that is empty itself', async () => {
    for (const archive of [Buffer.alloc(1024), Buffer.alloc(0), gzipSync(empty)])
      await expect(admitImage(blobs, inPieces(archive))).rejects.toMatchObject({
        reason: 'invalid_image',
        message: 'the archive is empty, or no tar archive',
      })
  })

  it('alone is no image that runs', async () => {
    expect(await refusal(saved({ layers: [empty], more: { config: {} } }))).toMatch(/which command to run/)
  })
})

/** An entry with fields of pax before it (POSIX.1-2017, pax, extended header). */
function pax(fields: Readonly<Record<string, string>>, entry: TarEntry): Buffer {
  const record = (name: string, value: string) => {
    let length = name.length + Buffer.byteLength(value) + 4
    while (String(length).length + name.length + Buffer.byteLength(value) + 3 > length) length++
    return `${length} ${name}=${value}\n`
  }
  const content = Object.entries(fields).map(([name, value]) => record(name, value))
  const header = tarOf([{ path: 'PaxHeaders.0/x', content: content.join('') }]).subarray(0, -1024)
  return Buffer.concat([retyped(header, 'x'), tarOf([entry])])
}

/** A tar entry with another type flag. */
function retyped(entry: Buffer, type: string): Buffer {
  const copy = Buffer.from(entry)
  copy[156] = type.charCodeAt(0)
  copy.fill(' ', 148, 156)
  const sum = copy.subarray(0, 512).reduce((all, byte) => all + byte, 0)
  copy.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return copy
}

describe('a layer', () => {
  const long = `etc/${'x'.repeat(120)}/${'y'.repeat(120)}`
  it.each<[string, Buffer]>([
    ['whiteouts', tarOf([{ path: 'etc/.wh.app' }, { path: 'var/lib/.wh..wh..opq' }])],
    [
      'a hard link to a file of the layer below',
      tarOf([{ path: 'etc/linked', type: 'Link', linkpath: 'etc/app' }]),
    ],
    ['a pipe', tarOf([{ path: 'run/pipe', type: 'FIFO' }])],
    [
      'extended attributes',
      pax({ 'SCHILY.xattr.security.capability': '\u0001' }, { path: 'etc/ping', content: 'x' }),
    ],
    ['a long name of pax', pax({ path: long, mtime: '1.5' }, { path: 'etc/short', content: 'x' })],
    [
      'a long name of GNU tar',
      Buffer.concat([
        retyped(tarOf([{ path: '././@LongLink', content: `${long}\0` }]).subarray(0, -1024), 'L'),
        tarOf([{ path: 'etc/short', content: 'x' }]),
      ]),
    ],
    [
      'a sparse file of pax',
      pax(
        {
          'GNU.sparse.major': '1',
          'GNU.sparse.minor': '0',
          'GNU.sparse.name': 'etc/sparse',
          'GNU.sparse.realsize': '9',
        },
        { path: 'GNUSparseFile.0/sparse', content: '0\n' },
      ),
    ],
    [
      'a global header',
      Buffer.concat([
        retyped(tarOf([{ path: 'pax_global_header', content: '13 comment=x\n' }]).subarray(0, -1024), 'g'),
        root,
      ]),
    ],
  ])('may have %s', async (_name, layer) => {
    expect((await admit(plainLayout({ layers: [root, layer] }))).kind).toBe('oci')
  })

  it('with a sparse file in the old format of GNU tar is refused, with what to do', async () => {
    const sparse = retyped(tarOf([{ path: 'etc/sparse', content: 'x' }]), 'S')
    expect(await refusal(plainLayout({ layers: [root, sparse] }))).toMatch(/^invalid_image: .*--format=pax/)
  })
})

describe('what is no image for this device is refused with what it is', () => {
  const other = { os: 'linux', architecture: 's390x' }
  const cosign = 'application/vnd.dev.cosign.simplesigning.v1+json'
  it.each<[string, () => TarEntry[], RegExp]>([
    [
      'a chart',
      () => {
        const config = descriptor('{}', 'application/vnd.cncf.helm.config.v1+json')
        return [...plainLayout({ layers: [root] }, { config }), blob('{}')]
      },
      /^unsupported_image: it is an artifact of type "application\/vnd\.cncf\.helm/,
    ],
    [
      'an artifact',
      () => plainLayout({ layers: [root] }, { artifactType: 'text/sbom' }),
      /artifact of type "text\/sbom"/,
    ],
    [
      'nothing but a signature',
      () => {
        const all = [descriptor(signature, types.manifest, { artifactType: cosign })]
        return layout(gzipped, indexOf(all), signature)
      },
      /^unsupported_image: the image is for no machine/,
    ],
    [
      'nothing but another machine and an attestation',
      () => {
        const index = indexOf([
          descriptor(image, types.manifest, { platform: other }),
          descriptor(attestation, types.manifest, { platform: { os: 'unknown', architecture: 'unknown' } }),
        ])
        return layout(gzipped, index, image, attestation)
      },
      /^unsupported_image: the image is for linux\/s390x; this device/,
    ],
    [
      'a manifest of schema 1',
      () => {
        const old = JSON.stringify({ schemaVersion: 1, name: 'a', fsLayers: [], history: [], signatures: [] })
        return layout(gzipped, indexOf([descriptor(old, '')]), old)
      },
      /^unsupported_image: .*schema 1/,
    ],
    [
      'an index and a manifest at once',
      () => {
        const both = JSON.stringify({ ...JSON.parse(image), manifests: JSON.parse(inner).manifests })
        return layout(gzipped, indexOf([descriptor(both, types.manifest)]), both, image)
      },
      /^invalid_image: .*an index and a manifest at once/,
    ],
    [
      'an index behind six others',
      () => {
        const chain = [image]
        for (let at = 0; at < 6; at++) chain.push(indexOf([descriptor(chain.at(-1)!, types.index)]))
        return layout(gzipped, chain.at(-1)!, ...chain)
      },
      /^invalid_image: more than 4 indexes/,
    ],
    [
      'a layer that is elsewhere',
      () =>
        plainLayout(gzipped, {
          layers: [descriptor('elsewhere', types.layer, { urls: ['https://storage.example/'] })],
        }),
      /^invalid_image: the archive names .* and does not hold it/,
    ],
    ['no layers', () => plainLayout({ layers: [] }), /^invalid_image: .*layers/],
    ['an index of nothing', () => layout(gzipped, indexOf([])), /^invalid_image: index\.json: manifests/],
    ['an index that is a list', () => layout(gzipped, '[]'), /^invalid_image: index\.json/],
    ['an index that is null', () => layout(gzipped, 'null'), /^invalid_image: index\.json/],
    [
      'manifests that are text',
      () => layout(gzipped, '{"schemaVersion":2,"manifests":"x"}'),
      /^invalid_image: index\.json: manifests/,
    ],
  ])('%s', async (_name, make, message) => {
    expect(await refusal(make())).toMatch(message)
  })
})
