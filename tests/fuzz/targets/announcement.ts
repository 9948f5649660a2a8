import { deriveKey, sealBytes } from '@selvedge/service-kit/tokens'
import { readTxt, writeTxt } from '../../../apps/runtime/src/link-local/announcement.ts'
import { mutateJson } from '../engine/mutate-json.ts'
import { expectThat, type Target } from '../engine/target.ts'
import { now } from './keys.ts'

const accountKey = Buffer.alloc(32, 5).toString('base64url')
const nodeId = 'c'.repeat(56)
const from = '10.0.0.7'
const statement = {
  name: 'device',
  services: [{ name: 'web', path: '/client/web' }],
  hosts: [from, 'fe80::7'],
  at: now,
}
const strings = (txt: Readonly<Record<string, string>>) =>
  Buffer.from(
    `\n${Object.entries(txt)
      .map(([key, value]) => `${key}=${value}`)
      .join('\n')}`,
  )

/**
 * What a node announces: a line of JSON is sealed with the key of the account before it is read, as another node of the account
 * would; after an empty line, the strings of a TXT record as they come.
 */
export const announcement: Target = {
  name: 'announcement',
  covers: ['apps/runtime/src/link-local/announcement.ts', 'packages/service-kit/src/tokens/sealed-bytes.ts'],
  seeds: () => [
    Buffer.from(JSON.stringify(statement)),
    Buffer.from(
      JSON.stringify({
        ...statement,
        name: 'x'.repeat(255),
        services: Array(60).fill({ name: 'web', path: `/client/${'p'.repeat(60)}` }),
      }),
    ),
    strings({ v: '1', id: nodeId }),
    strings(
      Object.fromEntries([
        ['v', '1'],
        ['id', nodeId],
        ...Array.from({ length: 9 }, (_, at) => [`s${at}`, 'A'.repeat(240)]),
      ]),
    ),
  ],
  mutators: [mutateJson],
  words: ['v=1', 'id=', 's0=', 's1=', '\n', '"hosts":null', '"at":"x"'],
  maxBytes: 9000,
  open: () => ({
    parse(input) {
      const text = input.toString()
      const [first = '', ...rest] = text.split('\n')
      const txt = new Map<string, string>()
      if (first === '') {
        for (const line of rest) txt.set(line.split('=', 1)[0]!, line.slice(line.indexOf('=') + 1))
      } else {
        const sealed = sealBytes(
          deriveKey(Buffer.from(accountKey, 'base64url'), 'link-local'),
          Buffer.from(first),
          nodeId,
        )
        for (const [key, value] of Object.entries(writeTxt({ nodeId, ...statement }, undefined)))
          txt.set(key, value)
        const encoded = sealed.toString('base64url')
        for (let at = 0; at * 240 < encoded.length; at++)
          txt.set(`s${at}`, encoded.slice(at * 240, (at + 1) * 240))
      }
      const read = readTxt(txt, { accountKey, from, now })
      expectThat(!read?.statement || read.statement.hosts.includes(from), 'a copy counts')
      return read === undefined ? 'none' : read.statement ? 'statement' : 'stranger'
    },
  }),
}
