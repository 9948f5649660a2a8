/** Texts in JSON and YAML. The first ones are as tools write files of the Container Device Interface. */
import { expect, it } from 'vitest'
import { readCdiFile } from './cdi-spec.ts'
import { readText } from './read-text.ts'

/** `nvidia-ctk cdi generate`, shortened; and without its hooks. */
const nvidia = (hooks: string) => `---
cdiVersion: 0.5.0
containerEdits:
  deviceNodes:
  - path: /dev/nvidiactl
  env:
  - NVIDIA_VISIBLE_DEVICES=void
${hooks}  mounts:
  - containerPath: /usr/bin/nvidia-smi
    hostPath: /usr/bin/nvidia-smi
    options:
    - ro
    - nosuid
    - nodev
    - rbind
    - rprivate
devices:
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
  name: "0"
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
  name: all
kind: nvidia.com/gpu
`
const hooks = `  hooks:
  - args:
    - nvidia-cdi-hook
    - update-ldcache
    - --folder
    - /usr/lib/x86_64-linux-gnu
    hookName: createContainer
    path: /usr/bin/nvidia-cdi-hook
`
const inDevice = async (text: string, name: string) => readCdiFile(await readText(text)).deviceOf(name)

it('a file of nvidia-ctk is read, and refused because of its hooks only', async () => {
  await expect(inDevice(nvidia(hooks), 'nvidia.com/gpu=0')).rejects.toThrow(
    'its file has hooks, which no container gets',
  )
  const tool = '/usr/bin/nvidia-smi'
  expect(await inDevice(nvidia(''), 'nvidia.com/gpu=all')).toEqual({
    nodes: ['/dev/nvidiactl', '/dev/nvidia0'].map((path) => ({ path, access: 'rw' })),
    mounts: [{ source: tool, target: tool, isWritable: false, isExecutable: true }],
    env: { NVIDIA_VISIBLE_DEVICES: 'void' },
  })
})

it.each([
  [
    'numbers',
    'name: 0\n  containerEdits:\n    deviceNodes: [{path: /dev/a, type: c, major: 0o12, fileMode: 0660}]',
    '0',
  ],
  [
    'an address',
    'name: 0000:03:00.0-0x56a0\n  containerEdits: {deviceNodes: [{path: /dev/a}]}',
    '0000:03:00.0-0x56a0',
  ],
  [
    'empty members',
    'name: a\n  containerEdits:\n    env:\n    mounts: ~\n    deviceNodes: [{path: /dev/a, type: null}]',
    'a',
  ],
  ['other scalars', 'name: "on"\n  containerEdits: {deviceNodes: [path: !!str /dev/a]}', 'on'],
  [
    'comments',
    "name: 'a' # first\n  # second\n  containerEdits: \n    deviceNodes:\n    - path: >-\n        /dev/a",
    'a',
  ],
  [
    'an alias',
    'name: z\n  containerEdits: &e {deviceNodes: [{path: /dev/a}]}\n- name: b\n  containerEdits: *e',
    'b',
  ],
])('a device is read with %s', async (_, device, name) => {
  const text = `cdiVersion: "0.6.0"\nkind: v.com/c\ncontainerEdits:\ndevices:\n- ${device}\n`
  expect(await inDevice(text, `v.com/c=${name}`)).toEqual({
    ...{ nodes: [{ path: '/dev/a', access: 'rw' }], mounts: [], env: {} },
  })
})

it('JSON is read without members that are null, and names of objects are nothing special', async () => {
  expect(await readText('{"a": null, "b": [1, "2"], "c": {"d": true}}')).toEqual({
    b: [1, '2'],
    c: { d: true },
  })
  expect(await readText('null')).toBeUndefined()
  expect(Object.entries(Object(await readText('__proto__: {a: 1}')))).toEqual([['__proto__', { a: '1' }]])
})

it.each([
  ['', undefined],
  ['# nothing', undefined],
  ['~', undefined],
  ['null', undefined],
  ['a', 'a'],
  ['1', 1],
  ['- 1.10', ['1.10']],
  ['{a: , b: 1}', { b: '1' }],
  ['\ufeffa: b', { a: 'b' }],
  ['- &a 1\n- *a', ['1', '1']],
  ['%YAML 1.1\n---\na: 0660', { a: '0660' }],
])('%j is %j', async (text, value) => {
  expect(await readText(text)).toEqual(value)
})

const rows = (count: number, row: string) => Array.from({ length: count }, () => row).join('')
const nested = (count: number) => Array.from({ length: count }, (_, at) => `${' '.repeat(at)}a:\n`).join('')
const letters = 'abcdefghij'.split('')
const bomb = letters.map(
  (each, at) => `${each}: &${each} [${rows(9, at === 0 ? 'x,' : `*${letters[at - 1]} ,`)}]\n`,
)

it.each([
  ['no YAML', 'a: [1\n', 'it is neither JSON nor YAML: Flow sequence in block collection must'],
  ['no YAML, with the line', 'a: 1\n\n- b', /\(line 2\)$/],
  ['two documents', 'a: 1\n---\nb: 1\n', 'multiple documents'],
  ['a key twice', 'a: 1\nb: 2\na: 3\n', '"a" is there twice'],
  ['a key that is a list', '{[a]: b}', 'a key is no text, or is <<'],
  ['a merge', 'a: &a {b: 1}\nc: {<<: *a}\n', 'a key is no text, or is <<'],
  ['an alias without an anchor', 'a: *b\n', 'the alias *b has no anchor before it'],
  ['an alias in its own anchor', 'a: &b [*b]\n', 'the alias *b has no anchor before it'],
  ['aliases that explode', bomb.join(''), 'it has more than 20000 values, aliases included'],
  ['many aliases', `- &a [1, 2]\n${rows(6700, '- *a\n')}`, 'it has more than 20000 values'],
  ['many values', rows(20_000, '- a\n'), 'it has more than 20000 values'],
  ['deep mappings', nested(34), 'more than 32 lists and mappings are in each other'],
  ['very deep mappings', nested(500), 'more than 32 lists and mappings are in each other'],
  ['deep lists', '['.repeat(128 * 1024), 'more than 32 lists and mappings are in each other'],
  ['lists on one line', '- '.repeat(64 * 1024), 'more than 32 lists and mappings are in each other'],
  [
    'too many characters',
    ' '.repeat(128 * 1024 + 1),
    'it has 131073 characters; the limit for YAML is 131072',
  ],
])('a text is refused: %s', async (_, text, why) => {
  await expect(readText(text)).rejects.toThrow(why)
})

it('a text has as many values, in each other and one after the other, as it may', async () => {
  expect(await readText(rows(19_999, '- a\n'))).toHaveLength(19_999)
  expect(await readText(`- &a [1, 2]\n${rows(6665, '- *a\n')}`)).toHaveLength(6666)
  expect(await readText(nested(32))).toMatchObject({ a: {} })
  await expect(readText(`a: 1\n${' '.repeat(128 * 1024 - 5)}`)).resolves.toEqual({ a: '1' })
})
