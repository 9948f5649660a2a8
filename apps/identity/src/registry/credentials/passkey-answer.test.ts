/** The parts of a response of an authenticator that the library does not check. */
import { expect, it } from 'vitest'
import { readPasskeyAnswer, userHandleOf } from './passkey-answer.ts'

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const clientData = { type: 'webauthn.get', challenge: 'x', origin: 'https://console.example.com' }
const answer = (response: object = {}, more: object = {}) => ({
  id: 'aZ09_-',
  response: { clientDataJSON: encode(clientData), userHandle: 'YWRh', ...response },
  ...more,
})
const withClientData = (more: object) => answer({ clientDataJSON: encode({ ...clientData, ...more }) })
/** Client data with this number of characters. */
const ofLength = (length: number) => {
  const empty = JSON.stringify({ x: '' }).length
  return encode({ x: 'x'.repeat((length / 4) * 3 - empty) })
}

it.each<[string, unknown, unknown]>([
  ['of a sign-in', answer(), { id: 'aZ09_-', userHandle: 'YWRh' }],
  ['of a registration', answer({ userHandle: undefined }), { id: 'aZ09_-', userHandle: undefined }],
  [
    'of a page that is in no frame',
    withClientData({ crossOrigin: false }),
    { id: 'aZ09_-', userHandle: 'YWRh' },
  ],
  ['with the longest ID', answer({}, { id: 'x'.repeat(1364) }), { id: 'x'.repeat(1364), userHandle: 'YWRh' }],
  [
    'with the longest handle',
    answer({ userHandle: 'x'.repeat(128) }),
    { id: 'aZ09_-', userHandle: 'x'.repeat(128) },
  ],
  [
    'with the longest client data',
    answer({ clientDataJSON: ofLength(4096) }),
    { id: 'aZ09_-', userHandle: 'YWRh' },
  ],
])('reads a response %s', (_, given, expected) => {
  expect(readPasskeyAnswer(given)).toStrictEqual(expected)
})

it.each<[string, unknown]>([
  ['that is nothing', undefined],
  ['that is null', null],
  ['that is a text', 'x'],
  ['without parts', { id: 'x' }],
  ['without an ID', answer({}, { id: undefined })],
  ['with an ID that is no text', answer({}, { id: ['x'] })],
  ['with an empty ID', answer({}, { id: '' })],
  ['with an ID in base64', answer({}, { id: 'a+b' })],
  ['with a line after the ID', answer({}, { id: 'x\n' })],
  ['with a blank before the ID', answer({}, { id: ' x' })],
  ['with a long ID', answer({}, { id: 'x'.repeat(1365) })],
  ['with a long handle', answer({ userHandle: 'x'.repeat(129) })],
  ['with a handle that is null', answer({ userHandle: null })],
  ['without client data', answer({ clientDataJSON: undefined })],
  ['with long client data', answer({ clientDataJSON: ofLength(4100) })],
  ['with client data that is no JSON', answer({ clientDataJSON: 'x' })],
  ['with client data that is nested deeply', withClientData({ x: [[[[[[[[[1]]]]]]]]] })],
  ['of a frame in a page of another origin', withClientData({ crossOrigin: true })],
  ['of a frame that names its page', withClientData({ topOrigin: 'https://evil.example' })],
  ['with an odd statement of the frame', withClientData({ crossOrigin: 'false' })],
])('reads no response %s', (_, given) => {
  expect(readPasskeyAnswer(given)).toBeUndefined()
})

it('the handle of a person is the ID in base64url', () => {
  expect(userHandleOf('ada?>')).toBe('YWRhPz4')
})
