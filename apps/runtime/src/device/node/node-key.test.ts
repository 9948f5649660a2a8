/** The keys of a node: made once, never replaced by accident, and whole. */
import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StoreError } from '@selvedge/service-kit/store'
import { nodeIdOf } from '@selvedge/service-kit/tokens'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openNodeKey } from './node-key.ts'

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'node-key-'))
  path = join(folder, 'node-key.json')
})
afterEach(() => rmSync(folder, { recursive: true }))

type Jwk = Record<string, string>
const makeJwk = (): Jwk =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }) as never
const write = (content: object | string) =>
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
const unrepairable = (message: RegExp | string) =>
  expect.objectContaining({
    constructor: StoreError,
    isUnrepairable: true,
    message: typeof message === 'string' ? message : expect.stringMatching(message),
  })
const advice = `Restore ${'.*'} from a backup to stay the same node; to become a new one, start with an empty state folder.`

it('is made in an empty folder, for this user alone, and is the same from then on', async () => {
  const key = await openNodeKey(path, '')
  expect(key.nodeId).toBe(nodeIdOf(key.signing.jwk))
  expect(key.signing.jwk).not.toEqual(key.agreement.jwk)
  for (const { privateKey, jwk } of [key.signing, key.agreement]) {
    expect(Object.keys(jwk).toSorted()).toEqual(['crv', 'kty', 'x', 'y'])
    expect(privateKey.export({ format: 'jwk' })).toMatchObject(jwk)
  }
  expect(statSync(path).mode & 0o777).toBe(0o600)
  const content = readFileSync(path, 'utf8')
  const again = await openNodeKey(path, key.nodeId)
  expect(again.nodeId).toBe(key.nodeId)
  expect(again.signing.privateKey.equals(key.signing.privateKey)).toBe(true)
  expect(again.agreement.privateKey.equals(key.agreement.privateKey)).toBe(true)
  expect((await openNodeKey(path, '')).nodeId).toBe(key.nodeId)
  expect(readFileSync(path, 'utf8')).toBe(content)
})

it('that is missing beside a state of a node is not replaced by another one', async () => {
  await expect(openNodeKey(path, 'x')).rejects.toEqual(
    unrepairable(new RegExp(`^the key of node x is missing\\. ${advice}$`)),
  )
  expect(readdirSync(folder)).toEqual([])
})

it('of another node than the state beside it is refused', async () => {
  const { nodeId } = await openNodeKey(path, '')
  await expect(openNodeKey(path, 'x')).rejects.toEqual(
    unrepairable(
      new RegExp(`^the key in .* is of node ${nodeId}, the state beside it of node x\\. ${advice}$`),
    ),
  )
  expect(readdirSync(folder)).toEqual(['node-key.json'])
})

describe('that is damaged', () => {
  const whole = { signing: makeJwk(), agreement: makeJwk() }
  const without = (half: 'signing' | 'agreement', member: string) => {
    const { [member]: _, ...rest } = whole[half]
    return { ...whole, [half]: rest }
  }

  it.each<[what: string, content: object | string]>([
    ['no JSON', '{'],
    ['an empty file', ''],
    ['no key to sign with', { agreement: whole.agreement }],
    ['no key to agree with', { signing: whole.signing }],
    ['no private part', without('signing', 'd')],
    ['no private part of the other key', without('agreement', 'd')],
    ['no point', without('signing', 'y')],
    ['a point that is not on the curve', { ...whole, signing: { ...whole.signing, y: whole.signing.x } }],
    ['a private part of another key', { ...whole, signing: { ...whole.signing, d: makeJwk().d } }],
    [
      'a private part of another key to agree with',
      { ...whole, agreement: { ...whole.agreement, d: makeJwk().d } },
    ],
  ])('by %s is set aside, and no new key is made', async (_, content) => {
    write(content)
    await expect(openNodeKey(path, '')).rejects.toEqual(
      unrepairable(
        new RegExp(
          `^the key of the node is damaged and is set aside as ${path}\\.damaged-[0-9a-f]{8}\\. ${advice}$`,
        ),
      ),
    )
    const [aside, ...more] = readdirSync(folder)
    expect(more).toEqual([])
    expect(readFileSync(join(folder, aside!), 'utf8')).toBe(
      typeof content === 'string' ? content : JSON.stringify(content),
    )
    await expect(openNodeKey(path, '')).rejects.toEqual(
      unrepairable(new RegExp(`^the key was set aside as ${join(folder, aside!)}\\. ${advice}$`)),
    )
    expect(readdirSync(folder)).toEqual([aside])
  })

  it('is not confused with another file that was set aside', async () => {
    writeFileSync(join(folder, 'other.damaged-00000000'), '')
    await expect(openNodeKey(path, '')).resolves.toBeDefined()
  })
})

it('that cannot be read is named with the cause', async () => {
  mkdirSync(path)
  await expect(openNodeKey(path, '')).rejects.toMatchObject({
    constructor: StoreError,
    message: expect.stringMatching(/^can't read or store the key of the node in .*node-key\.json: EISDIR/),
    cause: expect.objectContaining({ code: 'EISDIR' }),
  })
})
