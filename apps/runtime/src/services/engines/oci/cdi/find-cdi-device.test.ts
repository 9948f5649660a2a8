/** Where devices of the Container Device Interface are found. The files are real, in folders of the test. */
import {
  chmodSync,
  chownSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { needs } from '../../../../../../../tests/harness/installed.ts'
import { type CdiRefused, findCdiDevice, missingCdiDevices } from './find-cdi-device.ts'

let home: string
let folders: string[]
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'cdi-'))
  folders = ['etc', 'run'].map((each) => join(home, each))
  for (const each of folders) mkdirSync(each)
})
afterEach(() => rmSync(home, { recursive: true }))

function write(path: string, name = 'a', value = path, mode = 0o644): void {
  const devices = [{ name, containerEdits: { env: [`FROM=${value}`] } }]
  writeFileSync(join(home, path), JSON.stringify({ cdiVersion: '0.6.0', kind: 'v.com/c', devices }))
  chmodSync(join(home, path), mode)
}
const found = async () => (await findCdiDevice('v.com/c=a', folders)).env.FROM
async function refusal(): Promise<Pick<CdiRefused, 'message' | 'isMissing'>> {
  try {
    await findCdiDevice('v.com/c=a', folders)
  } catch (cause) {
    const { message, isMissing } = cause as CdiRefused
    return { message: message.replaceAll(home, ''), isMissing }
  }
  throw new Error('it was found')
}

it('a device of a later folder counts more', async () => {
  write('etc/a.json')
  write('etc/other.json', 'b')
  expect(await found()).toBe('etc/a.json')
  write('run/a.json')
  expect(await found()).toBe('run/a.json')
})

it('two files of a folder with the same device give no device, but a later folder does', async () => {
  write('etc/a.json')
  write('etc/b.json')
  expect(await refusal()).toEqual({ message: 'two files have a device of this name', isMissing: false })
  write('run/c.json')
  expect(await found()).toBe('run/c.json')
})

it('what is missing is said with what is there', async () => {
  expect(await refusal()).toEqual({ message: '/etc and /run have no devices', isMissing: true })
  write('etc/a.json', 'b')
  write('run/a.json', 'c')
  expect((await refusal()).message).toBe('/etc and /run have v.com/c=b, v.com/c=c')
  rmSync(join(home, 'run'), { recursive: true })
  expect((await refusal()).message).toBe('/etc and /run have v.com/c=b')
  write('etc/x.txt')
  writeFileSync(join(home, 'etc/bad.json'), '{')
  writeFileSync(join(home, 'etc/v.yml'), '')
  expect((await refusal()).message).toBe(
    '/etc and /run have v.com/c=b; /etc/bad.json: it is neither JSON nor YAML: Flow map must end with a } (line 1), /etc/v.yml: no program reads this name; let it end in .yaml',
  )
  expect(await missingCdiDevices(['v.com/c=a', 'v.com/c=b', 'v.com/c=a'], folders)).toEqual([
    `v.com/c=a: no file in ${folders.join(' or ')} has it`,
  ])
  expect(await missingCdiDevices(['v.com/c=b'], folders)).toEqual([])
})

it('a folder has at most 64 files, of 1 MiB each', async () => {
  for (let each = 0; each < 64; each++) write(`etc/f${String(each).padStart(2, '0')}.json`, `d${each}`)
  write('etc/g.json')
  expect((await refusal()).isMissing).toBe(true)
  rmSync(join(home, 'etc/f00.json'))
  expect(await found()).toBe('etc/g.json')
  writeFileSync(join(home, 'run/large.json'), ' '.repeat(2 ** 20 + 1))
  rmSync(join(home, 'etc/g.json'))
  expect((await refusal()).message).toMatch(/large\.json: it has 1048577 bytes; the limit is 1048576/)
})

it('a file that is no file is not read', async () => {
  mkdirSync(join(home, 'etc/a.json'))
  expect((await refusal()).message).toMatch(/it is not a file/)
  rmSync(join(home, 'etc/a.json'), { recursive: true })
  symlinkSync('/dev/zero', join(home, 'etc/a.json'))
  expect((await refusal()).message).toMatch(/it is not a file/)
})

it.each([
  ['the file', 'etc/a.json', 0o666],
  ['the file, for a group', 'etc/a.json', 0o664],
  ['the folder', 'etc', 0o777],
])('what others than root may change is not read: %s', async (_, path, mode) => {
  write('etc/a.json')
  chmodSync(join(home, path), mode)
  expect((await refusal()).message).toMatch(/others than root may change it/)
})

it('what another user owns is not read', needs('root'), async () => {
  write('etc/a.json')
  chownSync(join(home, 'etc/a.json'), 1234, 1234)
  expect((await refusal()).message).toMatch(/others than root may change it/)
  chownSync(join(home, 'etc/a.json'), 0, 0)
  expect(await found()).toBe('etc/a.json')
  chownSync(join(home, 'etc'), 1234, 1234)
  expect((await refusal()).message).toMatch(/others than root may change it/)
})

it('a link in a folder of root leads to its file', async () => {
  write('etc/b.txt')
  symlinkSync('b.txt', join(home, 'etc/a.json'))
  expect(await found()).toBe('etc/b.txt')
  chmodSync(join(home, 'etc'), 0o777)
  expect((await refusal()).message).toMatch(/is a link, and others than root may change the folder/)
})

it('ten devices are shown, each once and in order', async () => {
  write('etc/b.json', 'd9')
  write('run/a.json', 'd9')
  for (let each = 8; each >= 0; each--) write(`etc/f${each}.json`, `d${each}`)
  const ten = Array.from({ length: 10 }, (_, each) => `v.com/c=d${each}`).join(', ')
  expect((await refusal()).message).toBe(`/etc and /run have ${ten}`)
  write('run/z.json', 'dz')
  expect((await refusal()).message).toBe(`/etc and /run have ${ten} …`)
})

it('a device that no container gets is refused with the reason, and is not missing', async () => {
  const devices = [{ name: 'a', containerEdits: { hooks: [] } }]
  writeFileSync(join(home, 'etc/a.json'), JSON.stringify({ cdiVersion: '0.6.0', kind: 'v.com/c', devices }), {
    mode: 0o644,
  })
  const message = 'its file has hooks, which no container gets'
  expect(await refusal()).toEqual({ message, isMissing: false })
  expect(await missingCdiDevices(['v.com/c=a'], folders)).toEqual([`v.com/c=a: ${message}`])
  expect(await missingCdiDevices([], folders)).toEqual([])
})

it('a file in YAML is read, and files of other names are not', async () => {
  for (const each of ['a.yml', 'c.yaml.old', 'json', 'd.json5']) write(`etc/${each}`)
  expect((await refusal()).message.match(/\/etc\/[^:]+:/g)).toEqual(['/etc/a.yml:'])
  const device = '- name: a\n  containerEdits: {env: [FROM=yaml]}'
  const text = `cdiVersion: 0.6.0\nkind: v.com/c\ndevices:\n${device}\n`
  writeFileSync(join(home, 'etc/b.yaml'), text)
  expect(await found()).toBe('yaml')
})

it('no file stays open, whether it is read or not', async () => {
  /** Numbers without a file, above the lowest ones: between those that stay open, single ones are free. */
  const free = () => {
    const files = Array.from({ length: 10 }, () => openSync(home, 'r'))
    for (const each of files) closeSync(each)
    return Math.max(...files)
  }
  write('etc/a.json')
  write('run/b.json', 'b', 'b', 0o666)
  const before = free()
  // More than other parts of the process could open meanwhile.
  for (let each = 0; each < 200; each++) await found()
  expect(free() - before).toBeLessThan(100)
})
