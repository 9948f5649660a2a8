/** How a public client names itself in a header. */
import type { OAuthError } from '@selvedge/protocol'
import { expect, it } from 'vitest'
import { withNamedClient } from './named-client.ts'

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`
const read = (authorization: string | undefined, form: Record<string, string> = { grant_type: 'x' }) => {
  try {
    return Object.fromEntries(withNamedClient(new Map(Object.entries(form)), authorization))
  } catch (cause) {
    return (cause as OAuthError).code
  }
}

it('leaves a form without a header as it is', () => {
  const form = new Map([['client_id', 'a']])
  expect(withNamedClient(form, undefined)).toBe(form)
})

it.each([basic('client-1:'), basic('client-1:').replace('Basic', 'basic')])(
  'reads the client from %s, which has an empty secret',
  (header) => {
    expect(read(header)).toEqual({ grant_type: 'x', client_id: 'client-1' })
    expect(read(header, { client_id: 'client-1' })).toEqual({ client_id: 'client-1' })
  },
)

it('refuses a form that names another client than the header', () => {
  expect(read(basic('client-1:'), { client_id: 'client-2' })).toBe('invalid_request')
})

it.each([
  ['a secret', basic('client-1:secret')],
  ['a secret of spaces', basic('client-1: ')],
  ['two colons', basic('client-1::')],
  ['no colon', basic('client-1')],
  ['no client', basic(':')],
  ['a line break', basic('client-1\n:')],
  ['bytes that are no text', `Basic ${Buffer.from([0xff, 0x00, 0x3a]).toString('base64')}`],
  ['a client that is too long', basic(`${'a'.repeat(400)}:`)],
  ['no base64', 'Basic client-1:'],
  ['two credentials', `${basic('a:')}, ${basic('b:')}`],
  ['another scheme', 'Bearer Y2xpZW50LTE6'],
  ['a longer scheme', `X${basic('client-1:')}`],
  ['nothing', ''],
])('refuses a header with %s', (_, header) => {
  expect(read(header, { client_id: 'client-1' })).toBe('invalid_client')
})
