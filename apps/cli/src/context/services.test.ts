/** Which service gets what a command sends: the one that the user names, else the one that the runtime names, confirmed. */
import type { RuntimeClient } from '@selvedge/client'
import { expect, it } from 'vitest'
import type { Address } from './runtime-address.ts'
import { createFindService } from './services.ts'

const runtimeUrl = 'http://127.0.0.1:8083'

function find({
  flags = {},
  env = {},
  named = 'https://id.example',
  isOwnSocket = false,
}: {
  flags?: object
  env?: Record<string, string>
  named?: unknown
  isOwnSocket?: boolean
}) {
  const network = { identity: { url: named }, discovery: { url: 'https://find.example' } }
  const client = { getMe: async () => ({ network }) } as unknown as RuntimeClient
  const address = () => ({ url: runtimeUrl, isOwnSocket }) as Address
  return createFindService(flags, env, { client, address })
}

it('the option decides before the environment, and both before the runtime', async () => {
  const env = { SELVEDGE_IDENTITY_URL: 'https://env.example', SELVEDGE_DISCOVERY_URL: '' }
  const flags = { identityUrl: 'https://flag.example' }
  expect(await find({ flags, env })('identity')).toEqual({ url: 'https://flag.example' })
  expect(await find({ env })('identity')).toEqual({ url: 'https://env.example' })
  expect((await find({ env, flags })('discovery')).url).toBe('https://find.example')
})

it('what the own socket of this user names is trusted', async () => {
  expect(await find({ isOwnSocket: true })('identity')).toEqual({ url: 'https://id.example' })
})

it('what any other runtime names is to be confirmed, by its role and its host', async () => {
  expect(await find({})('identity')).toEqual({
    url: 'https://id.example',
    unconfirmed: {
      key: 'identity https://id.example',
      shown: expect.stringContaining('its identity service is id.example (https://id.example).'),
      hint: 'If that is right, name it: --identity-url https://id.example',
    },
  })
  expect((await find({})('discovery')).unconfirmed?.key).toBe('discovery https://find.example')
})

it.each(['http://id.example', 'ftp://id.example', 'https://user@id.example', 'x', 5, null])(
  'a runtime cannot name %j',
  async (named) => {
    await expect(find({ named, isOwnSocket: true })('identity')).rejects.toThrow(
      /identity service of the runtime/,
    )
  },
)

it('neither can an option nor the environment, and each is named in the refusal', async () => {
  await expect(find({ flags: { identityUrl: 'http://x.example' } })('identity')).rejects.toThrow(
    '--identity-url',
  )
  const env = { SELVEDGE_IDENTITY_URL: 'http://x.example' }
  await expect(find({ env })('identity')).rejects.toThrow('SELVEDGE_IDENTITY_URL')
})

it('a runtime without a service is an error that shows how to name one', async () => {
  const none = { identity: {}, discovery: {} }
  const client = { getMe: async () => ({ network: none }) } as unknown as RuntimeClient
  const ask = createFindService({}, {}, { client, address: () => ({ url: runtimeUrl, isOwnSocket: true }) })
  await expect(ask('identity')).rejects.toMatchObject({
    message: `the runtime at ${runtimeUrl} does not say which identity service it uses`,
    hint: 'Name it with --identity-url or SELVEDGE_IDENTITY_URL.',
  })
})
