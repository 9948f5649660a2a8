// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of Compose files
/** Compose files of strangers: each is refused with a problem, without much time or memory, and reads nothing outside of its folder. */
import { execFileSync } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { check, problemsOf } from '../../../../tests/harness/check-compose.ts'

const mib = 1024 * 1024
const web = (keys: string) => `services:\n  web: {image: x, ${keys}}\n`

const letters = 'abcdefghijkl'.split('')
const bomb = letters
  .map(
    (each, at) =>
      `${each}: &${each} [${Array(9)
        .fill(at === 0 ? 'x' : `*${letters[at - 1]}`)
        .join(', ')}]\n`,
  )
  .join('')
const merges = Array.from(
  { length: 1000 },
  (_, at) => `a${at}: &a${at} {<<: ${at === 0 ? '{k: v}' : `*a${at - 1}`}, k${at}: 1}\n`,
).join('')

describe('a file', () => {
  it.each([
    ['of aliases that explode', bomb, 'more than 20000 values, aliases included'],
    ['of merge keys that explode', merges, 'more than 20000 values, aliases included'],
    ['of many aliases', `- &a x\n${'- *a\n'.repeat(21_000)}`, 'more than 20000 values'],
    [
      'with an alias in its own anchor',
      'services: &s\n  a: *s\n',
      'The alias *s is inside of its own anchor.',
    ],
    ['with an alias without an anchor', 'services: *s\n', 'The alias *s has no anchor before it.'],
    ['of brackets', '['.repeat(100_000), 'More than 64 lists and mappings'],
    ['of braces', '{a: '.repeat(50_000), 'More than 64 lists and mappings'],
    ['of lists on one line', '- '.repeat(100_000), 'More than 64 lists and mappings'],
    ['of keys on one line', '? '.repeat(100_000), 'More than 64 lists and mappings'],
    [
      'of deep mappings',
      Array.from({ length: 1300 }, (_, at) => `${' '.repeat(at)}a:\n`).join(''),
      'More than 64 lists and mappings',
    ],
    [
      'of mappings just too deep',
      Array.from({ length: 70 }, (_, at) => `${' '.repeat(at)}a:\n`).join(''),
      'More than 64 lists and mappings',
    ],
    ['that is not UTF-8', Buffer.from([0x61, 0x3a, 0xff]), 'The file is not UTF-8.'],
    ['with a NUL character', 'services: "a\0"', 'The file has a NUL character.'],
    ['that is not YAML', 'services: {a: "b\n', 'This is not valid YAML: '],
    [
      'of two documents',
      'services: {}\n---\nservices: {}\n',
      'This is not valid YAML: Source contains multiple documents',
    ],
    ['that is a list', '- a\n', 'The file is not a mapping.'],
    ['that is empty', '', 'The file is not a mapping.'],
    [
      'with a tag of its own',
      'services: !!js/function "x"\n',
      'The tag "tag:yaml.org,2002:js/function" is not supported.',
    ],
    ['with a tag of Compose', web('ports: !reset []'), 'The tag "!reset" is not supported.'],
    ['with a list as a key', 'services: {[a]: b}\n', 'A key must be a text.'],
    ['with a merge of a text', 'services: {<<: a}\n', 'A merge key needs a mapping'],
    [
      'with an included one',
      'include: [other.yaml]\nservices: {a: {image: x}}\n',
      'Files are not included yet.',
    ],
    ['without services', 'volumes: {a: }\n', 'The file has no services.'],
    [
      'with 10,000 services',
      `services:\n${Array.from({ length: 10_000 }, (_, at) => `  a${at}:\n`).join('')}`,
      'It has 10000 services. At most 256 are read',
    ],
    [
      'with 100 services',
      `services:\n${Array.from({ length: 100 }, (_, at) => `  a${at}: {image: x}\n`).join('')}`,
      'It has 100 services in the chosen profiles. At most 64',
    ],
    [
      'with many volumes',
      `services: {a: {image: x}}\nvolumes:\n${Array.from({ length: 100 }, (_, at) => `  a${at}:\n`).join('')}`,
      'It has 100 members. At most 64',
    ],
    [
      'with variables in each other',
      web(`user: "${'${A:-'.repeat(2_000)}x${'}'.repeat(2_000)}"`),
      'More than',
    ],
  ])('%s', async (_, text, message) => {
    const checked = await check({ 'compose.yaml': text })
    expect(checked.plan).toBeNull()
    expect(problemsOf(checked).join('\n')).toContain(message)
  })

  it('of 5 MB is not read', async () => {
    await expect(check('x'.repeat(5 * mib))).rejects.toThrow('It has more than 1048576 bytes.')
  })

  it('shows 100 problems, and the count of the rest', async () => {
    const checked = await check(
      `services:\n  a:\n    image: x\n${Array.from({ length: 3000 }, (_, at) => `    k${at}: 1\n`).join('')}`,
    )
    expect(checked.problems).toHaveLength(100)
    expect(checked.moreProblems).toBe(2900)
  })

  it('of services that extend a large one is refused', async () => {
    const base = Array.from({ length: 5000 }, (_, at) => `      V${at}: a\n`).join('')
    const others = Array.from({ length: 40 }, (_, at) => `  s${at}: {extends: base}\n`).join('')
    const checked = await check(`services:\n  base:\n    image: x\n    environment:\n${base}${others}`)
    expect(checked.plan).toBeNull()
    expect(problemsOf(checked).join('\n')).toContain('more than 60000 values with what they extend')
  })

  it('of errors has 100 of them', async () => {
    const checked = await check('a: "\n'.repeat(3000))
    expect(checked.problems).toHaveLength(100)
    expect(checked.moreProblems).toBeGreaterThan(1000)
  })

  it('makes texts of a limited length', async () => {
    const env = { A: 'x'.repeat(60_000) }
    const many = web(`command: [${'$A, '.repeat(1000)}]`)
    await expect(check(many, { env })).rejects.toThrow('more than 8388608 characters with their variables')
  })
})

describe('a name', () => {
  it.each([
    '..',
    '.',
    'a/b',
    'A',
    'a b',
    '__proto__',
    'a\\u0000',
    'a\\u001b[31m',
    '',
    'x'.repeat(80),
    'constructor.x',
    '-a',
    'a-',
  ])('%j of a service is refused', async (name) => {
    const checked = await check(`services:\n  "${name}": {image: x}\n`)
    expect(checked.plan).toBeNull()
    expect(problemsOf(checked)[0]).toContain('is not possible as the name of a service')
  })

  it('of an object in JavaScript is a name like others', async () => {
    const checked = await check(
      'services:\n  constructor: {image: x, environment: {__proto__: y, toString: z}}\n',
    )
    expect(checked.plan!.services[0]).toMatchObject({ name: 'constructor' })
    expect(Object.getOwnPropertyNames(checked.plan!.services[0]!.env)).toEqual([
      'MCM.READY',
      '__proto__',
      'toString',
    ])
  })

  it.each(['__proto__: 1', 'constructor: 1', 'toString: 1'])('is no key of Compose: %s', async (line) => {
    const checked = await check(`services: {web: {image: x, ${line}}}\n${line}\nvolumes: {v: {${line}}}\n`)
    expect(checked.problems).toHaveLength(3)
  })

  it.each(['volumes', 'networks', 'secrets', 'configs'])('of %s is not a path', async (part) => {
    const checked = await check(
      `services: {web: {image: x}}\n${part}: {"../up": {}, "a/b": {}, "\\u0000": {}}\n`,
    )
    expect(problemsOf(checked).filter((each) => each.includes('is not possible as a name'))).toHaveLength(3)
  })
})

describe('a file that it names', () => {
  const named: readonly (readonly [string, (path: string) => string])[] = [
    ['env_file', (path) => web(`env_file: ${path}`)],
    ['secret', (path) => `${web('secrets: [a]')}secrets: {a: {file: ${path}}}\n`],
    ['config', (path) => `${web('configs: [a]')}configs: {a: {file: ${path}}}\n`],
    ['mount', (path) => web(`volumes: ["${path}:/etc/x"]`)],
    ['extends', (path) => `services: {web: {extends: {file: ${path}, service: web}}}\n`],
  ]
  const prepare = (app: string) => {
    writeFileSync(join(app, '../outside'), 'PASSWORD=of-the-user')
    symlinkSync('../outside', join(app, 'link'))
    symlinkSync('..', join(app, 'up'))
    execFileSync('mkfifo', [join(app, 'pipe')])
  }

  it.each(
    named.flatMap(([kind, make]) =>
      ['./link', './up/outside', './pipe', '../outside'].map((path) => [kind, path, make] as const),
    ),
  )('as %s is not read: %s', async (_, path, make) => {
    const checked = await check(make(path), { prepare })
    expect(checked.plan).toBeNull()
    expect(JSON.stringify(checked)).not.toContain('of-the-user')
  })

  it('as a device is not read', async () => {
    for (const [kind, make] of named.filter(([each]) => each !== 'mount'))
      expect(problemsOf(await check(make('/dev/zero'))).join(), kind).toContain('It is not in the folder')
  })

  it('as a large one is not read', async () => {
    const large = Buffer.alloc(600 * 1024, 'x')
    for (const [kind, make] of named.filter(([each]) => each !== 'extends'))
      expect(problemsOf(await check({ 'compose.yaml': make('./large'), large })).join(), kind).toContain(
        'It has more than',
      )
  })

  it('as one that is not text is no list of variables, and no Compose file', async () => {
    for (const [kind, make] of named.filter(([each]) => each === 'env_file' || each === 'extends'))
      expect(
        problemsOf(await check({ 'compose.yaml': make('./bytes'), bytes: Buffer.from([0xff, 0xfe]) })).join(),
        kind,
      ).toContain('UTF-8')
  })

  it('sets no settings of the runtime', async () => {
    const files = { 'compose.yaml': web('env_file: a.env'), 'a.env': 'MCM.NETWORK=host\n' }
    expect(problemsOf(await check(files))[0]).toContain('sets MCM.NETWORK. Write settings in "environment".')
  })
})

it('two services do not have the same port of the device', async () => {
  const text =
    'services:\n  a: {image: x, ports: ["1883:1883"]}\n  b: {image: x, ports: ["1883:1884", "1883:1883/udp"]}\n'
  expect(problemsOf(await check(text))).toEqual([
    '3:25 services.b.ports[0]: Port 1883/tcp of the device is of the service "a". Publish another one.',
  ])
})
