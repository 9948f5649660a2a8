/** Layers with everything that tools write into them, as the program of a container sees them, on a real Podman. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { shellImage } from '../../harness/cgi-image.ts'
import { needs } from '../../harness/installed.ts'
import { podmanNeeds } from '../../harness/podman.ts'
import { type PodmanServices, startPodmanServices } from '../../harness/podman-services.ts'

const sparseBytes = 8 * 1024 * 1024
/** Longer than the 100 bytes of a name in a header, and of other characters than ASCII. */
const longName = `long/${'ä'.repeat(60)}/${'n'.repeat(120)}`

/** A layer by GNU tar. @param files content by path; that of a path with `/` at its end makes the folder */
function layerOf(files: Readonly<Record<string, string>>, args: readonly string[], finish = ''): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'layer-'))
  try {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, `${path}x`)), { recursive: true })
      if (!path.endsWith('/')) writeFileSync(join(folder, path), content)
    }
    execFileSync('sh', ['-ec', finish], { cwd: folder })
    return execFileSync('tar', ['--numeric-owner', '--owner=0', '--group=0', ...args, '-c', '.'], {
      cwd: folder,
      maxBuffer: 1e8,
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** GNU tar writes a sparse file with a name of its own in pax headers (`GNUSparseFile.0`), and extended attributes as `SCHILY.xattr`. */
const lower = () =>
  layerOf(
    {
      'set/removed': 'x',
      'set/stays': 'of the lower layer',
      'set/replaced': 'old',
      'set/folder/removed': 'x',
      'set/opaque/hidden': 'x',
      'set/emptied/hidden': 'x',
      'set/emptied/deeper/hidden': 'x',
      'set/becomes-folder': 'x',
      'set/becomes-file/hidden': 'x',
      'set/first': 'of the lower layer',
      [`set/${longName}`]: 'pax',
    },
    ['--format=pax', '--sparse', '--xattrs', '--xattrs-include=*'],
    `ln set/first set/second
     truncate -s ${sparseBytes - 4} set/sparse && printf tail >> set/sparse
     python3 -c 'import os; os.setxattr("set/stays", "user.color", b"blue")'`,
  )
const upper = () =>
  layerOf(
    {
      'set/.wh.removed': '',
      'set/folder/.wh.removed': '',
      'set/folder/added': 'x',
      'set/opaque/.wh..wh..opq': '',
      'set/opaque/new': 'x',
      'set/emptied/.wh..wh..opq': '',
      'set/replaced': 'new',
      'set/becomes-folder/': '',
      'set/becomes-file': 'x',
      'set/first': 'of the upper layer',
      [`set/gnu-${longName}`]: 'gnu',
    },
    ['--format=gnu'],
    'ln set/first set/third',
  )

describe('an image of layers', needs(...podmanNeeds, 'busybox', 'python3'), () => {
  let stack: PodmanServices
  let path: string
  beforeAll(async () => {
    stack = await startPodmanServices()
    const { services } = stack
    const archive = shellImage({ name: 'layers', around: { below: [lower()], above: [upper()] } })
    const { id: image } = await services.deployImage(archive)
    const spec = { name: 'layers', image, env: {} }
    const record = await services.runtime().deployContainer({ edgeAccessToken: services.token, spec })
    path = `${record.basePath}/cgi-bin/run`
  })
  afterAll(async () => {
    await stack?.removeContainers()
    await stack?.stop()
  })
  const run = async (script: string) => {
    const body = `b=/bin/busybox; cd /set; ${script}`
    return (await stack.services.call(path, { method: 'POST', body })).text.trim()
  }

  it('has neither what an upper layer removed nor the marks of that', async () => {
    const found = (await run('$b find . -not -path "./long*" -not -path "./gnu-*" | $b sort')).split('\n')
    expect(found).toEqual([
      '.',
      './becomes-file',
      './becomes-folder',
      './emptied',
      './first',
      './folder',
      './folder/added',
      './opaque',
      './opaque/new',
      './replaced',
      './second',
      './sparse',
      './stays',
      './third',
    ])
    expect(await run('$b stat -c "%F" becomes-file becomes-folder; $b cat replaced stays')).toBe(
      'regular file\ndirectory\nnewof the lower layer',
    )
  })

  it('has hard links as the layer of each has them', async () => {
    expect(await run('$b cat first second third')).toBe(
      'of the upper layerof the lower layerof the upper layer',
    )
    const [first, third] = (await run('$b stat -c "%i %h" first third')).split('\n')
    expect(first).toMatch(/ 2$/)
    expect(third).toBe(first)
  })

  it('has long names, sparse files with all their bytes, and extended attributes', async () => {
    expect(await run(`$b cat "${longName}" "gnu-${longName}"`)).toBe('paxgnu')
    expect(
      await run('$b stat -c %s sparse; $b tail -c 4 sparse; $b tr -d "\\\\000" < sparse | $b wc -c'),
    ).toBe(`${sparseBytes}\ntail4`)
    const [name = ''] = await stack.podman.containers()
    const { State } = await stack.podman.inspect<{ State: { Pid: number } }>(name)
    const read = `import os; print(os.getxattr("/proc/${State.Pid}/root/set/stays", "user.color").decode())`
    expect(execFileSync('python3', ['-c', read], { encoding: 'utf8' }).trim()).toBe('blue')
  })
})
