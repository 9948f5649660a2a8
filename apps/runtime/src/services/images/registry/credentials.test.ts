import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { readCredentials } from './credentials.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'credentials-'))
  file = join(folder, 'auth.json')
})
afterEach(() => rmSync(folder, { recursive: true }))

const write = (content: unknown) =>
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
const entry = (password: string) => ({ auth: btoa(`me:${password}`) })
const find = async (registry = 'registry.example', repository = 'team/app') =>
  (await readCredentials(file, registry, repository)).credentials

it.each([
  ['registry.example', 'registry.example'],
  ['http://registry.example', 'registry.example'],
  ['https://registry.example', 'registry.example'],
  ['https://registry.example/', 'registry.example'],
  ['https://registry.example/v1/', 'registry.example'],
  ['https://registry.example/v2/', 'registry.example'],
  ['HTTPS://Registry.Example/v2', 'registry.example'],
  ['registry.example/v2/', 'registry.example'],
  ['registry.example/team', 'registry.example'],
  ['registry.example/team/app', 'registry.example'],
  ['https://registry.example:5000/v2/', 'registry.example:5000'],
  ['docker.io', 'registry-1.docker.io'],
  ['index.docker.io', 'registry-1.docker.io'],
  ['registry-1.docker.io', 'registry-1.docker.io'],
  ['https://index.docker.io/v1/', 'registry-1.docker.io'],
  ['docker.io/team', 'registry-1.docker.io'],
])('finds the entry %s for %s', async (key, registry) => {
  write({ auths: { 'other.example': entry('other'), [key]: entry('secret') } })
  const from = `${JSON.stringify(key)} in ${file}`
  const basic = btoa('me:secret')
  expect(await find(registry)).toEqual({
    basic,
    identityToken: undefined,
    secrets: [basic, 'secret'],
    from,
  })
})

it.each([
  'example',
  'evil-registry.example',
  'registry.example.evil',
  'registry.example:5000',
  'registry.example/tea',
  'registry.example/team/app/more',
  'registry.example/v2',
  'https://evil.example/registry.example',
  'evil.example/registry.example',
  '',
])('does not use the entry %j for another registry or repository', async (key) => {
  write({ auths: { [key]: entry('secret') } })
  expect(await readCredentials(file, 'registry.example', 'team/app')).toEqual({
    credentials: undefined,
    missing: `${file} has no entry for registry.example`,
  })
})

it('uses the longest key that leads to the repository', async () => {
  write({
    auths: {
      'https://registry.example': entry('1'),
      'registry.example/team': entry('2'),
      'registry.example/team/app': entry('3'),
    },
  })
  const passwords = []
  for (const repository of ['team/app', 'team/other', 'others', 'team/app/deep'])
    passwords.push(atob((await find('registry.example', repository))!.basic!))
  expect(passwords).toEqual(['me:3', 'me:2', 'me:1', 'me:3'])
})

it('reads an identity token, as Azure has it, beside a user without a password', async () => {
  const auth = btoa('00000000-0000-0000-0000-000000000000:')
  write({ auths: { 'registry.example': { auth, identitytoken: 'refresh' } } })
  expect(await find()).toMatchObject({ basic: undefined, identityToken: 'refresh', secrets: ['refresh'] })
})

it('reads user and password beside each other, as Kubernetes has them, and a password filled with NUL', async () => {
  write({ auths: { 'registry.example': { username: 'me', password: 'a:b' } } })
  expect((await find())!.basic).toBe(btoa('me:a:b'))
  write({ auths: { 'registry.example': { auth: btoa('me:a:b\0\0') } } })
  expect((await find())!.basic).toBe(btoa('me:a:b'))
})

it.each([
  [{ credsStore: 'desktop', auths: { 'registry.example': {} } }],
  [{ credHelpers: { 'registry.example': 'ecr-login' } }],
])('a credential helper is named: %j', async (content) => {
  write(content)
  expect(await readCredentials(file, 'registry.example', 'app')).toEqual({
    credentials: undefined,
    missing: `${file} has them in a credential helper, which the runtime does not support`,
  })
})

it('a helper of another registry, and an empty file, have nothing for this one', async () => {
  for (const content of [{ credHelpers: { 'other.example': 'x' } }, {}, { auths: null }]) {
    write(content)
    expect((await readCredentials(file, 'registry.example', 'app')).missing).toMatch(/has no entry for/)
  }
  expect(await readCredentials('', 'registry.example', 'app')).toEqual({
    credentials: undefined,
    missing: 'images.registryAuth is not set',
  })
})

it.each([
  ['{"auths":{"registry.example":{"auth":"hunter2"', 'it is not JSON'],
  ['"hunter2"', 'it has another form'],
  ['{"auths":"hunter2"}', 'auths has another form'],
  ['{"auths":{"registry.example":"hunter2"}}', 'its entry "registry.example" has another form'],
  ['{"auths":{"registry.example":{"auth":["hunter2"]}}}', 'its entry "registry.example" has another form'],
  [
    '{"auths":{"registry.example":{"auth":"hunter2"}}}',
    '"auth" of its entry "registry.example" is not user:password in base64',
  ],
])('refuses the file %s, and shows nothing of its content', async (content, why) => {
  write(content)
  const failure = await find().catch((cause) => cause)
  expect(failure).toMatchObject({
    reason: 'registry_unavailable',
    message: `the credentials in ${file} can't be read: ${why}`,
  })
  expect(JSON.stringify([failure.message, failure.hint, String(failure.cause)])).not.toContain('hunter2')
})

it('a broken entry of another registry does not matter', async () => {
  write({ auths: { 'other.example': 5, 'registry.example': entry('x') } })
  expect(await find()).toBeDefined()
})

it('refuses what is no file, is too large, or is not there, without waiting for it', async () => {
  await expect(find()).rejects.toThrow('ENOENT')
  execFileSync('mkfifo', [file])
  await expect(find()).rejects.toThrow('it is no file')
  rmSync(file)
  write(' '.repeat(1024 * 1024 + 1))
  await expect(find()).rejects.toThrow('it has 1048577 bytes; the limit is 1048576')
})
