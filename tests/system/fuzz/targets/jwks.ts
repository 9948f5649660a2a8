import { readJwks } from '@selvedge/protocol/tokens'
import { readForeignKeySet, readKeySet } from '@selvedge/service-kit/tokens'
import { ZodError } from 'zod'
import { expectThat, type Target } from '../engine/target.ts'
import { keyOf } from './keys.ts'

const jwk = (name: string, more: object = {}) => ({
  ...keyOf(name).jwk,
  kid: name,
  alg: 'ES256',
  use: 'sig',
  ...more,
})
const keySet = (...keys: readonly object[]): Buffer => Buffer.from(JSON.stringify({ keys }))

/** Key sets of issuers, as every verifier reads them: what is no ES256 key is left out, and so is an ambiguous ID. */
export const jwks: Target = {
  name: 'jwks',
  covers: [
    'packages/protocol/src/tokens/jwk.ts',
    'packages/service-kit/src/tokens/key-cache.ts',
    'packages/service-kit/src/tokens/foreign-keys.ts',
  ],
  seeds: () => [
    keySet(jwk('a')),
    keySet(jwk('a'), jwk('b', { x5c: ['AAAA'], key_ops: ['verify'] }), { kty: 'RSA', n: 'AQAB', e: 'AQAB' }),
    keySet(jwk('a'), jwk('b', { kid: 'a' }), jwk('c', { y: keyOf('d').jwk.y })),
    keySet(...Array.from({ length: 100 }, (_, at) => jwk(`key ${at}`))),
    Buffer.from('{"keys":[]}'),
  ],
  words: ['"kid":', '"keys":', '"x":', '__proto__', 'P-256', '"d":', 'null', '[]', '{}', '=', 'AAAA'],
  open: () => ({
    parse(input) {
      try {
        const json = JSON.parse(input.toString())
        readForeign(json)
        return read(json)
      } catch (cause) {
        if (cause instanceof SyntaxError) return 'no JSON'
        if (cause instanceof ZodError) return `no key set: ${cause.issues[0]?.code}`
        throw cause
      }
    },
  }),
}

/** The same set of an issuer that is not ours: it has at most as many keys, each of an ID that no other key has. */
function readForeign(json: { readonly keys?: readonly { readonly kid?: unknown }[] } | null): void {
  try {
    const { size, usable } = readForeignKeySet(json)
    expectThat(size <= 100, `${size} foreign keys`)
    for (const { kid } of json?.keys ?? []) {
      const found = typeof kid === 'string' ? usable(kid) : undefined
      if (!found) continue
      expectThat(found.key.type === 'public', `a ${found.key.type} foreign key`)
      expectThat(json?.keys?.filter((each) => each.kid === kid).length === 1, 'a foreign ID of two keys')
    }
  } catch (cause) {
    if (!(cause instanceof Error && cause.message.startsWith('the key set has '))) throw cause
  }
}

function read(json: { readonly keys: readonly { readonly kid?: unknown }[] }): string {
  const named = readJwks(json)
  const usable = readKeySet(json)
  expectThat(named.size <= 100, `${named.size} keys`)
  for (const [kid, key] of usable) {
    expectThat(named.has(kid), 'a key that the set does not have')
    expectThat(key.type === 'public', `a ${key.type} key`)
    expectThat(json.keys.filter((each) => each.kid === kid).length === 1, 'an ID of two keys')
  }
  return `${Math.min(3, usable.size)} usable of ${Math.min(3, named.size)}`
}
