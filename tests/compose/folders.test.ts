/** Folders beside a Compose file: the app gets a copy of their files, and what cannot be copied is refused with what to write instead. */
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { copiesIn } from '../../apps/cli/src/commands/app/deploy.ts'
import { check, notesOf, problemsOf, serviceOf } from '../harness/check-compose.ts'

const mounting = (...mounts: readonly string[]) =>
  `services:\n  web:\n    image: x\n    volumes: ${JSON.stringify(mounts)}\n`
const first = (problems: readonly string[]) => problems[0]?.replace(/^\d+:\d+ /, '')

it('a service gets the files of a folder, and nothing else is in the folder', async () => {
  const checked = await check({
    'compose.yaml': mounting('./conf:/etc/app:ro', './run.sh:/run.sh'),
    'conf/main.yml': 'main',
    'conf/rules/one.yml': 'one',
    'run.sh': 'x',
  })
  const { configs, configFolders, volumes } = serviceOf(checked)
  expect(configFolders).toEqual(['/etc/app'])
  expect(configs.map(({ target, mode }) => [target, mode])).toEqual([
    ['/etc/app/main.yml', '0444'],
    ['/etc/app/rules/one.yml', '0444'],
    ['/run.sh', '0444'],
  ])
  expect(volumes).toEqual([])
  expect(checked.plan!.configs.map(({ content }) => content)).toEqual(['main', 'one', 'x'])
  expect(notesOf(checked)[0]).toBe(
    'services.web.volumes[0]: The app has a copy of the folder, with 2 files, as it is when the app is deployed.',
  )
  expect(copiesIn(checked.plan!)).toEqual([
    'web: /etc/app is a read-only copy of 2 files of this folder, as it is now',
  ])
})

it('without ":ro", a line shows that the service cannot change it', async () => {
  const checked = await check({ 'compose.yaml': mounting('./conf:/etc/app/'), 'conf/a': '' })
  expect(serviceOf(checked).configFolders).toEqual(['/etc/app'])
  expect(notesOf(checked)[0]).toContain(
    'with 1 file, as it is when the app is deployed. The service cannot change it: use a named volume',
  )
})

it('a file that may be a secret is not copied without a warning, which other lines do not hide', async () => {
  const labels = Array.from({ length: 300 }, (_, at) => `    - l${at}=x\n`).join('')
  const checked = await check({
    'compose.yaml': `${mounting('./conf:/etc/app:ro', './.env:/env')}    labels:\n${labels}    configs: [c]\nconfigs:\n  c: { file: ./c.pem }\n`,
    'conf/main.yml': 'main',
    'conf/.git/config': '[remote]',
    '.env': 'PASSWORD=x',
    'c.pem': '-----BEGIN EC PRIVATE KEY-----',
  })
  expect(checked.moreNotes).toBeGreaterThan(0)
  expect(checked.plan).not.toBeNull()
  expect(checked.warnings.map(({ path, message }) => `${path}: ${message.split(',')[0]}`)).toEqual([
    'services.web.volumes[0]: "conf/.git/config" may be a secret',
    'services.web.volumes[1]: ".env" may be a secret',
    'configs.c.file: "c.pem" may be a secret',
  ])
})

it.each<[string, Record<string, string>, string]>([
  [
    './data:/data',
    {},
    'There is no "./data" here, and the device has no folder of this machine. For data of the service, write a named volume, "data:/data", and "data:" below "volumes" of the file.',
  ],
  [
    './conf:/f',
    Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`conf/${at}`, ''])),
    'The folder "./conf" has 65 files with 0 bytes, and an app gets copies of at most 64 with 196608. For data of the service, write a named volume',
  ],
  [
    './conf:/f',
    { 'conf/a': 'x'.repeat(100_000), 'conf/b': 'x'.repeat(100_000) },
    'The folder "./conf" has 2 files with 200000 bytes',
  ],
  ['./conf:/f', { 'conf/a': 'x'.repeat(131_073) }, '"./conf/a": It has more than 131072 bytes'],
  ['./conf:/f', { 'conf/a b': '' }, '"/f/a b" is not a path in the container'],
  ['../conf:/f', {}, '"../conf": It is not in the folder of the Compose file'],
  ['.:/f', {}, '"."'],
  ['./conf:/etc', { 'conf/x': '' }, 'The folder "/etc" cannot be replaced'],
  ['./conf:/run', { 'conf/x': '' }, 'The folder "/run" cannot be replaced'],
])('%j is refused with what to do', async (mount, files, expected) => {
  const found = first(problemsOf(await check({ 'compose.yaml': mounting(mount), ...files })))
  expect(found).toMatch(/^services\.web\.volumes\[0\]: /)
  expect(found).toContain(expected)
})

it('a folder without files, and one with a link, are refused', async () => {
  const empty = await check(mounting('./conf:/f'), {
    prepare: (folder) => mkdirSync(join(folder, 'conf/empty'), { recursive: true }),
  })
  expect(first(problemsOf(empty))).toContain('The folder "./conf" is empty. For data of the service')
  const linked = await check(
    { 'compose.yaml': mounting('./conf:/f'), 'conf/a': '' },
    { prepare: (folder) => symlinkSync('/etc/passwd', join(folder, 'conf/link')) },
  )
  expect(first(problemsOf(linked))).toContain('"./conf": "link" in it: It is a link')
})

it('nothing else is mounted below a folder of files', async () => {
  const files = {
    'conf/a': '',
    'compose.yaml': `${mounting('./conf:/f', 'data:/f/data')}volumes: { data: {} }\n`,
  }
  expect(first(problemsOf(await check(files)))).toBe(
    'services.web.volumes[0]: "/f/data" would be in "/f", a folder with nothing but files of the app. Choose another path for one of them.',
  )
})

it('two services get one copy of the same folder', async () => {
  const text = '  a: &a { image: x, volumes: ["./conf:/f:ro"] }\n  b: *a\n'
  const { plan } = await check({ 'compose.yaml': `services:\n${text}`, 'conf/x': 'once' })
  expect(plan!.services.map(({ configFolders }) => configFolders)).toEqual([['/f'], ['/f']])
  expect(plan!.configs).toEqual([{ name: 'conf-x', content: 'once' }])
})
