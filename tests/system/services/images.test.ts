/** Archives as other tools make them, registries as they are, and archives as nobody should make them. */
import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { freePort } from '@selvedge/service-kit/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  functionImage,
  layoutFiles,
  savedFiles,
  savedImage,
  type TarEntry,
  tarOf,
  writeFile,
} from '../../harness/archives.ts'
import { needs } from '../../harness/installed.ts'
import { temporaryFolder } from '../../harness/processes.ts'
import { callUrl, type Services, startServices } from '../../harness/services.ts'

const handler = 'mimikModule.exports = (context, request, response) => response.end("ok")'
const maxSize = 64 * 1024 * 1024
let services: Services
let folder: string
let state: { path: string; remove: () => Promise<void> }
const authFile = () => join(state.path, 'auth.json')

beforeAll(async () => {
  state = await temporaryFolder()
  services = await startServices({
    args: [`--images.maxSize=${maxSize}`, `--images.registryAuth=${authFile()}`],
  })
  folder = join(services.stack.state, 'made')
  mkdirSync(folder)
})
afterAll(async () => {
  await services.stop()
  await state.remove()
})

const store = () => join(services.stack.state, 'runtime/images')
const blobs = (): string[] => readdirSync(join(store(), 'sha256')).sort()
const leftovers = (): string[] => readdirSync(join(store(), 'incoming'))
const images = () => services.runtime().getImages({ edgeAccessToken: services.token })
const deploy = (source: string) => services.runtime().deployImage({ edgeAccessToken: services.token, source })
const removeAll = async () => {
  for (const { id } of await images())
    await services.runtime().removeImage({ edgeAccessToken: services.token, id })
}

const layer = tarOf([{ path: 'index.js', content: handler }])
const root: TarEntry[] = [
  { path: 'etc', type: 'Directory' },
  { path: 'etc/app', content: 'x' },
]
const oci = (extra: readonly TarEntry[]): Buffer =>
  savedImage({ layers: [tarOf([...root, ...extra])], config: { Cmd: ['/app'] } })
const inFunction = (...entries: TarEntry[]): Buffer => savedImage({ layers: [tarOf(entries)] })
const index: TarEntry = { path: 'index.js', content: handler }
const replaced = (name: RegExp, content: string): Buffer =>
  tarOf(savedFiles({ layers: [layer] }).map((each) => (name.test(each.path) ? { ...each, content } : each)))

describe('a good archive', () => {
  it.each<[string, Buffer, 'function' | 'oci']>([
    ['docker save with index.js', functionImage(handler), 'function'],
    ['docker save with index.wasm', functionImage('\0asm', 'w', 'index.wasm'), 'function'],
    ['docker save, gzip', gzipSync(functionImage(handler)), 'function'],
    ['docker save, zstd', zstdCompressSync(functionImage(handler)), 'function'],
    ['an OCI layout', tarOf(layoutFiles({ layers: [layer] })), 'function'],
    [
      'an OCI layout with a compressed layer',
      tarOf(layoutFiles({ layers: [gzipSync(layer)], unpacked: [layer] })),
      'function',
    ],
    [
      './ before every name',
      tarOf(
        savedFiles({ layers: [tarOf([{ path: './index.js', content: handler }])] }).map((each) => ({
          ...each,
          path: `./${each.path}`,
        })),
      ),
      'function',
    ],
    ['a root file system', oci([]), 'oci'],
    [
      'one with links inside of the root',
      oci([
        { path: 'bin', type: 'SymbolicLink', linkpath: 'usr/bin' },
        { path: 'sh', type: 'SymbolicLink', linkpath: '/bin/busybox' },
        { path: 'etc/l', type: 'Link', linkpath: 'etc/app' },
      ]),
      'oci',
    ],
    [
      'docker save that links a layer it wrote before',
      tarOf([
        ...savedFiles({ layers: [tarOf(root), layer], config: { Cmd: ['/app'] } }).filter(
          ({ path }) => !path.startsWith('1-'),
        ),
        { path: 'other/layer.tar', content: layer },
        {
          path: savedFiles({ layers: [tarOf(root), layer] }).find(({ path }) => path.startsWith('1-'))!.path,
          type: 'SymbolicLink',
          linkpath: '../other/layer.tar',
        },
      ]),
      'oci',
    ],
  ])('is taken: %s', async (_, archive, kind) => {
    const image = await services.deployImage(archive)
    expect(image.kind).toBe(kind)
    expect(image.digest).toMatch(/^sha256:[0-9a-f]{64}$/)
    expect(leftovers()).toEqual([])
    await removeAll()
    expect(blobs()).toEqual([])
  })

  it('is kept once, however often and under whatever name it comes', async () => {
    const first = await services.deployImage(functionImage(handler, 'one'))
    const after = blobs()
    const again = await services.deployImage(functionImage(handler, 'one'))
    const other = await services.deployImage(functionImage(handler, 'two'))
    expect([again.digest, other.digest]).toEqual([first.digest, first.digest])
    expect(blobs()).toEqual(after)
    expect((await images()).map(({ name }) => name)).toEqual(['one', 'two'])
    await removeAll()
  })

  it('shares the layers it has with others', async () => {
    const base = tarOf(root)
    await services.deployImage(
      savedImage({
        name: 'a',
        layers: [base, tarOf([{ path: 'a', content: 'a' }])],
        config: { Cmd: ['/a'] },
      }),
    )
    await services.deployImage(
      savedImage({
        name: 'b',
        layers: [base, tarOf([{ path: 'b', content: 'b' }])],
        config: { Cmd: ['/b'] },
      }),
    )
    expect(blobs()).toHaveLength(5)
    await removeAll()
  })
})

/** The corpus: what it is, the archive, the reason, and a word of the detail. */
const hostile: [string, () => Buffer, string, RegExp][] = [
  ['not an archive', () => Buffer.from('hello'), 'invalid_image', /archive/],
  ['nothing', () => Buffer.alloc(0), 'invalid_image', /empty|archive/],
  ['zeros', () => Buffer.alloc(10_240), 'invalid_image', /empty|archive/],
  ['cut short', () => functionImage(handler).subarray(0, 3000), 'invalid_image', /broken|cut|does not hold/],
  [
    'cut in a compressed stream',
    () => gzipSync(functionImage(handler)).subarray(0, 200),
    'invalid_image',
    /cut short|broken/,
  ],
  ['compressed twice', () => gzipSync(gzipSync(functionImage(handler))), 'invalid_image', /twice/],
  [
    'a broken header',
    () => {
      const b = functionImage(handler)
      b[10] = 0xff
      return b
    },
    'invalid_image',
    /not a tar archive/,
  ],
  ['no manifest', () => tarOf([{ path: 'x', content: 'y' }]), 'invalid_image', /manifest\.json/],
  [
    'a manifest that is no JSON',
    () => replaced(/^manifest/, '{'),
    'invalid_image',
    /manifest\.json is not JSON/,
  ],
  ['a manifest of another shape', () => replaced(/^manifest/, '[{"Config":1}]'), 'invalid_image', /Config/],
  [
    'a manifest with no layers',
    () => replaced(/^manifest/, '[{"Config":"x","Layers":[]}]'),
    'invalid_image',
    /Layers/,
  ],
  [
    'two images',
    () => replaced(/^manifest/, '[{"Config":"x","Layers":["y"]},{"Config":"x","Layers":["y"]}]'),
    'invalid_image',
    /2 images/,
  ],
  [
    'a layer that is not there',
    () => replaced(/^manifest/, '[{"Config":"x","Layers":["y"]}]'),
    'invalid_image',
    /does not hold/,
  ],
  [
    'a layer of the host',
    () => replaced(/^manifest/, '[{"Config":"../../../../etc/passwd","Layers":["/etc/passwd"]}]'),
    'invalid_image',
    /does not hold/,
  ],
  [
    'a link as the layer, to the host',
    () =>
      tarOf([
        ...savedFiles({ layers: [layer] }).filter(({ path }) => !path.endsWith('layer.tar')),
        { path: savedFiles({ layers: [layer] })[1]!.path, type: 'SymbolicLink', linkpath: '/etc/passwd' },
      ]),
    'invalid_image',
    /does not hold/,
  ],
  [
    'an outer name that climbs',
    () => tarOf([...savedFiles({ layers: [layer] }), { path: '../../evil', content: 'x' }]),
    'invalid_image',
    /leads out/,
  ],
  [
    'an outer absolute name',
    () => tarOf([...savedFiles({ layers: [layer] }), { path: '/etc/evil', content: 'x' }]),
    'invalid_image',
    /absolute/,
  ],
  [
    'a config with another digest',
    () => replaced(/^[0-9a-f]{64}\.json/, JSON.stringify({ rootfs: { diff_ids: [] } })),
    'digest_mismatch',
    /should be/,
  ],
  [
    'a layer with another digest',
    () => replaced(/layer\.tar$/, tarOf([{ path: 'index.js', content: 'evil()' }]).toString('latin1')),
    'digest_mismatch',
    /layer 0 should be/,
  ],
  [
    'a blob of a layout with another digest',
    () => {
      const f = layoutFiles({ layers: [layer] })
      return tarOf(
        f.map((each, at) =>
          at === f.length - 1 ? { ...each, content: tarOf([{ path: 'index.js', content: 'evil()' }]) } : each,
        ),
      )
    },
    'digest_mismatch',
    /blob/,
  ],
  [
    'fewer digests than layers',
    () => savedImage({ layers: [layer, layer], unpacked: [layer] }),
    'invalid_image',
    /1 layers and the manifest 2/,
  ],
  [
    'the same name twice',
    () => tarOf([...savedFiles({ layers: [layer] }), savedFiles({ layers: [layer] })[0]!]),
    'invalid_image',
    /twice/,
  ],
  [
    'function: a name that climbs',
    () => inFunction(index, { path: '../index.js', content: 'x' }),
    'invalid_image',
    /leads out/,
  ],
  [
    'function: an absolute name',
    () => inFunction(index, { path: '/index.js', content: 'x' }),
    'invalid_image',
    /absolute/,
  ],
  [
    'function: a symbolic link',
    () => inFunction({ path: 'index.js', type: 'SymbolicLink', linkpath: '/etc/passwd' }),
    'invalid_image',
    /SymbolicLink/,
  ],
  [
    'function: a symbolic link beside',
    () => inFunction(index, { path: 'data', type: 'SymbolicLink', linkpath: 'index.js' }),
    'invalid_image',
    /beside/,
  ],
  [
    'function: a hard link',
    () => inFunction({ path: 'index.js', type: 'Link', linkpath: 'etc/passwd' }),
    'invalid_image',
    /Link/,
  ],
  ['function: a pipe', () => inFunction({ path: 'index.js', type: 'FIFO' }), 'invalid_image', /FIFO/],
  [
    'function: another file',
    () => inFunction(index, { path: 'other.js', content: 'x' }),
    'invalid_image',
    /beside/,
  ],
  [
    'function: two entries',
    () => inFunction(index, { path: 'index.wasm', content: 'x' }),
    'invalid_image',
    /both/,
  ],
  [
    'function: AppleDouble leftovers',
    () => inFunction({ path: '._index.js', content: 'x' }, index),
    'invalid_image',
    /\._index\.js/,
  ],
  ['a device node', () => oci([{ path: 'dev/sda', type: 'BlockDevice' }]), 'invalid_image', /device node/],
  [
    'a character device',
    () => oci([{ path: 'dev/mem', type: 'CharacterDevice' }]),
    'invalid_image',
    /device node/,
  ],
  [
    'a link out of the root',
    () => oci([{ path: 'etc/evil', type: 'SymbolicLink', linkpath: '../../../../etc' }]),
    'invalid_image',
    /out of the root/,
  ],
  [
    'a hard link out of the root',
    () => oci([{ path: 'evil', type: 'Link', linkpath: '../../etc/passwd' }]),
    'invalid_image',
    /out of the root/,
  ],
  [
    'a name in a layer that climbs',
    () => oci([{ path: 'etc/../../evil', content: 'x' }]),
    'invalid_image',
    /leads out/,
  ],
  [
    'a bomb',
    () => {
      const big = tarOf([{ path: 'index.js', content: Buffer.alloc(maxSize + 1) }])
      return tarOf(layoutFiles({ layers: [gzipSync(big)], unpacked: [big] }))
    },
    'invalid_image',
    /unpacks to more/,
  ],
  [
    'a bomb around it all',
    () => gzipSync(Buffer.concat([functionImage(handler), Buffer.alloc(maxSize)])),
    'invalid_image',
    /unpacks to more/,
  ],
  ['a huge header', () => Buffer.concat([hugeHeader(), functionImage(handler)]), 'invalid_image', /header/],
  ['another machine', () => tarOf(savedFilesFor('s390x')), 'unsupported_image', /s390x/],
  ['nothing to run', () => savedImage({ layers: [tarOf(root)] }), 'unsupported_image', /which command/],
]

/** A pax header of 1 MiB (POSIX.1-2017, pax, extended header). */
function hugeHeader(): Buffer {
  const record = `${1024 * 1024} comment=${'x'.repeat(1024 * 1024 - 17)}\n`
  const entry = tarOf([{ path: 'PaxHeader/x', content: record }]).subarray(0, -1024)
  entry[156] = 'x'.charCodeAt(0)
  let sum = 8 * 32
  for (let at = 0; at < 512; at++) if (at < 148 || at >= 156) sum += entry[at]!
  entry.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return entry
}

function savedFilesFor(architecture: string): TarEntry[] {
  const files = savedFiles({ layers: [tarOf(root)], config: { Cmd: ['/app'] } })
  const config = String(files[0]!.content).replace(/"architecture":"\w+"/, `"architecture":"${architecture}"`)
  const name = `${createHash('sha256').update(config).digest('hex')}.json`
  return files.map((each, at) =>
    at === 0
      ? { path: name, content: config }
      : each.path === 'manifest.json'
        ? { ...each, content: String(each.content).replace(/[0-9a-f]{64}\.json/, name) }
        : each,
  )
}

describe('a broken or hostile archive is refused with the reason, and leaves nothing behind', () => {
  it.each(hostile)('%s', async (_, make, reason, detail) => {
    const before = blobs()
    const failure = await services.deployImage(make()).then(
      () => undefined,
      (cause) => cause,
    )
    expect({ reason: failure?.reason, message: failure?.message }).toEqual({
      reason,
      message: expect.stringMatching(detail),
    })
    expect(leftovers()).toEqual([])
    expect(blobs()).toEqual(before)
    expect(await images()).toEqual([])
  })
})

describe('the REST twin', () => {
  const post = (headers: Record<string, string>, body: Buffer, token: string | null = services.token) =>
    callUrl(`${services.url()}/mcm/v1/images`, { method: 'POST', headers, body, token })

  it('takes an archive as the multipart field "image", from curl as it is', needs('curl'), async () => {
    const path = writeFile(folder, 'rest.tar', functionImage(handler, 'rest'))
    const answer = JSON.parse(
      execFileSync(
        'curl',
        [
          '-sS',
          '-H',
          'Expect: 100-continue',
          '-H',
          `Authorization: Bearer ${services.token}`,
          '-F',
          `image=@${path}`,
          `${services.url()}/mcm/v1/images`,
        ],
        { encoding: 'utf8' },
      ),
    )
    expect(answer).toMatchObject({
      name: 'rest',
      kind: 'function',
      id: `${services.developer.clientId}-rest`,
    })
    const list = await services.call('/mcm/v1/images')
    expect(JSON.parse(list.text).data.map((each: { id: string }) => each.id)).toEqual([answer.id])
    expect(
      JSON.parse((await services.call(`/mcm/v1/images/${answer.id}`, { method: 'DELETE' })).text),
    ).toEqual({ id: answer.id })
    const gone = await services.call(`/mcm/v1/images/${answer.id}`, { method: 'DELETE' })
    expect({ status: gone.status, reason: JSON.parse(gone.text).error.reason }).toEqual({
      status: 404,
      reason: 'not_found',
    })
  })

  it('takes the bare archive, and a handle of an upload', async () => {
    const archive = functionImage(handler, 'bare')
    expect((await post({ 'Content-Type': 'application/x-tar' }, archive)).status).toBe(200)
    const upload = await services.call('/mcm/v1/uploads', { method: 'POST', body: archive })
    const { handle } = JSON.parse(upload.text)
    expect(handle).toMatch(/^upload:[0-9a-f]{64}$/)
    expect((await deploy(handle)).name).toBe('bare')
    await expect(deploy(handle)).rejects.toMatchObject({ reason: 'not_found' })
    await removeAll()
  })

  it.each([
    ['no token', { 'Content-Type': 'application/x-tar' }, null, 401],
    ['another type', { 'Content-Type': 'text/plain' }, undefined, 400],
    ['no such field', { 'Content-Type': 'multipart/form-data; boundary=x' }, undefined, 400],
    ['no boundary', { 'Content-Type': 'multipart/form-data' }, undefined, 400],
  ])('refuses %s', async (_, headers, token, status) => {
    const answer = await post(headers, Buffer.from('--x--\r\n'), token === null ? null : services.token)
    expect(answer.status).toBe(status)
    expect(leftovers()).toEqual([])
  })

  it('keeps nothing of an upload whose client went away', async () => {
    const archive = functionImage('x'.repeat(1_000_000))
    const body = Buffer.concat([
      Buffer.from(
        '--b\r\nContent-Disposition: form-data; name="image"; filename="i.tar"\r\nContent-Type: application/x-tar\r\n\r\n',
      ),
      archive.subarray(0, 500_000),
    ])
    const { connect } = await import('node:net')
    const { port, host } = new URL(services.url())
    const socket = connect(Number(port), '127.0.0.1')
    socket.write(
      `POST /mcm/v1/images HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${services.token}\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 2000000\r\n\r\n`,
    )
    socket.write(body)
    await expect.poll(leftovers).not.toEqual([])
    socket.destroy()
    await expect.poll(leftovers).toEqual([])
    expect(await images()).toEqual([])
  })
})

describe('the disk', () => {
  it('keeps its reserve: a deployment that would break into it is refused before it begins', async () => {
    const full = await startServices({ args: ['--images.reserve=100000000000000'] })
    try {
      await expect(full.deployImage(functionImage(handler))).rejects.toMatchObject({ reason: 'storage_full' })
      const over = await full.call('/mcm/v1/images', {
        method: 'POST',
        headers: { 'Content-Type': 'application/x-tar' },
        body: functionImage(handler),
      })
      expect(over.status).toBe(507)
      expect(readdirSync(join(full.stack.state, 'runtime/images/sha256'))).toEqual([])
    } finally {
      await full.stop()
    }
  })

  it('a path that does not exist is named, and nothing of a file that is no image is shown', async () => {
    await expect(deploy('/nowhere.tar')).rejects.toMatchObject({ reason: 'not_found' })
    await expect(deploy('/etc/passwd')).rejects.toMatchObject({
      reason: 'invalid_image',
      message: expect.not.stringContaining('root:'),
    })
    await expect(deploy('/dev/zero')).rejects.toMatchObject({ reason: 'not_found' })
    await expect(deploy('NOT A REFERENCE')).rejects.toMatchObject({ reason: 'invalid_params' })
  })
})

describe(
  'archives and registries of others',
  needs('skopeo', 'buildah', 'podman', 'umoci', 'docker-registry'),
  () => {
    const sh = (script: string) =>
      execFileSync('sh', ['-ec', script], {
        cwd: folder,
        encoding: 'utf8',
        env: { ...process.env, ...storage() },
      })
    const storage = () => ({
      CONTAINERS_STORAGE_CONF: join(folder, 'storage.conf'),
      BUILDAH_ISOLATION: 'chroot',
    })

    beforeAll(() => {
      writeFileSync(
        join(folder, 'storage.conf'),
        `[storage]\ndriver = "vfs"\ngraphroot = "${folder}/graph"\nrunroot = "${folder}/run"\n`,
      )
      writeFileSync(join(folder, 'policy.json'), '{"default":[{"type":"insecureAcceptAnything"}]}')
      writeFile(join(folder, 'src'), 'index.js', Buffer.from(handler))
      writeFileSync(join(folder, 'src/Containerfile'), 'FROM scratch\nCOPY index.js /\nCMD ["/hello"]\n')
      sh('buildah bud --signature-policy policy.json -t localhost/fn:1.0 src >/dev/null 2>&1')
      sh(
        'buildah push --signature-policy policy.json localhost/fn:1.0 docker-archive:fn.tar:fn:1.0 2>/dev/null',
      )
      sh(
        'buildah push --signature-policy policy.json localhost/fn:1.0 oci-archive:fn-oci.tar:fn:1.0 2>/dev/null',
      )
      sh('skopeo copy --policy policy.json docker-archive:fn.tar oci:layout:fn 2>/dev/null')
    })

    it('docker archives of buildah', async () => {
      expect(await deploy(join(folder, 'fn.tar'))).toMatchObject({ name: 'fn', kind: 'function' })
      await removeAll()
    })

    it('OCI archives of buildah', async () => {
      expect(await deploy(join(folder, 'fn-oci.tar'))).toMatchObject({ kind: 'function' })
      await removeAll()
    })

    it('docker archives of skopeo', async () => {
      sh('skopeo copy --policy policy.json oci:layout:fn docker-archive:copied.tar:copied:1.0 2>/dev/null')
      expect(await deploy(join(folder, 'copied.tar'))).toMatchObject({ name: 'copied', kind: 'function' })
      await removeAll()
    })

    it.each(['gzip', 'zstd', 'zstd:chunked'])('OCI layouts of skopeo with layers in %s', async (format) => {
      const layout = format.replace(':', '-')
      sh(`skopeo copy --policy policy.json --dest-compress-format ${format} docker-archive:fn.tar oci:${layout}:fn 2>/dev/null
      tar -C ${layout} -cf ${layout}.tar .`)
      expect(await deploy(join(folder, `${layout}.tar`))).toMatchObject({ name: layout, kind: 'function' })
      await removeAll()
    })

    it.each(['docker-archive', 'oci-archive', 'oci-archive --uncompressed'])(
      'archives of podman: %s',
      async (format) => {
        const podman = `podman --root ${folder}/graph --runroot ${folder}/run --storage-driver vfs`
        sh(`rm -f saved.tar
        ${podman} save --signature-policy policy.json --format ${format} -o saved.tar localhost/fn:1.0 2>/dev/null`)
        expect(await deploy(join(folder, 'saved.tar'))).toMatchObject({ kind: 'function' })
        await removeAll()
      },
    )

    it('layouts of umoci', async () => {
      sh(`umoci init --layout made && umoci new --image made:u && mkdir -p rootfs/etc && echo x > rootfs/etc/app
      umoci insert --image made:u rootfs / && umoci config --image made:u --config.cmd /app
      tar -C made -cf made.tar .`)
      expect(await deploy(join(folder, 'made.tar'))).toMatchObject({ kind: 'oci' })
      await removeAll()
    })

    it('a registry: pull by tag, pinned by digest, with credentials; nothing on a wrong pin or password', async () => {
      mkdirSync(join(folder, 'registry'), { recursive: true })
      const port = await freePort()
      const start = (auth: boolean) => {
        const config = `version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: ${folder}/registry\nhttp:\n  addr: 127.0.0.1:${port}\n${auth ? `auth:\n  htpasswd:\n    realm: test\n    path: ${folder}/htpasswd\n` : ''}`
        writeFileSync(join(folder, 'registry.yml'), config)
        return spawn('docker-registry', ['serve', join(folder, 'registry.yml')], { stdio: 'ignore' })
      }
      const up = async () => {
        while (
          !(await fetch(`http://127.0.0.1:${port}/v2/`).then(
            () => true,
            () => false,
          ))
        )
          await sleep(20)
      }
      const host = `127.0.0.1:${port}`
      const login = (registryHost: string, credentials: string) =>
        writeFileSync(
          authFile(),
          JSON.stringify({
            auths: { [registryHost]: { auth: Buffer.from(credentials).toString('base64') } },
          }),
        )
      login('nobody', 'x:y')
      // User "me", password "secret", in bcrypt.
      writeFileSync(
        join(folder, 'htpasswd'),
        'me:$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n',
      )
      let registry = start(false)
      try {
        await up()
        sh(
          `skopeo copy --policy policy.json --dest-tls-verify=false oci:layout:fn docker://${host}/team/fn:1.0 2>/dev/null`,
        )
        const { Digest: digest } = JSON.parse(
          sh(`skopeo inspect --tls-verify=false docker://${host}/team/fn:1.0`),
        )
        const byTag = await deploy(`${host}/team/fn:1.0`)
        expect(byTag).toMatchObject({ name: 'fn', kind: 'function', repoTags: [`${host}/team/fn:1.0`] })
        expect((await deploy(`${host}/team/fn@${digest}`)).digest).toBe(byTag.digest)
        await removeAll()
        await expect(deploy(`${host}/team/none:1.0`)).rejects.toMatchObject({ reason: 'not_found' })
        await expect(deploy(`${host}/team/fn@sha256:${'0'.repeat(64)}`)).rejects.toMatchObject({
          reason: 'not_found',
        })

        // What the registry's disk holds is changed behind its back: the layer is not what its digest says.
        const manifest = JSON.parse(
          sh(`skopeo inspect --raw --tls-verify=false docker://${host}/team/fn:1.0`),
        )
        const hex = manifest.layers[0].digest.slice(7)
        const path = join(folder, `registry/docker/registry/v2/blobs/sha256/${hex.slice(0, 2)}/${hex}/data`)
        const content = readFileSync(path)
        const changed = Buffer.from(content)
        changed[changed.length - 1]! ^= 1
        writeFileSync(path, changed)
        await expect(deploy(`${host}/team/fn:1.0`)).rejects.toMatchObject({ reason: 'digest_mismatch' })
        writeFileSync(path, content)
        expect(leftovers()).toEqual([])

        registry.kill()
        await once(registry, 'exit')
        registry = start(true)
        await up()
        await expect(deploy(`${host}/team/fn:1.0`)).rejects.toMatchObject({ reason: 'registry_refused' })
        login(host, 'me:wrong')
        await expect(deploy(`${host}/team/fn:1.0`)).rejects.toMatchObject({ reason: 'registry_refused' })
        login(host, 'me:secret')
        expect((await deploy(`${host}/team/fn:1.0`)).digest).toBe(byTag.digest)
        await removeAll()

        // Bearer: a front that gives tokens to who knows the password, as registries of the cloud do.
        const front = createServer((request, response) => {
          const url = new URL(request.url ?? '', 'http://x')
          const { authorization } = request.headers
          if (url.pathname === '/token') {
            const isKnown = authorization === `Basic ${Buffer.from('me:secret').toString('base64')}`
            const isAsked =
              url.searchParams.get('scope') === 'repository:team/fn:pull' &&
              url.searchParams.get('service') === 'test'
            return response.writeHead(isKnown && isAsked ? 200 : 401).end('{"token":"good"}')
          }
          if (authorization !== 'Bearer good') {
            const challenge = `Bearer realm="http://${frontHost}/token",service="test",scope="repository:team/fn:pull"`
            return response.writeHead(401, { 'WWW-Authenticate': challenge }).end()
          }
          const headers = {
            ...request.headers,
            host,
            authorization: `Basic ${Buffer.from('me:secret').toString('base64')}`,
          }
          request.pipe(
            httpRequest({ host: '127.0.0.1', port, path: request.url, headers }, (answer) => {
              response.writeHead(answer.statusCode ?? 500, answer.headers)
              answer.pipe(response)
            }),
          )
        }).listen(0, '127.0.0.1')
        await once(front, 'listening')
        const frontHost = `127.0.0.1:${(front.address() as AddressInfo).port}`
        await expect(deploy(`${frontHost}/team/fn:1.0`)).rejects.toMatchObject({
          reason: 'registry_refused',
        })
        login(frontHost, 'me:secret')
        expect((await deploy(`${frontHost}/team/fn:1.0`)).digest).toBe(byTag.digest)
        await removeAll()
        front.close()
      } finally {
        registry.kill()
      }
      expect(await images()).toEqual([])
      expect(leftovers()).toEqual([])
    })
  },
)
