import { sealBytes } from '@selvedge/service-kit/tokens'
import { readTxt, sealKeyOf } from '../../../../apps/runtime/src/location/link-local/announcement.ts'
import { mutateJson } from '../engine/mutate-json.ts'
import { expectThat, type Target } from '../engine/target.ts'
import { now } from './keys.ts'

const key = sealKeyOf(Buffer.alloc(32, 5).toString('base64url'))
const nodeId = 'c'.repeat(56)
const from = '10.0.0.7'
const statement = {
  name: 'device',
  services: [{ name: 'web', path: '/client/web' }],
  hosts: [from, 'fe80::7'],
  at: now,
  run: 'one',
  isLeaving: false,
}
const strings = (...txt: readonly string[]) => Buffer.from(`\n${txt.join('\n')}`)
/** The record of a node of the account that seals any text. */
function sealedRecord(text: string): string[] {
  const seal = sealBytes(key, Buffer.from(text), nodeId).toString('base64url')
  const pieces = seal.match(/.{1,240}/g) ?? []
  return ['v=1', `id=${nodeId}`, ...pieces.map((piece, at) => `s${at}=${piece}`)]
}

/**
 * What a node announces: a line of JSON is sealed with the key of the account before it is read, as another node of the account
 * would; after an empty line, the strings of a TXT record as they come.
 */
export const announcement: Target = {
  name: 'announcement',
  covers: [
    'apps/runtime/src/location/link-local/announcement.ts',
    'packages/service-kit/src/tokens/sealed-bytes.ts',
  ],
  seeds: () => [
    Buffer.from(JSON.stringify(statement)),
    Buffer.from(
      JSON.stringify({
        ...statement,
        name: 'x'.repeat(255),
        services: Array(60).fill({ name: 'web', path: `/client/${'p'.repeat(60)}` }),
      }),
    ),
    strings('v=1', `id=${nodeId}`),
    strings('v=1', `id=${nodeId}`, ...Array.from({ length: 9 }, (_, at) => `s${at}=${'A'.repeat(240)}`)),
  ],
  mutators: [mutateJson],
  words: ['v=1', 'id=', 's0=', 's1=', '\n', '"hosts":null', '"at":"x"'],
  maxBytes: 9000,
  open: () => ({
    parse(input) {
      const [first = '', ...rest] = input.toString().split('\n')
      const read = readTxt(first === '' ? rest : sealedRecord(first), { key, from, now })
      expectThat(!read?.statement || read.statement.hosts.includes(from), 'a copy counts')
      return read === undefined ? 'none' : read.statement ? 'statement' : 'stranger'
    },
  }),
}
